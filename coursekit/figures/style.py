"""One look for every figure.

Text and axes have the colour of the page's own text (`currentColor`), the background is transparent, and
letters are in the page's font: the same picture serves light and dark.
"""

from contextlib import AbstractContextManager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

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
    "axes.unicode_minus": True,
    "mathtext.fontset": "dejavusans",
    "path.simplify": True,
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
