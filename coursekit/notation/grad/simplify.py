"""Expressions as sums of terms, and what is simpler in that form.

A term is `coefficient · Σ_sums Π factor^exponent`. To bring an expression into that form flattens its
products, moves every sum to the front of its product, cancels factors, merges like terms, takes each
`where` as a factor `[condition]` and uses up `[i == j]` under a sum over `i`. Brackets stay: `h (1 - h)` is
multiplied out only where something cancels, as in `y (1 - y'/y)`.

Every index has a name of its own while equations are taken apart and put together again: it is called `t~3`, the
letter it was written with and a number that no other index has (`Scope.apart` sees to it).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce

from .. import tree as T
from ..functions import ONE, ZERO, times
from ..indices import difference, each, equality, plus, put, solve
from ..meaning.reach import extent, span, sure
from ..system import Tensor


def base(name: str) -> str:
    """The letter that an index with a name of its own (`t~3`) was written with."""
    return name.split("~")[0]


@dataclass
class Scope:
    """What is known of indices and tensors: each index's dimension, which tensors hold indices."""

    dims: dict[str, str] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    centered: frozenset[str] = frozenset()  # dimensions whose indices do not run from 0
    count: int = 0

    def fresh(self, name: str, dim: str | None = None) -> str:
        """A new index with the letter of `name`, over the same dimension."""
        self.count += 1
        new = f"{base(name)}~{self.count}"
        known = dim if dim is not None else self.dims.get(name)
        if known is not None:
            self.dims[new] = known
        return new

    def apart(self, node: T.N) -> T.N:
        """The same expression with new names for all the indices that it binds."""

        def rename(n: object) -> object:
            names = () if isinstance(n, T.Apply) else T.binds(n)
            return T.substitute(n, {name: self.fresh(name) for name in names}) if names else n

        return T.transform(node, rename)

    def span(self, dim: str) -> tuple[T.Affine, T.Affine]:
        return span(dim, dim in self.centered)

    def room(self, affine: T.Affine, dim: str) -> tuple[T.Affine, T.Affine] | None:
        """How far above the first place of `dim` an index expression begins, and how far below the last it ends."""
        if any(T.references(affine)) or not self.dims.keys() >= set(affine.names):
            return None
        (first, last), (low, high) = self.span(dim), extent(affine, self.span, self.dims)
        return difference(low, first), difference(last, high)

    def inside(self, affine: T.Affine, dim: str) -> bool:
        """Whether an index expression is surely in the range of `dim`."""
        match affine.terms:
            case ((1, T.Lookup(ref)),):
                tensor = self.tensors.get(ref.name)
                return affine.const == 0 and tensor is not None and tensor.indexes == dim
        room = self.room(affine, dim)
        return room is not None and all(map(sure, room))

    def outside(self, affine: T.Affine, dim: str) -> bool:
        """Whether an index expression is surely out of the range of `dim`: `-1`, or `T` for `T` of them."""
        (first, last), room = self.span(dim), self.room(affine, dim)
        if room is None:
            return False
        wide = difference(last, first)
        return any(sure(difference(gap, plus(wide, T.Affine((), 1)))) for gap in room)


def fixed(node: object) -> set[str]:
    """Indices for which only another plain index may be put: a softmax or a concatenation names them."""
    kinds = (T.Softmax, T.Concat, T.Flatten)
    return {i for n in T.walk(node) if isinstance(n, kinds) for i in T.named(n).difference(T.binds(n))}


