"""Figures that move, each a row of frames under `slider`: nothing has to run for them to work."""

from collections.abc import Sequence

import numpy as np

from . import curves, maps
from .frames import Slider, slider
from .measure import backward_norms, matrix_with_radius


def exploding_slider(radii: Sequence[float], steps: int = 30) -> Slider:
    """Eigenvalues of a recurrent matrix, and the norm of the gradient going back, as the radius changes."""
    pictures = []
    for radius in radii:
        W = matrix_with_radius(24, radius)
        norms = {name: backward_norms(W, steps, name) for name in ("linear", "tanh")}
        pictures.append(curves.eigenvalues(W, norms))
    labels = [f"{r:.2f}" for r in radii]
    caption = (
        "Below a spectral radius of 1 the gradient vanishes; above it, a linear network's gradient explodes."
    )
    start, told = _nearest_one(radii), len(radii) - 1
    return slider(pictures, labels, name="spectral radius", caption=caption, start=start, told=told)


def temperature_slider(
    logits: Sequence[float],
    words: Sequence[str],
    temperatures: Sequence[float] = (0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10),
) -> Slider:
    """The probabilities of the next word, from the largest logit alone to all words alike."""
    pictures = [curves.temperature(logits, words, t) for t in temperatures]
    labels, start = [f"{t:g}" for t in temperatures], _nearest_one(temperatures)
    caption = "A low temperature sharpens the distribution, a high one flattens it."
    return slider(pictures, labels, name="temperature", caption=caption, start=start)


def _nearest_one(values: Sequence[float]) -> int:
    return min(range(len(values)), key=lambda n: abs(values[n] - 1))


def pattern_slider(name: str, T: int, widths: Sequence[int] = (1, 2, 3, 4, 6, 8, 12, 16)) -> Slider:
    """An attention pattern of `coursekit.models.patterns` as its width w grows."""
    from ..models.patterns import mask, pairs

    pictures = [maps.pattern(mask(name, T, w), f"{name}, w = {w}: {pairs(name, T, w)} pairs") for w in widths]
    caption = f"The pattern “{name}” over {T} positions as its width grows."
    return slider(pictures, widths, name="width w", caption=caption, start=len(widths) // 2)


def gradient_slider(
    norms: Sequence[dict[str, Sequence[float]]], labels: Sequence[object], name: str, caption: str
) -> Slider:
    """Norms of gradients through time, one {name: norms} per frame, all on one scale."""
    every = np.concatenate([np.asarray(v, dtype=float) for frame in norms for v in frame.values()])
    every = every[every > 0]
    ylim = (float(every.min()) / 2, float(every.max()) * 2) if len(every) else None
    pictures = [curves.gradient_norms(frame, ylim=ylim) for frame in norms]
    return slider(pictures, labels, name=name, caption=caption)
