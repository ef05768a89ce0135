"""The size of every dimension, from the shapes of the tensors; and whether every read stays in range.

Nothing here knows what a tensor is made of: `evaluate` and `run` both hand over shapes alone.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import prod
from numbers import Integral
from typing import Any

from .. import tree as T
from ..show import show
from ..system import Derived, Joined, System
from .reach import Extents, fail, nth

Shape = tuple[int, ...]
Axis = tuple[str, int]  # a tensor and the number of its axis
Hop = tuple[T.Ref, T.Ref]  # two tensors that one index of one equation runs over


def span_of(system: System, name: str) -> T.Span:
    """The first place where a tensor is written."""
    found = (ref.span for eq in system.program.equations for ref in T.references(eq) if ref.name == name)
    return next(found, T.NOWHERE)


def infer_sizes(
    system: System,
    shapes: Mapping[str, Shape],
    boundary: Mapping[str, Sequence[Shape | None]],
    given: Mapping[str, int],
) -> dict[str, int]:
    """The size of each dimension, or a `NotationError` that says what does not fit.

    `boundary` has for each tensor one entry a side (as `sides` gives them): a shape, or None for a number.
    """
    _check_names(system, shapes, boundary)
    book = _Book(system)
    for name in system.inputs:
        book.tensor(name, shapes[name])
    for statement in system.program.statements:
        if isinstance(statement, T.Directive) and statement.word == "size":
            for name, value in zip(statement.names, statement.values, strict=True):
                book.give(name, int(value), statement.span)
    for name, size in given.items():
        book.give(name, size)
    for name, parts in boundary.items():
        for (axis, steps), shape in zip(system.boundary.get(name, ()), parts, strict=True):
            if shape is not None:
                book.edge(name, axis, steps, shape)
    book.resolve()
    return book.sizes


def sides(system: System, name: str, value: object) -> list[Any]:
    """A boundary value, one entry for each side in `system.boundary[name]`: a tuple is one a side."""
    wanted = system.boundary.get(name, ())
    if not isinstance(value, tuple):
        return [value] * len(wanted)
    if len(value) != len(wanted):
        said = " and ".join(f"{'before' if s < 0 else 'after'} its {nth(a)}" for a, s in wanted)
        message = f"`{name}` is read outside its range {said}: its boundary is one value, or a tuple of "
        raise fail(system, f"{message}{len(wanted)}, not of {len(value)}", span_of(system, name))
    return list(value)


def _check_names(system: System, shapes: Mapping[str, object], boundary: Mapping[str, object]) -> None:
    missing = [n for n in system.inputs if n not in shapes]
    extra = [n for n in shapes if n not in system.inputs]
    for name in missing:
        close = get_close_matches(name, extra, 1, 0.5) or [n for n in extra if n.lower() == name.lower()]
        hint = f" ({close[0]!r} was given: is it meant?)" if close else ""
        dims = ", ".join(system.tensors[name].dims)
        message = f"`{name}` is missing: give a tensor {name!r} of shape ({dims}){hint}"
        raise fail(system, message, span_of(system, name))
    for name in extra:
        if name in system.tensors:
            message = f"`{name}` is defined by the system, so it cannot be given"
            raise fail(system, message, span_of(system, name))
        message = f"`{name}` is given, but no equation reads it; the inputs are {_list(system.inputs)}"
        raise fail(system, message)
    for name in boundary:
        if name in system.padded:
            message = f"`{name}` has a boundary, but `pad` makes it zero outside: keep one of the two"
            raise fail(system, message, span_of(system, name))
        if name not in system.tensors:
            raise fail(system, f"there is a boundary for `{name}`, but no tensor of that name")
    for name, places in system.boundary.items():
        if name not in boundary and name not in system.padded:
            read = next(outside_reads(system, name), None)
            where = f" at {show(read.indices[places[0][0]])}" if read else " outside its range"
            axes = ", ".join(d for n, d in enumerate(_axes(system, name)) if n != places[0][0])
            message = f"`{name}` is read{where}: give boundary={{{name!r}: …}} of shape ({axes}), or say `pad {name}`"
            raise fail(system, message, read.span if read else span_of(system, name))


def outside_reads(system: System, name: str) -> Iterator[T.Ref]:
    """Where a tensor that has a boundary is read with a shift along that axis."""
    axes = {axis for axis, _ in system.boundary[name]}
    for equation in (e for block in system.blocks for e in block.equations):
        for ref in T.references(equation.right):
            if ref.name == name and any(ref.indices[a].plain is None for a in axes):
                yield ref


def _axes(system: System, name: str) -> tuple[str, ...]:
    """What the reader calls the axes: the left side's indices where there is one, else the dimensions."""
    lefts = (e.left for block in system.blocks for e in block.equations)
    own = next((tuple(map(show, left.indices)) for left in lefts if left.name == name), None)
    return own or system.tensors[name].dims


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


