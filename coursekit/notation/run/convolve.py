"""A sum over a window, `Σ W[dx,dy,i,j] L[b,x+dx,y+dy,i]`, as torch's own convolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor

from ..tree import Expr, Iverson, Lookup, Ref
from .named import Code, Env, Step, through
from .reads import cut, every

if TYPE_CHECKING:
    from .compile import Compiler

_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@dataclass(frozen=True, slots=True)
class _Window:
    """An axis read at `stride * out + dilation * tap`, up to sign and shift."""

    out: str
    tap: str
    stride: int
    dilation: int


def convolution(compiler: Compiler, factors: Sequence[Expr], summed: Sequence[str]) -> Code | None:
    """The code of a product of two factors, one of them read through windows; None if it is not one."""
    if len(factors) != 2 or any(isinstance(f, Iverson) for f in factors):
        return None
    for image, kernel in (factors, factors[::-1]):
        if isinstance(image, Ref):
            found = _windows(compiler, image, summed)
            if found and (code := _convolve(compiler, image, kernel, found, summed)) is not None:
                return code
    return None


def _windows(compiler: Compiler, image: Ref, summed: Sequence[str]) -> dict[int, _Window] | None:
    """By axis: its window. None if some axis is neither a window nor a single index."""
    found: dict[int, _Window] = {}
    for axis, affine in enumerate(image.indices):
        if any(isinstance(atom, Lookup) for _, atom in affine.terms):
            return None
        terms, _ = compiler.terms(affine)
        free = [(f, n) for f, n in terms if n not in summed]
        taps = [(f, n) for f, n in terms if n in summed]
        if len(free) == 1 and len(taps) == 1:
            found[axis] = _Window(free[0][1], taps[0][1], free[0][0], taps[0][0])
        elif len(terms) != 1:
            return None
    names = [n for affine in image.indices for _, n in compiler.terms(affine)[0]]
    return found if 1 <= len(found) <= 3 and len(set(names)) == len(names) else None


def _convolve(
    compiler: Compiler, image: Ref, kernel: Expr, found: dict[int, _Window], summed: Sequence[str]
) -> Code | None:
    weights = compiler.code(kernel)
    plain = [a for a in range(len(image.indices)) if a not in found]
    names = {a: compiler.terms(image.indices[a])[0][0][1] for a in plain}
    channels = [names[a] for a in plain if names[a] in summed]
    batch = [names[a] for a in plain if names[a] not in summed]
    taps = [w.tap for w in found.values()]
    outs = [n for n in weights.axes if n not in channels and n not in taps]
    lengths: Callable[[Sequence[str]], list[int]] = lambda axes: [compiler.length(a) for a in axes]
    fits = (
        all(n in weights.axes for n in channels + taps)
        and not any(n in weights.axes for n in batch + [w.out for w in found.values()])
        and not any(n in summed for n in outs)
    )
    # With more taps than places the roles are the other way round: a gradient of weights, better as einsum.
    if not fits or prod(lengths(taps)) > prod(lengths([w.out for w in found.values()])):
        return None
    where = {name: axis for axis, name in names.items()}
    order = tuple([where[n] for n in batch + channels] + list(found))
    lay = tuple(weights.axes.index(n) for n in outs + channels + taps)
    flip = [2 + n for n, w in enumerate(found.values()) if w.dilation < 0]
    back = [len(batch + outs) + n for n, w in enumerate(found.values()) if w.stride < 0]
    stride = [abs(w.stride) for w in found.values()]
    dilation = [abs(w.dilation) for w in found.values()]
    conv = _CONV[len(found)]
    n, c, o = prod(lengths(batch)), prod(lengths(channels)), prod(lengths(outs))
    shape = lengths(batch) + lengths(outs)
    fetch = through(lambda env: env.tensors[image.name], _cuts(compiler, image, found))

    def run(env: Env) -> Tensor:
        x = fetch(env).permute(order)
        x = x.reshape(n, c, *x.shape[len(batch + channels) :])
        w = weights.run(env).permute(lay)
        w = w.reshape(o, c, *w.shape[len(outs + channels) :])
        y = conv(x, w.flip(flip) if flip else w, stride=stride, dilation=dilation)
        y = y.reshape(*shape, *y.shape[2:])
        return y.flip(back) if back else y

    return Code((*batch, *outs, *(w.out for w in found.values())), run)


def _cuts(compiler: Compiler, image: Ref, found: dict[int, _Window]) -> list[Step]:
    """Cut or fill each axis to the positions that are read; window axes are left whole."""
    first: list[Step] = []
    rest: list[Step] = []
    for axis, affine in enumerate(image.indices):
        low, high = compiler.ends(affine)
        filled, steps = cut(compiler, image, axis, axis, low, high)
        if filled:
            first += steps
        else:
            rest += steps
        if axis not in found:
            rest += every(axis, compiler.terms(affine)[0][0][0])
    return first + rest
