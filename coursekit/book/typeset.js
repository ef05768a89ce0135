// node typeset.js MATHJAX: a line of JSON {tex, display} in, a line {svg, glyphs} or {error} out.
// `glyphs` are the letters that the picture refers to and that were not given before, {id: path}.
const home = process.argv[2];
// Without what the page does not need: where each part comes from, and the names of the same thing twice.
const short = text => text.replace(/ (data-[\w-]+|xmlns:xlink|role|focusable)="[^"]*"/g, "")
  .replaceAll("xlink:href", "href").replaceAll("MJX-", "");

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
      answer = {svg, glyphs};
    } catch (error) {
      answer = {error: error.message};
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  });
});
