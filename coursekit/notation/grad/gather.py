"""From "this entry is read here" to "this entry's adjoint is the sum of that".

A read `X[a(s)]` with adjoint `g(s)`, for all values of the indices `s`, gives
`dX[x] = Σ_s [x == a(s)] g(s)`. Plain reads decide an index; a shifted or windowed read is turned round:
`[x == t-1] dz[t]` is `dz[x+1]`, where `dz` is zero outside its range (it gets padded). Strides and lookups keep
their condition: `[s == 2*T+DT]`, `[w[B,T] == v]`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from .. import tree as T
from ..functions import FUNCTIONS
from ..indices import equality, put, solve
from ..meaning.reach import sure
from ..system import System
from .simplify import Scope, Term, fixed, terms


class Gather:
    """Turns reads round. `dims` are those of all tensors of the sweep; `name` makes a tensor of a product. What must be
    padded is collected in `pads`."""

    def __init__(
        self, scope: Scope, system: System, dims: Mapping[str, tuple[str, ...]], name: Callable[[Term], T.Ref]
    ):
        self.scope, self.system, self.dims, self.name = scope, system, dims, name
        self.pads: set[str] = set()

    def may_pad(self, name: str) -> bool:
        if name in self.system.padded:
            return True
        tensor = self.system.tensors.get(name)
        return name not in self.system.boundary and (tensor is None or tensor.indexes is None)

    def __call__(
        self, read: T.Ref, g: T.Expr, around: tuple[str, ...], target: tuple[T.Affine, ...]
    ) -> list[Term]:
        """The terms that a read adds to the adjoint of the entry `target`."""
        here = [T.Iverson(T.Compare(x, "==", a)) for x, a in zip(target, read.indices, strict=True)]
        found = terms(T.Sum(around, T.Mul((*here, g))), self.scope)
        return [self._turned(t, around) for t in found]

    def _turned(self, term: Term, around: tuple[str, ...]) -> Term:
        """One shifted read after another turned round, until only strides and lookups are left."""
        for factor, _ in term.factors:
            gap = equality(factor)
            if gap is None or any(isinstance(a, str) and abs(f) > 1 for f, a in gap.terms):
                continue
            for name in sorted(term.sums, key=lambda s: around.index(s) if s in around else len(around)):
                value = solve(gap, name)
                if value is None:
                    continue
                # a window over a longer axis (`x+dx` without padding) keeps its condition: the ranges differ
                dims = {self.scope.dims[a] for _, a in value.terms if isinstance(a, str)}
                if not dims or self.scope.dims[name] in dims:
                    rest = tuple((f, e) for f, e in term.factors if f != factor)
                    return self._turned(self._move(replace(term, factors=rest), name, value), around)
        return term

    def _move(self, term: Term, name: str, value: T.Affine) -> Term:
        """Put `value` for the summed index `name`; what lies outside its range counts for nothing."""
        inside = [(f, e) for f, e in term.factors if name in T.free_indices(f)]
        outside = [p for p in term.factors if p not in inside]
        if inside and not self._zero_outside(inside, name, value):
            local = set().union(*(T.free_indices(f) for f, _ in inside))
            elsewhere = set().union(*(T.free_indices(f) for f, _ in outside)) | T.free_indices(value)
            own = tuple(s for s in term.sums if s in local and s not in elsewhere and s != name)
            inside = [(self.name(Term(sums=own, factors=tuple(inside))), 1)]
            term = replace(term, sums=tuple(s for s in term.sums if s not in own))
        sums = tuple(s for s in term.sums if s != name)
        moved = [(put(f, {name: value}), e) for f, e in inside]
        if not inside:
            moved = [(T.Iverson(c), 1) for c in self._bounds(value, self.scope.dims[name])]
        for ref in (r for f, _ in moved for r in T.references(f) if self.may_pad(r.name)):
            places = zip(ref.indices, self.dims[ref.name], strict=True)
            if not all(self.scope.inside(affine, dim) for affine, dim in places):
                self.pads.add(ref.name)
        return Term(term.coefficient, sums, (*outside, *moved))

    def _zero_outside(self, factors: list[tuple[T.Expr, int]], name: str, value: T.Affine) -> bool:
        """Whether the product may be read outside the range of `name`, and is zero there."""
        guarded = False
        for factor, exponent in factors:
            if exponent < 0 or name in fixed(factor) or not all(self._finite(n) for n in T.walk(factor)):
                return False
            for ref in T.references(factor):
                if name in T.free_indices(ref) and not self._readable(ref, name, value):
                    return False
            if isinstance(factor, T.Ref):
                places = zip(factor.indices, self.dims[factor.name], strict=True)
                guarded |= any(a.plain == name and d == self.scope.dims[name] for a, d in places)
        return guarded

    def _finite(self, node: object) -> bool:
        match node:
            case T.Call(function):
                return FUNCTIONS[function].finite and function not in ("min", "max")
            case T.Pow(_, exponent):
                return isinstance(exponent, T.Num) and exponent.value > 0
            case T.Div(_, below):
                return isinstance(below, (T.Num, T.Size))
        unsafe = (T.Lookup, T.Apply, T.Softmax, T.Reduce, T.Concat, T.Flatten, T.Position, T.Cases, T.And)
        return not isinstance(node, unsafe)

    def _readable(self, ref: T.Ref, name: str, value: T.Affine) -> bool:
        """A read that may be padded, or that the shift brings back among the entries that there are."""
        if self.may_pad(ref.name):
            return True
        edges = () if ref.name in self.system.padded else self.system.boundary.get(ref.name, ())
        for axis, affine in enumerate(ref.indices):
            if name in T.free_indices(affine):
                beyond, moved = [0, *(s for side, s in edges if side == axis)], put(affine, {name: value})
                if len(moved.terms) != 1 or not min(beyond) <= moved.const <= max(beyond):
                    return False
        return True

    def _bounds(self, value: T.Affine, dim: str) -> list[T.Compare]:
        """What has to be asked so that `value` is in the range of `dim`."""
        low = T.Compare(value, ">=", T.Affine(()))
        high = T.Compare(value, "<", T.Affine(((1, T.SizeOf(dim)),)))
        room = self.scope.room(value, dim) or (value, value)
        return [c for c, gap in zip((low, high), room, strict=True) if not sure(gap)]
