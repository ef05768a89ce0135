"""A sum over a window, `Σ W[dx,dy,i,j] L[b,x+dx,y+dy,i]`, as torch's own convolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def convolution(write: Writer, factors: Sequence[Expr], summed: Sequence[str]) -> Value | None:
    """A product of two factors, one of them read through windows; None if it is not one."""
    if len(factors) == 2 and not any(isinstance(f, Iverson) for f in factors):
        for image, kernel in (factors, factors[::-1]):
            if isinstance(image, Ref) and (value := _convolve(write, image, kernel, summed)) is not None:
                return value
    return None


def _convolve(write: Writer, image: Ref, kernel: Expr, summed: Sequence[str]) -> Value | None:
    terms = [write.extents.terms(affine)[0] for affine in image.indices]
    plain = {axis: found[0] for axis, found in enumerate(terms) if len(found) == 1}
    # A window is read at `stride * out + dilation * tap`, up to sign and shift.
    windows = {
        axis: sorted(found, key=lambda term: term[1] in summed)
        for axis, found in enumerate(terms)
        if len(found) == 2 and len({name in summed for _, name in found}) == 2
    }
    names = [name for found in terms for _, name in found]
    looked_up = any(isinstance(atom, Lookup) for affine in image.indices for _, atom in affine.terms)
    if looked_up or len(windows) not in _CONV or len(windows) + len(plain) < len(terms):
        return None
    weights = write.value(kernel)
    channels = [name for _, name in plain.values() if name in summed]
    batch = [name for _, name in plain.values() if name not in summed]
    places, taps = ([window[k][1] for window in windows.values()] for k in (0, 1))
    kinds = [n for n in weights.axes if n not in channels and n not in taps]
    lengths: Callable[[Sequence[str]], list[int]] = lambda axes: [write.length(a) for a in axes]
    fits = (
        len(set(names)) == len(names)
        and {*channels, *taps} <= set(weights.axes)
        and not {*batch, *places} & set(weights.axes)
        and not set(summed) & set(kinds)
    )
    # With more taps than places the roles are the other way round: a gradient of weights, better as einsum.
    if not fits or prod(lengths(taps)) > prod(lengths(places)):
        return None
    where = {name: axis for axis, (_, name) in plain.items()}
    order = tuple([where[n] for n in batch + channels] + list(windows))
    lay = tuple(weights.axes.index(n) for n in kinds + channels + taps)
    strides, dilations = ([window[k][0] for window in windows.values()] for k in (0, 1))
    flip = [2 + n for n, dilation in enumerate(dilations) if dilation < 0]
    back = [len(batch + kinds) + n for n, stride in enumerate(strides) if stride < 0]
    n, c, o = prod(lengths(batch)), prod(lengths(channels)), prod(lengths(kinds))
    shape = lengths(batch) + lengths(kinds)
    conv = _CONV[len(windows)]

    def convolve(x: Tensor, w: Tensor) -> Tensor:
        x, w = x.permute(order), w.permute(lay)
        x = x.reshape(n, c, *x.shape[len(batch + channels) :])
        w = w.reshape(o, c, *w.shape[len(kinds + channels) :])
        w = w.flip(flip) if flip else w
        y = conv(x, w, stride=list(map(abs, strides)), dilation=list(map(abs, dilations)))
        y = y.reshape(*shape, *y.shape[2:])
        return y.flip(back) if back else y

    # Each axis is cut or filled to the positions that are read; window axes are left whole.
    steps = [cut(write, image, axis, axis, len(terms)) for axis in range(len(terms))]
    text = write.scope.use(image.name)
    for axis in sorted(range(len(terms)), key=lambda axis: not steps[axis][0]):
        text = steps[axis][1](text) + (every(axis, plain[axis][0]) if axis in plain else "")
    return Value(f"{write.scope.object(convolve)}({text}, {weights.text})", (*batch, *kinds, *places))
