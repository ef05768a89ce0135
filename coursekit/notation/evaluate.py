"""The plain meaning of the language: every entry of every tensor, one after another, on nested lists.

Slow on purpose and free of numpy and torch: this module says what an equation means, and `run` is
tested against it. Four conventions that the notation leaves open are fixed here:

- a condition decides whether the rest is looked at: `[s < t] x[t-s]` is 0 where `s >= t`, whatever x is;
- a softmax over nothing is 0 everywhere, a sum over nothing 0, a product 1, a maximum -inf, a minimum inf;
- an index runs from 0, or from -(n//2) where the system says that it is centred;
- a number that does not exist is nan, one that is too large is inf, as for tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import product
from numbers import Real

from .run.arithmetic import COMPARE, FUNCTIONS, REDUCE, divide, exp, power, real
from .run.reach import check_reads, conditions, fail, nth, starts
from .run.sizes import Shape, infer_sizes, sides, span_of
from .system import System
from .tree import (
    Add,
    Affine,
    And,
    Apply,
    Call,
    Cases,
    Concat,
    Condition,
    Div,
    Equation,
    Expr,
    Flatten,
    Iverson,
    Lookup,
    Mul,
    Neg,
    Num,
    Position,
    Pow,
    Reduce,
    Ref,
    Size,
    SizeOf,
    Softmax,
    Sum,
    walk,
)

__all__ = ["Machine", "constant_value", "evaluate"]


def evaluate(
    system: System,
    inputs: Mapping[str, object],
    boundary: Mapping[str, object] | None = None,
    sizes: Mapping[str, int] | None = None,
    functions: Mapping[str, Callable] | None = None,
) -> dict[str, object]:
    """Every defined tensor as nested lists. The arguments are those of `run`, with lists for tensors."""
    edges = {name: sides(system, name, value) for name, value in (boundary or {}).items()}
    known = infer_sizes(
        system,
        {name: _shape(system, name, value) for name, value in inputs.items()},
        {n: [None if isinstance(v, Real) else _shape(system, n, v) for v in e] for n, e in edges.items()},
        sizes or {},
    )
    check_reads(system, known)
    machine = Machine(system, known, inputs, edges, functions or {})
    for block in system.blocks:
        loops = [(name, machine.range_of(block.equations[0], name)[::step]) for name, step in block.loops]
        for point in product(*(values for _, values in loops)):
            fixed = dict(zip((name for name, _ in loops), point, strict=True))
            for equation in block.equations:
                machine.define(equation, fixed)
    return {name: machine.nested(name) for name in system.outputs}


def constant_value(system: System, sizes: Mapping[str, int], node: object) -> float | None:
    """The value of an expression of numbers and sizes alone (`1/sqrt(I)`); None for any other."""
    if isinstance(node, Num):
        return real(node.value)
    if not all(isinstance(n, (Num, Size, Add, Mul, Neg, Div, Pow, Call)) for n in walk(node)):
        return None
    return Machine(system, dict(sizes), {}, {}, {}).value(node, {})  # type: ignore[arg-type]


def _shape(system: System, name: str, value: object) -> Shape:
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        if not value:
            break
        if any(isinstance(v, (list, tuple)) != isinstance(value[0], (list, tuple)) for v in value):
            raise fail(system, f"`{name}` is ragged: its rows have different lengths", span_of(system, name))
        if isinstance(value[0], (list, tuple)) and len({len(v) for v in value}) > 1:
            raise fail(system, f"`{name}` is ragged: its rows have different lengths", span_of(system, name))
        value = value[0]
    return tuple(shape)


class Machine:
    """The entries computed so far, and the value of any expression at a point of its indices."""

    def __init__(self, system: System, sizes: dict[str, int], inputs, edges, functions):
        self.system, self.sizes, self.edges, self.functions = system, sizes, edges, functions
        self.first = starts(system, sizes)
        self.inputs = inputs
        self.entries: dict[str, dict[tuple[int, ...], float]] = {name: {} for name in system.outputs}
        self.ranges: dict[str, str] = {}

    def range_of(self, equation: Equation, name: str) -> range:
        return self.span(self.system.ranges[equation][name])

    def span(self, dim: str) -> range:
        return range(self.first[dim], self.first[dim] + self.sizes[dim])

    def define(self, equation: Equation, fixed: dict[str, int]) -> None:
        """Compute the entries of the left side at which the looped indices have their `fixed` values."""
        self.ranges = self.system.ranges[equation]
        names = [name for a in equation.left.indices for _, name in a.terms if isinstance(name, str)]
        spans = [[fixed[n]] if n in fixed else self.span(self.ranges[n]) for n in names]
        for point in product(*spans):
            at = dict(zip(names, point, strict=True))
            place = tuple(self.position(a, at) for a in equation.left.indices)
            self.entries[equation.left.name][place] = self.value(equation.right, at)

    def nested(self, name: str):
        dims = self.system.tensors[name].dims

        def build(axis: int, place: tuple[int, ...]):
            if axis == len(dims):
                return self.entries[name][place]
            return [build(axis + 1, (*place, p)) for p in self.span(dims[axis])]

        return build(0, ())

    # ── values at a point (index name -> value) ──────────────────────────────────────────────

    def value(self, node: Expr, at: dict[str, int]) -> float:
        match node:
            case Num(value):
                return real(value)
            case Size(name):
                return float(self.size(name))
            case Ref():
                return self.read(node, at)
            case Add(terms):
                return sum(self.value(t, at) for t in terms)
            case Neg(body):
                return -self.value(body, at)
            case Mul() | Div() if not all(self.holds(c, at) for c in conditions(node)):
                return 0.0
            case Mul(factors):
                return math.prod(self.value(f, at) for f in factors if not isinstance(f, Iverson))
            case Div(above, below):
                return divide(self.value(above, at), self.value(below, at))
            case Pow(base, exponent):
                return power(self.value(base, at), self.value(exponent, at))
            case Call(function, args):
                return FUNCTIONS[function](*(self.value(a, at) for a in args))
            case Apply():
                return self.apply(node, at)
            case Sum(indices, body, where):
                return sum(self.over(indices, body, where, at))
            case Reduce(function, indices, body, where):
                return REDUCE[function](list(self.over(indices, body, where, at)))
            case Softmax(indices, body, where):
                if where is not None and not self.holds(where, at):
                    return 0.0
                scores = list(self.over(indices, body, where, at))
                top = max(scores)
                return divide(exp(self.value(body, at) - top), sum(exp(s - top) for s in scores))
            case Concat(axis, parts):
                place = at[axis] - self.first[self.ranges[axis]]
                for along, part in parts:
                    dim = self.ranges[along]
                    if place < self.sizes[dim]:
                        return self.value(part, {**at, along: self.first[dim] + place})
                    place -= self.sizes[dim]
                raise AssertionError("the parts of a concatenation fill its axis")
            case Flatten(axis, indices, body):
                place, inner = at[axis] - self.first[self.ranges[axis]], dict(at)
                for name in reversed(indices):
                    span = self.span(self.ranges[name])
                    place, step = divmod(place, len(span))
                    inner[name] = span[step]
                return self.value(body, inner)
            case Position(affine):
                return float(self.position(affine, at))
            case Cases(branches, otherwise):
                for branch, condition in branches:
                    if self.holds(condition, at):
                        return self.value(branch, at)
                return self.value(otherwise, at)
            case Iverson(condition):
                return float(self.holds(condition, at))
        raise AssertionError(f"no meaning for {node!r}")

    def over(self, indices, body: Expr, where: Condition | None, at: dict[str, int]):
        for point in product(*(self.span(self.ranges[i]) for i in indices)):
            inner = at | dict(zip(indices, point, strict=True))
            if where is None or self.holds(where, inner):
                yield self.value(body, inner)

    def holds(self, condition: Condition, at: dict[str, int]) -> bool:
        if isinstance(condition, And):
            return all(self.holds(part, at) for part in condition.parts)
        left, right = self.side(condition.left, at), self.side(condition.right, at)
        return COMPARE[condition.operator](left, right)

    def side(self, side: Affine | Expr, at: dict[str, int]) -> float:
        if not isinstance(side, Affine):
            return self.value(side, at)
        looked_up = ((c, atom.ref) for c, atom in side.terms if isinstance(atom, Lookup))
        rest = Affine(tuple(t for t in side.terms if not isinstance(t[1], Lookup)), side.const)
        return self.position(rest, at) + sum(c * self.read(ref, at) for c, ref in looked_up)

    def size(self, name: str) -> int:
        return self.sizes[self.system.aliases.get(name, name)]

    def position(self, affine: Affine, at: dict[str, int]) -> int:
        total = affine.const
        for factor, atom in affine.terms:
            if isinstance(atom, SizeOf):
                total += factor * self.size(atom.name)
            elif isinstance(atom, Lookup):
                value = self.read(atom.ref, at)
                if value != int(value):
                    message = f"`{atom.ref.name}` is used as an index but holds {value}"
                    raise fail(self.system, f"{message}, which is no whole number", atom.ref.span)
                total += factor * int(value)
            else:
                total += factor * at[atom]
        return total

    def read(self, ref: Ref, at: dict[str, int]) -> float:
        place = tuple(self.position(a, at) for a in ref.indices)
        dims = self.system.tensors[ref.name].dims
        outside = [n for n, p in enumerate(place) if p not in self.span(dims[n])]
        if outside:
            return 0.0 if ref.name in self.system.padded else self.outside(ref, place, outside)
        if ref.name in self.entries:
            if place not in self.entries[ref.name]:
                raise fail(self.system, f"`{ref.name}` is read before it is computed", ref.span)
            return self.entries[ref.name][place]
        offsets = (p - self.first[d] for p, d in zip(place, dims, strict=True))
        return reduce(lambda rows, p: rows[p], offsets, self.inputs[ref.name])

    def outside(self, ref: Ref, place: tuple[int, ...], axes: list[int]) -> float:
        """The boundary value beyond the last of `axes` (all of them, where it is a number)."""
        axis = axes[-1]
        dims = self.system.tensors[ref.name].dims
        span = self.span(dims[axis])
        before = place[axis] < span.start
        places = self.system.boundary.get(ref.name, ()) if ref.name in self.edges else ()
        for (side, steps), value in zip(places, self.edges.get(ref.name, ()), strict=False):
            away = place[axis] - span.start if before else place[axis] - span.stop + 1
            if side != axis or (steps < 0) != before or abs(away) > abs(steps):
                continue
            if isinstance(value, Real):
                return float(value)
            if len(axes) == 1:
                rest = [p - self.first[d] for p, d in zip(place, dims, strict=True)]
                deep = len(_shape(self.system, ref.name, value)) == len(dims)
                rest[axis : axis + 1] = [away - steps if before else away - 1] if deep else []
                return reduce(lambda rows, p: rows[p], rest, value)
            message = f"`{ref.name}` is read outside two axes at once: its boundary must be one number"
            raise fail(self.system, message, ref.span)
        low, high = span.start, span.stop - 1
        message = f"`{ref.name}` is read at {place[axis]}, but its {nth(axis)} runs from {low} to {high}"
        raise fail(self.system, message, ref.span)

    def apply(self, node: Apply, at: dict[str, int]) -> float:
        if node.function not in self.functions:
            message = f"`{node.function}` is not known: give functions={{{node.function!r}: …}}"
            raise fail(self.system, message, node.span)

        def table(body: Expr, names: tuple[str, ...], at: dict[str, int]):
            if not names:
                return self.value(body, at)
            values = self.span(self.ranges[names[0]])
            return [table(body, names[1:], {**at, names[0]: v}) for v in values]

        args = [table(a, s, at) for a, s in zip(node.args, node.slices, strict=True)]
        result = self.functions[node.function](*args)
        offsets = (at[i] - self.first[self.ranges[i]] for i in node.out)
        return reduce(lambda rows, p: rows[p], offsets, result)