@dataclass(frozen=True)
class Term:
    coefficient: Fraction = Fraction(1)
    sums: tuple[str, ...] = ()
    factors: tuple[tuple[T.Expr, int], ...] = ()

    def times(self, other: "Term") -> "Term":
        powers = dict(self.factors)
        for factor, exponent in other.factors:
            together = powers.get(factor, 0) + exponent
            powers[factor] = 1 if isinstance(factor, T.Iverson) else together
        kept = tuple((f, e) for f, e in powers.items() if e)
        return Term(self.coefficient * other.coefficient, self.sums + other.sums, kept)

    def power(self, exponent: int) -> "Term":
        return Term(self.coefficient**exponent, (), tuple((f, e * exponent) for f, e in self.factors))

    def over(self, indices: Iterable[str]) -> "Term":
        return replace(self, sums=self.sums + tuple(indices))

    def free(self) -> set[str]:
        return set().union(*(T.free_indices(f) for f, _ in self.factors)) - set(self.sums)


def terms(node: T.Expr, scope: Scope) -> list[Term]:
    """The terms whose sum is `node`."""
    match node:
        case T.Num(value):
            return [Term(value)] if value else []
        case T.Add(parts):
            return combine([t for p in parts for t in terms(p, scope)])
        case T.Neg(body):
            return [replace(t, coefficient=-t.coefficient) for t in terms(body, scope)]
        case T.Mul(factors):
            return _product([terms(f, scope) for f in factors], scope)
        case T.Div(above, below):
            return _product([terms(above, scope), _power(below, -1, scope)], scope)
        case T.Pow(inner, T.Num(value)) if value.denominator == 1:
            return _power(inner, int(value), scope)
        case T.Sum(indices, body, where):
            inside = terms(body, scope)
            inside = _product([inside, [_conditions(where)]], scope) if where else inside
            return combine([s for t in inside for s in _settle(t.over(indices), scope)])
        case T.Iverson(condition):
            return _settle(_conditions(condition), scope)
        case T.Ref() | T.Size():
            return [whole(node)]
    kept = (T.Compare, T.And, T.Affine)  # functions, softmaxes, cases are not looked through
    return [whole(T.mapped(node, lambda n: n if isinstance(n, kept) else simplify(n, scope)))]


def whole(node: T.Expr, exponent: int = 1) -> Term:
    """A power of an expression, as one term."""
    return Term(factors=((node, exponent),))


def simplify(node: T.Expr, scope: Scope) -> T.Expr:
    return expression(terms(node, scope))


def _conditions(condition: T.Condition) -> Term:
    return Term(factors=tuple((T.Iverson(part), 1) for part in dict.fromkeys(each(condition))))


def _power(node: T.Expr, exponent: int, scope: Scope) -> list[Term]:
    if exponent == 0:
        return [Term()]
    found = terms(node, scope)
    if not found and exponent > 0:
        return []
    if len(found) == 1 and not found[0].sums and found[0].coefficient:
        return [found[0].power(exponent)]
    return [whole(expression(found), exponent)]


def _product(sides: list[list[Term]], scope: Scope) -> list[Term]:
    if any(not side for side in sides):
        return []
    brackets = [side for side in sides if len(side) > 1]
    single = reduce(Term.times, [side[0] for side in sides if len(side) == 1], Term())
    for n, side in enumerate(brackets):
        rest = brackets[:n] + brackets[n + 1 :]
        around = list(single.factors) + [pair for other in rest for t in other for pair in t.factors]
        if any(f == g and e * d < 0 for t in side for f, e in t.factors for g, d in around):
            return combine([p for t in side for p in _product([[single], [t], *rest], scope)])
    if len(brackets) == 1 and not single.factors and not single.sums:
        return [replace(t, coefficient=t.coefficient * single.coefficient) for t in brackets[0]]
    return _settle(reduce(Term.times, [whole(expression(side)) for side in brackets], single), scope)


