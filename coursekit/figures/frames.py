"""Frames under a slider that needs no kernel: in Lab, in Colab, in a page that is only a file.

    slider([attention(alpha) for alpha in alphas], labels=steps, name="step", caption="Attention learns to align")

All frames are in the page; the slider shows one. Its few words of script stand in the slider itself, so
they work wherever HTML does, however often it is copied. On paper, and in the book without scripts, the frame
that tells most is there with its label: the one it starts at, or the last, unless the author names another.
"""

import hashlib
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from . import curves, maps
from .measure import backward_norms, matrix_with_radius
from .palette import BLUE
from .svg import Picture

_SHOW = (
    "var s=this,f=s.closest('figure'),p=f.querySelectorAll('[data-frame]'),t=p[s.value].dataset.frame;"
    "p.forEach(function(e,n){e.style.display=n==s.value?'':'none'});"
    "s.setAttribute('aria-valuetext',t);f.querySelector('output').textContent=t"
)
_PAPER = (
    "<style>@media print{.ck-slider .ck-frame,.ck-slider label{display:none!important}"
    ".ck-slider .ck-told{display:block!important}.ck-told::after{content:attr(data-label)}}</style>"
)


class Slider:
    """What `slider` gives: shows itself as HTML."""

    def __init__(
        self,
        frames: Sequence[Any],
        labels: Sequence[object] | None = None,
        name: str = "frame",
        caption: str = "",
        alt: Sequence[str] | None = None,
        start: int = 0,
        told: int | None = None,
    ):
        """`frames`, pictures of this package or drawings of equations, under a slider.

        `labels[n]` is shown beside it at frame n, `name` says what is moved.

        `alt` replaces the frames' own words for those who cannot see them; `told` is the frame that tells most.
        """
        pictures = [_picture(frame) for frame in frames]
        text = lambda label: f"{label:.4g}" if isinstance(label, float) else str(label)
        self.labels = tuple(map(text, range(len(pictures)) if labels is None else labels))
        words = tuple(frame.alt for frame in pictures) if alt is None else tuple(alt)
        if not pictures:
            raise ValueError("there are no frames to slide over; give at least one Picture")
        self.start, self.told = start, (start or len(pictures) - 1) if told is None else told
        if not caption:
            raise ValueError("caption is empty; say in a sentence what moves in the picture")
        self.frames = tuple(Picture(frame.svg, word) for frame, word in zip(pictures, words, strict=True))
        self.name, self.caption = name, caption

    def __repr__(self) -> str:
        ends = f"{self.name} {self.labels[0]} to {self.labels[-1]}"
        return f"Slider over {len(self.frames)} frames, {ends}: {self.caption}"

    def _repr_html_(self) -> str:
        content = "".join((*(frame.svg for frame in self.frames), *self.labels, self.caption, self.name))
        tag = "ck" + hashlib.sha256(content.encode()).hexdigest()[:10]
        first, name = self.labels[self.start], escape(self.name)
        pictures = "".join(
            f'<div class="ck-frame{" ck-told" if n == self.told else ""}" data-frame="{escape(label)}" '
            f'data-label="{name}: {escape(label)}" role="img" aria-label="{escape(frame.alt)}" style="overflow-x:auto'
            f'{"" if n == self.start else ";display:none"}">{frame.renamed(f"{tag}-{n}-")}</div>'
            for n, (frame, label) in enumerate(zip(self.frames, self.labels, strict=True))
        )
        return (
            f'<figure class="ck-slider" style="margin:1em 0">{_PAPER}{pictures}'
            '<label style="display:flex;gap:.7em;align-items:center;max-width:40em;margin:.2em 0">'
            f"<span>{name}</span>"
            f'<input type="range" min="0" max="{len(self.frames) - 1}" step="1" value="{self.start}" '
            f'autocomplete="off" aria-label="{name}" aria-valuetext="{escape(first)}" '
            f'style="flex:1 1 auto;min-width:6em;height:44px;margin:0;accent-color:{BLUE}" oninput="{_SHOW}">'
            f'<output style="min-width:4em;font-variant-numeric:tabular-nums">{escape(first)}</output></label>'
            f'<figcaption style="margin:0;color:inherit;text-align:left">{escape(self.caption)}</figcaption></figure>'
        )


slider = Slider


def _picture(frame: Any) -> Picture:
    """The other kind of frame is a Drawing of coursekit.notation."""
    return frame if isinstance(frame, Picture) else Picture(frame.svg(), frame.words)


# ── figures that move, ready for use ─────────────────────────────────────────────────────────────


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
