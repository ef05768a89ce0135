"""A sum over a window, `Σ W[dx,dy,i,j] L[b,x+dx,y+dy,i]`, as torch's own convolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from ..code.value import Value
from ..tree import Expr, Iverson, Lookup, Ref
from .reads import cut, every

if TYPE_CHECKING:
    from .writer import Writer

_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@dataclass(frozen=True, slots=True)
class _Window:
    """An axis read at `stride * out + dilation * tap`, up to sign and shift."""

    out: str
    tap: str
    stride: int
    dilation: int


def convolution(write: Writer, factors: Sequence[Expr], summed: Sequence[str]) -> Value | None:
    """A product of two factors, one of them read through windows; None if it is not one."""
    if len(factors) != 2 or any(isinstance(f, Iverson) for f in factors):
        return None
    for image, kernel in (factors, factors[::-1]):
        if isinstance(image, Ref):
            found = _windows(write, image, summed)
            if found and (value := _convolve(write, image, kernel, found, summed)) is not None:
                return value
    return None


def _windows(write: Writer, image: Ref, summed: Sequence[str]) -> dict[int, _Window] | None:
    """By axis: its window. None if some axis is neither a window nor a single index."""
    found: dict[int, _Window] = {}
    names: list[str] = []
    for axis, affine in enumerate(image.indices):
        if any(isinstance(atom, Lookup) for _, atom in affine.terms):
            return None
        terms, _ = write.extents.terms(affine)
        names += [n for _, n in terms]
        free = [(f, n) for f, n in terms if n not in summed]
        taps = [(f, n) for f, n in terms if n in summed]
        if len(free) == 1 and len(taps) == 1:
            found[axis] = _Window(free[0][1], taps[0][1], free[0][0], taps[0][0])
        elif len(terms) != 1:
            return None
    return found if 1 <= len(found) <= 3 and len(set(names)) == len(names) else None


def _convolve(
    write: Writer, image: Ref, kernel: Expr, found: dict[int, _Window], summed: Sequence[str]
) -> Value | None:
    weights, windows = write.value(kernel), list(found.values())
    names = {
        a: write.extents.terms(i)[0][0] for a, i in enumerate(image.indices) if a not in found
    }  # of the plain axes
    channels = [n for _, n in names.values() if n in summed]
    batch = [n for _, n in names.values() if n not in summed]
    taps = [w.tap for w in windows]
    outs = [n for n in weights.axes if n not in channels and n not in taps]
    lengths: Callable[[Sequence[str]], list[int]] = lambda axes: [write.length(a) for a in axes]
    fits = (
        all(n in weights.axes for n in channels + taps)
        and not any(n in weights.axes for n in batch + [w.out for w in windows])
        and not any(n in summed for n in outs)
    )
    # With more taps than places the roles are the other way round: a gradient of weights, better as einsum.
    if not fits or prod(lengths(taps)) > prod(lengths([w.out for w in windows])):
        return None
    where = {name: axis for axis, (_, name) in names.items()}
    order = tuple([where[n] for n in batch + channels] + list(found))
    lay = tuple(weights.axes.index(n) for n in outs + channels + taps)
    flip = [2 + n for n, w in enumerate(windows) if w.dilation < 0]
    back = [len(batch + outs) + n for n, w in enumerate(windows) if w.stride < 0]
    stride, dilation = [abs(w.stride) for w in windows], [abs(w.dilation) for w in windows]
    conv = _CONV[len(found)]
    n, c, o = prod(lengths(batch)), prod(lengths(channels)), prod(lengths(outs))
    shape = lengths(batch) + lengths(outs)

    def convolve(x: Tensor, w: Tensor) -> Tensor:
        x, w = x.permute(order), w.permute(lay)
        x = x.reshape(n, c, *x.shape[len(batch + channels) :])
        w = w.reshape(o, c, *w.shape[len(outs + channels) :])
        y = conv(x, w.flip(flip) if flip else w, stride=stride, dilation=dilation)
        y = y.reshape(*shape, *y.shape[2:])
        return y.flip(back) if back else y

    # Each axis is cut or filled to the positions that are read; window axes are left whole.
    steps = []
    for axis, affine in enumerate(image.indices):
        ends = write.extents.interval(affine, write.ranges)
        steps.append((*cut(write, image, axis, axis, ends, len(image.indices)), axis))
    text = write.scope.use(image.name)
    for _, step, axis in sorted(steps, key=lambda s: not s[0]):
        text = step(text) + (every(axis, names[axis][0]) if axis in names else "")
    axes = (*batch, *outs, *(w.out for w in windows))
    return Value(f"{write.scope.object(convolve)}({text}, {weights.text})", axes)