class _Book:
    """Sizes as they become known, each with where it was learnt."""

    def __init__(self, system: System):
        self.system = system
        self.sizes: dict[str, int] = {}
        self.source: dict[str, str] = {}
        self.axes: dict[str, Axis] = {}

    def set(
        self, dim: str, size: int, where: str, blame: str | T.Span = T.NOWHERE, axis: Axis | None = None
    ) -> None:
        """`blame` is the tensor, or the place, that an error points at; `axis` is where the size stands."""
        if self.sizes.setdefault(dim, size) != size:
            way = hops(self.system, self.axes[dim], axis) if axis and dim in self.axes else []
            joined, place = told(self.system, way)
            span = place if way else span_of(self.system, blame) if isinstance(blame, str) else blame
            ours = (
                dim.lower() not in self.system.program.source.lower()
            )  # the second of a letter: nobody wrote `J2`
            letter = dim.rstrip("0123456789") if ours else dim
            message = f"`{letter}` is {self.sizes[dim]} {self.source[dim]} but {size} {where}{joined}"
            raise fail(self.system, message, span)
        self.source.setdefault(dim, where)
        if axis:
            self.axes.setdefault(dim, axis)

    def tensor(self, name: str, shape: Shape) -> None:
        dims = self.system.tensors[name].dims
        if len(shape) != len(dims):
            written = f"`{name}[{','.join(dims)}]`" if dims else f"the number `{name}`"
            has, wants = (f"{n} {'axis' if n == 1 else 'axes'}" for n in (len(shape), len(dims)))
            message = f"`{name}` has {has} {tuple(shape)} but is written as {written}, with {wants}"
            raise fail(self.system, message, span_of(self.system, name))
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            if size == 0:
                message = f"`{name}` is empty: its {nth(axis)} (`{dim}`) has length 0"
                raise fail(self.system, message, span_of(self.system, name))
            self.set(dim, size, f"in `{name}` ({nth(axis)})", name, (name, axis))

    def give(self, name: str, size: int, span: T.Span = T.NOWHERE) -> None:
        dim = self.system.dimension(name)
        if dim is None:
            known = sorted(set(self.system.aliases.values()))
            message = f"sizes has {name!r}, which is no dimension here; they are {_list(known)}"
            raise fail(self.system, message, span)
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            message = f"the size of {name!r} must be a whole number above 0, not {size!r}"
            raise fail(self.system, message, span)
        self.set(dim, int(size), "in sizes", span)

    def edge(self, name: str, axis: int, steps: int, shape: Shape) -> None:
        dims, deep = self.system.tensors[name].dims, abs(steps)
        rest = dims[:axis] + dims[axis + 1 :]
        if len(shape) == len(dims) and shape[axis] == deep:
            shape = shape[:axis] + shape[axis + 1 :]
        elif len(shape) != len(rest) or deep > 1:
            axes = _axes(self.system, name)
            wanted = [*axes[:axis], *([str(deep)] if deep > 1 else []), *axes[axis + 1 :]]
            message = f"the boundary of `{name}` has shape {tuple(shape)}, but it must be "
            raise fail(self.system, f"{message}({', '.join(wanted)})", span_of(self.system, name))
        for dim, size in zip(rest, shape, strict=True):
            self.set(dim, size, f"in the boundary of `{name}`", name)

    def resolve(self) -> None:
        """Sizes that follow from others: derived ranges and concatenations, until nothing changes."""
        before = -1
        while before != len(self.sizes):
            before = len(self.sizes)
            for dim, derived in self.system.derived.items():
                size = None if dim in self.sizes else self._longest(derived)
                if size is not None and size < 1:
                    reach = derived.reaches[0]
                    message = f"nothing is left for `{derived.index}`: {show(reach.affine)} leaves "
                    message += f"`{reach.dim}`, which is {self.sizes[reach.dim]}, at once"
                    raise fail(self.system, message, reach.affine.span)
                if size is not None:
                    self.set(dim, size, f"by the reads along `{derived.index}`")
            for dim, joined in self.system.joined.items():
                self._join(dim, joined)
        tensors, ranges = self.system.tensors, self.system.ranges.values()
        for dim in (*(d for t in tensors.values() for d in t.dims), *(d for r in ranges for d in r.values())):
            if dim not in self.sizes:
                message = f"no tensor fixes the size of `{dim}`: give sizes={{{dim!r}: …}}"
                having = next((name for name, t in tensors.items() if dim in t.dims), "")
                raise fail(self.system, message, span_of(self.system, having))

    def _join(self, dim: str, joined: Joined) -> None:
        """The whole from its parts; or, where one part alone is unknown, that part from the whole."""
        unknown = [d for part in joined.parts for d in part if d not in self.sizes]
        known = [prod(self.sizes[d] for d in part) for part in joined.parts if not set(part) & set(unknown)]
        spelt = " + ".join("*".join(part) for part in joined.parts)
        if not unknown:
            self.set(dim, sum(known), f"as {spelt}")
        elif len(unknown) == 1 and dim in self.sizes:
            (part,) = (part for part in joined.parts if unknown[0] in part)
            rest = self.sizes[dim] - sum(known)
            by = prod(self.sizes[d] for d in part if d != unknown[0])
            if rest >= by and rest % by == 0:
                self.set(unknown[0], rest // by, f"as `{dim}` is {self.sizes[dim]} = {spelt}")

    def _longest(self, derived: Derived) -> int | None:
        """The longest range that keeps every reach inside; None while another size is unknown."""
        others = dict(derived.dims)
        found: list[int] = []
        for reach in derived.reaches:
            stride = next((c for c, atom in reach.affine.terms if atom == derived.index), 0)
            rest = T.Affine(tuple(t for t in reach.affine.terms if t[1] != derived.index), reach.affine.const)
            wanted = [] if reach.padded else [others.get(name) for name in rest.names]
            if any(dim not in self.sizes for dim in (reach.dim, *wanted)):
                return None
            if reach.padded:
                found.append(-(-self.sizes[reach.dim] // abs(stride)))
            elif bounds := Extents(self.system, self.sizes).interval(rest, others):
                room = self.sizes[reach.dim] - 1 - bounds[1] if stride > 0 else bounds[0]
                found.append(max(0, room // abs(stride) + 1))
        return min(found, default=None)


# ── why two axes have one size ───────────────────────────────────────────────────────────────


def hops(system: System, one: Axis, other: Axis) -> list[Hop]:
    """The shortest way from one axis to the other; empty where no plain index leads there."""
    uses: dict[tuple[int, str | None], list[tuple[Axis, T.Ref]]] = {}
    over: dict[Axis, list[tuple[tuple[int, str | None], T.Ref]]] = {}
    for number, equation in enumerate(e for block in system.blocks for e in block.equations):
        for ref in T.references(equation):
            for k, affine in enumerate(ref.indices):
                index = (number, T.single(affine))
                if index[1] is not None:
                    uses.setdefault(index, []).append(((ref.name, k), ref))
                    over.setdefault((ref.name, k), []).append((index, ref))
    ways: dict[Axis, list[Hop]] = {one: []}
    queue = deque([one])
    while queue and other not in ways:
        axis = queue.popleft()
        for index, ref in over.get(axis, ()):
            for reached, partner in uses[index]:
                if reached not in ways:
                    ways[reached] = [*ways[axis], (ref, partner)]
                    queue.append(reached)
    return ways.get(other, [])


def told(system: System, way: list[Hop]) -> tuple[str, T.Span]:
    """What joins two axes that meet in no single equation, as the end of a sentence; and the place to look at."""
    if not way:
        return "", T.NOWHERE
    last = max((ref.span for _, ref in way), key=lambda span: span.line)
    if len(way) == 1:
        return "", last
    source = system.program.source
    if any(not 1 <= ref.span.line <= source.count("\n") + 1 for hop in way for ref in hop):
        return "", last  # made by the program, and not written
    line: Callable[[T.Span], str] = lambda span: f" in line {span.line}" if "\n" in source.strip() else ""
    steps = [f"`{_text(source, a.span)}` with `{_text(source, b.span)}`{line(b.span)}" for a, b in way]
    return f"; {', '.join(steps[:-1])} and {steps[-1]} make them one", last


def _text(source: str, span: T.Span) -> str:
    """What the student wrote, up to the bracket that a span leaves out."""
    rest = source.split("\n")[span.line - 1][span.column - 1 :]
    piece = rest[: span.width]
    return rest[: rest.find("]", span.width) + 1] if piece.count("[") > piece.count("]") else piece
