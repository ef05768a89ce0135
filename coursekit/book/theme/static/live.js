/* Equations that answer. Nothing is fetched before the reader asks: then one worker a page runs the language.
   What was typed is only ever a text: it goes to the worker as a question, and into the page as text. */
"use strict";
window.live = (() => {
  const home = new URL("../live/", document.currentScript.src).href;
  const PATIENCE = 3000, PAUSE = 15, HESITATION = 350;
  const AS_FILE = "This page was opened as a file, where a browser runs no equations. Run “coursekit book --serve” and open the address that it prints.";

  // ── small things ──────────────────────────────────────────────────────────────────────────
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }
  const store = {
    key: name => `live ${location.pathname} ${name}`,
    get: name => { try { return localStorage.getItem(store.key(name)); } catch { return null; } },
    set: (name, text) => { try { localStorage.setItem(store.key(name), text); } catch { /* a private window */ } },
    drop: name => { try { localStorage.removeItem(store.key(name)); } catch { /* a private window */ } },
  };

  // ── the worker ────────────────────────────────────────────────────────────────────────────
  let files, worker, ready, report = () => {}, asked = 0;
  const waiting = new Map();
  function kit() {
    if (location.protocol === "file:") return Promise.reject(Error(AS_FILE));
    files ??= fetch(home + "kit.json", { cache: "no-cache" }).then(r => {
      if (!r.ok) throw Error(`The language could not be fetched (${r.status}).`);
      return r.json();
    });
    files.catch(() => { files = null; });
    return files;
  }

  const megabytes = n => (n / 1e6).toFixed(1);
  async function start() {
    const all = await kit();
    return new Promise((resolve, reject) => {
      worker = new Worker(home + all.files["worker.mjs"][0], { type: "module" });
      worker.onerror = () => reject(Error("The language could not be started in this browser."));
      worker.onmessage = ({ data }) => {
        if (data.id) {
          const one = waiting.get(data.id);
          waiting.delete(data.id);
          if (one) data.broken ? one.reject(Error(`This is a mistake of the book's own: ${data.broken}`)) : one.resolve(JSON.parse(data.answer));
        } else if (data.ready) {
          api.way = data.ready;
          resolve();
        } else if (data.failed) reject(Error(`The language could not be started: ${data.failed}`));
        else report(data.done < data.total ? `Fetching the language: ${megabytes(data.done)} of ${megabytes(data.total)} MB` : "Starting …");
      };
      worker.postMessage({ kit: all, way: api.only });
    });
  }
  function begin() {
    ready ??= start().catch(error => { ready = null; throw error; });
    return ready;
  }
  function end(sentence) {
    worker.terminate();
    ready = null;
    for (const one of waiting.values()) one.reject(Error(sentence));
    waiting.clear();
    begin().catch(() => {});
  }

  // The answer to a question. It is told to `tell` how far the start is; what takes too long is ended.
  async function ask(question, tell) {
    if (tell) report = tell;
    typesetter().catch(() => {});
    await begin();
    const id = ++asked;
    return new Promise((resolve, reject) => {
      const clock = setTimeout(() => end("This took longer than three seconds and was ended. Try something smaller."), PATIENCE);
      const last = f => value => { clearTimeout(clock); f(value); };
      waiting.set(id, { resolve: last(resolve), reject: last(reject) });
      worker.postMessage({ id, question: JSON.stringify(question) });
    });
  }

  // ── formulas ──────────────────────────────────────────────────────────────────────────────
  let mathjax;
  function typesetter() {
    mathjax ??= (async () => {
      const all = await kit();
      window.MathJax = {
        startup: { typeset: false },
        tex: { packages: { "[-]": ["autoload", "require", "noundefined"] } },
        svg: { fontCache: "none" },
        options: { enableMenu: false },
      };
      await new Promise((resolve, reject) =>
        document.head.append(make("script", { src: home + all.files["tex-svg.js"][0], onload: resolve, onerror: reject })));
      await MathJax.startup.promise;
      MathJax.tex2svg("h_t = \\tanh\\left(\\sum_i W_{i} x_i\\right)", { display: true });  // the first one is slow
    })();
    mathjax.catch(() => { mathjax = null; });
    return mathjax;
  }
  async function formula(tex, display) {
    const box = make(display ? "div" : "span", { class: display ? "formula" : "math", role: "math", "aria-label": tex.replace(/\s+/g, " ") });
    try {
      await typesetter();
      const svg = MathJax.tex2svg(tex, { display }).querySelector("svg");
      svg.setAttribute("aria-hidden", "true");
      if (!display) { box.style.verticalAlign = svg.style.verticalAlign; svg.style.verticalAlign = ""; }
      box.append(svg);
    } catch {
      box.append(make("code", {}, tex));
    }
    return box;
  }

  // Text in which {math}`…` is a formula and `…` is code.
  async function words(text) {
    const parts = text.split(/\{math\}`([^`]*)`/);
    const made = parts.map((part, n) => n % 2 ? formula(part, false)
      : part.split(/`([^`]*)`/).map((piece, k) => k % 2 ? make("code", {}, piece) : piece));
    return (await Promise.all(made)).flat();
  }

  async function block(one) {
    if ("table" in one) {
      const [head, ...rows] = await Promise.all(one.table.map(row => Promise.all(row.map(words))));
      const row = (cells, tag) => make("tr", {}, ...cells.map(cell => make(tag, {}, make("p", {}, ...cell))));
      return make("div", { class: "pst-scrollable-table-container" }, make("table", { class: "table" },
        make("thead", {}, row(head, "th")), make("tbody", {}, ...rows.map(r => row(r, "td")))));
    }
    if ("math" in one) return make("div", { class: "math" }, await formula(one.math, true));
    if ("code" in one) return make("div", { class: "highlight-python" }, make("div", { class: "highlight" }, make("pre", { tabindex: 0 }, one.code)));
    if ("svg" in one) {
      const picture = new DOMParser().parseFromString(one.svg, "image/svg+xml").documentElement;
      return make("div", { class: "ck-figure", role: "img", "aria-label": one.words }, document.importNode(picture, true));
    }
    return make("p", {}, ...await words(one.text));
  }
  const blocks = list => Promise.all(list.map(block));

  // ── a field with its place for an error ───────────────────────────────────────────────────
  let fields = 0;
  function field({ label, text = "", rows = 2, onask, onfocus }) {
    const id = `live-field-${++fields}`;
    const area = make("textarea", { id, rows, spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: " ", "aria-describedby": `${id}-said` });
    const under = make("pre", { "aria-hidden": "true" });
    const said = make("div", { id: `${id}-said`, class: "live-said", role: "status" });
    const box = make("div", { class: "live-field" }, make("label", { for: id }, label), make("div", { class: "live-text" }, under, area), said);
    let clock, typed = 0;
    const self = {
      box, area, said,
      say(...what) { said.classList.remove("live-wrong"); said.replaceChildren(...what); },
      clear() { under.textContent = area.value + "\n"; area.removeAttribute("aria-invalid"); },
      async wrong({ message, line, column, width }) {
        const lines = area.value.split("\n"), at = line - 1;
        under.textContent = "";
        if (line > 0 && at < lines.length) {
          const before = [...lines.slice(0, at), lines[at].slice(0, column - 1)].join("\n");
          const place = lines[at].slice(column - 1, column - 1 + width) || " ";
          under.append(before, make("mark", {}, place), area.value.slice(before.length + place.length) + "\n");
        }
        area.setAttribute("aria-invalid", "true");
        said.classList.add("live-wrong");
        said.replaceChildren(make("p", {}, line > 0 && lines.length > 1 ? `Line ${line}: ` : "", ...await words(message)));
      },
      // An error is shown when the reader pauses, not between two keys.
      hesitate(show) { clearTimeout(clock); clock = setTimeout(show, Math.max(0, typed + HESITATION - performance.now())); },
      now() { clearTimeout(clock); return onask(area.value, self); },
      still() { clearTimeout(clock); },
      set(value) { area.value = value; self.clear(); area.rows = Math.max(rows, value.split("\n").length); },
    };
    area.addEventListener("input", () => {
      self.clear();
      area.rows = Math.max(rows, area.value.split("\n").length);
      clearTimeout(clock);
      typed = performance.now();
      clock = setTimeout(self.now, PAUSE);
    });
    area.addEventListener("scroll", () => { under.scrollTop = area.scrollTop; under.scrollLeft = area.scrollLeft; });
    if (onfocus) area.addEventListener("focus", onfocus);
    self.set(text);
    return self;
  }
  const button = (text, press, more = {}) => make("button", { type: "button", class: "live-button", onclick: press, ...more }, text);

  // A function that asks one question at a time: while one is out only the newest other waits, the rest is dropped.
  function newest() {
    let busy = false, waits = null;
    return async (question, tell) => {
      if (busy) {
        waits?.(false);
        if (!await new Promise(resolve => { waits = resolve; })) return undefined;
      }
      busy = true;
      try {
        return await ask(question, tell);
      } finally {
        busy = false;
        const next = waits;
        waits = null;
        next?.(true);
      }
    };
  }

  // ── a card that can be edited ─────────────────────────────────────────────────────────────
  function card(box) {
    const source = box.querySelector(":scope > template.card-text");
    const name = source.dataset.name, book = source.content.textContent.trim(), options = JSON.parse(source.dataset.options);
    const set = box.querySelector(".sd-tab-set");
    const shown = box.querySelector(":scope > div.math > .formula"), said = () => box.querySelector(":scope > .card-words");
    const original = { formula: [...shown.childNodes], label: shown.getAttribute("aria-label"), said: said(), tabs: new Map() };
    const contents = () => [...set.querySelectorAll(":scope > .sd-tab-content")];
    const title = content => content.previousElementSibling.textContent.trim();
    const opened = () => contents().find(c => c.previousElementSibling.previousElementSibling.checked);
    for (const content of contents()) original.tabs.set(content, [...content.childNodes]);
    const fresh = newest();
    let input, before = null, current = null, filled = new Set();

    const bar = make("p", { class: "live-bar" });
    const first = source.parentNode.querySelector(":scope > p.rubric") ?? null;
    (first ?? source).after(bar);
    const open = button("Try it", () => { edit(book); input.area.focus(); input.now(); }, { "aria-label": "Try it: edit these equations" });

    function close() {
      input?.box.remove();
      input = null;
      current = null;
      shown.replaceChildren(...original.formula);
      shown.setAttribute("aria-label", original.label);
      said()?.remove();
      if (original.said) shown.parentNode.after(original.said);
      for (const [content, nodes] of original.tabs) content.replaceChildren(...nodes);
      const extra = set.querySelector(".live-graph");
      if (extra?.previousElementSibling.previousElementSibling.checked) set.querySelector(":scope > input").click();
      if (extra) for (const e of [extra.previousElementSibling.previousElementSibling, extra.previousElementSibling, extra]) e.remove();
      box.classList.remove("live-on", "live-stale");
      store.drop(name);
      bar.replaceChildren(open);
    }
    function addGraph() {
      const one = set.querySelector(":scope > input"), id = `${one.id}-graph`;
      set.append(make("input", { type: "radio", id, name: one.name }),
        make("label", { class: "sd-tab-label", for: id }, "Graph"),
        make("div", { class: "sd-tab-content live-graph" }, make("p", {}, "Drawn when the text was read.")));
    }
    function edit(text) {
      if (input) return;
      box.classList.add("live-on");
      input = field({ label: "Your equations", text, rows: 2, onask: show, onfocus: () => { if (current === null && before != null) input.now(); } });
      bar.after(input.box);
      addGraph();
      bar.replaceChildren(
        button("Back to the book’s text", () => { close(); open.focus(); }),
        button("Link to this text", share));
    }
    async function show(text) {
      if ([book, ""].includes(text.trim())) store.drop(name); else store.set(name, text);
      const content = opened();
      await told(text, title(content), content);
    }
    async function told(text, tab, content) {
      const to = input;
      let answer;
      try {
        answer = await fresh({ kind: "show", text, tab, options }, sentence => to.say(sentence));
      } catch (error) {
        return to.wrong({ message: error.message, line: 0 });
      }
      if (!answer || input !== to || to.area.value !== text) return;
      if (answer.error) return to.hesitate(() => { box.classList.add("live-stale"); to.wrong(answer.error); });
      const [big, quiet, parts, sentence] = await Promise.all(
        [formula(answer.latex, true), words(answer.words), blocks(answer.tabs[tab]), words(answer.said)]);
      if (input !== to || to.area.value !== text) return;
      if (current !== text) filled = new Set();
      current = text;
      box.classList.remove("live-stale");
      shown.replaceChildren(...big.childNodes);
      shown.setAttribute("aria-label", big.getAttribute("aria-label"));
      said()?.remove();
      if (answer.words) shown.parentNode.after(make("div", { class: "card-words" }, make("p", {}, ...quiet)));
      content.replaceChildren(...parts);
      filled.add(content);
      to.clear();
      to.say(make("p", {}, ...sentence));
      box.dispatchEvent(new CustomEvent("live-shown", { detail: text }));
    }
    set.addEventListener("change", () => {
      const content = opened();
      if (input && current !== null && !filled.has(content)) told(input.area.value, title(content), content);
    });
    async function share() {
      const address = new URL(location.href);
      address.hash = new URLSearchParams({ try: name, text: input.area.value }).toString();
      history.replaceState(null, "", address);
      let copied = "The address of this page";
      try { await navigator.clipboard.writeText(address.href); copied = "Copied: the address of this page"; } catch { /* not allowed here */ }
      input.say(make("p", {}, `${copied} now holds your text.`));
    }

    const asked = new URLSearchParams(location.hash.slice(1));
    before = asked.get("try") === name ? asked.get("text") : store.get(name);
    bar.append(open);
    if (before != null) {
      edit(before);
      box.classList.toggle("live-stale", before.trim() !== book);  // what is shown is no reading of it yet
      input.say(make("p", {}, asked.get("try") === name ? "This text came with the address. " : "This is your text from before. ", button("Read it", () => input.now())));
      if (asked.get("try") === name) box.scrollIntoView({ block: "center" });
    }
    box.live = { edit, close, get field() { return input; } };
  }

  const api = { AS_FILE, ask, blocks, words, formula, field, button, make, newest, store, card, way: null, only: undefined };
  for (const box of document.querySelectorAll(".equation-card:has(> template.card-text)")) card(box);
  return api;
})();
