"""Figures that move, each a row of frames under `slider`: nothing has to run for them to work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import curves, maps
from .frames import Slider, slider
from .measure import backward_norms, matrix_with_radius
from .svg import Picture


def exploding_slider(
    radii: Sequence[float] = tuple(np.round(np.arange(0.5, 1.55, 0.1), 2).tolist()),
    size: int = 24,
    steps: int = 30,
    seed: int = 0,
) -> Slider:
    """Eigenvalues of a recurrent matrix, and the norm of the gradient going back, as the radius changes."""
    pictures = []
    for radius in radii:
        W = matrix_with_radius(size, float(radius), seed)
        norms = {name: backward_norms(W, steps, name, seed) for name in ("linear", "tanh")}
        pictures.append(curves.eigenvalues(W, norms))
    caption = (
        "Below a spectral radius of 1 the gradient vanishes; above it, a linear network's gradient explodes."
    )
    start = min(range(len(radii)), key=lambda n: abs(radii[n] - 1))
    return slider(pictures, [f"{r:.2f}" for r in radii], name="spectral radius", caption=caption, start=start)


def temperature_slider(
    logits: Sequence[float],
    words: Sequence[str],
    temperatures: Sequence[float] = (0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10),
) -> Slider:
    """The probabilities of the next word, from the largest logit alone to all words alike."""
    pictures = [curves.temperature(logits, words, t) for t in temperatures]
    start = min(range(len(temperatures)), key=lambda n: abs(temperatures[n] - 1))
    caption = "A low temperature sharpens the distribution, a high one flattens it."
    return slider(
        pictures,
        [f"{t:g}" for t in temperatures],
        name="temperature",
        caption=caption,
        start=start,
        told=start,
    )


def pattern_slider(
    name: str = "window", T: int = 16, widths: Sequence[int] = (1, 2, 3, 4, 6, 8, 12, 16)
) -> Slider:
    """An attention pattern of `coursekit.models.patterns` as its width w grows."""
    from ..models.patterns import mask, pairs

    pictures = [maps.pattern(mask(name, T, w), f"{name}, w = {w}: {pairs(name, T, w)} pairs") for w in widths]
    return slider(
        pictures,
        widths,
        name="width w",
        caption=f"The pattern “{name}” over {T} positions as its width grows.",
    )


def attention_slider(
    alphas: Sequence[Any],
    labels: Sequence[object],
    name: str,
    caption: str,
    source: Sequence[str],
    target: Sequence[str],
    gold: Any = (),
) -> Slider:
    """One map per frame, (T,S) each: over training, over heads, over layers."""
    pictures = [maps.attention(alpha, source, target, gold) for alpha in alphas]
    return slider(pictures, labels, name=name, caption=caption)


def gradient_slider(
    norms: Sequence[dict[str, Sequence[float]]],
    labels: Sequence[object],
    name: str = "step",
    caption: str = "",
) -> Slider:
    """Norms of gradients through time, one {name: norms} a frame, all on one scale."""
    every = np.concatenate([np.asarray(v, dtype=float) for frame in norms for v in frame.values()])
    every = every[every > 0]
    ylim = (float(every.min()) / 2, float(every.max()) * 2) if len(every) else None
    pictures: list[Picture] = [curves.gradient_norms(frame, ylim=ylim) for frame in norms]
    return slider(
        pictures, labels, name=name, caption=caption or "What is left of the gradient, step by step back."
    )
