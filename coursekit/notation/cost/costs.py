"""What a system costs: exact polynomials in its dimensions.

    cost(system, ["W", "U"]).multiply_adds        # D^2 + D*V + D*d
    cost(system, ["W", "U"]).multiply_adds(V=11, D=5, d=4)        # 100

What is counted, for each value of the indices an expression depends on, and once only:

- `multiply_adds`: products of **matrix kind**, two factors at a time in the cheapest order: a matrix or a vector
  times a matrix or a vector, summed, or an outer product, where each side has an index that the other lacks. One
  multiply with its add counts one.
- `elementwise`: all other products and divisions, among them sums of products entry by entry
  (`g[T,J] h[T,J]`), powers (`n - 1` for an n-th power) and one scaling for each entry of a softmax.
- `functions`: each value of a function; for a softmax, one exponential an entry.

Sums without products, signs, conditions, lookups and factors that are numbers or sizes cost nothing. A mask
does not save anything: what it hides is counted. Nor does padding, unless `zero` names the tensor.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from math import floor, prod
from operator import add, le, mul
from typing import Union

from .. import tree as T
from ..errors import NotationError
from ..grad.gradient import gradient
from ..meaning.pairing import Pairing, cheapest, leaves
from ..polynomial import Number, Polynomial
from ..system import Block, System

ZERO = Polynomial()
EQUAL = 1000  # the size of every dimension when orders of multiplication are weighed


@dataclass(frozen=True)
class Count:
    multiply_adds: Polynomial = ZERO
    elementwise: Polynomial = ZERO
    functions: Polynomial = ZERO

    @property
    def each(self) -> tuple[Polynomial, Polynomial, Polynomial]:
        return self.multiply_adds, self.elementwise, self.functions

    def __add__(self, other: "Count") -> "Count":
        return Count(*map(add, self.each, other.each))


class Counter:
    """Counts equations of a system. `zero` names tensors whose reads outside their range are not computed."""

    def __init__(self, system: System, zero: Iterable[str] = ()) -> None:
        self.system, self.zero = system, frozenset(zero)
        self.ranges: Mapping[str, str] = {}
        self.special: dict[str, Polynomial] = {}

    def equation(self, equation: T.Equation) -> Count:
        self.ranges = self.system.ranges[equation]
        return self._count(equation.right)

    def dimension(self, dim: str) -> Polynomial:
        """A dimension's size; one that a concatenation makes is the sum of its parts."""
        joined = self.system.joined.get(dim)
        if joined is None:
            return Polynomial.size(dim)
        return sum((self.size_of(part) for part in joined.parts), ZERO)

    def size_of(self, dims: Iterable[str]) -> Polynomial:
        return prod(map(self.dimension, dims), start=Polynomial.number(1))

    def _size(self, names: Iterable[str]) -> Polynomial:
        return self.size_of(self.ranges[name] for name in names)

    # ── expressions ──────────────────────────────────────────────────────────────────────────

    def _count(self, node: T.Expr) -> Count:
        own = Count()
        match node:
            case T.Sum(indices, body, _):
                return self._product(list(_factors(body)), set(indices))
            case T.Mul() | T.Div():
                return self._product(list(_factors(node)), set())
            case T.Pow(_, exponent):
                times = abs(exponent.value) - 1 if isinstance(exponent, T.Num) else 1
                whole = isinstance(exponent, T.Num) and exponent.value.denominator == 1
                own = Count(elementwise=self._size(T.free_indices(node)) * (int(times) if whole else 1))
            case T.Call():
                own = Count(functions=self._size(T.free_indices(node)))
            case T.Softmax():
                size = self._size(T.free_indices(node))
                own = Count(elementwise=size, functions=size)
            case T.Reduce("prod", _, body):
                own = Count(elementwise=self._size(T.free_indices(body)))
        return sum(map(self._count, T.expressions(node)), own)

    def _product(self, factors: list[tuple[T.Expr, bool]], sums: set[str]) -> Count:
        """A product of factors (`True`: divided by), summed over `sums`."""
        total = sum((self._count(f) for f, _ in factors if not _constant(f)), Count())
        free = [T.free_indices(f) for f, _ in factors]
        keep = set().union(*free) - sums
        # A condition picks entries and costs nothing, but the indices it tests must still be there.
        keep |= set().union(*(s for s, (f, _) in zip(free, factors, strict=True) if isinstance(f, T.Iverson)))
        shared = {i for s in free for i in s if sum(i in other for other in free) > 1}
        real = [
            (frozenset(s & (keep | shared)), under)  # what stands in one factor alone is summed there
            for s, (f, under) in zip(free, factors, strict=True)
            if not isinstance(f, T.Iverson) and not _constant(f)
        ]
        self.special = self._special(factors)
        if len(real) > 1:
            sets = [s for s, _ in real]
            tree = cheapest(sets, frozenset(keep), dict.fromkeys(self.ranges, EQUAL))
            return total + self._tree(tree, sets, keep)[1]
        return total + Count(elementwise=self._work(*real[0][:1])) if real and real[0][1] else total

    def _work(self, names: Iterable[str]) -> Polynomial:
        sizes = (self.special.get(name) or self.dimension(self.ranges[name]) for name in sorted(names))
        return prod(sizes, start=Polynomial.number(1))

    def _tree(
        self, tree: Pairing, sets: list[frozenset[str]], keep: set[str]
    ) -> tuple[frozenset[str], Count]:
        """The axes and the cost of a part of a product."""
        if isinstance(tree, int):
            return sets[tree], Count()
        inside = leaves(tree)
        outer = keep.union(*(s for n, s in enumerate(sets) if n not in inside))
        (left, first), (right, second) = (self._tree(part, sets, keep) for part in (tree.left, tree.right))
        union = left | right
        axes, work = union & outer, self._work(union)
        matrix = left != right if axes != union else bool(left - right and right - left)
        return axes, first + second + (Count(multiply_adds=work) if matrix else Count(elementwise=work))

    def _special(self, factors: list[tuple[T.Expr, bool]]) -> dict[str, Polynomial]:
        """Shorter ranges: what reads a `zero` tensor outside its range is not computed."""
        found: dict[str, Polynomial] = {}
        for ref in (r for f, _ in factors for r in T.references(f) if r.name in self.zero):
            for affine, dim in zip(ref.indices, self.system.tensors[ref.name].dims, strict=True):
                match affine.names:
                    case [name] if len(affine.terms) == 1 and affine.const:
                        found[name] = self.dimension(dim) - abs(affine.const)
                    case [name, _, *_]:
                        found[name] = self.dimension(dim)
        return found


