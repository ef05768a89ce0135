"""Places in an equation, and the equation with something else put there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from .. import tree as T
from ..names import capital_of
from ..system import System
from ..tree import Equation, Expr, Ref


@dataclass(frozen=True)
class Site:
    """A node of an equation's right side, with all that stands around it; `put` gives the right side with another node
    in its place."""

    node: Any  # an expression or a condition
    put: Callable[[Any], Expr]
    parents: tuple[Any, ...]  # outermost first
    equation: Equation
    system: System

    @property
    def tensor(self) -> str:
        return self.equation.left.name

    @property
    def parent(self) -> Expr | None:
        return self.parents[-1] if self.parents else None

    @property
    def ranges(self) -> dict[str, str]:
        return self.system.ranges[self.equation]

    def with_node(self, new: Expr) -> Equation:
        return replace(self.equation, right=self.put(new))

    def dims(self, ref: Ref) -> tuple[str, ...]:
        return self.system.tensors[ref.name].dims

    def spoken(self, node: Expr) -> Expr:
        """The node with sizes called as in this equation: `I` where the dimension is known as `I2`."""
        names: dict[str, str] = {}
        for index, dim in self.ranges.items():
            if dim not in names or index[:1].isupper():
                names[dim] = capital_of(index)
        return T.transform(
            node, lambda n: replace(n, name=names.get(n.name, n.name)) if isinstance(n, T.Size) else n
        )

    def definition(self, name: str) -> Equation | None:
        return next((e for b in self.system.blocks for e in b.equations if e.left.name == name), None)

    def summed(self) -> set[str]:
        """The indices that a sum around this place uses up."""
        return {i for p in self.parents if isinstance(p, T.Sum) for i in p.indices}


def sites(system: System, equation: Equation) -> list[Site]:
    """Every place in the equation's right side, parents before children."""
    found: list[Site] = []

    def visit(node: Any, put: Callable[[Any], Expr], parents: tuple[Any, ...]) -> None:
        found.append(Site(node, put, parents, equation, system))
        for at, child in enumerate(T.children(node)):
            if not isinstance(child, T.Affine):
                visit(child, lambda new, at=at: put(_with_child(node, at, new)), (*parents, node))  # type: ignore[misc]

    visit(equation.right, lambda new: new, ())
    return found


def _with_child(node: Any, at: int, new: Any) -> Any:
    number = count()
    return T.mapped(node, lambda child: new if next(number) == at else child)


def is_scale(node: Expr) -> bool:
    """A number made of sizes and constants alone, such as `1/sqrt(I)`."""
    return any(isinstance(n, (T.Num, T.Size)) for n in T.walk(node)) and not any(
        isinstance(n, (Ref, T.Affine)) for n in T.walk(node)
    )


def is_gate(site: Site, ref: Ref) -> bool:
    """A tensor defined as a sigmoid, between 0 and 1."""
    match site.definition(ref.name):
        case Equation(_, T.Call("sigmoid")):
            return True
    return False
