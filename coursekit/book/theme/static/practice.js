/* Practice without end: questions made in the worker from a seed; what went wrong most often is kept in this browser. */
"use strict";
(() => {
  const { ask, button, formula, judged, make, store, words } = live;
  const box = document.querySelector(".live-practice");
  if (!box) return;
  const LEVELS = +box.dataset.levels, TOGETHER = 10;
  const asked = new URLSearchParams(location.hash.slice(1));
  const whole = (text, least, most, other) => /^\d{1,6}$/.test(text ?? "") ? Math.min(most, Math.max(least, +text)) : other;
  const state = { seed: whole(asked.get("seed"), 0, 999999, Math.floor(Math.random() * 1e6)), level: whole(asked.get("level"), 1, LEVELS, 1), number: 0, right: 0, row: 0 };
  const number = (name, label, most) => make("label", {}, `${label} `, make("input", { type: "number", name, min: name === "level" ? 1 : 0, max: most, value: state[name], onchange: e => {
    state[name] = whole(e.target.value, +e.target.min, most, state[name]);
    e.target.value = state[name];
    state.number = state.right = state.row = 0;
    next();
  } }));
  const seed = number("seed", "Seed", 999999), level = number("level", "Level", LEVELS);
  const place = make("div", {}), tally = make("p", { role: "status" }), often = make("div", {});
  box.append(make("div", { class: "live-bar" }, seed, level, button("Begin", () => next(), { class: "live-button live-begin" })), place, tally, often);

  const known = () => { try { return JSON.parse(store.get("mistakes") ?? "{}"); } catch { return {}; } };
  function mistakes() {
    const rows = Object.entries(known()).filter(([, n]) => Number.isInteger(n)).sort((a, b) => b[1] - a[1]).slice(0, 5);
    often.replaceChildren(...rows.length ? [make("p", { class: "rubric" }, "The mistakes that you make most often"),
      make("ol", {}, ...rows.map(([kind, n]) => make("li", {}, `${kind}: ${n}`))),
      button("Forget them", () => { store.drop("mistakes"); mistakes(); })] : []);
  }
  async function next() {
    box.querySelector(".live-begin")?.remove();
    history.replaceState(null, "", `#seed=${state.seed}&level=${state.level}`);
    const said = make("p", { role: "status" });
    place.replaceChildren(said);
    let question;
    try {
      question = await ask({ kind: "practice", seed: state.seed, level: state.level, number: state.number }, s => { said.textContent = s; });
    } catch (error) { said.textContent = error.message; return; }
    const answer = make("details", { class: "question-answer" }, make("summary", {}, "Answer"), make("pre", {}, question.solution));
    const one = make("div", { class: "question" }, make("p", { class: "rubric" }, `Question ${state.number + 1}`),
      make("div", { class: "math" }, await formula(question.latex, true)), make("p", {}, ...await words(question.statement)), answer);
    const onward = button("Next question", () => { state.number++; next(); });
    let first = true, seen = false;
    answer.addEventListener("toggle", () => { seen = true; });
    judged(one, question, verdict => {
      if (!verdict.right && verdict.mistake) {
        const all = known();
        all[verdict.mistake] = (Number.isInteger(all[verdict.mistake]) ? all[verdict.mistake] : 0) + 1;
        store.set("mistakes", JSON.stringify(all));
        mistakes();
      }
      if (first && !seen) {
        if (verdict.right) { state.right++; state.row++; } else state.row = 0;
      }
      if (first) tally.textContent = `${state.right} of ${state.number + 1} right at the first try.`;
      first = false;
      if (verdict.right) {
        onward.focus();
        if (state.row >= 3 && state.level < LEVELS && !asked.get("level")) {
          state.level++;
          state.row = 0;
          level.querySelector("input").value = state.level;
          tally.textContent += ` The next are of level ${state.level}.`;
        }
        if ((state.number + 1) % TOGETHER === 0) tally.textContent += ` These were ${TOGETHER}: whoever has this page’s address gets the same.`;
      }
    });
    one.append(make("div", { class: "live-bar" }, onward));
    place.replaceChildren(one);
    one.querySelector("textarea").focus();
  }
  mistakes();
})();
