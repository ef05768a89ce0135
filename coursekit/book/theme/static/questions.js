/* Questions in the page: judged by the language in the worker, or, to choose and to order, right here. */
"use strict";
(() => {
  const { make, ask, button, field, formula, newest, store, words } = live;

  // Hints open one after the other, and the answer when it is asked for.
  function fold(box) {
    const hints = [...box.querySelectorAll(":scope > .question-hint")];
    hints.forEach((hint, n) => {
      if (hints.length > 1) hint.querySelector("summary").textContent = `Hint ${n + 1} of ${hints.length}`;
      hint.hidden = n > 0;
      hint.addEventListener("toggle", () => { if (hint.open && hints[n + 1]) hints[n + 1].hidden = false; });
    });
  }
  function verdict(said, right, ...what) {
    said.classList.toggle("live-wrong", !right);
    said.classList.toggle("live-right", right);
    said.replaceChildren(make("p", {}, ...what));
  }

  // A text that is judged. `told` hears each verdict.
  function judged(box, question, told = () => {}) {
    const before = box.querySelector(":scope > .question-hint, :scope > .question-answer");
    const derives = question.kind === "derive", shown = make(derives ? "ol" : "div", { class: derives ? "question-steps question-read" : "question-read" });
    const reading = newest(), key = `question ${question.name}`;
    const start = question.start ?? "";
    const input = field({ label: "Your answer", text: (question.name && store.get(key)) ?? start, rows: 1, onask: read });
    const check = button("Check", judge);
    const row = make("div", { class: "live-bar" }, check);
    if (start) row.append(button(derives ? "Back to the book’s lines" : "Back to the text with the mistake", () => { input.set(start); shown.textContent = ""; input.say(); input.area.focus(); }));
    input.said.before(shown, row);
    before.before(input.box);
    input.area.addEventListener("keydown", e => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); judge(); } });

    let round = 0;  // a reading that comes after its text was judged must not wipe the verdict away
    async function read(text) {
      const mine = round;
      if (question.name) text === start ? store.drop(key) : store.set(key, text);
      input.said.classList.remove("live-right");
      if (!text.trim()) { shown.textContent = ""; return input.say(); }
      try {
        if (derives) {
          const answer = await reading({ kind: "judge", question, text }, s => input.say(s));
          if (answer && mine === round && input.area.value === text) answer.error ? input.hesitate(() => input.wrong(answer.error)) : await tell(answer);
          return;
        }
        const answer = await reading({ kind: "read", question, text }, s => input.say(s));
        if (!answer || mine !== round || input.area.value !== text) return;
        if (answer.error) return input.hesitate(() => input.wrong(answer.error));
        const typeset = await formula(answer.read, true);
        if (mine !== round || input.area.value !== text) return;
        shown.replaceChildren(typeset);
        input.clear();
        input.say();
      } catch (error) { input.wrong({ message: error.message, line: 0 }); }
    }
    // A line of a derivation: a tick or a cross, the line as it was read, and the sentence beside it.
    const step = async one => make("li", { class: one.good ? "live-right" : "live-wrong", value: one.line },
      make("span", { class: "visually-hidden" }, one.good ? "holds: " : "does not hold: "),
      one.latex ? await formula(one.latex, false) : make("code", {}, one.text), " ", make("span", {}, ...await words(one.sentence)));
    async function tell(answer) {
      shown.replaceChildren(...derives ? await Promise.all(answer.steps.map(step)) : [await formula(answer.read, true)]);
      input.clear();
      verdict(input.said, answer.right, ...await words(answer.sentence));
    }
    async function judge() {
      const text = input.area.value;
      round++;
      input.still();
      try {
        const answer = await ask({ kind: "judge", question, text }, s => input.say(s));
        if (answer.error) return input.wrong(answer.error);
        await tell(answer);
        told(answer);
      } catch (error) { input.wrong({ message: error.message, line: 0 }); }
    }
    return input;
  }

  function choose(box, question, rows) {
    const said = make("div", { class: "live-said", role: "status" });
    rows.after(said);
    const group = make("fieldset", { class: "question-rows", "aria-label": "Your choice" });
    for (const item of [...rows.children]) {
      const why = item.querySelector(".question-why");
      why?.remove();
      const pick = make("input", { type: "radio", name: `question-${question.name}`, onchange: () =>
        verdict(said, item.classList.contains("right"), ...why.cloneNode(true).querySelector("p").childNodes) });
      group.append(make("label", {}, pick, make("span", {}, ...item.querySelector("p").childNodes)));
    }
    rows.replaceWith(group);
  }

  function order(box, question, rows) {
    const said = make("div", { class: "live-said", role: "status" });
    const place = item => +/place-(\d+)/.exec(item.className)[1];
    for (const item of rows.children) {
      const move = (way, word, sign) => button(sign, e => {
        const other = way < 0 ? item.previousElementSibling : item.nextElementSibling;
        if (!other) return;
        way < 0 ? other.before(item) : other.after(item);
        e.currentTarget.focus();
        verdict(said, true);
        said.classList.remove("live-right");
        said.textContent = `Now in place ${[...rows.children].indexOf(item) + 1} of ${rows.children.length}.`;
      }, { "aria-label": `${word}: ${item.textContent.trim()}` });
      item.prepend(make("span", { class: "question-move" }, move(-1, "Up", "↑"), move(1, "Down", "↓")));
    }
    rows.after(make("div", { class: "live-bar" }, button("Check", () => {
      const wrong = [...rows.children].findIndex((item, n) => place(item) !== n);
      verdict(said, wrong < 0, wrong < 0 ? "Right, in this order." : `${wrong ? `The first ${wrong} ${wrong === 1 ? "is" : "are"} in place; what` : "What"} stands in place ${wrong + 1} comes later.`);
    })), said);
  }

  for (const data of document.querySelectorAll(".question > template.question-data")) {
    const box = data.parentNode, question = JSON.parse(data.dataset.question), rows = box.querySelector(":scope > .question-rows");
    fold(box);
    if (question.kind === "choose") choose(box, question, rows);
    else if (question.kind === "order") order(box, question, rows);
    else judged(box, question);
  }
  live.judged = judged;
  live.fold = fold;
  live.verdict = verdict;
})();
