"""A finished figure: an SVG element and the words for those who cannot see it.

The same drawing gives the same bytes: no date, no random id.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from .palette import INK

_FONT = re.compile(r"font: (?:(italic|oblique) )?(?:(bold|\d{3}) )?([\d.]+)px [^;\"]*")
_GROUP = re.compile(r'<g id="[\w.]+_\d+">')  # nothing refers to a group by its id
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_LABELLED = re.compile(r'(aria-labelledby=")([^"]+)')
_ID = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True)
class Picture:
    """Shows itself in a notebook and in the book; `save` writes a file."""

    svg: str
    alt: str

    def _repr_html_(self) -> str:
        return f'<div class="ck-figure" role="img" aria-label="{escape(self.alt)}">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"

    def save(self, path: str | Path) -> None:
        """As an SVG file by itself: with black ink, and the words as its title."""
        head, _, rest = self.svg.partition(">")
        title = f"<title>{escape(self.alt)}</title>"
        Path(path).write_text(f'{head} color="#000" font-family="sans-serif">{title}{rest}', encoding="utf-8")

    def renamed(self, prefix: str) -> str:
        """The SVG with ids of its own, so that many can stand on a page."""
        svg = _ID.sub(lambda m: m[1] + prefix, self.svg)
        return _LABELLED.sub(lambda m: m[1] + " ".join(prefix + name for name in m[2].split()), svg)


def picture(figure: Figure, alt: str) -> Picture:
    """The figure as a `Picture`; `alt` says in a sentence what can be seen."""
    if not alt.strip():
        raise ValueError("alt is empty; say in a sentence what the figure shows")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return Picture(_shrunk(out.getvalue()), alt)


def _shrunk(svg: str) -> str:
    """Without what a page does not need; with the page's ink and fonts."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _GROUP.sub("<g>", svg)
    svg = svg.replace(INK, "currentColor")
    svg = _FONT.sub(_font, svg)
    svg = re.sub(r"font-family: [^;\"]*; ?", "", svg)
    svg = re.sub(
        r'd="[^"]*"', lambda m: _NUMBER.sub(lambda n: f"{float(n[0]):.1f}", " ".join(m[0].split())), svg
    )
    # Within tags alone: a number in the text is for the reader.
    svg = re.sub(r"<[^>]+>", lambda tag: _NUMBER.sub(lambda n: f"{float(n[0]):.2f}", tag[0]), svg)
    svg = re.sub(r">\s+<", "><", svg)
    width = float(re.search(r'\bwidth="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    # matplotlib styles `*`, which would reach every drawing of the page: these two are inherited instead.
    svg = re.sub(r"<defs><style.*?</style></defs>", "", svg)
    svg = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", svg)
    look = "stroke-linejoin:round;stroke-linecap:butt;display:block;width:100%;height:auto;"
    look += f"max-width:{width * 4 / 3:.0f}px"
    svg = svg.replace("<svg", f'<svg style="{look}"', 1)
    return svg.strip()


def _font(found: re.Match) -> str:
    slant = f"font-style: {found[1]}; " if found[1] else ""
    weight = f"font-weight: {found[2]}; " if found[2] else ""
    return f"{slant}{weight}font-size: {found[3]}px"
