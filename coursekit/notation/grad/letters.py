"""Readable index letters for an equation whose indices have names of their own (`t~3`).

A free index gets its own letter, a summed one the capital of its letter. Where that is taken, another
letter that the system uses for the same dimension is tried (`I` beside `j`), then any that is free. Sums
that stand side by side may share a letter if they run over the same dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace

from ..names import capital_of, small_of
from ..tree import (
    Concat,
    Equation,
    Expr,
    Flatten,
    Position,
    Reduce,
    Ref,
    Size,
    SizeOf,
    Sum,
    free_indices,
    index,
    substitute,
    transform,
    walk,
)
from .scope import base

__all__ = ["Pen", "sizes_by_letter"]

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

    def equation(self, name: str, left: Sequence[str], right: Expr) -> Equation:
        # An index that is used as a number is summed by name: a capital would be read as a size there.
        self.numbers = {i for n in walk(right) if isinstance(n, Position) for i in free_indices(n.affine)}
        self.offsets = {n.name for n in walk(right) if isinstance(n, SizeOf)}
        self.sized = {n.name for n in walk(right) if isinstance(n, Size)}
        names: dict[str, str] = {}
        for own in left:
            names[own] = self._choose(own, names.values(), summed=False)
        body = self._write(substitute(right, names), frozenset(names.values()))
        return Equation(Ref(name, tuple(index(names[i]) for i in left)), body)

    def _choose(self, own: str, taken: Iterable[str], summed: bool) -> str:
        letter, dim = small_of(base(own)), self.dims[own]
        used = {small_of(t) for t in taken}
        numbered = [f"{letter}{n}" for n in range(1, 100)]
        spare = [*SPARE, *numbered] if len(letter) == 1 else numbered
        for candidate in [letter, *self.kin(dim), *spare]:
            word = capital_of(candidate) if summed and own not in self.numbers else candidate
            clash = summed and (word in self.avoid or word in self.offsets)
            clash |= dim in self.sized and capital_of(candidate) in self.tensors
            if candidate not in used and not clash and self.ranges.get(word, dim) == dim:
                self.ranges[word] = dim
                return word
        raise AssertionError("a hundred indices with one letter")

    def _write(self, node, taken: frozenset[str]):
        """The node with letters for all that it sums over, from the outermost sum inwards."""
        if isinstance(node, (Sum, Reduce, Flatten)):
            node, taken = self._open(node, node.indices, taken)
        elif isinstance(node, Concat):
            node, taken = self._open(node, tuple(along for along, _ in node.parts), taken)
        changes = {}
        for part in fields(node):
            old = getattr(node, part.name)
            new = self._inside(old, taken)
            if new is not old:
                changes[part.name] = new
        return replace(node, **changes) if changes else node

    def _inside(self, value, taken: frozenset[str]):
        if isinstance(value, tuple):
            return tuple(self._inside(item, taken) for item in value)
        return self._write(value, taken) if is_dataclass(value) and hasattr(value, "span") else value

    def _open(self, node, indices: Sequence[str], taken: frozenset[str]):
        names: dict[str, str] = {}
        for own in indices:
            names[own] = self._choose(own, [*taken, *names.values()], summed=True)
        return substitute(node, names), taken | set(names.values())


def sizes_by_letter(equation: Equation, ranges: Mapping[str, str]) -> Equation:
    """The equation with each size called by a letter that it has for that dimension, as one writes it."""

    def name(dim: str, inside: bool) -> str:
        letters = [i for i, d in ranges.items() if d == dim and not (inside and i == capital_of(i))]
        return capital_of(letters[0]) if letters and dim not in map(capital_of, letters) else dim

    def rename(node):
        if isinstance(node, Size):
            return replace(node, name=name(node.name, False))
        if hasattr(node, "terms") and any(isinstance(a, SizeOf) for _, a in _pairs(node)):
            terms = tuple(
                (f, SizeOf(name(a.name, True)) if isinstance(a, SizeOf) else a) for f, a in node.terms
            )
            return replace(node, terms=terms)
        return node

    return transform(equation, rename)


def _pairs(node) -> list:
    return [t for t in node.terms if isinstance(t, tuple)]
