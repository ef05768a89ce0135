// A part of a page that scrolls sideways says so, and the keyboard reaches it.
const look = new ResizeObserver(seen => {
  for (const { target } of seen) {
    const beyond = target.scrollWidth - target.clientWidth;
    target.classList.toggle("scrolls", beyond > 1);
    if (beyond > 0) target.tabIndex = 0; else if (target.tabIndex == 0) target.removeAttribute("tabindex");
  }
});
for (const part of document.querySelectorAll(
  "article :is(.formula, span.math, pre, .ck-figure, .ck-frame, .pst-scrollable-table-container)")) look.observe(part);
