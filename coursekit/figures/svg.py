"""One look for every figure, and a finished figure: one SVG per panel, with words for those who cannot see it.

Text and axes have the colour of the page's own text (`currentColor`), the background is transparent, and letters are
in the page's font: the same picture serves light and dark. Panels stand beside each other where there is room and
below each other on a phone, where no letter is smaller than 9 pixels. The same drawing gives the same bytes: no date,
no random id.
"""

import hashlib
import io
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from .palette import BLUE, INK

# From nothing to blue, over whatever page lies below; faint values are lifted, or a dark page would hide them.
HEAT = LinearSegmentedColormap.from_list("course", [to_rgba(BLUE, (n / 16) ** 0.75) for n in range(17)])

WIDEST = 5.4  # inches of a panel: wider, its letters would be too small on a phone

_RC: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "course",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titlepad": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "path.simplify_threshold": 0.3,
}


def in_style() -> AbstractContextManager[None]:
    """A context in which matplotlib draws in the course's style."""
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_RC}
    return matplotlib.rc_context(settings)


def canvas(
    width: float = WIDEST, height: float = 3.2, panels: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure (inches) with `panels` axes side by side; call it within `in_style()`.

    It is no part of pyplot: nothing is shown twice, nothing stays in memory.
    """
    figure = Figure(figsize=(min(width, WIDEST * panels), height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, list(figure.subplots(1, panels, squeeze=False, **options)[0])


PHONE = 340 / 96  # inches: the room for a figure on a phone of 390 pixels
LEAST = 9.1 * 72 / 96  # points: the smallest letter there

_FONT = re.compile(r"font: (?:(italic|oblique) )?(?:(bold|\d{3}) )?([\d.]+)px [^;\"]*")
_GROUP = re.compile(r'<g id="[\w.]+_\d+">')  # nothing refers to a group by its id
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_LABELLED = re.compile(r'(aria-labelledby=")([^"]+)')
_ID = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True)
class Picture:
    """Shows itself in a notebook and in the book."""

    svg: str
    alt: str

    def _repr_html_(self) -> str:
        tag = "ck" + hashlib.sha256(self.svg.encode()).hexdigest()[:10]
        label = f'role="img" aria-label="{escape(self.alt)}"'
        return f'<div class="ck-figure" {label}>{self.renamed(f"{tag}-")}</div>'

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"

    def renamed(self, prefix: str) -> str:
        """The SVG with ids of its own, so that many can stand on a page."""
        svg = _ID.sub(lambda m: m[1] + prefix, self.svg)
        return _LABELLED.sub(lambda m: m[1] + " ".join(prefix + name for name in m[2].split()), svg)


def picture(figure: Figure, alt: str) -> Picture:
    """The figure as a `Picture`; `alt` says in a sentence what can be seen."""
    if not alt.strip():
        raise ValueError("alt is empty; say in a sentence what the figure shows")
    panels: list[Any] = [
        ax for ax in figure.axes if ax.get_subplotspec() is not None and ax.get_label() != "<colorbar>"
    ]
    least = LEAST * max(1.0, figure.get_figwidth() / len(panels) / PHONE)
    for text in figure.findobj(Text):
        text.set_fontsize(max(least, text.get_fontsize()))
    figure.draw_without_rendering()
    thinned = [_thin(axis) for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    if any(thinned):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what is drawn apart stays where it was together
    if len(panels) == 1:
        return Picture(_drawn(figure, None), alt)
    high, wide = figure.get_figheight(), figure.get_figwidth()
    reach = [ax.get_tightbbox().transformed(figure.dpi_scale_trans.inverted()) for ax in panels]
    cuts = [0.0, *((a.x1 + b.x0) / 2 for a, b in pairwise(reach)), wide]
    drawn = []
    for n, (left, right) in enumerate(pairwise(cuts)):
        for ax in panels:
            ax.set_visible(ax is panels[n])
        svg = _drawn(figure, Bbox([[left, 0], [right, high]]))
        drawn.append(Picture(svg, alt).renamed(f"{n}"))
    return Picture(f'<div style="display:flex;flex-wrap:wrap;gap:.4em">{"".join(drawn)}</div>', alt)


def _thin(axis: Any) -> bool:
    """Labels that would touch: words are turned, of numbers every second one stays. Whether any did."""
    across = axis.axis_name == "x"
    shown = [label for label in axis.get_ticklabels() if label.get_text() and axis.get_visible()]
    step = 1
    for step in range(1, len(shown) + 1):
        boxes = [label.get_window_extent() for label in shown[::step]]
        spans = sorted((box.x0, box.x1) if across else (box.y0, box.y1) for box in boxes)
        if all(a[1] + 3 <= b[0] for a, b in pairwise(spans)):
            break
        if across and any(label.get_text().isalpha() for label in shown):
            axis.set_tick_params(rotation=90)
            return True
    if step == 1:
        return False
    kept = shown[::step]
    axis.set_ticks(
        [label.get_position()[0 if across else 1] for label in kept], [label.get_text() for label in kept]
    )
    return True


def _drawn(figure: Figure, part: Bbox | None) -> str:
    out, nothing = io.StringIO(), {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", metadata=nothing, bbox_inches=part)
    return _shrunk(out.getvalue(), part is not None)


def _shrunk(svg: str, beside: bool) -> str:
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
    wide = round(width * 4 / 3)
    place = f"flex:1 1 {wide * 3 // 4}px;min-width:0" if beside else "display:block;width:100%"
    look = f"stroke-linejoin:round;stroke-linecap:butt;{place};height:auto;max-width:{wide}px"
    svg = svg.replace("<svg", f'<svg style="{look}"', 1)
    return svg.strip()


def _font(found: re.Match[str]) -> str:
    slant = f"font-style: {found[1]}; " if found[1] else ""
    weight = f"font-weight: {found[2]}; " if found[2] else ""
    return f"{slant}{weight}font-size: {found[3]}px"