def _constant(node: T.Expr) -> bool:
    """A number that needs no tensor and no index: `1/sqrt(I)`."""
    return not any(isinstance(n, (T.Ref, T.Position)) for n in T.walk(node))


def _factors(node: T.Expr) -> Iterable[tuple[T.Expr, bool]]:
    """The factors of a product, with those that it is divided by marked."""
    match node:
        case T.Mul(factors):
            for factor in factors:
                yield from _factors(factor)
        case T.Neg(body):
            yield from _factors(body)
        case T.Div(above, below):
            yield from _factors(above)
            yield from ((f, not under) for f, under in _factors(below))
        case _:
            yield node, False


# ── parallel depth ───────────────────────────────────────────────────────────────────────────

# The longest chain of steps that must follow one another, given machines without number. One step is one turn of a
# recurrence (all equations of its cell together) or one layer: an equation outside a recurrence with a product of
# matrix kind. Everything else, and the sum that a scalar loss is, takes no step of its own. So a recurrence over T
# has depth T, a stack of L of them T + L - 1 (the layers run as a wavefront), an X × Y grid X + Y - 1, and L
# convolutions L. The depth of a tensor's entry is a maximum of functions that are linear in its position; the result
# is the greatest of them over all entries.


@dataclass(frozen=True)
class Depth:
    """The greatest of some polynomials (of one, nearly always). Prints `L + T - 1` or `max(S, T)`."""

    of: tuple[Polynomial, ...]

    def __call__(self, **sizes: Number) -> int:
        return max(floor(p(**sizes)) for p in self.of)

    def __str__(self) -> str:
        return str(self.of[0]) if len(self.of) == 1 else f"max({', '.join(map(str, self.of))})"

    @property
    def big_o(self) -> "Depth":
        return Depth(_greatest(p.big_o for p in self.of))


