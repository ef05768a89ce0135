/* The page “The language, live”: a card with everything, examples to begin with, a second text to compare, numbers. */
"use strict";
(() => {
  const { ask, blocks, button, field, make, newest, words } = live;
  const box = document.querySelector(".live-language");
  if (!box) return;
  const examples = JSON.parse(box.querySelector(":scope > template").dataset.examples);
  const card = box.querySelector(".equation-card");
  const book = Object.keys(examples)[0];  // what the card shows: the field begins with its text
  if (!card.live.field) card.live.edit(examples[book]);
  const first = () => card.live.field;

  const choice = make("select", { id: "live-example", onchange: () => {
    if (!first()) card.live.edit("");
    first().set(examples[choice.value] ?? "");
    choice.value ? first().now() : first().area.focus();
  } }, make("option", { value: "" }, "an empty field"), ...Object.keys(examples).map(name => make("option", {}, name)));
  if (first().area.value === examples[book]) choice.value = book;
  box.prepend(make("p", { class: "live-bar" }, make("label", { for: "live-example" }, "Begin with"), choice));

  // ── a second text ──
  const compare = newest();
  const second = field({ label: "Compare with", text: "", rows: 2, onask: compared });
  async function compared(text) {
    if (!text.trim()) return second.say();
    try {
      const answer = await compare({ kind: "compare", reference: first().area.value, text }, s => second.say(s));
      if (!answer || text !== second.area.value) return;
      if (answer.error) return second.hesitate(() => second.wrong(answer.error));
      second.clear();
      live.verdict(second.said, answer.right, ...await words(answer.sentence));
    } catch (error) { second.wrong({ message: error.message, line: 0 }); }
  }
  box.append(make("section", { class: "live-part" }, make("p", { class: "rubric" }, "The same in other words?"),
    make("p", {}, "Write it another way, or with a mistake. The two are run on the same numbers, and the difference is named."),
    second.box, make("div", { class: "live-bar" }, button("Take the text from above", () => { second.set(first().area.value); second.now(); second.area.focus(); }))));

  // ── numbers ──
  const out = make("div", { role: "status" }), sizes = make("span", { class: "live-sizes" });
  let seed = 0;
  async function run() {
    const asked = Object.fromEntries([...sizes.querySelectorAll("input")].map(i => [i.name, +i.value]));
    try {
      const answer = await ask({ kind: "numbers", text: first().area.value, seed, sizes: asked }, s => out.replaceChildren(s));
      if (answer.error) return out.replaceChildren(make("p", {}, ...await words(answer.error.message)));
      sizes.replaceChildren(...Object.entries(answer.sizes).map(([name, n]) =>
        make("label", {}, `${name} = `, make("input", { type: "number", name, min: 1, max: 9, value: n, onchange: run }))));
      out.replaceChildren(...await blocks(answer.blocks));
    } catch (error) { out.replaceChildren(make("p", {}, error.message)); }
  }
  card.addEventListener("live-shown", () => { sizes.textContent = ""; out.textContent = ""; if (second.area.value.trim()) second.now(); });
  box.append(make("section", { class: "live-part" }, make("p", { class: "rubric" }, "Run it on numbers"),
    make("div", { class: "live-bar" }, button("Run", run), button("Other numbers", () => { seed++; run(); }), sizes), out));
})();
