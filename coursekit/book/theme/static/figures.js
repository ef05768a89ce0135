/* Live figures: the still picture gets dials. One that moves trains in a worker while it is in sight. */
"use strict";
(() => {
  const { button, make } = live;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;  // then a picture changes every few seconds only
  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  for (const box of document.querySelectorAll("figure.live-figure")) {
    const picture = pictures[box.dataset.picture], name = box.dataset.name, file = new URL(`../figures/${name}.js`, folder).href;
    const place = box.querySelector(".live-still"), said = make("p", { class: "live-said", role: "status" }, place.getAttribute("aria-label"));
    const dials = Object.fromEntries(picture.dials.map(d => [d.name, d.value]));
    let worker, on = false, seen = true, wish = false, figure;
    function put({ svg, words }) {
      place.replaceChildren(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
      place.setAttribute("aria-label", words);
    }
    function draw() {
      const state = picture.start(figure, dials, chance(1));
      put({ svg: picture.draw(state, dials), words: picture.words(state, dials) });
      said.textContent = picture.words(state, dials);
    }
    // The equations come with the first turn of a dial, or the first press.
    const ready = () => figure ? Promise.resolve() : new Promise((resolve, reject) =>
      document.head.append(make("script", { src: file, onload: () => { figure = liveFigures[name]; resolve(); }, onerror: reject })));
    function send(more) {
      if (!worker) {
        try { worker = new Worker(`${folder}figure-worker.js`); } catch { said.textContent = live.AS_FILE; return; }
        worker.onmessage = ({ data }) => { put(data); if (!on) said.textContent = data.words; box.dataset.step = data.step; box.dataset.mean = data.mean; };
        worker.postMessage({ file, name, picture: box.dataset.picture, dials, on, every: calm ? 3000 : 250 });
        return;
      }
      worker.postMessage({ name, ...more });
    }
    function move() {
      on = wish && seen;
      if (worker || on) send({ on });
      go.textContent = wish ? "Pause" : "Train";
      said.textContent = on ? "Training …" : place.getAttribute("aria-label");
    }
    const changed = dial => {
      if (picture.moves) send({ dials: { ...dials }, fresh: dial === null || picture.fresh.includes(dial), seed: Math.floor(Math.random() * 1e6) });
      else ready().then(draw, () => { said.textContent = "The equations of this figure could not be fetched."; });
    };
    const control = dial => {
      const id = `figure-${name}-${dial.name.replace(/ /g, "-")}`, shown = make("span", { class: "live-value", "aria-hidden": "true" }, dial.text || dial.options ? "" : String(dial.value));
      const input = dial.options
        ? make("select", { id }, ...dial.options.map((o, n) => make("option", { value: o }, dial.labels[n])))
        : make("input", dial.text ? { id, type: "text", value: dial.value, maxlength: 120 } : { id, type: "range", min: dial.min, max: dial.max, step: dial.step, value: dial.value });
      input.addEventListener(dial.options || picture.fresh?.includes(dial.name) ? "change" : "input", () => {
        dials[dial.name] = dial.text || dial.options ? input.value : +input.value;
        if (!dial.text && !dial.options) shown.textContent = input.value;
        changed(dial.name);
      });
      return make("span", { class: "live-dial" }, make("label", { for: id }, dial.name), input, shown);
    };
    const go = button("Train", () => { wish = !wish; move(); });
    const bar = make("div", { class: "live-bar" }, ...(picture.moves ? [go, button("New weights", () => changed(null))] : []), ...picture.dials.map(control));
    place.after(bar, said);
    if (picture.moves) new IntersectionObserver(([entry]) => { seen = entry.isIntersecting; move(); }).observe(box);
  }
})();
