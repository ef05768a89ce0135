"""The size of every dimension, from the shapes of the tensors; and whether every read stays in range.

Nothing here knows what a tensor is made of: `evaluate` and `run` both hand over shapes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches

from .errors import NotationError
from .system import Derived, System
from .tree import (
    NOWHERE, Affine, Cases, Concat, Condition, Directive, Equation, Iverson, Lookup, Mul, Reduce, Ref,
    SizeOf, Softmax, Span, Sum, free_indices, references, walk,
)  # fmt: skip

__all__ = ["Shape", "fail", "infer_sizes", "interval", "reads", "sides", "span_of", "starts"]

Shape = tuple[int, ...]


def fail(system: System, message: str, span: Span = NOWHERE) -> NotationError:
    return NotationError(message, system.program.source, span.line, span.column, span.width)


def span_of(system: System, name: str) -> Span:
    """The first place where a tensor is written."""
    found = (ref.span for eq in system.program.equations for ref in references(eq) if ref.name == name)
    return next(found, NOWHERE)


def starts(system: System, sizes: Mapping[str, int]) -> dict[str, int]:
    """The first value of an index over each dimension: 0, or -(n//2) where the dimension is centred."""
    centred = {dim for r in system.ranges.values() for name, dim in r.items() if name in system.centered}
    return {dim: -(n // 2) if dim in centred else 0 for dim, n in sizes.items()}


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
        if isinstance(statement, Directive) and statement.word == "size":
            for name, value in zip(statement.names, statement.values, strict=True):
                book.give(name, int(value), statement.span)
    for name, size in given.items():
        book.give(name, size)
    for name, parts in boundary.items():
        for (axis, steps), shape in zip(system.boundary[name], parts, strict=True):
            if shape is not None:
                book.edge(name, axis, steps, shape)
    book.resolve()
    _check_reads(system, book.sizes)
    return book.sizes


def sides(system: System, name: str, value: object) -> list:
    """A boundary value, one entry for each side in `system.boundary[name]`: a tuple is one a side."""
    wanted = system.boundary.get(name, ())
    if not isinstance(value, tuple):
        return [value] * len(wanted)
    if len(value) != len(wanted):
        said = " and ".join(f"{'before' if s < 0 else 'after'} axis {a + 1}" for a, s in wanted)
        message = f"{name} is read outside its range {said}: its boundary is one value, or a tuple of "
        raise fail(system, f"{message}{len(wanted)}, not of {len(value)}", span_of(system, name))
    return list(value)


def _check_names(system: System, shapes: Mapping, boundary: Mapping) -> None:
    missing = [n for n in system.inputs if n not in shapes]
    extra = [n for n in shapes if n not in system.inputs]
    for name in missing:
        close = get_close_matches(name, extra, 1, 0.5) or [n for n in extra if n.lower() == name.lower()]
        hint = f" ({close[0]!r} was given: is it meant?)" if close else ""
        dims = ", ".join(system.tensors[name].dims)
        message = f"{name} is missing: give a tensor {name!r} of shape ({dims}){hint}"
        raise fail(system, message, span_of(system, name))
    for name in extra:
        if name in system.tensors:
            raise fail(system, f"{name} is defined by the system, so it cannot be given", span_of(system, name))
        raise fail(system, f"{name} is given, but no equation reads it; the inputs are {_list(system.inputs)}")
    for name in boundary:
        if name in system.padded:
            message = f"{name} has a boundary, but `pad` makes it zero outside: keep one of the two"
            raise fail(system, message, span_of(system, name))
        if name not in system.tensors:
            raise fail(system, f"there is a boundary for {name}, but no tensor of that name")
    for name, places in system.boundary.items():
        if name not in boundary and name not in system.padded:
            read = next((r for r in _outside_reads(system, name)), None)
            where = f" at {_spell(read.indices[places[0][0]])}" if read else " outside its range"
            axes = ", ".join(d for n, d in enumerate(_axes(system, name)) if n != places[0][0])
            message = f"{name} is read{where}: give boundary={{{name!r}: …}} of shape ({axes}), or say `pad {name}`"
            raise fail(system, message, read.span if read else span_of(system, name))


def _outside_reads(system: System, name: str) -> Iterator[Ref]:
    axes = {axis for axis, _ in system.boundary[name]}
    for equation in (e for block in system.blocks for e in block.equations):
        for ref in references(equation.right):
            if ref.name == name and any(ref.indices[a].plain is None for a in axes):
                yield ref


def _axes(system: System, name: str) -> tuple[str, ...]:
    """What the reader calls the axes: the left side's indices where there is one, else the dimensions."""
    for equation in (e for block in system.blocks for e in block.equations):
        if equation.left.name == name:
            return tuple(_spell(a) for a in equation.left.indices)
    return system.tensors[name].dims


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _spell(affine: Affine) -> str:
    """An index expression as a reader writes it: `2*t+dt-1`."""
    text = ""
    for factor, atom in affine.terms:
        if isinstance(atom, Lookup):
            name = f"{atom.ref.name}[{','.join(_spell(a) for a in atom.ref.indices)}]"
        else:
            name = atom.name if isinstance(atom, SizeOf) else atom
        sign = "-" if factor < 0 else "+" if text else ""
        text += sign + (name if abs(factor) == 1 else f"{abs(factor)}*{name}")
    if affine.const or not text:
        text += f"{affine.const:+d}" if text else str(affine.const)
    return text


class _Book:
    """Sizes as they become known, each with where it was learnt."""

    def __init__(self, system: System):
        self.system = system
        self.sizes: dict[str, int] = {}
        self.source: dict[str, str] = {}

    def set(self, dim: str, size: int, where: str, span: Span = NOWHERE) -> None:
        if self.sizes.setdefault(dim, size) != size:
            message = f"`{dim}` is {self.sizes[dim]} {self.source[dim]} but {size} {where}"
            raise fail(self.system, message, span)
        self.source.setdefault(dim, where)

    def tensor(self, name: str, shape: Shape) -> None:
        dims, span = self.system.tensors[name].dims, span_of(self.system, name)
        if len(shape) != len(dims):
            written = f"{name}[{','.join(dims)}]" if dims else f"the number {name}"
            message = f"{name} has {_count(len(shape))} {tuple(shape)} but is written as {written}"
            raise fail(self.system, f"{message}, with {_count(len(dims))}", span)
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            self.set(dim, size, f"in {name} (axis {axis + 1})", span)

    def give(self, name: str, size: int, span: Span = NOWHERE) -> None:
        names = (name, name[:1].upper() + name[1:])
        dim = next((self.system.aliases.get(n, n) for n in names if n in self.system.aliases), None)
        known = {d for t in self.system.tensors.values() for d in t.dims}
        known |= {d for r in self.system.ranges.values() for d in r.values()}
        if dim is None:
            dim = next((n for n in names if n in known), None)
        if dim is None:
            message = f"sizes has {name!r}, which is no dimension here; they are {_list(sorted(known))}"
            raise fail(self.system, message, span)
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise fail(self.system, f"the size of {name!r} must be a whole number, not {size!r}", span)
        self.set(dim, size, "in sizes", span)

    def edge(self, name: str, axis: int, steps: int, shape: Shape) -> None:
        dims, deep = self.system.tensors[name].dims, abs(steps)
        rest = dims[:axis] + dims[axis + 1 :]
        axes = _axes(self.system, name)
        span = span_of(self.system, name)
        if len(shape) == len(dims) and shape[axis] == deep:
            shape = shape[:axis] + shape[axis + 1 :]
        elif len(shape) != len(rest) or deep > 1:
            wanted = [*axes[:axis], *([str(deep)] if deep > 1 else []), *axes[axis + 1 :]]
            message = f"the boundary of {name} has shape {tuple(shape)}, but it must be ({', '.join(wanted)})"
            raise fail(self.system, message, span)
        for dim, size in zip(rest, shape, strict=True):
            self.set(dim, size, f"in the boundary of {name}", span)

    def resolve(self) -> None:
        """Sizes that follow from others: derived ranges and concatenations, until nothing changes."""
        before = -1
        while before != len(self.sizes):
            before = len(self.sizes)
            for dim, derived in self.system.derived.items():
                if dim not in self.sizes:
                    size = self._longest(derived, dim)
                    if size is not None:
                        self.set(dim, size, f"by the reads along `{derived.index}`")
            for equation, ranges in self.system.ranges.items():
                for node in walk(equation.right):
                    if isinstance(node, Concat):
                        self._concat(node, ranges)
        dims = {d: NOWHERE for t in self.system.tensors.values() for d in t.dims}
        dims |= {d: NOWHERE for r in self.system.ranges.values() for d in r.values()}
        for dim in dims:
            if dim not in self.sizes:
                message = f"no tensor fixes the size of `{dim}`: give sizes={{{dim!r}: …}}"
                raise fail(self.system, message, self._place(dim))

    def _place(self, dim: str) -> Span:
        for name, tensor in self.system.tensors.items():
            if dim in tensor.dims:
                return span_of(self.system, name)
        return NOWHERE

    def _concat(self, node: Concat, ranges: dict[str, str]) -> None:
        dim, parts = ranges[node.axis], [ranges[along] for along, _ in node.parts]
        unknown = [p for p in parts if p not in self.sizes]
        if not unknown:
            total = sum(self.sizes[p] for p in parts)
            self.set(dim, total, f"as the whole of {' ; '.join(f'`{p}`' for p in parts)}", node.span)
        elif len(unknown) == 1 and dim in self.sizes:
            rest = self.sizes[dim] - sum(self.sizes[p] for p in parts if p in self.sizes)
            if rest >= 0:
                self.set(unknown[0], rest, f"as what is left of `{dim}`", node.span)

    def _longest(self, derived: Derived, dim: str) -> int | None:
        """The longest range that keeps every reach inside; None while another size is unknown."""
        others = dict(derived.dims)
        found: list[int] = []
        for reach in derived.reaches:
            stride = next((c for c, atom in reach.affine.terms if atom == derived.index), 0)
            if stride == 0:
                continue
            if reach.dim not in self.sizes:
                return None
            n = self.sizes[reach.dim]
            if reach.padded:
                found.append(-(-n // abs(stride)))
                continue
            rest = Affine(tuple(t for t in reach.affine.terms if t[1] != derived.index), reach.affine.const)
            if any(isinstance(a, str) and others.get(a) not in self.sizes for _, a in rest.terms):
                return None
            bounds = interval(self.system, rest, others, self.sizes)
            if bounds is None:
                continue
            low, high = bounds
            room = n - 1 - high if stride > 0 else low
            found.append(max(0, room // abs(stride) + 1))
        return min(found) if found else None


def _count(axes: int) -> str:
    return f"{axes} {'axis' if axes == 1 else 'axes'}"


def interval(
    system: System, affine: Affine, ranges: Mapping[str, str], sizes: Mapping[str, int]
) -> tuple[int, int] | None:
    """The least and greatest value of an index expression; None where a lookup decides it."""
    low = high = affine.const
    first = starts(system, sizes)
    for factor, atom in affine.terms:
        if isinstance(atom, Lookup):
            return None
        if isinstance(atom, SizeOf):
            ends = [sizes[system.aliases.get(atom.name, atom.name)]] * 2
        else:
            dim = ranges[atom]
            ends = [first[dim], first[dim] + sizes[dim] - 1]
        low += min(factor * e for e in ends)
        high += max(factor * e for e in ends)
    return low, high


def reads(node: object, guards: tuple[Condition, ...] = ()) -> Iterator[tuple[Ref, tuple[Condition, ...]]]:
    """Every tensor entry that an expression reads, with the conditions under which it is read."""
    if isinstance(node, Ref):
        yield node, guards
        for affine in node.indices:
            yield from reads(affine, guards)
    elif isinstance(node, (Sum, Softmax, Reduce)):
        if node.where is not None:
            yield from reads(node.where, guards)
            guards = (*guards, node.where)
        yield from reads(node.body, guards)
    elif isinstance(node, Mul):
        own = tuple(f.condition for f in node.factors if isinstance(f, Iverson))
        for factor in node.factors:
            yield from reads(factor, guards if isinstance(factor, Iverson) else guards + own)
    elif isinstance(node, Cases):
        for branch, condition in node.branches:
            yield from reads(condition, guards)
            yield from reads(branch, (*guards, condition))
        conditions = [c for _, c in node.branches]
        yield from reads(node.otherwise, (*guards, *conditions))
    else:
        for child in _below(node):
            yield from reads(child, guards)


def _below(node: object) -> Iterator[object]:
    for part in fields(node):  # type: ignore[arg-type]
        yield from _nodes(getattr(node, part.name))


def _nodes(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif is_dataclass(value) and not isinstance(value, Span):
        yield value


def _check_reads(system: System, sizes: Mapping[str, int]) -> None:
    first = starts(system, sizes)
    for equation, ranges in system.ranges.items():
        if any(sizes[dim] == 0 for dim in ranges.values()):
            continue
        for ref, guards in reads(equation.right):
            if ref.name in system.padded:
                continue
            for axis, affine in enumerate(ref.indices):
                guarded = any(free_indices(g) & free_indices(affine) for g in guards)
                bounds = None if guarded else interval(system, affine, ranges, sizes)
                if bounds is not None:
                    _check_axis(system, equation, ref, axis, bounds, sizes, first)


def _check_axis(
    system: System,
    equation: Equation,
    ref: Ref,
    axis: int,
    bounds: tuple[int, int],
    sizes: Mapping[str, int],
    first: Mapping[str, int],
) -> None:
    dim = system.tensors[ref.name].dims[axis]
    low, high = first[dim], first[dim] + sizes[dim] - 1
    for side, steps in system.boundary.get(ref.name, ()):
        if side == axis:
            low, high = (low + steps, high) if steps < 0 else (low, high + steps)
    if bounds[0] < low or bounds[1] > high:
        wrong = bounds[0] if bounds[0] < low else bounds[1]
        affine = ref.indices[axis]
        message = f"{ref.name} is read at {_spell(affine)} = {wrong}, but axis {axis + 1} of {ref.name} runs "
        message += f"from {first[dim]} to {first[dim] + sizes[dim] - 1} (`{dim}` is {sizes[dim]}); "
        message += f"say `pad {ref.name}` if it is zero outside"
        raise fail(system, message, affine.span if affine.span.line else ref.span)
