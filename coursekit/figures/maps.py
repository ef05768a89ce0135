"""What attention looks at, as a map or as arcs; patterns, gates, images, scenes; points and their names."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Polygon, Rectangle
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from ..data.scenes import COLOURS, Thing
from ..data.scoring import numbers
from ..data.trees import Parse
from .palette import BLUE, GREEN, INK, ORANGE
from .svg import HEAT, Picture, canvas, in_style, picture

PAINT = dict(zip(COLOURS, ("#d0453f", BLUE, GREEN, "#c79a1e"), strict=True))


def attention(
    alpha: Any,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    gold: Collection[tuple[int, int]] = (),
    row: int | None = None,
) -> Picture:
    """alpha (T,S) as a map: row t, the word `target[t]`, looks at the columns, the words `source[s]`.

    `gold` marks the places (t, s) of a known alignment; `row` brings out one row.
    """
    a = numbers(alpha)
    T, S = a.shape
    with in_style():
        figure, (ax,) = canvas(_width(S, source), float(np.clip(0.9 + 0.32 * T, 2.2, 6.0)))
        _heat(ax, a)
        for t, s in sorted(gold):
            ax.add_patch(Rectangle((s - 0.5, t - 0.5), 1, 1, fill=False, ec=ORANGE, lw=1.8))
        if row is not None:
            ax.add_patch(Rectangle((-0.5, row - 0.5), S, 1, fill=False, ec=INK, lw=2.2))
        _words(ax, source, target)
        return picture(figure, _attention_words(a, source, target, gold, row))


def _attention_words(a: np.ndarray, source: Any, target: Any, gold: Any, row: int | None) -> str:
    name: Callable[[Any, int], str] = lambda words, n: str(n) if words is None else words[n]
    rows = range(len(a)) if row is None else [row]
    looks = "; ".join(
        f"{name(target, t)} at {name(source, int(a[t].argmax()))} ({a[t].max():.2f})" for t in list(rows)[:12]
    )
    more = f"; and {len(a) - 12} more" if row is None and len(a) > 12 else ""
    hits = sum(int(a[t].argmax()) == s for t, s in gold)
    marked = f" {hits} of the {len(gold)} gold links are the strongest of their row." if gold else ""
    return f"Attention map. Where each word looks most: {looks}{more}.{marked}"


def pattern(mask: Any, title: str = "") -> Picture:
    """Which t1 (rows) may look at which t2 (columns): mask (T,T) of True and False."""
    m = numbers(mask)
    with in_style():
        figure, (ax,) = canvas(3.4, 3.4)
        _heat(ax, m * 0.85)
        ax.set(xlabel="t2, looked at", ylabel="t1, looks", title=title)
        _words(ax, None, None)
        return picture(figure, f"Attention pattern {title}: {int(m.sum())} of {m.size} pairs.")


def gates(activity: Mapping[str, Any], words: Sequence[str]) -> Picture:
    """Gates over time, {name: (T, J)}, a word for each step: blue is open."""
    values = {name: numbers(gate).T for name, gate in activity.items()}
    with in_style():
        figure, axes = canvas(max(4.0, 2.6 * len(values)), 3.0, len(values), sharey=True)
        for ax, (name, gate) in zip(axes, values.items(), strict=True):
            _heat(ax, gate)
            ax.set_title(f"{name}, mean {gate.mean():.2f}")
            ax.set_xticks(range(len(words)), words, rotation=90)
            ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
            ax.tick_params(length=0)
        axes[0].set_ylabel("unit")
        means = ", ".join(f"{name} {gate.mean():.2f} open on average" for name, gate in values.items())
        return picture(figure, f"Gate activity over {len(words)} steps: {means}.")


def scene(
    things: Sequence[Thing], size: int, alpha: Any = None, word: str = "", gold: tuple[int, int] | None = None
) -> Picture:
    """A scene of `coursekit.data.Scenes`, with the attention (X,Y) of one word over it."""
    a = np.zeros((size, size)) if alpha is None else numbers(alpha)
    with in_style():
        figure, (ax,) = canvas(3.0, 3.2)
        _heat(ax, a.T * 0.9)
        for thing in things:
            ax.add_patch(_shape(thing))
        if gold is not None:
            ax.add_patch(Rectangle((gold[0] - 0.5, gold[1] - 0.5), 1, 1, fill=False, ec=ORANGE, lw=1.8))
        ax.set_xticks(np.arange(-0.5, size), [])
        ax.set_yticks(np.arange(-0.5, size), [])
        ax.tick_params(length=0)
        ax.grid(True, color=INK, alpha=0.15, lw=0.6)
        ax.set_title(word)
        there = "; ".join(f"{t.colour} {t.shape} at column {t.x}, row {t.y}" for t in things)
        x, y = (int(n) for n in np.unravel_index(a.argmax(), a.shape))
        looks = f" With “{word}” it looks most at column {x}, row {y} ({a.max():.2f})."
        return picture(figure, f"A scene: {there}.{'' if alpha is None else looks}")


def _shape(thing: Thing) -> Any:
    x, y = thing.x, thing.y
    paint: dict[str, Any] = {"fc": PAINT[thing.colour], "ec": INK, "lw": 1.1}
    if thing.shape == "circle":
        return Circle((x, y), 0.3, **paint)
    if thing.shape == "square":
        return Rectangle((x - 0.27, y - 0.27), 0.54, 0.54, **paint)
    return Polygon([(x - 0.32, y + 0.27), (x + 0.32, y + 0.27), (x, y - 0.3)], **paint)


def images(rows: Sequence[Any], names: Sequence[str]) -> Picture:
    """Small grey images (N,H,W) in rows: what was given, what was made, what is true."""
    stacks = [numbers(row) for row in rows]
    sheet = [np.hstack([np.pad(image, 1, constant_values=np.nan) for image in stack]) for stack in stacks]
    with in_style():
        figure, (ax,) = canvas(min(7.2, 0.8 + 0.62 * len(stacks[0])), 0.3 + 0.62 * len(stacks))
        _heat(ax, np.vstack(sheet), ink=True)
        height = sheet[0].shape[0]
        ax.set_yticks([height * (n + 0.5) - 0.5 for n in range(len(names))], names)
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        return picture(figure, f"{len(stacks[0])} images in {len(names)} rows: {', '.join(names)}.")


def _heat(ax: Axes, values: np.ndarray, ink: bool = False) -> None:
    """Values from 0 to 1, each a square; one pixel each in the file."""
    ax.imshow(values, cmap=HEAT, vmin=0, vmax=1, interpolation="none", aspect="equal" if ink else "auto")
    ax.spines[:].set_visible(True)


def _words(ax: Axes, source: Sequence[str] | None, target: Sequence[str] | None) -> None:
    """Words at the squares; numbers, a few of them, where there are none."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    if source is not None:
        long = sum(map(len, source)) > 60 or len(source) > 12
        turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
        ax.set_xticks(range(len(source)), source, **turn)
    if target is not None:
        ax.set_yticks(range(len(target)), target)
    ax.tick_params(length=0)


def _width(S: int, source: Any) -> float:
    longest = max((len(word) for word in source), default=0) if source is not None else 0
    return float(np.clip(1.6 + S * max(0.42, 0.085 * longest), 3.0, 7.2))


def arcs(parse: Parse, alpha: Any = None) -> Picture:
    """A parse as arcs from each head to its dependents, with their labels; the root is bold.

    With alpha (T,T) of one head, what each word looks at most is drawn below: thick is sure, and orange
    is where it is not the gold head.
    """
    n = len(parse.words)
    a = None if alpha is None else numbers(alpha)
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