Key = Union[str, int]  # of a position: an index, or, once a tensor is done, its axis


def _at(key: Key) -> Polynomial:
    """A position, which an entry's depth is linear in."""
    return Polynomial.size(("at", key))


def _put(line: Polynomial, place: Callable[[Key, Fraction], Polynomial]) -> Polynomial:
    """The line with something else in place of its positions, which may depend on the slope there."""
    for monomial, slope in line.terms:
        match monomial:
            case ((("at", key), _),):
                line = line + (place(key, slope) - _at(key)) * slope
    return line


def depth(system: System) -> Depth:
    walker = _Walker(system)
    for block in system.blocks:
        if block.loops:
            walker.recurrence(block)
        else:
            for equation in block.equations:
                walker.plain(equation)
    ends = [walker.highest(line, name) for name, lines in walker.lines.items() for line in lines]
    return Depth(tuple(p.named(system.aliases) for p in _greatest(ends or [ZERO])))


def _greatest(found: Iterable[Polynomial]) -> tuple[Polynomial, ...]:
    kept: list[Polynomial] = []
    for p in sorted(set(found), key=str):
        if not any(p.at_most(q) for q in kept):
            kept = [q for q in kept if not q.at_most(p)] + [p]
    return tuple(kept)


class _Walker:
    def __init__(self, system: System):
        self.system, self.counter = system, Counter(system)
        self.lines: dict[str, set[Polynomial]] = {}

    def plain(self, equation: T.Equation) -> None:
        layer = self.counter.equation(equation).multiply_adds and equation.left.indices
        found = self._outer(equation, {a.plain for a in equation.left.indices}, set())
        self._store(equation.left, {line + (1 if layer else 0) for line in found})

    def recurrence(self, block: Block) -> None:
        """`D(p) = 1 + max(D(p - offset), what is read from outside at p)`."""
        own = {e.left.name for e in block.equations}
        loops = dict(block.loops)
        pace = self._pace(block, own)
        found: set[Polynomial] = set()
        for equation in block.equations:
            ranges = self.system.ranges[equation]
            for line in self._outer(equation, set(loops), own):
                for name, direction in loops.items():
                    old = dict(line.terms).get(_at(name).terms[0][0], Fraction(0))
                    gain = max(pace[name] - direction * old, Fraction(0))
                    # positions are counted from where the loop starts
                    last = self.counter.dimension(ranges[name]) - 1
                    line = line + (_at(name) if direction > 0 else last - _at(name)) * gain
                found.add(line + 1)
        for equation in block.equations:
            self._store(equation.left, found)

    def _pace(self, block: Block, own: set[str]) -> dict[str, Fraction]:
        """How much each loop adds a step: the least weights with which every offset weighs at least one."""

        def offset(ref: T.Ref, name: str) -> int:
            """How far from the loop's own position a tensor is read; -1 where it is not a fixed distance."""
            affine = next((a for a in ref.indices if name in a.names), None)
            return affine.const if affine is not None and len(affine.terms) == 1 else -1

        names = [name for name, _ in block.loops]
        refs = [r for e in block.equations for r in T.references(e.right) if r.name in own]
        offsets = {tuple(offset(ref, name) * -step for name, step in block.loops) for ref in refs}
        offsets = {offset for offset in offsets if any(offset)}
        if len(names) == 1:
            return {names[0]: Fraction(1, max(1, min((o[0] for o in offsets), default=1)))}
        fit: Callable[[Sequence[int]], bool] = lambda y: all(sum(map(mul, y, o)) >= 1 for o in offsets)
        fits = list(filter(fit, product((0, 1), repeat=len(names))))
        least = [y for y in fits if not any(z != y and all(map(le, z, y)) for z in fits)]
        if len(least) != 1:
            raise NotationError(f"The depth of the recurrence over {', '.join(names)} is no polynomial.")
        return dict(zip(names, map(Fraction, least[0]), strict=True))

    def _outer(self, equation: T.Equation, keep: Collection[str | None], own: set[str]) -> set[Polynomial]:
        """How deep what an equation reads from outside lies, by the positions of the indices in `keep`."""
        refs = [ref for ref in T.references(equation.right) if ref.name not in own]
        return {ZERO, *(self._read(ref, line, keep) for ref in refs for line in self.lines.get(ref.name, ()))}

    def _read(self, ref: T.Ref, line: Polynomial, keep: Collection[str | None]) -> Polynomial:
        def place(axis: Key, slope: Fraction) -> Polynomial:
            affine = ref.indices[int(axis)]
            total = Polynomial.number(affine.const)
            for factor, atom in affine.terms:
                if isinstance(atom, T.SizeOf):
                    size = self.counter.dimension(self.system.aliases.get(atom.name, atom.name))
                    total = total + size * factor
                elif atom in keep:
                    total = total + _at(str(atom)) * factor
                else:  # a summed or a looked-up position
                    return self._deepest(ref.name, axis, slope)
            return total

        return _put(line, place)

    def _deepest(self, name: str, axis: Key, slope: Fraction) -> Polynomial:
        dim = self.system.tensors[name].dims[int(axis)]
        return self.counter.dimension(dim) - 1 if slope > 0 else ZERO

    def _store(self, left: T.Ref, found: set[Polynomial]) -> None:
        axes = {a.plain: _at(n) for n, a in enumerate(left.indices)}
        done = {_put(line, lambda name, _: axes.get(str(name), ZERO)) for line in found}
        self.lines.setdefault(left.name, set()).update(done)

    def highest(self, line: Polynomial, name: str) -> Polynomial:
        return _put(line, partial(self._deepest, name))


