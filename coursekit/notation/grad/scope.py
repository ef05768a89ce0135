"""Indices with names of their own: what is known of them, and how one is put for another.

While equations are taken apart and put together again, every index is called `t~3`: the letter it was
written with, and a number that no other index has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import tree as T
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

    def inside(self, affine: T.Affine, dim: str) -> bool:
        """Whether an index expression is surely in the range of `dim`."""
        if affine.plain is not None:
            return self.dims.get(affine.plain) == dim
        if len(affine.terms) == 1 and affine.terms[0][0] == 1:
            atom = affine.terms[0][1]
            if isinstance(atom, T.Lookup):
                tensor = self.tensors.get(atom.ref.name)
                return affine.const == 0 and tensor is not None and tensor.indexes == dim
            return isinstance(atom, T.SizeOf) and atom.name == dim and affine.const == -1
        mirror = [
            self.dims.get(a) if isinstance(a, str) else getattr(a, "name", None) for _, a in affine.terms
        ]
        if [f for f, _ in affine.terms] == [1, -1] and mirror == [dim, dim] and affine.const == -1:
            return isinstance(affine.terms[0][1], T.SizeOf) and isinstance(affine.terms[1][1], str)  # T-1-t
        return not affine.terms and affine.const == 0 and dim not in self.centered

    def outside(self, affine: T.Affine, dim: str) -> bool:
        """Whether an index expression is surely out of the range of `dim`: `-1`, or `T` for `T` of them."""
        if dim in self.centered:
            return False
        return (
            affine.const < 0
            if not affine.terms
            else affine.terms == ((1, T.SizeOf(dim)),) and affine.const >= 0
        )


def fixed(node: object) -> set[str]:
    """Indices for which only another plain index may be put: a softmax or a concatenation names them."""
    kinds = (T.Softmax, T.Concat, T.Flatten)
    return {i for n in T.walk(node) if isinstance(n, kinds) for i in T.named(n).difference(T.binds(n))}
