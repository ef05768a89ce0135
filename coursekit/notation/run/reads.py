"""Reading a tensor at index expressions: slices, windows, padding and lookups, as views wherever one exists.

An axis that is read at `2*t+dt` is first cut or filled so that it holds exactly the positions that are
asked for; then each index becomes an axis of its own by `unfold`, which copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import NotationError
from ..meaning.reach import fail, nth
from ..system import System
from ..tree import Affine, Lookup, Ref, SizeOf
from .named import Code, Env, Step, elementwise, full, through

if TYPE_CHECKING:
    from .compile import Compiler


def whole_name(name: str) -> str:
    """Where a run keeps an input of whole numbers as it was given, beside its values as real numbers."""
    return f"#{name}"


def read(compiler: Compiler, ref: Ref, whole: bool = False) -> Code:
    """The entries `name[…]` for all values of the indices; `whole` asks for the whole numbers as given."""
    name = whole_name(ref.name) if whole and not compiler.system.tensors[ref.name].defined else ref.name
    axes, steps = read_axes(compiler, ref, list(range(len(ref.indices))))
    return Code(axes, through(lambda env: env.tensors[name], steps))


def read_axes(
    compiler: Compiler, ref: Ref, axes: list[int], lead: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], list[Step]]:
    """The views that take a tensor with only the axes `axes` of `ref` to its entries, and their indices.

    The axes that are left out have been read already (a recurrence reads its own step by step); `lead`
    are axes that stand before the others since.
    """
    filled: list[Step] = []  # boundary values fit the tensor as it is given: they are put on before it is cut
    cuts: list[Step] = []
    splits: list[Step] = []
    names = [*lead]
    looked_up: list[int] = []
    inner: list[str] = []  # a further index of an axis becomes an axis at the end
    for place, axis in enumerate(axes, len(lead)):
        affine = ref.indices[axis]
        if any(isinstance(atom, Lookup) for _, atom in affine.terms):
            names.append(f"?{axis}")
            looked_up.append(axis)
            continue
        terms, _ = compiler.terms(affine)
        put_on, steps = cut(compiler, ref, axis, place, *compiler.ends(affine))
        (filled if put_on else cuts).extend(steps)
        for factor, name in terms[1:]:
            width = (compiler.length(name) - 1) * abs(factor) + 1
            splits.append(_view(Tensor.unfold, place, width, 1))
            splits += every(len(lead) + len(axes) + len(inner), factor)
            inner.append(name)
        splits += every(place, terms[0][0]) if terms else []
        names.append(terms[0][1] if terms else "")
    names += inner
    steps = [*filled, *cuts, *splits]
    if "" in names:  # one position alone
        at = tuple(slice(None) if name else 0 for name in names)
        steps.append(lambda _, x: x[at])
        names = [name for name in names if name]
    for name in sorted({n for n in names if names.count(n) > 1}):
        while names.count(name) > 1:  # an index on two axes: the entries at which both agree
            one = names.index(name)
            two = names.index(name, one + 1)
            steps.append(_view(Tensor.diagonal, 0, one, two))
            del names[two], names[one]
            names.append(name)
    for axis in looked_up:
        look_up(compiler, ref, axis, f"?{axis}", names, steps)
    return tuple(names), steps


def _view(function: Callable[..., Tensor], *args: int) -> Step:
    return lambda _, x: function(x, *args)


def every(place: int, factor: int) -> list[Step]:
    """Each `factor`-th entry along an axis, from its end where that is negative."""
    at = (slice(None),) * place + (slice(None, None, abs(factor)),)
    steps: list[Step] = [lambda _, x: x[at]] if abs(factor) > 1 else []
    return [*steps, lambda _, x: x.flip(place)] if factor < 0 else steps


def cut(compiler: Compiler, ref: Ref, axis: int, place: int, low: int, high: int) -> tuple[bool, list[Step]]:
    """Make the axis at `place` hold exactly the positions from `low` to `high`, filled where it must be.

    The first answer is whether boundary values are put on.
    """
    dim = compiler.system.tensors[ref.name].dims[axis]
    size, start = compiler.sizes[dim], compiler.first[dim]
    low, high = low - start, high - start
    # The positions asked for: so many before the range, from `begin` to `end` inside it, so many after.
    before, after = max(0, min(high, -1) - low + 1), max(0, high - max(low, size) + 1)
    begin, end = min(max(0, low), size), max(0, min(size, high + 1))
    if before == 0 and after == 0:
        if begin == 0 and end == size:
            return False, []
        return False, [lambda _, x: x.narrow(place, begin, end - begin)]
    core: Step = lambda _, x: x.narrow(place, begin, max(0, end - begin))
    ends = {True: (low, before), False: (max(low, size) - size, after)}
    fill = _filler(compiler, ref, axis, place, ends)
    if fill is None:

        def pad(env: Env, x: Tensor) -> Tensor:
            return F.pad(core(env, x), (0, 0) * (x.ndim - 1 - place) + (before, after))

        return False, [pad]
    return True, [lambda env, x: fill(env, core(env, x))]


def _filler(
    compiler: Compiler, ref: Ref, axis: int, place: int, ends: dict[bool, tuple[int, int]]
) -> Step | None:
    """What puts boundary values before and after an axis; None where they are zeros.

    `ends` has, before (True) and after (False) the range, the first position and how many there are.
    """
    name = ref.name
    if name in compiler.system.padded:
        return None
    deep = {s < 0: abs(s) for a, s in compiler.system.boundary.get(name, ()) if a == axis}
    for is_before, (first, count) in ends.items():
        away = -first if is_before else first + count
        if count and away > deep.get(is_before, 0):
            # `sizes` refuses every such read, but for those that a condition keeps from being looked at.
            return None

    def rows(env: Env, x: Tensor, is_before: bool) -> list[Tensor]:
        first, count = ends[is_before]
        if count == 0:
            return []
        value = beyond(env, compiler.system, name, axis, is_before)
        if not isinstance(value, Tensor):
            return [full(env, value, [*x.shape[:place], count, *x.shape[place + 1 :]])]
        value = value.narrow(axis, value.shape[axis] + first if is_before else first, count)
        if value.ndim != x.ndim or any(
            n != place and a != b for n, (a, b) in enumerate(zip(value.shape, x.shape, strict=True))
        ):
            raise at_a_corner(compiler.system, ref)
        return [value]

    return lambda env, x: torch.cat([*rows(env, x, True), x, *rows(env, x, False)], place)


def beyond(env: Env, system: System, name: str, axis: int, before: bool) -> Tensor | float:
    """What a tensor is before or after an axis: a number, or a tensor that is as deep there as it is read."""
    for (own, steps), value in zip(system.boundary.get(name, ()), env.edges.get(name, ()), strict=False):
        if own == axis and (steps < 0) == before:
            if not isinstance(value, Tensor):
                return float(value)
            return value.unsqueeze(axis) if value.ndim < len(system.tensors[name].dims) else value
    return 0.0


def at_a_corner(system: System, ref: Ref) -> NotationError:
    message = f"`{ref.name}` is read outside two axes at once: its boundary must be one number"
    return fail(system, message, ref.span)


def look_up(compiler: Compiler, ref: Ref, axis: int, mark: str, names: list[str], steps: list[Step]) -> None:
    """Replace the axis `mark` by the axes of the whole numbers that are looked up along it."""
    affine = ref.indices[axis]
    where, guarded = affine_code(compiler, affine), compiler.guarded(affine)
    dim = compiler.system.tensors[ref.name].dims[axis]
    size, start = compiler.sizes[dim], compiler.first[dim]
    shared = [a for a in where.axes if a in names]
    others = [a for a in where.axes if a not in names]
    rest = [n for n in names if n != mark and n not in shared]
    may_leave = ref.name in compiler.system.padded or guarded

    def positions(env: Env) -> tuple[Tensor, Tensor | None]:
        index = where.run(env)
        index = index - start if start else index
        if index.is_meta or index.numel() == 0:
            return index, None
        least, most = int(index.min()), int(index.max())
        if least >= 0 and most < size:
            return index, None
        if not may_leave:
            wrong = (least if least < 0 else most) + start
            message = f"`{ref.name}` is looked up at {wrong}, but its {nth(axis)} runs from {start} to "
            raise fail(compiler.system, f"{message}{start + size - 1} (`{dim}` is {size})", ref.span)
        return index.clamp(0, max(size - 1, 0)), (index >= 0) & (index < size)

    place = names.index(mark)
    if not shared and not may_leave:

        def select(env: Env, x: Tensor) -> Tensor:
            index, _ = positions(env)
            x = x.index_select(place, index.reshape(-1)).unflatten(place, index.shape)
            return x

        steps.append(select if others else lambda env, x: x.select(place, int(positions(env)[0])))
        names[place : place + 1] = others
        return
    front = tuple(names.index(a) for a in [*shared, mark, *rest])
    index_axes = [*shared, *others]
    order = tuple(where.axes.index(a) for a in index_axes)

    def gather(env: Env, x: Tensor) -> Tensor:
        index, inside = positions(env)
        index = index.permute(order)
        along = [
            torch.arange(n, device=index.device).reshape([-1 if k == m else 1 for m in range(index.ndim)])
            for k, n in enumerate(index.shape[: len(shared)])
        ]
        x = x.permute(front)[(*along, index)]
        if inside is not None:
            inside = inside.permute(order).reshape(index.shape + (1,) * len(rest))
            x = torch.where(inside, x, torch.zeros((), dtype=x.dtype, device=x.device))
        return x

    steps.append(gather)
    names[:] = [*index_axes, *rest]


def affine_code(compiler: Compiler, affine: Affine) -> Code:
    """An index expression as a tensor of whole numbers."""
    parts: list[tuple[int, Code]] = []
    const = affine.const
    for factor, atom in affine.terms:
        if isinstance(atom, SizeOf):
            const += factor * compiler.size(atom.name)
        elif isinstance(atom, Lookup):
            parts.append((factor, compiler.whole(atom.ref)))
        else:
            parts.append((factor, compiler.counter(atom)))
    if not parts:
        return Code((), lambda env: torch.full((), const, dtype=torch.long, device=env.device))
    if len(parts) == 1 and parts[0][0] == 1 and const == 0:
        return parts[0][1]
    factors = [f for f, _ in parts]

    def add(*values: Tensor) -> Tensor:
        total = sum(f * v if f != 1 else v for f, v in zip(factors, values, strict=True))
        return total + const if const else total  # type: ignore[return-value]

    return elementwise(add, [c for _, c in parts], compiler.order)
