// node typeset.js MATHJAX: a line of JSON {tex, display} in, a line {svg, glyphs, words} or {error} out.
// `glyphs` are the letters that the picture refers to and that were not given before, {id: path}; `words` can be read aloud.
const home = process.argv[2];
// Without what the page does not need: where each part comes from, and the names of the same thing twice.
const short = text => text.replace(/ (data-[\w-]+|xmlns:xlink|role|focusable)="[^"]*"/g, "")
  .replaceAll("xlink:href", "href").replaceAll("MJX-", "");

const SIGNS = {
  "=": "equals", "+": "plus", "\u2212": "minus", "-": "minus", "\u2264": "at most", "\u2265": "at least", "<": "less than",
  ">": "more than", "\u2260": "not equal to", "\u2248": "about", "\u223c": "drawn from", "\u2208": "in", "\u2190": "becomes",
  "\u2192": "to", "\u21a6": "goes to", "\u21d2": "so", "\u2211": "sum", "\u220f": "product", "\u2202": "partial", "\u2207": "gradient",
  "\u22c5": "times", "\u00b7": "times", "\u00d7": "times", "\u2218": "times entry by entry", "\u2299": "times entry by entry",
  "\u221e": "infinity", "\u2225": "norm", "\u2016": "norm", "|": "bar", "\u2223": "given", "\u2026": "and so on", "\u22ef": "and so on",
  "[": "of", "]": "", "\u2032": "prime", "\u22a4": "transposed", "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "",
};
const GREEK = Object.fromEntries(("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma " +
  "tau upsilon phi chi psi omega").split(" ").map((name, n) => [String.fromCharCode(0x3b1 + n), name]));
const ACCENTS = {"^": "hat", "~": "tilde", "\u02c6": "hat", "\u02dc": "tilde", "\u00af": "bar", "\u2015": "bar", "\u2192": "vector", "\u02d9": "dot"};
const join = parts => parts.filter(Boolean).join(" ");

// The formula in words, by its MathML: what a screen reader says.
function speak(dom, node) {
  const below = dom.childNodes(node).filter(child => dom.kind(child) !== "#text" || dom.value(child).trim());
  const say = n => below[n] ? speak(dom, below[n]) : "";
  const sum = /^(sum|product|max|min|lim|arg\s?m(ax|in)|softmax)$/;
  const power = text => text === "2" ? "squared" : /^(prime|transposed)/.test(text) ? text : `to the ${text}`;
  switch (dom.kind(node)) {
    case "#text": return dom.value(node);
    case "mi": case "mn": case "mo": case "mtext": {
      const text = dom.textContent(node).trim(), plain = text.normalize("NFKC");
      return SIGNS[text] ?? GREEK[plain] ?? plain;
    }
    case "mspace": case "annotation": case "mphantom": return "";
    case "mfrac": return join([say(0), "over", say(1) + ","]);
    case "msqrt": case "mroot": return join(["root of", ...below.map(child => speak(dom, child))]) + ",";
    case "msub": case "munder": return sum.test(say(0)) ? `${say(0)} over ${say(1)} of` : `${say(0)} sub ${say(1)}`;
    case "msup": return join([say(0), power(say(1))]);
    case "mover": return join([say(0), ACCENTS[dom.textContent(below[1]).trim()] ?? `with ${say(1)} above`]);
    case "msubsup": case "munderover": return sum.test(say(0)) ? `${say(0)} from ${say(1)} to ${say(2)} of`
      : join([say(0), "sub", say(1), power(say(2))]);
    case "mtable": return below.map(row => speak(dom, row)).join("; ");
    default: return join(below.map(child => speak(dom, child)));
  }
}

require(home + "/node-main.js").init({
  loader: {load: ["input/tex-full", "output/svg"]},
  // A macro that is not known is an error, and so is all else that does not parse.
  tex: {packages: {"[-]": ["noerrors", "noundefined"]}, formatError: (jax, error) => { throw error; }},
  svg: {fontCache: "global"},
}).then(MathJax => {
  const {adaptor, output} = MathJax.startup, given = new Set();
  require("readline").createInterface({input: process.stdin}).on("line", line => {
    const {tex, display} = JSON.parse(line);
    let answer;
    try {
      const svg = short(adaptor.innerHTML(MathJax.tex2svg(tex, {display})));
      const glyphs = {};
      for (const path of adaptor.childNodes(output.fontCache.getCache())) {
        const id = adaptor.getAttribute(path, "id");
        if (!given.has(id)) glyphs[short(id)] = adaptor.getAttribute(path, "d");
        given.add(id);
      }
      const mml = adaptor.body(adaptor.parse(MathJax.tex2mml(tex, {display}), "text/html"));
      const words = speak(adaptor, mml).replace(/\s+/g, " ").replace(/ ([,;.)])/g, "$1").replace(/,+(?=[,;.])|,$/g, "").trim();
      answer = {svg, glyphs, words};
    } catch (error) {
      answer = {error: error.message};
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  });
});
