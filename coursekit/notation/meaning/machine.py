"""What each kind of expression means: once, a function from the values of its indices to its own value."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import mul
from typing import Any

from .. import tree as T
from ..functions import FUNCTIONS, REDUCERS, exp
from ..system import System
from .pairing import apart, nested
from .reach import Extents, conditions, fail, nth, unconditional
from .table import COMPARE, Place, Table, divide, power, real, strides

Functions = Mapping[str, Callable[..., Any]]  # those that the language does not know, by name

At = dict[str, int]  # a value for each index
Value = Callable[[At], float]
Spot = tuple[Callable[[At], int], int, int]  # a place along an axis, and two numbers of that axis


class Machine(Extents):
    """The entries computed so far, and for any expression the function that gives its value at a point."""

    def __init__(
        self,
        system: System,
        sizes: dict[str, int],
        inputs: Mapping[str, Table],
        edges: Mapping[str, Sequence[Table | float]],
        functions: Functions,
    ):
        super().__init__(system, sizes)
        self.edges, self.functions = edges, functions
        self.tables = dict(inputs)
        self.ranges: Mapping[str, str] = {}
        self.bound: frozenset[str] = frozenset()  # the indices that have a value where an expression stands
        self.memo: dict[tuple[object, ...], Any] = {}

    def definition(self, equation: T.Equation, looped: Sequence[str]) -> Callable[[At], None]:
        """What computes the entries of the left side at which the looped indices have their values."""
        left = equation.left
        self.ranges = self.system.ranges[equation]
        names = [name for a in left.indices for name in a.names]
        free = [n for n in names if n not in looped]
        spans = [self.span(self.ranges[n]) for n in free]
        place, value = linear(*self.offset(left)), self.value(equation.right, frozenset(names))
        entries = self.tables[left.name].flat

        def define(at: At) -> None:
            for point in product(*spans):
                at.update(zip(free, point, strict=True))
                entries[place(at)] = value(at)

        return define

    def value(self, node: T.Expr, bound: frozenset[str] | None = None) -> Value:
        """The function that gives an expression's value, where the indices `bound` have one."""
        if bound is not None and bound != self.bound:
            outer, self.bound = self.bound, bound
            try:
                return self.value(node)
            finally:
                self.bound = outer
        match node:
            case T.Num(number):
                return always(real(number))
            case T.Size(name):
                return always(float(self.size(name)))
            case T.Ref():
                return self.read(node)
            case T.Add(terms):
                return reduce(lambda a, b: lambda at: a(at) + b(at), map(self.value, terms))
            case T.Neg(body):
                inner = self.value(body)
                return lambda at: -inner(at)
            case T.Mul() | T.Div() if found := conditions(node):
                holds, rest = self.holds(T.And(tuple(found))), self.value(unconditional(node))  # type: ignore[arg-type]
                return lambda at: rest(at) if holds(at) else 0.0
            case T.Mul(factors):
                return reduce(lambda a, b: lambda at: a(at) * b(at), map(self.value, factors))
            case T.Div(upper, lower):
                above, below = self.value(upper), self.value(lower)
                return lambda at: divide(above(at), below(at))
            case T.Pow(base, exponent):
                below, above = self.value(base), self.value(exponent)
                return lambda at: power(below(at), above(at))
            case T.Call(function, args):
                (given, *more), called = map(self.value, args), FUNCTIONS[function].evaluate
                if not more:
                    return lambda at: called(given(at))
                return lambda at: called(given(at), *[arg(at) for arg in more])
            case T.Apply():
                return self.kept(node, self.apply(node))
            case T.Sum(indices, T.Mul(factors), None) if len(indices) > 1 and apart(node):
                return self.kept(node, self.value(nested(indices, factors)))
            case T.Sum((index,), T.Mul(factors), None) if rows := self.rows(index, factors):
                one, two, *others = rows
                dot: Value = lambda at: sum(map(mul, one(at), two(at)))
                if others:
                    dot = lambda at: sum(map(prod, zip(*[row(at) for row in rows], strict=True)))
                return self.kept(node, dot)
            case T.Sum(indices, body, where):
                values = self.over(indices, body, where)
                return self.kept(node, lambda at: sum(values(at)))
            case T.Reduce("argmax", (index,), body, where):
                places = self.over((index,), T.Position(T.index(index)), where)
                values, largest = self.over((index,), body, where), REDUCERS["argmax"].evaluate
                first = float(self.span(self.ranges[index]).start)
                return self.kept(node, lambda at: places(at)[int(largest(v))] if (v := values(at)) else first)
            case T.Reduce(function, indices, body, where):
                values, reduced = self.over(indices, body, where), REDUCERS[function].evaluate
                return self.kept(node, lambda at: reduced(values(at)))
            case T.Softmax():
                return self.softmax(node)
            case T.Concat(axis, parts):
                start, runs = self.first[self.ranges[axis]], []
                for along, part in parts:
                    inner = self.value(part, self.bound | {along})
                    runs += [(along, place, inner) for place in self.span(self.ranges[along])]
                return lambda at: (run := runs[at[axis] - start])[2](at | {run[0]: run[1]})
            case T.Flatten(axis, indices, body):
                start, inner = self.first[self.ranges[axis]], self.value(body, self.bound | set(indices))
                points = list(product(*(self.span(self.ranges[i]) for i in indices)))
                return lambda at: inner(at | dict(zip(indices, points[at[axis] - start], strict=True)))
            case T.Position(affine):
                place = self.position(affine)
                return lambda at: float(place(at))
            case T.Cases(branches, otherwise):
                tried = [(self.holds(condition), self.value(branch)) for branch, condition in branches]
                last = self.value(otherwise)
                return lambda at: next((branch for holds, branch in tried if holds(at)), last)(at)
            case T.Iverson(condition):
                holds = self.holds(condition)
                return lambda at: float(holds(at))
        raise AssertionError(f"no meaning for {node!r}")

    def over(
        self, indices: Sequence[str], body: T.Expr, where: T.Condition | None
    ) -> Callable[[At], list[float]]:
        """The values of `body` at every point of some indices (where `where` holds), the last index fastest."""
        bound = self.bound | set(indices)
        value = self.value(body, bound)
        spans = [self.span(self.ranges[i]) for i in indices]
        holds = None if where is None else self.holds(where, bound)

        def values(at: At) -> list[float]:
            at, found = dict(at), []
            for point in product(*spans):
                at.update(zip(indices, point, strict=True))
                if holds is None or holds(at):
                    found.append(value(at))
            return found

        def along(at: At) -> list[float]:  # the same over one index alone, as it mostly is
            at = dict(at)
            return [value(at) for at[indices[0]] in spans[0]]

        return along if len(indices) == 1 and holds is None else values

    def softmax(self, node: T.Softmax) -> Value:
        scores, body = self.over(node.indices, node.body, node.where), self.value(node.body)

        def total(at: At) -> tuple[float, float]:
            found = scores(at)
            top = max(found)
            return top, sum([exp(s - top) for s in found])

        row = self.kept_by(T.free_indices(node) - set(node.indices), total)

        def value(at: At) -> float:
            top, below = row(at)
            return divide(exp(body(at) - top), below)

        if node.where is None:
            return value
        holds = self.holds(node.where)
        return lambda at: value(at) if holds(at) else 0.0

    def kept(self, node: T.Expr, value: Value) -> Value:
        """A value that is asked for again and again, as an index that it does not depend on runs, is kept."""
        names = T.free_indices(node) & self.bound
        return value if names == self.bound else self.kept_by(names, value)

    def kept_by(self, names: set[str], value: Callable[[At], T.N]) -> Callable[[At], T.N]:
        own, ordered = object(), sorted(names)

        def kept(at: At) -> Any:
            key = (own, *[at[name] for name in ordered])
            if key not in self.memo:
                self.memo[key] = value(at)
            return self.memo[key]

        return kept

    def holds(self, condition: T.Condition, bound: frozenset[str] | None = None) -> Callable[[At], bool]:
        if isinstance(condition, T.And):
            parts = [self.holds(part, bound) for part in condition.parts]
            return parts[0] if len(parts) == 1 else lambda at: all(part(at) for part in parts)
        compare = COMPARE[condition.operator]
        left, right = (
            self.position(side) if isinstance(side, T.Affine) else self.value(side, bound)
            for side in (condition.left, condition.right)
        )
        return lambda at: compare(left(at), right(at))

    def position(self, affine: T.Affine) -> Callable[[At], int]:
        """An index expression."""
        terms, const = self.terms(affine)
        looked_up = [(f, self.whole(atom.ref)) for f, atom in affine.terms if isinstance(atom, T.Lookup)]
        rest = linear(const, terms)
        if not looked_up:
            return rest
        return lambda at: rest(at) + sum([f * value(at) for f, value in looked_up])

    def whole(self, ref: T.Ref) -> Callable[[At], int]:
        read = self.read(ref)

        def whole(at: At) -> int:
            value = read(at)
            if value != int(value):
                message = f"`{ref.name}` is used as an index but holds {value}"
                raise fail(self.system, f"{message}, which is no whole number", ref.span)
            return int(value)

        return whole

    def offset(self, ref: T.Ref) -> tuple[int, list[tuple[int, str]]]:
        """Where an entry lies in its table, as a number and terms; axes that are looked up are left out."""
        const, terms = 0, dict[str, int]()
        steps, dims = strides(self.tables[ref.name].shape), self.system.tensors[ref.name].dims
        for affine, dim, step in zip(ref.indices, dims, steps, strict=True):
            if not any(isinstance(atom, T.Lookup) for _, atom in affine.terms):
                own, start = self.terms(affine)
                const += step * (start - self.first[dim])
                for factor, name in own:
                    terms[name] = terms.get(name, 0) + step * factor
        return const, [(factor, name) for name, factor in terms.items()]

    def read(self, ref: T.Ref) -> Value:
        table, positions = self.tables[ref.name], [self.position(a) for a in ref.indices]
        axes = zip(ref.indices, positions, self.spans(ref), strides(table.shape), strict=True)
        looked_up = [
            (position, span.start, step)
            for affine, position, span, step in axes
            if self.interval(affine, self.ranges) is None
        ]
        flat, direct = table.flat, linear(*self.offset(ref))
        place: Value = lambda at: flat[direct(at)]
        if looked_up:
            place = lambda at: flat[
                direct(at) + sum([(spot(at) - low) * step for spot, low, step in looked_up])
            ]
        doubtful, padded = self.doubtful(ref), ref.name in self.system.padded
        if not doubtful:
            return place

        def read(at: At) -> float:
            for position, start, stop in doubtful:
                if not start <= position(at) < stop:
                    return 0.0 if padded else self.outside(ref, tuple([p(at) for p in positions]))
            return place(at)

        return read

    def spans(self, ref: T.Ref) -> list[range]:
        return [self.span(d) for d in self.system.tensors[ref.name].dims]

    def doubtful(self, ref: T.Ref) -> list[Spot]:
        """The positions that may leave their axis, and where that begins and ends."""
        return [
            (self.position(affine), span.start, span.stop)
            for affine, span in zip(ref.indices, self.spans(ref), strict=True)
            if not (ends := self.interval(affine, self.ranges)) or ends[0] not in span or ends[1] not in span
        ]

    def rows(self, index: str, factors: Sequence[T.Expr]) -> list[Callable[[At], list[float]]]:
        """For each factor its entries along an index, one slice of its table; none if some factor has no such."""
        found = [self.row(index, f) if isinstance(f, T.Ref) else None for f in factors]
        return [row for row in found if row is not None] if None not in found else []

    def row(self, index: str, ref: T.Ref) -> Callable[[At], list[float]] | None:
        const, terms = self.offset(ref)
        step = {name: factor for factor, name in terms}.get(index, 0)
        shifted = any(index in T.free_indices(a) for a in ref.indices if a.plain != index)
        if step < 1 or shifted or any(isinstance(atom, T.Lookup) for a in ref.indices for _, atom in a.terms):
            return None
        span, flat, doubtful = self.span(self.ranges[index]), self.tables[ref.name].flat, self.doubtful(ref)
        place = linear(const + step * span.start, [(f, i) for f, i in terms if i != index])
        width, padded, read = step * len(span), ref.name in self.system.padded, self.read(ref)
        nothing = [0.0] * len(span)

        def row(at: At) -> list[float]:
            for position, start, stop in doubtful:
                if not start <= position(at) < stop:
                    return nothing if padded else [read({**at, index: k}) for k in span]
            return flat[(first := place(at)) : first + width : step]

        return row

    def outside(self, ref: T.Ref, place: Place) -> float:
        """The boundary value beyond the last axis that is left (beyond all of them, where it is a number)."""
        dims, spans = self.system.tensors[ref.name].dims, self.spans(ref)
        axes = [n for n, (p, span) in enumerate(zip(place, spans, strict=True)) if p not in span]
        axis, span = axes[-1], spans[axes[-1]]
        before = place[axis] < span.start
        away = place[axis] - (span.start if before else span.stop - 1)
        sides = self.system.boundary.get(ref.name, ())
        for (side, steps), value in zip(sides, self.edges.get(ref.name, ()), strict=False):
            if side != axis or (steps < 0) != before or abs(away) > abs(steps):
                continue
            if not isinstance(value, Table):
                return float(value)
            if len(axes) == 1:
                rest = [p - self.first[d] for p, d in zip(place, dims, strict=True)]
                deep = value.ndim == len(dims)
                rest[axis : axis + 1] = [away - steps if before else away - 1] if deep else []
                return value[rest]
            message = f"`{ref.name}` is read outside two axes at once: its boundary must be one number"
            raise fail(self.system, message, ref.span)
        message = f"`{ref.name}` is read at {place[axis]}, but its {nth(axis)} runs from {span[0]} to "
        raise fail(self.system, f"{message}{span[-1]}", ref.span)

    def apply(self, node: T.Apply) -> Value:
        """A function of the reader's own, of whole vectors."""
        args = [
            ([self.sizes[self.ranges[i]] for i in names], self.over(names, arg, None))
            for arg, names in zip(node.args, node.slices, strict=True)
        ]
        offsets = [(i, self.first[self.ranges[i]]) for i in node.out]

        def given(at: At) -> Any:
            if node.function not in self.functions:
                message = f"`{node.function}` is not known: give functions={{{node.function!r}: …}}"
                raise fail(self.system, message, node.span)
            return self.functions[node.function](*[Table(shape, over(at)).nested() for shape, over in args])

        found = self.kept_by(T.free_indices(node) - set(node.out), given)
        return lambda at: reduce(lambda rows, o: rows[at[o[0]] - o[1]], offsets, found(at))


def always(number: float) -> Value:
    return lambda at: number


def linear(const: int, terms: Sequence[tuple[int, str]]) -> Callable[[At], int]:
    """A place; written out where it depends on few indices, as it mostly does."""
    match terms:
        case [(f, i)]:
            return lambda at: const + f * at[i]
        case [(f, i), (g, j)]:
            return lambda at: const + f * at[i] + g * at[j]
        case [(f, i), (g, j), (h, k)]:
            return lambda at: const + f * at[i] + g * at[j] + h * at[k]
    return lambda at: const + sum([f * at[i] for f, i in terms])
