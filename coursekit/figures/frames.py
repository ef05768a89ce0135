"""Frames under a slider that needs no kernel: in Lab, in Colab, in a page that is only a file.

    slider([attention(alpha) for alpha in alphas], labels=steps, name="step", caption="Attention learns to align")

All frames are in the page; the slider shows one. Its few words of script stand in the slider itself, so
they work wherever HTML does, however often it is copied. On paper, and in the book without scripts, the frame
that tells most is there with its label: the one it starts at, or the last, unless the author names another.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

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


@dataclass(frozen=True)
class Slider:
    """What `slider` gives: shows itself as HTML."""

    frames: tuple[Picture, ...]
    labels: tuple[str, ...]
    name: str
    caption: str
    start: int
    told: int

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


def slider(
    frames: Sequence[Any],
    labels: Sequence[object] | None = None,
    name: str = "frame",
    caption: str = "",
    alt: Sequence[str] | None = None,
    start: int = 0,
    told: int | None = None,
) -> Slider:
    """`frames`, pictures of this package or drawings of equations, under a slider.

    `labels[n]` is shown beside it at frame n, `name` says what is moved.

    `alt` replaces the frames' own words for those who cannot see them; `told` is the frame that tells most.
    """
    frames = tuple(_picture(frame) for frame in frames)
    text = lambda label: f"{label:.4g}" if isinstance(label, float) else str(label)
    shown = tuple(map(text, range(len(frames)) if labels is None else labels))
    words = tuple(frame.alt for frame in frames) if alt is None else tuple(alt)
    if not frames:
        raise ValueError("there are no frames to slide over; give at least one Picture")
    for what, many in (("labels", shown), ("alt", words)):
        if len(many) != len(frames):
            raise ValueError(f"there are {len(frames)} frames and {len(many)} {what}; each frame needs one")
    told = (start or len(frames) - 1) if told is None else told
    for what, n in (("start", start), ("told", told)):
        if not 0 <= n < len(frames):
            raise ValueError(f"{what} is {n}; it needs to be one of the frames 0 to {len(frames) - 1}")
    if not caption:
        raise ValueError("caption is empty; say in a sentence what moves in the picture")
    frames = tuple(Picture(frame.svg, word) for frame, word in zip(frames, words, strict=True))
    return Slider(frames, shown, name, caption, start, told)


def _picture(frame: Any) -> Picture:
    if isinstance(frame, Picture):
        return frame
    if hasattr(frame, "svg") and hasattr(frame, "words"):  # a Drawing of coursekit.notation
        return Picture(frame.svg(), frame.words)
    raise ValueError(
        f"a frame is a {type(frame).__name__}; a slider needs figures of coursekit, or equations drawn"
    )
