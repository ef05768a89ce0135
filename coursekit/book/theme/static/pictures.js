/* The pictures of the live figures. Each is plain data and plain functions, with no page around them: the same code
   draws in the page, trains in a worker, and drew the still picture when the book was built.

   pictures.NAME = {dials, start(figure, dials, chance) -> state, step?(state, dials), draw(state, dials) -> svg, words(state, dials)}
   figure.models are the compiled equations, figure.data what the page gave. */
"use strict";
(root => {
  const BLUE = "#2a6fdb", ORANGE = "#cc4e12", GREEN = "#129e76", PURPLE = "#bd3f9c";
  const escape = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const text = (x, y, what, more = "") => `<text x="${x}" y="${y}" fill="currentColor" font-size="13" ${more}>${escape(what)}</text>`;
  const line = (x1, y1, x2, y2, more = "") => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="currentColor" ${more}/>`;
  const svg = (width, height, inside) => `<svg viewBox="0 0 ${width} ${height}" xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif">${inside}</svg>`;
  const path = (points, colour, more = "") => `<path d="M${points.map(p => p.map(v => v.toFixed(1)).join(" ")).join("L")}" fill="none" stroke="${colour}" stroke-width="2" ${more}/>`;
  const times = (dims, sizes) => dims.reduce((n, d) => n * (sizes[d] ?? +d), 1);
  const count = n => n < 0.001 ? "less than 0.001" : (+n.toPrecision(2)).toLocaleString("en");
  const pictures = root.pictures = {};

  // Numbers of chance that are the same for the same seed.
  root.chance = seed => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = next => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  function draw(weights, next) {
    let r = next() * weights.reduce((a, b) => a + b, 0), k = 0;
    while (k < weights.length - 1 && (r -= weights[k]) > 0) k++;
    return k;
  }

  // ── a language model that trains ──────────────────────────────────────────────────────────
  const B = 24, T = 16, K = 16, MOMENTUM = 0.9, MOST = 1;
  pictures.training = {
    moves: true,
    fresh: ["cell", "width"],
    dials: [
      { name: "cell", options: ["gru", "rnn"], labels: ["GRU", "plain RNN"], value: "gru" },
      { name: "width", min: 4, max: 48, step: 4, value: 24 },
      { name: "rate", min: 0.1, max: 4, step: 0.1, value: 1 },
      { name: "temperature", min: 0.1, max: 2, step: 0.1, value: 1 },
    ],
    start({ models, data }, { cell, width }, next) {
      const model = models[cell], sizes = { B, T, J: width, K, V: data.vocab.length, W: data.vocab.length };
      const own = {}, velocity = {};
      for (const [name, dims] of Object.entries(model.shapes)) {
        const length = times(dims, sizes);
        own[name] = new Float64Array(length);
        velocity[name] = new Float64Array(length);
        if (dims.length > 1) {
          const scale = (name === "O" ? 0.3 : 1) / Math.sqrt(sizes[dims[1]]);
          for (let i = 0; i < length; i++) own[name][i] = scale * normal(next);
        }
      }
      return {
        model, data, sizes, own, velocity, next, step: 0, curve: [], mean: null, made: {}, back: {},
        rows: Array.from({ length: B }, () => [data.eos]), h: new Float64Array(B * width), w: new Int32Array(B * T), y: new Int32Array(B * T),
      };
    },
    step(s, { rate }) {
      const { data, sizes, own } = s, J = sizes.J;
      for (let b = 0; b < B; b++) {
        const row = s.rows[b];
        while (row.length <= T) { grow(data, data.start, row, s.next); row.push(data.eos); }
        for (let t = 0; t < T; t++) { s.w[b * T + t] = row[t]; s.y[b * T + t] = row[t + 1]; }
        row.splice(0, T);
      }
      const given = { ...own, w: s.w, y: s.y }, boundary = { h: s.h };
      s.made = s.model.forward(given, sizes, { boundary, made: s.made });
      s.back = s.model.backward({ ...given, ...s.made }, sizes, { boundary: { ...boundary, ...s.model.after }, made: s.back });
      let norm = 0;
      for (const name in own) for (const d of s.back[`d${name}`]) norm += d * d;
      const scale = Math.min(1, MOST / (Math.sqrt(norm) / (B * T))) / (B * T);
      for (const name in own) {
        const p = own[name], d = s.back[`d${name}`], v = s.velocity[name];
        for (let i = 0; i < p.length; i++) { v[i] = MOMENTUM * v[i] + scale * d[i]; p[i] -= rate * v[i]; }
      }
      for (let b = 0; b < B; b++) for (let j = 0; j < J; j++) s.h[b * J + j] = s.made.h[(b * T + T - 1) * J + j];
      const loss = s.made.L[0] / (B * T);
      s.mean = s.mean === null ? loss : 0.98 * s.mean + 0.02 * loss;
      s.curve.push(loss);
      s.step++;
    },
    words: s => `After ${s.step} steps the loss is ${s.mean === null ? "not known" : `${s.mean.toFixed(3)} nats per word`}; the entropy of the language, below which no model can come, is ${s.data.limit.toFixed(3)}.`,
    draw(s, { temperature }) {
      const { data } = s, top = 3.5, low = 1.25, last = Math.max(300, s.step);
      const X = n => 50 + 570 * Math.log1p(n / 20) / Math.log1p(last / 20), Y = l => 14 + 166 * (top - Math.min(top, Math.max(low, l))) / (top - low);
      let out = "";
      for (const l of [1.5, 2, 2.5, 3, 3.5]) out += line(50, Y(l), 620, Y(l), 'opacity=".15"') + text(42, Y(l) + 4, l.toFixed(1), 'text-anchor="end"');
      for (const n of [0, 10, 30, 100, 300, 1000, 3000, 10000].filter(n => n <= last)) out += text(X(n), 198, n, 'text-anchor="middle"');
      out += line(50, Y(data.limit), 620, Y(data.limit), 'stroke-dasharray="5 4"') + text(56, Y(data.limit) + 15, `the entropy of the language, ${data.limit.toFixed(3)}`);
      const points = [];
      for (let k = 0; k < s.curve.length;) {
        const n = Math.max(1, Math.round(k * 0.04)), part = s.curve.slice(k, k + n);
        points.push([X(k + part.length / 2), Y(part.reduce((a, b) => a + b, 0) / part.length)]);
        k += n;
      }
      if (points.length > 1) out += path(points, ORANGE);
      out += text(620, 212, "steps", 'text-anchor="end"') + text(620, 12, "nats per word", 'text-anchor="end"');
      const p = predict(s, data.read), colours = [PURPLE, PURPLE, PURPLE, GREEN, GREEN, GREEN, ORANGE, ORANGE, ORANGE, BLUE, BLUE];
      out += text(50, 236, "the boat near the harbours …");
      data.shown.forEach((word, i) => {
        const x = 50 + i * 52, h = Math.min(1, p[data.ids[i]] / 0.4) * 100, t = Math.min(1, data.truth[i] / 0.4) * 100;
        out += `<rect x="${x}" y="${352 - h}" width="34" height="${h}" fill="${colours[i]}"/>` + line(x - 4, 352 - t, x + 38, 352 - t, 'stroke-width="2"') + text(x + 17, 370, word, 'text-anchor="middle" class="tilt"');
      });
      out += text(50, 408, `It says: ${sample(s, temperature)}`);
      return svg(640, 418, out);
    },
  };
  function grow(data, symbol, out, next) {
    const rules = data.rules[symbol], [, right] = rules[draw(rules.map(r => r[0]), next)];
    for (const one of right) typeof one === "number" ? out.push(one) : grow(data, one, out, next);
  }
  function run(s, words, h) {
    const t = words.length, V = s.data.vocab.length;
    const made = s.model.forward({ ...s.own, w: Int32Array.from(words), y: new Int32Array(t) }, { ...s.sizes, B: 1, T: t }, { boundary: { h } });
    return [made.P.slice((t - 1) * V), made.h.slice((t - 1) * s.sizes.J)];
  }
  const predict = (s, words) => run(s, words, new Float64Array(s.sizes.J))[0];
  function sample(s, temperature) {
    let h = new Float64Array(s.sizes.J), word = s.data.eos, p;
    const out = [];
    while (out.length < 9) {
      [p, h] = run(s, [word], h);
      word = draw([...p].map(v => Math.pow(v, 1 / temperature)), s.next);
      if (word === s.data.eos) break;
      out.push(s.data.vocab[word]);
    }
    return out.join(" ") || "…";
  }

  // ── bars of a distribution: temperature and nucleus ───────────────────────────────────────
  pictures.nucleus = {
    dials: [
      { name: "temperature", min: 0.1, max: 3, step: 0.1, value: 1 },
      { name: "top p", min: 0.1, max: 1, step: 0.05, value: 0.9 },
    ],
    start: (figure, dials) => {
      const s = Float64Array.from(figure.data.scores);
      const p = figure.models.softmax.forward({ s, tau: dials.temperature }, { V: s.length }).p;
      const order = [...p.keys()].sort((a, b) => p[b] - p[a]);
      let sum = 0;
      const kept = new Set();
      for (const v of order) { if (sum >= dials["top p"] - 1e-12) break; kept.add(v); sum += p[v]; }
      return { p, kept, sum, words: figure.data.words };
    },
    words: (s, dials) => `At temperature ${dials.temperature} the likeliest word has probability ${Math.max(...s.p).toFixed(2)}; ${s.kept.size} of ${s.p.length} words are kept, which have ${s.sum.toFixed(2)} together.`,
    draw: s => svg(640, 238, s.words.map((word, v) => {
      const x = 20 + v * 610 / s.words.length, width = 440 / s.words.length, h = 170 * s.p[v], k = s.kept.has(v);
      return `<rect x="${x}" y="${196 - h}" width="${width}" height="${h}" fill="${k ? BLUE : "none"}" stroke="${BLUE}" stroke-dasharray="${k ? "" : "3 3"}"/>`
        + text(x + width / 2, 216, word, 'text-anchor="middle" class="tilt"') + text(x + width / 2, 190 - h, (k ? s.p[v] / s.sum : 0).toFixed(2), 'text-anchor="middle"');
    }).join("")),
  };

  // ── a gradient that goes back through time ────────────────────────────────────────────────
  pictures.exploding = {
    dials: [
      { name: "eigenvalue", min: 0.5, max: 1.5, step: 0.01, value: 1.1 },
      { name: "clip at", min: 0.5, max: 10, step: 0.5, value: 10 },
    ],
    start: (figure, dials) => {
      const sizes = { T: 40, J: 2 }, a = dials.eigenvalue, turn = 0.3;
      const W = Float64Array.from([Math.cos(turn), -Math.sin(turn), Math.sin(turn), Math.cos(turn)].map(v => a * v));
      const g = new Float64Array(sizes.T * 2);
      g[sizes.T * 2 - 2] = 1;
      const dh = figure.models.linear.backward({ W, g, x: new Float64Array(sizes.T * 2), h: new Float64Array(sizes.T * 2) }, sizes,
        { boundary: { h: new Float64Array(2), ...figure.models.linear.after } }).dh;
      const norms = Array.from({ length: sizes.T }, (_, t) => Math.hypot(dh[2 * t], dh[2 * t + 1]));
      return { norms, clipped: norms.map(n => Math.min(n, dials["clip at"])) };
    },
    words: (s, dials) => `With eigenvalues of size ${dials.eigenvalue} the gradient at the first of 40 steps is ${count(s.norms[0])} times that at the last; clipped, it is ${count(s.clipped[0])}.`,
    draw: s => {
      const X = t => 50 + 570 * t / 39, Y = n => 110 - 95 * Math.max(-9, Math.min(9, Math.log10(n))) / 9;
      let out = "";
      for (const e of [-8, -4, 0, 4, 8]) out += line(50, Y(10 ** e), 620, Y(10 ** e), 'opacity=".15"') + text(42, Y(10 ** e) + 4, { "-8": "10⁻⁸", "-4": "10⁻⁴", 0: "1", 4: "10⁴", 8: "10⁸" }[e], 'text-anchor="end"');
      out += path(s.norms.map((n, t) => [X(t), Y(n)]), BLUE) + path(s.clipped.map((n, t) => [X(t), Y(n)]), ORANGE, 'stroke-dasharray="5 3"');
      return svg(640, 258, out + text(50, 228, "first step") + text(620, 228, "last step", 'text-anchor="end"') + text(335, 250, "blue: the gradient; orange: clipped", 'text-anchor="middle"'));
    },
  };

  // ── a value held by a gate ────────────────────────────────────────────────────────────────
  pictures.gate = {
    dials: [
      { name: "gate while it waits", min: 0, max: 1, step: 0.01, value: 0.95 },
      { name: "gate when it reads", min: 0, max: 1, step: 0.01, value: 0.1 },
    ],
    start: (figure, dials) => {
      const T = 30, x = new Float64Array(T), G = new Float64Array(T).fill(dials["gate while it waits"]), next = root.chance(3);
      for (let t = 0; t < T; t++) x[t] = 0.4 * (next() - 0.5);
      x[3] = 1;
      G[3] = dials["gate when it reads"];
      return { x, G, h: figure.models.gate.forward({ x, G }, { T }, { boundary: { h: 0 } }).h };
    },
    words: s => `A value of 1 comes at the fourth step. After it the state is ${s.h[3].toFixed(2)}, and at the last step ${s.h[29].toFixed(2)}.`,
    draw: s => {
      const X = t => 50 + 570 * t / 29, Y = v => 150 - 110 * v;
      let out = line(50, Y(0), 620, Y(0), 'opacity=".3"') + line(50, Y(1), 620, Y(1), 'opacity=".15"') + text(42, Y(0) + 4, "0", 'text-anchor="end"') + text(42, Y(1) + 4, "1", 'text-anchor="end"');
      s.x.forEach((v, t) => { out += line(X(t), Y(0), X(t), Y(v), `style="stroke: ${GREEN}" stroke-width="4"`); });
      return svg(640, 220, out + path([...s.h].map((v, t) => [X(t), Y(v)]), BLUE) + text(50, 212, "green: what comes in; blue: the state") + text(620, 212, "steps", 'text-anchor="end"'));
    },
  };

  // ── who looks at whom ─────────────────────────────────────────────────────────────────────
  const vector = word => { const next = root.chance([...word.toLowerCase()].reduce((n, c) => (Math.imul(n, 31) + c.codePointAt(0)) | 0, 7)); return Array.from({ length: 8 }, () => normal(next)); };
  pictures.attention = {
    dials: [
      { name: "sentence", text: true, value: "the boat near the harbours sails" },
      { name: "sharpness", min: 0, max: 3, step: 0.1, value: 0.3 },
      { name: "window", min: 1, max: 12, step: 1, value: 3 },
    ],
    start: (figure, dials) => {
      const words = String(dials.sentence).trim().split(/\s+/).slice(0, 12).map(w => w.slice(0, 14)).filter(Boolean);
      if (!words.length) words.push("…");
      const x = Float64Array.from(words.flatMap(vector));
      return { words, a: figure.models.window.forward({ x, c: dials.sharpness, w: dials.window }, { T: words.length, U: words.length, I: 8 }).a };
    },
    words: s => `Each of ${s.words.length} words looks at itself and at words before it. The last, “${s.words.at(-1)}”, looks most at “${s.words[[...s.a.slice(-s.words.length)].reduce((best, v, n, all) => v > all[best] ? n : best, 0)]}”.`,
    draw: s => {
      const n = s.words.length, side = Math.min(36, 420 / n);
      let out = "";
      s.words.forEach((word, t) => {
        out += text(150, 20 + side * (t + 0.6), word, 'text-anchor="end"');
        out += text(160 + side * (t + 0.5), 34 + side * n, word, `text-anchor="end" transform="rotate(-40 ${160 + side * (t + 0.5)} ${34 + side * n})"`);
        for (let u = 0; u < n; u++) out += `<rect x="${160 + side * u}" y="${16 + side * t}" width="${side - 2}" height="${side - 2}" fill="${BLUE}" fill-opacity="${s.a[t * n + u].toFixed(3)}" stroke="currentColor" stroke-opacity=".15"/>`;
      });
      return svg(640, 110 + side * n, out);
    },
  };
  // A whole sentence at once is a window that is wide enough.
  pictures.sentence = { ...pictures.attention, dials: pictures.attention.dials.slice(0, 2), start: (figure, dials) => pictures.attention.start(figure, { ...dials, window: 12 }) };

  // ── two matrices merged into one ──────────────────────────────────────────────────────────
  function rank(matrix, n) {
    const rows = Array.from({ length: n }, (_, i) => [...matrix.slice(i * n, i * n + n)]);
    let found = 0;
    for (let column = 0; column < n && found < n; column++) {
      let best = found;
      for (let i = found; i < n; i++) if (Math.abs(rows[i][column]) > Math.abs(rows[best][column])) best = i;
      if (Math.abs(rows[best][column]) < 1e-9) continue;
      [rows[found], rows[best]] = [rows[best], rows[found]];
      for (let i = found + 1; i < n; i++) {
        const factor = rows[i][column] / rows[found][column];
        for (let j = column; j < n; j++) rows[i][j] -= factor * rows[found][j];
      }
      found++;
    }
    return found;
  }
  pictures.rank = {
    dials: [{ name: "size of a head", min: 1, max: 10, step: 1, value: 2 }],
    start: (figure, dials) => {
      const n = 8, K = dials["size of a head"], next = root.chance(5);
      const [A, B] = [0, 1].map(() => Float64Array.from({ length: K * n }, () => normal(next)));
      const { M } = figure.models.merged.forward({ A, B }, { K, I: n, J: n });
      return { M, n, K, rank: rank(M, n) };
    },
    words: s => `Queries and keys of size ${s.K}: the merged matrix of ${s.n} by ${s.n} has rank ${s.rank}.`,
    draw: s => {
      const side = 26, most = Math.max(...[...s.M].map(Math.abs));
      let out = "";
      s.M.forEach((v, at) => {
        const x = 20 + side * (at % s.n), y = 10 + side * Math.floor(at / s.n);
        out += `<rect x="${x}" y="${y}" width="${side - 2}" height="${side - 2}" fill="${v > 0 ? BLUE : ORANGE}" fill-opacity="${(Math.abs(v) / most).toFixed(3)}" stroke="currentColor" stroke-opacity=".15"/>`;
      });
      return svg(640, 20 + side * s.n, out + text(260, 60, `rank ${s.rank}`, 'style="font-size: 28px"') + text(260, 90, `numbers in the two matrices: ${2 * s.K * s.n}`) + text(260, 112, `numbers in the merged one: ${s.n * s.n}`));
    },
  };

  // ── a cloud of words ──────────────────────────────────────────────────────────────────────
  pictures.cloud = {
    moves: true,
    fresh: [],
    dials: [{ name: "rate", min: 1, max: 40, step: 1, value: 15 }],
    start({ models, data }, dials, next) {
      const n = data.words.length, own = {}, velocity = {}, sizes = { C: n, O: n, I: 2 };
      for (const [name, dims] of Object.entries(models.skipgram.shapes)) {
        own[name] = Float64Array.from({ length: times(dims, sizes) }, () => dims.length > 1 ? 0.3 * normal(next) : 0);
        velocity[name] = new Float64Array(own[name].length);
      }
      return { model: models.skipgram, data, own, velocity, sizes, N: Float64Array.from(data.counts.flat()), made: {}, back: {}, step: 0, mean: null };
    },
    step(s, { rate }) {
      const given = { ...s.own, N: s.N };
      s.made = s.model.forward(given, s.sizes, { made: s.made });
      s.back = s.model.backward({ ...given, ...s.made }, s.sizes, { made: s.back });
      for (const name in s.own) {
        const p = s.own[name], d = s.back[`d${name}`], v = s.velocity[name];
        for (let i = 0; i < p.length; i++) { v[i] = MOMENTUM * v[i] + d[i]; p[i] -= 0.1 * rate * v[i]; }
      }
      s.mean = s.made.J[0];
      s.step++;
    },
    words: s => `After ${s.step} steps the loss is ${s.mean === null ? "not known" : s.mean.toFixed(3)}; words that stand beside the same words have come close to each other.`,
    draw: s => {
      const v = s.own.v, far = Math.max(0.5, ...[...v].map(Math.abs));
      const place = n => [320 + 250 * v[2 * n] / far, 165 + 150 * v[2 * n + 1] / far], all = [...s.data.words.keys()];
      // What a label, which begins 8 to the right of its word, may not cover: the points, and the labels before it.
      const labels = all.map(place).map(([x, y]) => [x - 12, y, 8]);
      let out = "";
      // Words of one kind come to lie on one another: each label goes below those that are there, with a line to its word.
      for (const n of all.sort((a, b) => v[2 * a + 1] - v[2 * b + 1])) {
        const [x, y] = place(n), wide = 8 * s.data.words[n].length, meets = l => Math.abs(l[1] - at) < 16 && l[0] < x + wide && x < l[0] + l[2];
        let at = y;
        for (let other; (other = labels.find(meets)); at = other[1] + 17);
        labels.push([x, at, wide]);
        out += line(x.toFixed(1), y.toFixed(1), (x + 7).toFixed(1), at.toFixed(1), 'stroke-opacity=".3"')
          + `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4" fill="${[BLUE, ORANGE, GREEN, PURPLE][s.data.kinds[n]]}"/>` + text((x + 8).toFixed(1), (at + 4).toFixed(1), s.data.words[n]);
      }
      return svg(640, 430, out);
    },
  };
})(typeof self === "undefined" ? globalThis : self);
