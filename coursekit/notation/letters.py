"""Readable index letters for an equation whose indices have names of their own (`t~3`).

A free index gets its own letter, a summed one the capital of its letter. Where that letter is taken, another
one that the system uses for the same dimension is tried (`i` for `j`), then any that is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .names import capital_of, small_of
from .simplify import base
from .tree import (
    Affine, Concat, Equation, Expr, Flatten, Reduce, Ref, Size, SizeOf, Softmax, Sum, index, substitute, walk,
)  # fmt: skip

__all__ = ["lettered"]

SPARE = "ijklmnpqrsuvxyzabcdgo"


def lettered(
    name: str,
    left: Sequence[str],
    right: Expr,
    kin: Mapping[str, Sequence[str]],
    avoid: Iterable[str],
) -> Equation:
    """The equation `name[left] = right` with letters; `kin` are the letters known for each index.

    `avoid` are the names of tensors: a summed index is not called like one.
    """
    sizes = {n.name for n in walk(right) if isinstance(n, (Size, SizeOf))}
    names: dict[str, str] = {}
    taken = set(sizes) | {small_of(s) for s in sizes if False}
    tensors = set(avoid)

    def choose(own: str, summed: bool) -> str:
        letters = [small_of(base(own)), *kin.get(own, ()), *SPARE]
        letters += [f"{small_of(base(own))}{n}" for n in range(1, 100)]
        for letter in letters:
            word = capital_of(letter) if summed else letter
            both = {letter, capital_of(letter)}
            if not both & taken and not (summed and word in tensors):
                taken.update(both)
                return word
        raise AssertionError("a hundred indices with one letter")

    for own in left:
        names[own] = choose(own, False)
    for own in _bound(right):
        names.setdefault(own, choose(own, True))
    return Equation(Ref(name, tuple(index(names[i]) for i in left)), substitute(right, names))


def _bound(node: object) -> list[str]:
    found: list[str] = []
    for n in walk(node):
        if isinstance(n, (Sum, Reduce, Flatten)):
            found.extend(n.indices)
        elif isinstance(n, Softmax):
            found.extend(n.indices)
        elif isinstance(n, Concat):
            found.extend(along for along, _ in n.parts)
        elif isinstance(n, Affine):
            found.extend(a for _, a in n.terms if isinstance(a, str))
    return list(dict.fromkeys(found))
