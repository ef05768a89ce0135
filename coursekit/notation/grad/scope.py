"""Indices with names of their own: what is known of them, and how one is put for another.

While equations are taken apart and put together again, every index is called `t~3`: the letter it was
written with, and a number that no other index has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..system import Tensor
from ..tree import (
    Affine,
    Compare,
    Concat,
    Expr,
    Flatten,
    Iverson,
    Lookup,
    Position,
    Reduce,
    Ref,
    SizeOf,
    Softmax,
    Sum,
    free_indices,
    substitute,
    transform,
)

__all__ = ["Scope", "base", "difference", "equality", "fixed", "plus", "put", "solve"]


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

    def apart(self, node):
        """The same expression with new names for all the indices that it binds."""

        def rename(n):
            if isinstance(n, (Sum, Reduce, Flatten)):
                return _renamed(n, n.indices)
            if isinstance(n, Concat):
                return _renamed(n, tuple(along for along, _ in n.parts))
            return n

        def _renamed(n, names):
            return substitute(n, {name: self.fresh(name) for name in names})

        return transform(node, rename)

    def inside(self, affine: Affine, dim: str) -> bool:
        """Whether an index expression is surely in the range of `dim`."""
        if affine.plain is not None:
            return self.dims.get(affine.plain) == dim
        if len(affine.terms) == 1 and affine.terms[0][0] == 1:
            atom = affine.terms[0][1]
            if isinstance(atom, Lookup):
                tensor = self.tensors.get(atom.ref.name)
                return affine.const == 0 and tensor is not None and tensor.indexes == dim
            return isinstance(atom, SizeOf) and atom.name == dim and affine.const == -1
        mirror = [
            self.dims.get(a) if isinstance(a, str) else getattr(a, "name", None) for _, a in affine.terms
        ]
        if [f for f, _ in affine.terms] == [1, -1] and mirror == [dim, dim] and affine.const == -1:
            return isinstance(affine.terms[0][1], SizeOf) and isinstance(affine.terms[1][1], str)  # T-1-t
        return not affine.terms and affine.const == 0 and dim not in self.centered

    def outside(self, affine: Affine, dim: str) -> bool:
        """Whether an index expression is surely out of the range of `dim`: `-1`, or `T` for `T` of them."""
        if dim in self.centered:
            return False
        return (
            affine.const < 0
            if not affine.terms
            else affine.terms == ((1, SizeOf(dim)),) and affine.const >= 0
        )


def difference(left: Affine, right: Affine) -> Affine:
    """`left - right` in normal form."""
    parts: dict = {}
    for sign, affine in ((1, left), (-1, right)):
        for factor, atom in affine.terms:
            parts[atom] = parts.get(atom, 0) + sign * factor
    ordered = sorted(((f, a) for a, f in parts.items() if f), key=lambda part: part[0] < 0)
    return Affine(tuple(ordered), left.const - right.const)


def plus(left: Affine, right: Affine) -> Affine:
    return difference(left, scaled(right, -1))


def put(node, values: Mapping[str, Affine]):
    """The node with index expressions in place of free indices."""

    def change(n):
        if not isinstance(n, Affine) or not any(a in values for _, a in n.terms if isinstance(a, str)):
            return n
        total = Affine((), n.const)
        for factor, atom in n.terms:
            step = values.get(atom) if isinstance(atom, str) else None
            there = Affine(((factor, atom),)) if step is None else scaled(step, factor)
            total = plus(total, there)
        return total

    plain = {k: v.plain for k, v in values.items() if v.plain is not None}
    if len(plain) == len(values):
        return substitute(node, plain)  # type: ignore[arg-type]
    return transform(node, change)


def scaled(affine: Affine, factor: int) -> Affine:
    return Affine(tuple((f * factor, a) for f, a in affine.terms), affine.const * factor)


def solve(gap: Affine, name: str) -> Affine | None:
    """The value of index `name` that makes `gap` zero, if it stands there once with factor ±1."""
    factor = next((f for f, a in gap.terms if a == name), 0)
    rest = Affine(tuple((f, a) for f, a in gap.terms if a != name), gap.const)
    if abs(factor) != 1 or name in free_indices(rest):
        return None
    return scaled(rest, -factor)


def equality(factor: Expr) -> Affine | None:
    """`left - right` where a factor is `[left == right]` on indices."""
    if (
        isinstance(factor, Iverson)
        and isinstance(factor.condition, Compare)
        and factor.condition.operator == "=="
    ):
        left, right = _side(factor.condition.left), _side(factor.condition.right)
        if left is not None and right is not None:
            return difference(left, right)
    return None


def _side(side: Affine | Expr) -> Affine | None:
    """A side of a condition as an index expression: `v` and `w[b,t]` may stand there as values."""
    match side:
        case Affine():
            return side
        case Position(affine):
            return affine
        case Ref():
            return Affine(((1, Lookup(side)),))
    return None


def fixed(node: object) -> set[str]:
    """Indices for which only another plain index may be put: a softmax or a concatenation names them."""
    names: set[str] = set()

    def look(n):
        if isinstance(n, Softmax):
            names.update(n.indices)
        elif isinstance(n, (Concat, Flatten)):
            names.add(n.axis)
        return n

    transform(node, look)
    return names
