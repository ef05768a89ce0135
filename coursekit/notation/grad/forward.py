"""The equations of a system made ready for differentiation: index names of their own, and who reads whom."""

from __future__ import annotations

from dataclasses import dataclass

from ..names import small_of
from ..system import System
from ..tree import Equation, Expr, Lookup, Ref, references, substitute, walk
from .scope import Scope, base


@dataclass(frozen=True)
class Forward:
    """An equation of the system with index names of its own; `around` are the indices of its left side."""

    left: Ref
    right: Expr
    around: tuple[str, ...]


class Network:
    """`equations` in the order they run; `letters` has, for each dimension, those that it is written with."""

    def __init__(self, system: System) -> None:
        self.system = system
        centered = {d for r in system.ranges.values() for n, d in r.items() if n in system.centered}
        self.scope = Scope({}, dict(system.tensors), frozenset(centered))
        self.letters: dict[str, list[str]] = {}
        self.equations = [self._own_names(e) for block in system.blocks for e in block.equations]
        self.reads = {e.left.name: _values(e.right) for e in self.equations}
        self.refs = [e.left for e in self.equations] + [
            r for e in self.equations for r in references(e.right)
        ]

    def _own_names(self, equation: Equation) -> Forward:
        own = {}
        for name, dim in self.system.ranges[equation].items():
            own[name] = self.scope.fresh(small_of(name), dim)
            letters = self.letters.setdefault(dim, [])
            if small_of(name) not in letters:
                letters.append(small_of(name))
        left, right = substitute(equation.left, own), substitute(equation.right, own)
        around = tuple(dict.fromkeys(a for i in left.indices for _, a in i.terms if isinstance(a, str)))
        return Forward(left, self.scope.apart(right), around)

    def between(self, wrt: set[str], of: str) -> set[str]:
        """The tensors that depend on one of `wrt` and that `of` depends on."""
        depends, reached = set(wrt), {of}
        for _ in self.equations:
            depends |= {name for name, reads in self.reads.items() if depends & reads}
            reached |= {n for name, reads in self.reads.items() if name in reached for n in reads}
        return depends & reached

    def recurrent(self) -> set[str]:
        """Tensors that an equation of their own block reads before they are computed there."""
        found: set[str] = set()
        for block in self.system.blocks:
            later: set[str] = set()
            for equation in reversed(block.equations):
                later.add(equation.left.name)
                found |= later & {r.name for r in references(equation.right)}
        return found

    def axes(self, name: str) -> list[str]:
        """A letter for each axis: as it is written somewhere, but not the name of a tensor."""
        chosen: list[str] = []
        for axis, dim in enumerate(self.system.tensors[name].dims):
            plain = [r.indices[axis].plain for r in self.refs if r.name == name]
            own = [base(p) for p in plain if p is not None] + [*self.letters.get(dim, []), small_of(dim)]
            spare = [*"vijklmn", *(f"v{n}" for n in range(1, 100))]
            taken = {*chosen, *self.system.tensors}
            chosen.append(next(p for p in [*own, *spare] if p not in taken))
        return chosen


def _values(node: object) -> set[str]:
    """The tensors that stand in an expression as values, not as indices."""
    inner = [id(r) for n in walk(node) if isinstance(n, Lookup) for r in references(n.ref)]
    return {r.name for r in references(node) if id(r) not in inner}
