// Every frame of every slider and every picture: [text, pixels] below the least size; [text, text, width, height] that overlap.
() => {
  const small = [], overlap = [];
  const look = svg => {
    const labels = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim() && t.checkVisibility()).map(t => {
      const scale = t.getScreenCTM();
      return { text: t.textContent, box: t.getBoundingClientRect(),
        size: parseFloat(getComputedStyle(t).fontSize) * Math.hypot(scale.a, scale.b) };
    });
    for (const { text, size } of labels) if (size < 9) small.push([text, +size.toFixed(1)]);
    labels.forEach((one, n) => labels.slice(0, n).forEach(other => {
      const a = one.box, b = other.box;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 0 && height > 0) overlap.push([one.text, other.text, +width.toFixed(1), +height.toFixed(1)]);
    }));
  };
  document.querySelectorAll("article details").forEach(part => part.open = true);
  for (const figure of document.querySelectorAll("article figure.ck-slider")) {
    const control = figure.querySelector("input");
    figure.querySelectorAll("[data-frame]").forEach((frame, n) => {
      control.value = n;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      frame.querySelectorAll("svg").forEach(look);
    });
  }
  document.querySelectorAll("article .ck-figure svg").forEach(look);
  return { small, overlap };
}
