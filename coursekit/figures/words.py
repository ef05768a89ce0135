"""Words in a picture: a parse as arcs, embeddings as a map."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from ..data.scoring import numbers
from ..data.trees import Parse
from .palette import BLUE, INK, ORANGE
from .style import canvas, in_style
from .svg import Picture, picture


def arcs(parse: Parse, alpha: Any = None) -> Picture:
    """A parse as arcs from each head to its dependents, with their labels; the root is bold.

    With alpha (T,T) of one head, what each word looks at most is drawn below: thick is sure, and orange
    is where it is not the gold head.
    """
    n = len(parse.words)
    a = None if alpha is None else numbers(alpha)
    if a is not None and a.shape != (n, n):
        raise ValueError(f"alpha has shape {a.shape}; a sentence of {n} words needs {(n, n)}")
    edges = [(head, t) for t, head in enumerate(parse.heads) if head >= 0]
    looks = [] if a is None else [(int(a[t].argmax()), t, float(a[t].max())) for _, t in edges]
    above = max((abs(head - t) for head, t in edges), default=0)
    below = max((abs(looked - t) for looked, t, _ in looks), default=0)
    wide = np.array([len(word) + 2.0 for word in parse.words])  # a word's room is its length
    at = (np.cumsum(wide) - wide / 2) * n / wide.sum()
    with in_style():
        figure, (ax,) = canvas(1.0 + 0.95 * n, 1.0 + 0.3 * (above + below))
        for t, word in enumerate(parse.words):
            ax.text(
                at[t], 0, word, ha="center", va="center", weight="bold" if parse.heads[t] < 0 else "normal"
            )
        for head, t in edges:
            _arc(ax, at[head], at[t], 0.35, 0.6 * abs(head - t), BLUE, 1.4)
            ax.text((at[t] + at[head]) / 2, 0.42 + 0.6 * abs(head - t), parse.labels[t], ha="center")
        for looked, t, weight in looks:
            if looked != t:
                colour = BLUE if looked == parse.heads[t] else ORANGE
                _arc(ax, at[looked], at[t], -0.35, -0.6 * abs(looked - t), colour, 0.4 + 2.2 * weight)
        ax.set(xlim=(-0.1, n + 0.1), ylim=(-0.5 - 0.6 * below, 0.8 + 0.6 * above))
        ax.axis("off")
        gold = "; ".join(f"{parse.words[t]} {parse.labels[t]} of {parse.words[head]}" for head, t in edges)
        hits = sum(looked == parse.heads[t] for looked, t, _ in looks)
        found = f" Attention finds {hits} of {len(edges)} heads." if looks else ""
        return picture(figure, f"Dependencies: {gold}.{found}")


def _arc(ax: Axes, head: float, word: float, base: float, rise: float, colour: str, width: float) -> None:
    """From the head to an arrow at the word, above the line of words (base and rise > 0) or below it."""
    turn = np.linspace(0, np.pi, 25)
    middle, half = (head + word) / 2, abs(head - word) / 2
    x, y = middle + 0.94 * half * np.cos(turn), base + rise * np.sin(turn)
    ax.plot(x, y, color=colour, lw=width)
    ax.plot(x[0 if word > head else -1], base, marker="v" if base > 0 else "^", color=colour, ms=4.5)


def name_points(ax: Axes, points: Any, words: Sequence[str], colours: Sequence[str] | None = None) -> None:
    """Each name beside its point, or as near as no other name stands; a thin line leads to one that is farther."""
    figure: Any = ax.figure
    figure.draw_without_rendering()
    taken: list[Bbox] = []
    inside = ax.get_window_extent()
    rings = [(far, turn) for far in range(7, 120, 6) for turn in np.linspace(0.5, 0.5 + 2 * np.pi, 17)[:-1]]
    for (x, y), word, colour in zip(points, words, colours or [INK] * len(words), strict=True):
        name = ax.annotate(
            word, (x, y), (0, 0), textcoords="offset points", ha="center", va="center", color=colour
        )
        box = name.get_window_extent()
        scale, half = figure.dpi / 72, (box.width / 2, box.height / 2)
        for far, turn in rings:
            move = np.array([np.cos(turn) * (far + half[0] / scale), np.sin(turn) * (far + 2)])
            place = Bbox(box.get_points() + move * scale).padded(2.5 * scale)
            if inside.containsx(place.x0) and inside.containsx(place.x1) and place.count_overlaps(taken) == 0:
                break
        taken.append(place)
        name.set_position(tuple(move))
        if far > 13:
            line = {"arrowstyle": "-", "lw": 0.5, "alpha": 0.6, "shrinkA": 0, "shrinkB": 2}
            ax.annotate("", (x, y), tuple(move), textcoords="offset points", arrowprops=line)
