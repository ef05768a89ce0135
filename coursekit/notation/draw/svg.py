"""Boxes, wires and names as SVG text: pure Python, readable on light and dark pages, with words for those
who cannot see it."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from ..names import LETTERS

_GREEK = {name: letter for letter, name in reversed(LETTERS.items())}
_ACCENTS = dict(
    zip(("tilde", "hat", "bar", "vec", "left", "dot"), "\u0303\u0302\u0304\u20d7\u20d6\u0307", strict=True)
)
SIZE = 15.0  # the font's
LABEL = 13.0  # of a text on a wire
SMALL = 0.74
SHRINK = 0.95  # of the width: a drawing that has less room scrolls, for smaller letters could not be read

Run = tuple[str, str]  # a piece of text and "", "sub" or "plain" (upright)


def name_runs(name: str, at: str = "") -> list[Run]:
    """A tensor's name as typeset pieces: `W_hG` and `G1` have a subscript, `h_tilde` carries its tilde."""
    spelled = re.sub(r"^([A-Za-z])(\d+)$|^([A-Z])([a-z]\d*)$", r"\1\3_\2\4", name.rstrip("'"))
    base, *groups = spelled.split("_")
    primes = "′" * (len(name) - len(name.rstrip("'")))
    over = [
        g for g in groups if g in _ACCENTS and not (g == "left" and base.isupper())
    ]  # W_left is a subscript
    scripts = [g.strip("{}") for g in groups if g not in over]
    base = _GREEK.get(base, base) + "".join(_ACCENTS[a] for a in over) + primes
    below = ",".join([*(_GREEK.get(s, s) if len(s) > 2 else s for s in scripts), *([at] if at else [])])
    return [(base, ""), *([(below.replace("-", "−"), "sub")] if below else [])]


def width(runs: Sequence[Run], size: float = SIZE) -> float:
    """An estimate on the wide side, for a serif italic."""
    letters = {"sub": SMALL * 0.6, "": 0.66, "plain": 0.56}
    return sum(letters[style] * size for text, style in runs for c in text if c not in _ACCENTS.values())


@dataclass(frozen=True)
class Box:
    key: object
    x: float
    y: float
    w: float
    h: float
    runs: tuple[Run, ...]
    below: str = ""  # a second, small line
    style: str = "value"
    title: str = ""

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.w / 2, self.y + self.h / 2


@dataclass(frozen=True)
class Label:
    """A text on a wire. (x, y) is the left end of its base line."""

    x: float
    y: float
    runs: tuple[Run, ...]

    @property
    def w(self) -> float:
        return width(self.runs, LABEL)


@dataclass
class Picture:
    """What a drawing is made of, in its own coordinates; it shows itself in a notebook."""

    title: str
    words: str = ""  # every wire as a sentence
    boxes: list[Box] = field(default_factory=list)
    wires: list[tuple[str, str]] = field(default_factory=list)  # path data, style
    labels: list[Label] = field(default_factory=list)
    size: tuple[float, float] = (0.0, 0.0)

    def svg(self) -> str:
        """The picture as one self-contained SVG element."""
        wires = "".join(_WIRE.format(path=path, style=style) for path, style in self.wires)
        labels = "".join(_text(label.runs, label.x, label.y, LABEL, "start") for label in self.labels)
        content = wires + "".join(map(_box, self.boxes)) + labels
        tag = "ck" + hashlib.sha256((self.title + content).encode()).hexdigest()[:8]
        w, h = self.size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ck-drawing" role="img" aria-labelledby="{tag}-t {tag}-d" '
            f'viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" height="{h:.0f}" '
            f'style="min-width:{SHRINK * w:.0f}px;max-width:100%;height:auto">'
            f'<title id="{tag}-t">{escape(self.title)}</title><desc id="{tag}-d">{escape(self.words)}</desc>'
            f"<style>{_STYLE}</style><defs>{_HEAD.format(tag=tag)}</defs>{content.replace('HEAD', tag + '-head')}</svg>"
        )

    _repr_svg_ = svg

    def _repr_html_(self) -> str:
        return f'<div class="ck-figure" style="overflow-x:auto">{self.svg()}</div>'