def _settle(term: Term, scope: Scope) -> list[Term]:
    """Use up conditions that decide an index or are decided, and sums over what does not depend on them."""
    for n, (factor, _) in enumerate(term.factors):
        gap = equality(factor)
        if gap is None:
            continue
        rest = term.factors[:n] + term.factors[n + 1 :]
        if not gap.terms:
            return _settle(replace(term, factors=rest), scope) if gap.const == 0 else []
        for name in term.sums:
            value = solve(gap, name)
            if value is None or name not in scope.dims:
                continue
            if scope.outside(value, scope.dims[name]):
                return []
            tied = value.plain is None and any(name in fixed(f) for f, _ in rest)
            if not tied and scope.inside(value, scope.dims[name]):
                start = Term(term.coefficient, tuple(s for s in term.sums if s != name))
                parts = (whole(put(f, {name: value}), e) for f, e in rest)
                return _settle(reduce(Term.times, parts, start), scope)
    term = _named_lookups(term)
    used = set().union(*(T.free_indices(f) for f, _ in term.factors))
    for name in term.sums:
        if name not in used and name in scope.dims:
            rest_sums = tuple(s for s in term.sums if s != name)
            return _settle(replace(term, sums=rest_sums).times(whole(T.Size(scope.dims[name]))), scope)
    if len(term.factors) == 1 and isinstance(term.factors[0][0], T.Add) and term.factors[0][1] == 1:
        outer = replace(term, factors=())
        return [s for t in terms(term.factors[0][0], scope) for s in _settle(t.times(outer), scope)]
    return [term] if term.coefficient else []


def _named_lookups(term: Term) -> Term:
    """Under `[v == w[b,t]]`, what is read at `w[b,t]` is read at `v`."""
    for factor, _ in term.factors:
        gap = equality(factor)
        if gap is None or len(gap.terms) != 2 or gap.const:
            continue
        looked = next((a for _, a in gap.terms if isinstance(a, T.Lookup)), None)
        name = next((a for _, a in gap.terms if isinstance(a, str)), None)
        if looked is None or name is None or sum(f for f, _ in gap.terms) != 0:
            continue
        old, new = T.Affine(((1, looked),)), T.Affine(((1, name),))
        swap = lambda n, old=old, new=new: new if n == old else n
        others = tuple((f if f is factor else T.transform(f, swap), e) for f, e in term.factors)
        if others != term.factors:
            return Term(term.coefficient, term.sums).times(Term(factors=others))
    return term


def combine(found: list[Term]) -> list[Term]:
    """Like terms merged, in order of first appearance."""
    merged: dict[object, Term] = {}
    for term in found:
        affines = (n for f, _ in term.factors for n in T.walk(f) if isinstance(n, T.Affine))
        names = [name for affine in affines for _, name in affine.terms if name in term.sums]
        canon = {n: f"~{k}" for k, n in enumerate(dict.fromkeys(names))}
        key = (frozenset((T.substitute(f, canon), e) for f, e in term.factors), len(term.sums))
        if key in merged:
            term = replace(merged[key], coefficient=merged[key].coefficient + term.coefficient)
        merged[key] = term
    return [t for t in merged.values() if t.coefficient]


def expression(found: list[Term]) -> T.Expr:
    """The terms as an expression; a positive term first where there is one."""
    ordered = sorted(found, key=lambda t: t.coefficient < 0)
    parts = [_write(t) for t in ordered]
    return T.Add(tuple(parts)) if len(parts) > 1 else parts[0] if parts else ZERO


def _write(term: Term) -> T.Expr:
    if not term.factors and not term.sums:
        return T.Num(term.coefficient)
    size = abs(term.coefficient)
    above = [_raised(f, e) for f, e in term.factors if e > 0]
    below = [_raised(f, -e) for f, e in term.factors if e < 0]
    if below and not any(True for f in below for _ in T.references(f)):
        above, below = [T.Div(ONE, times(*below)), *above], []
    if size != 1:
        above.insert(0, T.Num(size))
    body = times(*above) if not below else T.Div(times(*above), times(*below))
    if term.sums:
        body = T.Sum(term.sums, body)
    return T.Neg(body) if term.coefficient < 0 else body


def _raised(factor: T.Expr, exponent: int) -> T.Expr:
    return factor if exponent == 1 else T.Pow(factor, T.Num(Fraction(exponent)))
