"""Lines: the loss and its limit, gradients through time, a spectrum, temperature."""

from collections.abc import Mapping, Sequence
from math import exp, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from .palette import BLUE, DASHES, INK, ORANGE, PALETTE
from .svg import Picture, canvas, in_style, picture

MOST = 200  # points of a curve: more cannot be seen, and would make the page heavy


def loss_curve(history: Any, unit: str = "nats per word") -> Picture:
    """The loss by step, one history or {name: history}, with the entropy limit that no model can pass.

    Thin: each step; thick: a running mean; dots: validation.
    """
    histories = dict(history) if isinstance(history, Mapping) else {"training": history}
    limit = next((h.limit for h in histories.values() if h.limit is not None), None)
    if any(not h.losses for h in histories.values()):
        raise ValueError("a history has no steps yet; train first")
    every = [loss for h in histories.values() for loss in h.losses]
    steps = max(len(h.losses) for h in histories.values())
    low = min(every) if limit is None else min(limit, min(every))
    words = []
    with in_style():
        figure, (ax,) = canvas()
        for n, (name, h) in enumerate(histories.items()):
            colour, dash = PALETTE[n % len(PALETTE)], DASHES[n % len(DASHES)]
            shown = np.asarray(h.losses, dtype=float)
            at = np.arange(1, len(shown) + 1)
            thin = max(1, len(shown) // MOST)
            ax.plot(at[::thin], shown[::thin], color=colour, alpha=0.3, lw=0.8)
            mean = _running_mean(shown, max(1, steps // 40))
            ax.plot(at[::thin], mean[::thin], color=colour, ls=dash, label=name)
            if h.valid:
                look: dict[str, Any] = (
                    {"color": ORANGE, "label": "validation"} if len(histories) == 1 else {"color": colour}
                )
                ax.plot(*zip(*h.valid, strict=True), "o", ms=4, **look)
            words.append(f"{name} goes from {shown[0]:.3f} to {mean[-1]:.3f}")
        if limit is not None:
            ax.axhline(limit, color=INK, lw=1.2, ls=(0, (2, 2)))
            ax.annotate(
                f"limit {limit:.3f} (perplexity {exp(limit):.2f})", (steps, low), (0, -3),
                textcoords="offset points", ha="right", va="top",
            )  # fmt: skip
            words.append(f"the limit is {limit:.3f}")
        ax.set(xlabel="step", ylabel=f"loss, {unit}", xlim=(0, steps * 1.01))
        ax.set_ylim(low - 0.14 * (max(every) - low), max(every) + 0.04 * (max(every) - low))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(histories) > 1 or any(h.valid for h in histories.values()):
            ax.legend(loc="upper right")
        return picture(figure, f"Loss by step: {'; '.join(words)}.")


def _norms(ax: Axes, norms: Mapping[str, Any]) -> None:
    """A line per name on a logarithmic axis, with a gap where there is nothing that a logarithm could show.

    Powers of ten stand in plain letters: no formula to typeset in every frame, and the page's own font.
    """
    for n, (name, values) in enumerate(norms.items()):
        kept = np.where(np.asarray(values, dtype=float) > 0, values, np.nan)
        ax.semilogy(np.arange(len(kept)), kept, color=PALETTE[n % 4], ls=DASHES[n % 4], label=name)
    ax.set_ylabel("norm of the gradient")
    ax.yaxis.set_major_locator(LogLocator(numticks=7))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _power(y)))


def _power(y: float) -> str:
    return "10" + str(round(log10(y))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """The mean of the last `width` values, of fewer at the beginning."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - width)
    means: np.ndarray = (sums[ends] - sums[starts]) / (ends - starts)
    return means


def gradient_norms(
    norms: Mapping[str, Any], title: str = "", ylim: tuple[float, float] | None = None,
    xlabel: str = "steps back from the loss",
) -> Picture:  # fmt: skip
    """Norms of gradients, {name: one per step back}, on a logarithmic axis: straight is exponential."""
    words = [f"{name} goes from {values[0]:.2g} to {values[-1]:.2g}" for name, values in norms.items()]
    with in_style():
        figure, (ax,) = canvas()
        _norms(ax, norms)
        ax.set(xlabel=xlabel, title=title, ylim=ylim)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(norms) > 1:
            ax.legend(loc="best")
        return picture(figure, f"Norm of the gradient against {xlabel}, logarithmic: {'; '.join(words)}.")


def eigenvalues(W: Any, norms: Mapping[str, Any]) -> Picture:
    """Left, the eigenvalues of a recurrent matrix and the unit circle; right, what the gradient does."""
    values = np.linalg.eigvals(np.asarray(W, dtype=float))
    radius = float(max(abs(values)))
    with in_style():
        figure, (left, right) = canvas(7.2, 3.2, 2, width_ratios=[1, 1.35])
        turn = np.linspace(0, 2 * np.pi, 61)
        left.plot(np.cos(turn), np.sin(turn), color=INK, lw=1, ls=(0, (2, 2)))
        outside = abs(values) > 1
        for chosen, colour, marker in ((~outside, BLUE, "o"), (outside, ORANGE, "D")):
            left.plot(values.real[chosen], values.imag[chosen], marker, color=colour, ms=4.5, ls="none")
        left.set(xlim=(-1.65, 1.65), ylim=(-1.65, 1.65), aspect="equal")
        left.set(xlabel="real part", ylabel="imaginary part", title=f"spectral radius {radius:.2f}")
        _norms(right, norms)
        right.axhline(1, color=INK, lw=0.6, alpha=0.5)
        right.set(xlabel="steps back", ylim=(1e-6, 1e6))
        right.legend(loc="upper left" if radius <= 1 else "lower left")
        ends = "; ".join(f"{name} ends at {float(series[-1]):.2g}" for name, series in norms.items())
        alt = (
            f"Eigenvalues of the recurrent matrix, {int(outside.sum())} of {len(values)} outside the unit circle, "
            f"spectral radius {radius:.2f}; norm of the gradient going back: {ends}."
        )
        return picture(figure, alt)


def temperature(
    logits: Sequence[float], words: Sequence[str], temperature: float = 1.0, title: str | None = None
) -> Picture:
    """P(w) = softmax(z / temperature) as bars, with its entropy; zero puts all on the largest logit."""
    z = np.asarray(logits, dtype=float)
    if temperature == 0:
        P = (np.arange(len(z)) == z.argmax()).astype(float)
    else:
        P = np.exp((z - z.max()) / temperature)
        P /= P.sum()
    entropy = float(-(P[P > 0] * np.log(P[P > 0])).sum()) + 0.0
    with in_style():
        figure, (ax,) = canvas(6.4, 2.6)
        bars = ax.bar(range(len(z)), P, color=BLUE, width=0.7)
        ax.bar_label(bars, [f"{p:.2f}" for p in P], padding=2)
        ax.set(ylim=(0, 1.08), ylabel="probability")
        ax.set_xticks(range(len(z)), words)
        ax.set_title(f"temperature {temperature:.3g}, entropy {entropy:.2f} nats" if title is None else title)
        likely = ", ".join(f"{words[n]} {P[n]:.2f}" for n in np.argsort(-P, kind="stable")[:3])
        alt = f"At temperature {temperature:.3g} the likeliest words are {likely}; the entropy is {entropy:.2f} nats."
        return picture(figure, alt)
