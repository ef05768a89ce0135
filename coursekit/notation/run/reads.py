"""Reading a tensor at index expressions: slices, windows, padding and lookups, as views wherever one exists.

An axis that is read at `2*t+dt` is first cut or filled so that it holds exactly the positions that are
asked for; then each index becomes an axis of its own by `unfold`, which copies nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .. import tree as T
from ..code.value import Value, slots
from ..meaning.reach import fail, nth

if TYPE_CHECKING:
    from .writer import Writer

Step = Callable[[str], str]  # a text, taken further


def read(
    write: "Writer", ref: T.Ref, text: str = "", axes: Sequence[int] | None = None, lead: tuple[str, ...] = ()
) -> Value:
    """The entries `name[…]` for all values of the indices.

    The `axes` that are left out have been read already (a recurrence reads its own step by step); `lead` are axes that
    stand before the others since.
    """
    text = text or write.scope.use(ref.name)
    axes = range(len(ref.indices)) if axes is None else axes
    steps: list[tuple[bool, Step]] = []
    splits = ""
    names = [*lead]
    looked_up: list[int] = []
    inner: list[str] = []  # a further index of an axis becomes an axis at the end
    for place, axis in enumerate(axes, len(lead)):
        affine = ref.indices[axis]
        if any(isinstance(atom, T.Lookup) for _, atom in affine.terms):
            names.append(f"?{axis}")
            looked_up.append(axis)
            continue
        terms, _ = write.extents.terms(affine)
        steps.append(cut(write, ref, axis, place, len(lead) + len(axes)))
        for factor, name in terms[1:]:
            splits += f".unfold({place}, {(write.length(name) - 1) * abs(factor) + 1}, 1)"
            splits += every(len(lead) + len(axes) + len(inner), factor)
            inner.append(name)
        splits += every(place, terms[0][0]) if terms else ""
        names.append(terms[0][1] if terms else "")
    names += inner
    # Boundary values fit the tensor as it is given: they are put on before it is cut.
    for _, step in sorted(steps, key=lambda step: not step[0]):
        text = step(text)
    # An axis of one position alone is taken off.
    text += splits + slots([":" if name else "0" for name in names])
    names = [name for name in names if name]
    while twice := sorted(n for n in names if names.count(n) > 1):  # the entries at which both axes agree
        one = names.index(twice[0])
        two = names.index(twice[0], one + 1)
        text += f".diagonal(0, {one}, {two})"
        names = [*names[:one], *names[one + 1 : two], *names[two + 1 :], twice[0]]
    value = Value(text, tuple(names))
    for axis in looked_up:
        value = look_up(write, ref, axis, f"?{axis}", value)
    return value


def every(place: int, factor: int) -> str:
    """Each `factor`-th entry along an axis, from its end where that is negative."""
    step = slots([*[":"] * place, f"::{abs(factor)}"]) if abs(factor) > 1 else ""
    return f"{step}.flip({place})" if factor < 0 else step


def cut(
    write: "Writer", ref: T.Ref, axis: int, place: int, rank: int, ends: tuple[int, int] | None = None
) -> tuple[bool, Step]:
    """Make the axis at `place`, of `rank` many, hold exactly the positions that are read (those between `ends`), filled
    where it must be. The first answer is whether boundary values are put on."""
    low, high = ends or write.extents.interval(ref.indices[axis], write.ranges) or (0, 0)
    span = write.extents.span(write.system.tensors[ref.name].dims[axis])
    size, low, high = len(span), low - span.start, high - span.start
    # The positions asked for: so many before the range, from `begin` to `end` inside it, so many after.
    before, after = max(0, min(high, -1) - low + 1), max(0, high - max(low, size) + 1)
    begin, end = min(max(0, low), size), max(0, min(size, high + 1))
    core = "" if (begin, end) == (0, size) else f".narrow({place}, {begin}, {max(0, end - begin)})"
    if before == 0 and after == 0:
        return False, lambda text: text + core
    deep = {s < 0: abs(s) for a, s in write.system.boundary.get(ref.name, ()) if a == axis}
    # `sizes` refuses every read beyond the boundary, but for those that a condition keeps from being looked at.
    lost = (before and -low > deep.get(True, 0)) or (after and high + 1 - size > deep.get(False, 0))
    if ref.name in write.system.padded or lost:
        return False, lambda text: f"pad({text}{core}, ({'0, 0, ' * (rank - 1 - place)}{before}, {after}))"

    def rows(x: Tensor, edge: Tensor | float, first: int, count: int) -> Tensor:
        wanted = [*x.shape[:place], count, *x.shape[place + 1 :]]
        if not isinstance(edge, Tensor) or count == 0:
            return x.new_full((), 0.0 if isinstance(edge, Tensor) else edge).expand(wanted)
        edge = edge.narrow(axis, first % edge.shape[axis], count)
        if list(edge.shape) != wanted:
            message = f"`{ref.name}` is read outside two axes at once: its boundary must be one number"
            raise fail(write.system, message, ref.span)
        return edge

    def fill(x: Tensor, first: Tensor | float, last: Tensor | float) -> Tensor:
        return torch.cat([rows(x, first, low, before), x, rows(x, last, max(low, size) - size, after)], place)

    both = ", ".join(write.scope.beyond(ref.name, axis, side) for side in (True, False))
    return True, lambda text: f"{write.scope.object(fill)}({text}{core}, {both})"


def look_up(write: "Writer", ref: T.Ref, axis: int, mark: str, value: Value) -> Value:
    """Replace the axis `mark` by the axes of the whole numbers that are looked up along it."""
    affine, names, dim = ref.indices[axis], value.axes, write.system.tensors[ref.name].dims[axis]
    where, span = write.position(affine), write.extents.span(dim)
    shared, others = ([a for a in where.axes if (a in names) is sense] for sense in (True, False))
    rest = [n for n in names if n != mark and n not in shared]
    guarded = any(T.free_indices(c) & T.free_indices(affine) for c, _ in write.guards)
    may_leave = ref.name in write.system.padded or guarded
    place = names.index(mark)

    def positions(index: Tensor) -> tuple[Tensor, Tensor | None]:
        index = index - span.start if span.start else index
        if index.is_meta or index.numel() == 0:
            return index, None
        least, most = int(index.min()), int(index.max())
        if least >= 0 and most < len(span):
            return index, None
        if not may_leave:
            wrong = (least if least < 0 else most) + span.start
            message = f"`{ref.name}` is looked up at {wrong}, but its {nth(axis)} runs from {span.start} to "
            raise fail(write.system, f"{message}{span[-1]} (`{dim}` is {len(span)})", ref.span)
        return index.clamp(0, max(len(span) - 1, 0)), (index >= 0) & (index < len(span))

    def select(x: Tensor, index: Tensor) -> Tensor:
        index = positions(index)[0]
        found = x.index_select(place, index.reshape(-1))
        return found.unflatten(place, index.shape) if index.ndim else found.squeeze(place)

    if not shared and not may_leave:
        axes = (*names[:place], *others, *names[place + 1 :])
        return Value(f"{write.scope.object(select)}({value.text}, {where.text})", axes)
    front = tuple(names.index(a) for a in [*shared, mark, *rest])
    index_axes = [*shared, *others]
    order = tuple(where.axes.index(a) for a in index_axes)

    def gather(x: Tensor, index: Tensor) -> Tensor:
        index, inside = positions(index)
        index = index.permute(order)
        along = [
            torch.arange(n, device=index.device).reshape([-1 if k == m else 1 for m in range(index.ndim)])
            for k, n in enumerate(index.shape[: len(shared)])
        ]
        x = x.permute(front)[(*along, index)]
        if inside is None:
            return x
        return torch.where(inside.permute(order).reshape(index.shape + (1,) * len(rest)), x, x.new_zeros(()))

    return Value(f"{write.scope.object(gather)}({value.text}, {where.text})", (*index_axes, *rest))