# ── all of a system ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, repr=False, kw_only=True)
class Cost(Count):
    """The costs of one run of `system`.

    `parameters` counts the numbers in the parameter tensors; `multiply_adds`, `elementwise` and `functions`
    the forward arithmetic; `backward` the multiply-adds of the gradient of `of` with respect to `wrt`, the forward
    pass not included; `depth` the longest chain of steps.
    """

    system: System
    wrt: tuple[str, ...]
    parameters: Polynomial
    of: str

    @property
    def big_o(self) -> Polynomial:
        return self.multiply_adds.big_o

    @cached_property
    def gradient(self) -> Count:
        """The arithmetic of the gradient system. Adjoints beyond the end of a recurrence are not computed."""
        found = gradient(self.system, self.of, self.wrt)
        return _total(Counter(found, found.padded - self.system.padded))

    @property
    def backward(self) -> Polynomial:
        return self.gradient.multiply_adds

    @cached_property
    def depth(self) -> Depth:
        return depth(self.system)

    def __repr__(self) -> str:
        lines = {"parameters": self.parameters, "multiply-adds": self.multiply_adds, "depth": self.depth}
        return "\n".join(f"{word:<14}{value}" for word, value in lines.items())


def cost(system: System, parameters: Sequence[str] | None = None, of: str | None = None) -> Cost:
    """The costs of a system. `parameters` are those it declares, if not given; `of` is the loss that the
    backward pass starts from, by default the last scalar that the system defines, else its last tensor."""
    names = tuple(system.parameters if parameters is None else parameters)
    counter = Counter(system)
    for name in names:
        if name not in system.tensors:
            known = ", ".join(system.inputs)
            raise NotationError(f"There is no tensor {name} to count as a parameter; the inputs are {known}.")
    total = sum((counter.size_of(system.tensors[name].dims) for name in names), ZERO)
    wrt = names or tuple(n for n in system.inputs if system.tensors[n].indexes is None)
    scalars = [n for n in system.outputs if not system.tensors[n].dims]
    end = of or (scalars or [system.blocks[-1].equations[-1].left.name])[-1]
    own = total.named(system.aliases)
    return Cost(*_total(counter).each, system=system, wrt=wrt, parameters=own, of=end)


def _total(counter: Counter) -> Count:
    total = sum(map(counter.equation, counter.system.definitions.values()), Count())
    return Count(*(p.named(counter.system.aliases) for p in total.each))
