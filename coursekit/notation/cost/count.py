"""Counting the arithmetic of an expression, exactly.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from operator import add

from .. import tree as T
from ..meaning.pairing import Pair, Pairing, cheapest, leaves
from ..polynomial import Polynomial
from ..system import System

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

    def _size(self, names: Iterable[str], special: Mapping[str, Polynomial] | None = None) -> Polynomial:
        sizes = ((special or {}).get(name) or self.dimension(self.ranges[name]) for name in names)
        return prod(sizes, start=Polynomial.number(1))

    # ── expressions ──────────────────────────────────────────────────────────────────────────

    def _count(self, node: T.Expr) -> Count:
        match node:
            case T.Sum(indices, body, _):
                return self._product(list(_factors(body)), set(indices))
            case T.Mul() | T.Div():
                return self._product(list(_factors(node)), set())
            case T.Pow(inner, exponent):
                times = abs(exponent.value) - 1 if isinstance(exponent, T.Num) else 1
                whole = isinstance(exponent, T.Num) and exponent.value.denominator == 1
                one = Count(elementwise=self._size(T.free_indices(node)) * (int(times) if whole else 1))
                return self._count(inner) + self._count(exponent) + one
            case T.Call(_, args):
                own = Count(functions=self._size(T.free_indices(node)))
                return sum((self._count(a) for a in args), own)
            case T.Softmax(_, body, _):
                size = self._size(T.free_indices(node))
                return self._count(body) + Count(elementwise=size, functions=size)
            case T.Reduce(function, _, body, _):
                product = self._size(T.free_indices(body)) if function == "prod" else ZERO
                return self._count(body) + Count(elementwise=product)
        return sum(map(self._count, T.expressions(node)), Count())

    def _product(self, factors: list[tuple[T.Expr, bool]], sums: set[str]) -> Count:
        """A product of factors (`True`: divided by), summed over `sums`."""
        total = Count()
        for factor, _ in factors:
            total = total if _constant(factor) else total + self._count(factor)
        free = [T.free_indices(f) for f, _ in factors]
        keep = set().union(*free) - sums
        # A condition picks entries and costs nothing, but the indices it tests must still be there.
        keep |= set().union(*(s for s, (f, _) in zip(free, factors, strict=True) if isinstance(f, T.Iverson)))
        shared = {i for s in free for i in s if sum(i in other for other in free) > 1}
        real = [
            (s & (keep | shared), under)  # what stands in one factor alone is summed there, by adds
            for s, (f, under) in zip(free, factors, strict=True)
            if not isinstance(f, T.Iverson) and not _constant(f)
        ]
        special = self._special(factors)
        if real and real[0][1] and len(real) == 1:
            return total + Count(elementwise=self._size(real[0][0], special))
        if len(real) < 2:
            return total
        sets = [frozenset(s) for s, _ in real]
        tree = cheapest(sets, frozenset(keep), dict.fromkeys(self.ranges, EQUAL))
        return total + self._tree(tree, sets, keep, special)[1]

    def _tree(
        self, tree: Pairing, sets: list[frozenset[str]], keep: set[str], special: Mapping[str, Polynomial]
    ) -> tuple[frozenset[str], Count]:
        """The axes and the cost of a part of a product."""
        if not isinstance(tree, Pair):
            return sets[tree], Count()
        inside = leaves(tree)
        outer = keep | set().union(*(s for n, s in enumerate(sets) if n not in inside))
        left, first = self._tree(tree.left, sets, keep, special)
        right, second = self._tree(tree.right, sets, keep, special)
        union = left | right
        axes = union & outer
        work = self._size(sorted(union), special)
        matrix = left != right if axes != union else bool(left - right and right - left)
        own = Count(multiply_adds=work) if matrix else Count(elementwise=work)
        return axes, first + second + own

    def _special(self, factors: list[tuple[T.Expr, bool]]) -> dict[str, Polynomial]:
        """Shorter ranges: what reads a `zero` tensor outside its range is not computed."""
        found: dict[str, Polynomial] = {}
        for ref in (r for f, _ in factors for r in T.references(f) if r.name in self.zero):
            dims = self.system.tensors[ref.name].dims
            for affine, dim in zip(ref.indices, dims, strict=True):
                names = [a for _, a in affine.terms if isinstance(a, str)]
                if len(names) == 1 and len(affine.terms) == 1 and affine.const:
                    found[names[0]] = self.dimension(dim) - abs(affine.const)
                elif len(names) > 1:
                    found[names[0]] = self.dimension(dim)
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
