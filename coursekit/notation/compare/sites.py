"""Places in an equation, and the equation with something else put there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from ..names import capital_of
from ..system import System
from ..tree import Affine, Call, Equation, Expr, Num, Ref, Size, Sum, references, transform, walk

Slot = tuple  # a field's name and positions inside its tuple
Path = tuple[Slot, ...]


def _slots(node: object) -> Iterator[tuple[Slot, object]]:
    """A node's direct parts that are expressions or conditions, each with where it stands."""
    for part in fields(node):  # type: ignore[arg-type]
        yield from _inside((part.name,), getattr(node, part.name))


def _inside(slot: Slot, value: object) -> Iterator[tuple[Slot, object]]:
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from _inside((*slot, at), item)
    elif hasattr(value, "__dataclass_fields__") and slot[0] not in ("span", "indices", "affine"):
        yield slot, value


def put(node, path: Path, new):
    """The tree with `new` at `path`."""
    if not path:
        return new
    (name, *places), rest = path[0], path[1:]

    def rebuilt(value, places):
        if not places:
            return put(value, rest, new)
        head, *tail = places
        return tuple(rebuilt(v, tail) if at == head else v for at, v in enumerate(value))

    return replace(node, **{name: rebuilt(getattr(node, name), places)})


@dataclass(frozen=True)
class Site:
    """A node of an equation's right side, with all that stands around it."""

    node: Any  # an expression or a condition
    path: Path
    parents: tuple[Expr, ...]  # outermost first
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
        return replace(self.equation, right=put(self.equation.right, self.path, new))

    def dims(self, ref: Ref) -> tuple[str, ...]:
        return self.system.tensors[ref.name].dims

    def spoken(self, node: Expr) -> Expr:
        """The node with sizes called as in this equation: `I` where the dimension is known as `I2`."""
        names: dict[str, str] = {}
        for index, dim in self.ranges.items():
            if dim not in names or index[:1].isupper():
                names[dim] = capital_of(index)
        return transform(
            node, lambda n: replace(n, name=names.get(n.name, n.name)) if isinstance(n, Size) else n
        )

    def definition(self, name: str) -> Equation | None:
        return next((e for b in self.system.blocks for e in b.equations if e.left.name == name), None)

    def summed(self) -> set[str]:
        """The indices that a sum around this place uses up."""
        return {i for p in self.parents if isinstance(p, Sum) for i in p.indices}


def sites(system: System, equation: Equation) -> list[Site]:
    """Every place in the equation's right side, parents before children."""
    found: list[Site] = []

    def visit(node, path: Path, parents: tuple) -> None:
        found.append(Site(node, path, parents, equation, system))
        for slot, child in _slots(node):
            if not isinstance(child, Affine):
                visit(child, (*path, slot), (*parents, node))

    visit(equation.right, (), ())
    return found


def is_scale(node: Expr) -> bool:
    """A number made of sizes and constants alone, such as `1/sqrt(I)`."""
    return any(isinstance(n, (Num, Size)) for n in walk(node)) and not any(
        isinstance(n, (Ref, Affine)) for n in walk(node)
    )


def is_gate(site: Site, ref: Ref) -> bool:
    """A tensor defined as a sigmoid, between 0 and 1."""
    definition = site.definition(ref.name)
    return (
        definition is not None
        and isinstance(definition.right, Call)
        and definition.right.function == "sigmoid"
    )


def depends(expr: Expr, name: str) -> bool:
    return any(ref.name == name for ref in references(expr))