def curve(points: Sequence[tuple[float, float]], vertical: bool = False) -> str:
    """A smooth wire that leaves and enters every point along the layers."""
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for u, v in rest:
        if (y == v and not vertical) or (x == u and vertical):
            path += f" L{u:.1f},{v:.1f}"
        elif vertical:
            path += f" C{x:.1f},{(y + v) / 2:.1f} {u:.1f},{(y + v) / 2:.1f} {u:.1f},{v:.1f}"
        else:
            path += f" C{(x + u) / 2:.1f},{y:.1f} {(x + u) / 2:.1f},{v:.1f} {u:.1f},{v:.1f}"
        x, y = u, v
    return path


def bend(points: Sequence[tuple[float, float]], radius: float = 9.0) -> str:
    """A wire of straight pieces with rounded corners."""
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for a, corner, b in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, a, radius), _towards(corner, b, radius)
        path += f" L{start[0]:.1f},{start[1]:.1f} Q{corner[0]:.1f},{corner[1]:.1f} {end[0]:.1f},{end[1]:.1f}"
    return path + f" L{points[-1][0]:.1f},{points[-1][1]:.1f}"


def _towards(a: tuple[float, float], b: tuple[float, float], most: float) -> tuple[float, float]:
    length = abs(b[0] - a[0]) + abs(b[1] - a[1])
    share = min(most, length / 2) / length if length else 0.0
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


_STYLE = """
.ck-drawing{color:inherit;font-family:'STIX Two Math','Latin Modern Math',Cambria,'Times New Roman',serif}
.ck-drawing text{fill:currentColor}
.ck-drawing .ck-name{font-style:italic}
.ck-drawing .ck-small{font-size:11px;opacity:.75;font-family:system-ui,sans-serif}
.ck-drawing .ck-wire{fill:none;stroke:currentColor;stroke-opacity:.6;stroke-width:1.3}
.ck-drawing .ck-loop{stroke-dasharray:5 4;stroke:#c2681d;stroke-opacity:1}
.ck-drawing .ck-head{fill:currentColor;fill-opacity:.75}
.ck-drawing rect{stroke-width:1.4}
.ck-drawing .ck-input rect{fill:#3b82c4;fill-opacity:.13;stroke:#3b82c4}
.ck-drawing .ck-value rect{fill:#7a7f87;fill-opacity:.12;stroke:#7a7f87}
.ck-drawing .ck-state rect{fill:#c2681d;fill-opacity:.15;stroke:#c2681d}
.ck-drawing .ck-output rect{fill:#3f9a56;fill-opacity:.15;stroke:#3f9a56}
.ck-drawing .ck-before rect{fill:#c2681d;fill-opacity:.05;stroke:#c2681d;stroke-dasharray:4 3}
"""


_WIRE = '<path class="ck-wire{style}" d="{path}" marker-end="url(#HEAD)"/>'
_HEAD = (
    '<marker id="{tag}-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path class="ck-head" d="M0,0.5 L8,4 L0,7.5 z"/></marker>'
)


_BELOW = '<text class="ck-small" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>'


def _box(box: Box) -> str:
    x, y = box.centre
    name = _text(box.runs, x, y + SIZE * 0.33 - 8.0 * bool(box.below), SIZE, "middle")
    below = _BELOW.format(x=x, y=y + 17, text=escape(box.below)) if box.below else ""
    return (
        f'<g class="ck-{box.style}"><title>{escape(box.title)}</title>'
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.w:.1f}" height="{box.h:.1f}" rx="7"/>{name}{below}</g>'
    )


def _text(runs: Sequence[Run], x: float, y: float, size: float, anchor: str) -> str:
    spans, lowered = "", False
    for text, style in runs:
        down = style == "sub"
        shift = f' dy="{0.28 * size * (down - lowered):.1f}"' if down != lowered else ""
        lowered = down
        sized = f' font-size="{SMALL * size:.1f}"' if down else ""
        kind = ' class="ck-name"' if style == "" and len(text.rstrip("′")) <= 3 else ""
        spans += f"<tspan{kind}{shift}{sized}>{escape(text)}</tspan>"
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" text-anchor="{anchor}">{spans}</text>'
