"""Indices with names of their own, and what is known of them.

While equations are taken apart and put together again, every index is called `t~3`: the letter it was
written with, and a number that no other index has.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import tree as T
from ..indices import difference, plus
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
