"""Readable index letters for an equation whose indices have names of their own (`t~3`).

A free index gets its own letter, a summed one the capital of its letter. Where that is taken, another
letter that the system uses for the same dimension is tried (`I` beside `j`), then any that is free. Sums
that stand side by side may share a letter if they run over the same dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from .. import tree as T
from ..names import capital_of, small_of
from .scope import base

SPARE = "ijklmnpqrsuvxyzabcdgo"


class Pen:
    """Writes one equation `name[left] = right`; `ranges` are then its letters and their dimensions.

    `dims` gives an index's dimension, `kin` the letters that are known for a dimension, `tensors` the names of
    tensors, and `avoid` those of them that a summed index must not have.
    """

    def __init__(
        self,
        dims: Mapping[str, str],
        kin: Callable[[str], Sequence[str]],
        tensors: Iterable[str] = (),
        avoid: Iterable[str] = (),
    ) -> None:
        self.dims, self.kin = dims, kin
        self.tensors, self.avoid = frozenset(tensors), frozenset(avoid)
        self.ranges: dict[str, str] = {}

    def equation(self, name: str, left: Sequence[str], right: T.Expr) -> T.Equation:
        # An index that is used as a number is summed by name: a capital would be read as a size there.
        self.numbers = {
            i for n in T.walk(right) if isinstance(n, T.Position) for i in T.free_indices(n.affine)
        }
        self.offsets = {n.name for n in T.walk(right) if isinstance(n, T.SizeOf)}
        self.sized = {n.name for n in T.walk(right) if isinstance(n, T.Size)}
        names: dict[str, str] = {}
        for own in left:
            names[own] = self._choose(own, names.values(), summed=False)
        body = self._write(T.substitute(right, names), frozenset(names.values()))
        return T.Equation(T.Ref(name, tuple(T.index(names[i]) for i in left)), body)

    def _choose(self, own: str, taken: Iterable[str], summed: bool) -> str:
        letter, dim = small_of(base(own)), self.dims[own]
        used = {small_of(t) for t in taken}
        numbered = [f"{letter.rstrip('0123456789')}{n}" for n in range(1, 100)]  # after t1 and t2 comes t3
        spare = [*SPARE, *numbered] if len(letter) == 1 else numbered
        for candidate in [letter, *self.kin(dim), *spare]:
            word = capital_of(candidate) if summed and own not in self.numbers else candidate
            clash = summed and (word in self.avoid or word in self.offsets)
            clash |= dim in self.sized and capital_of(candidate) in self.tensors
            if candidate not in used and not clash and self.ranges.get(word, dim) == dim:
                self.ranges[word] = dim
                return word
        raise AssertionError("a hundred indices with one letter")

    def _write(self, node: T.N, taken: frozenset[str]) -> T.N:
        """The node with letters for all that it sums over, from the outermost sum inwards."""
        names: dict[str, str] = {}
        for own in () if isinstance(node, T.Apply) else T.binds(node):
            names[own] = self._choose(own, [*taken, *names.values()], summed=True)
        node, inner = T.substitute(node, names) if names else node, taken | set(names.values())
        return T.mapped(node, lambda n: self._write(n, inner))


def sizes_by_letter(equation: T.Equation, ranges: Mapping[str, str]) -> T.Equation:
    """The equation with each size called by a letter that it has for that dimension, as one writes it."""

    def name(dim: str, inside: bool) -> str:
        letters = [i for i, d in ranges.items() if d == dim and not (inside and i == capital_of(i))]
        return capital_of(letters[0]) if letters and dim not in map(capital_of, letters) else dim

    def rename(node: object) -> object:
        if isinstance(node, (T.Size, T.SizeOf)):
            return replace(node, name=name(node.name, isinstance(node, T.SizeOf)))
        return node

    return T.transform(equation, rename)
