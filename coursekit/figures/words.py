"""Words in a picture: a parse as arcs, embeddings as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..data.scoring import numbers
from ..data.trees import Parse
from .palette import BLUE, INK, ORANGE, PALETTE
from .style import canvas, in_style
from .svg import Picture, picture


def arcs(parse: Parse, alpha: Any = None, title: str = "") -> Picture:
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
    with in_style():
        figure, (ax,) = canvas(min(7.2, 1.0 + 0.95 * n), 1.0 + 0.3 * (above + below))
        for t, word in enumerate(parse.words):
            ax.text(t, 0, word, ha="center", va="center", weight="bold" if parse.heads[t] < 0 else "normal")
        for head, t in edges:
            _arc(ax, head, t, 0.35, BLUE, 1.4)
            ax.text((t + head) / 2, 0.42 + 0.6 * abs(head - t), parse.labels[t], ha="center", fontsize=8)
        for looked, t, weight in looks:
            if looked != t:
                _arc(ax, looked, t, -0.35, BLUE if looked == parse.heads[t] else ORANGE, 0.4 + 2.2 * weight)
        ax.set(xlim=(-0.6, n - 0.4), ylim=(-0.5 - 0.6 * below, 0.8 + 0.6 * above), title=title)
        ax.axis("off")
        gold = "; ".join(f"{parse.words[t]} {parse.labels[t]} of {parse.words[head]}" for head, t in edges)
        hits = sum(looked == parse.heads[t] for looked, t, _ in looks)
        found = f" Attention finds {hits} of {len(edges)} heads." if looks else ""
        return picture(figure, f"Dependencies: {gold}.{found}")


def _arc(ax: Axes, head: int, word: int, base: float, colour: str, width: float) -> None:
    """From the head to an arrow at the word, above (base > 0) or below the line of words."""
    turn = np.linspace(0, np.pi, 25)
    middle, half = (head + word) / 2, abs(head - word) / 2
    x, y = middle + 0.94 * half * np.cos(turn), base + np.sign(base) * 1.2 * half * np.sin(turn)
    ax.plot(x, y, color=colour, lw=width)
    ax.plot(x[0 if word > head else -1], base, marker="v" if base > 0 else "^", color=colour, ms=4.5)


def embedding_map(
    E: Any, words: Sequence[str], groups: Sequence[int] | None = None, title: str = ""
) -> Picture:
    """Embeddings (V, I) on the plane where they differ most (their first two principal components).

    `groups` colours words that belong together.
    """
    points = numbers(E)
    if points.ndim != 2 or len(points) != len(words) or min(points.shape) < 2:
        raise ValueError(
            f"E has shape {points.shape}; {len(words)} words need ({len(words)}, I), two or more of each"
        )
    centred = points - points.mean(0)
    _, size, axes = np.linalg.svd(centred, full_matrices=False)
    # A component has no sign of its own: the entry that is largest is made positive.
    axes = axes[:2] * np.sign(axes[np.arange(2), abs(axes[:2]).argmax(1)])[:, None]
    flat = centred @ axes.T
    share = float((size[:2] ** 2).sum() / max((size**2).sum(), 1e-300))
    with in_style():
        figure, (ax,) = canvas(6.4, 4.4)
        for n, (x, y) in enumerate(flat):
            colour = PALETTE[(groups[n] if groups is not None else 0) % len(PALETTE)]
            ax.plot(x, y, "o", color=colour, ms=4)
            ax.annotate(words[n], (x, y), (4, 3), textcoords="offset points", fontsize=9)
        ax.axhline(0, color=INK, lw=0.5, alpha=0.3)
        ax.axvline(0, color=INK, lw=0.5, alpha=0.3)
        ax.margins(0.12)
        ax.set(xlabel="first component", ylabel="second component", title=title)
        near = ", ".join(f"{words[i]} and {words[j]}" for i, j in _nearest(flat))
        return picture(figure, f"Map of {len(words)} words, {share:.0%} of their variance; closest: {near}.")


def _nearest(points: np.ndarray, count: int = 3) -> list[tuple[int, int]]:
    i, j = np.triu_indices(len(points), 1)
    order = np.linalg.norm(points[i] - points[j], axis=1).argsort(kind="stable")[:count]
    return [(int(i[k]), int(j[k])) for k in order]
