// All text that can be seen (the copy of a field's text carries only an error's mark), against what lies behind it: [text, colour, behind, contrast] where it is too weak.
() => {
  const parse = c => (c.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map(n => top[n] * a + below[n] * (1 - a)); };
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if ((colour[3] ?? 1) > 0) layers.push(colour);
      if ((colour[3] ?? 1) === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const opacity = e => e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1;
  const weak = new Map(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement, text = node.textContent.trim();
    if (!text || e.closest("svg, script, style, noscript, .live-text > pre") || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}))
      continue;
    const style = getComputedStyle(e), below = behind(e), [r, g, b, alpha] = parse(style.color);
    const ink = over([r, g, b, (alpha ?? 1) * opacity(e)], below);
    const [high, low] = [light(ink), light(below)].sort((x, y) => y - x), contrast = (high + 0.05) / (low + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (contrast < (large ? 3 : 4.5))
      weak.set(style.color + below, [text.slice(0, 40), style.color, below.map(Math.round).join(), contrast.toFixed(2)]);
  }
  return [...weak.values()];
}
