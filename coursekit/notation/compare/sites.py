"""Places in an equation, and the equation with something else put there."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from .. import tree as T
from ..indices import put
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

    def is_gate(self, ref: Ref) -> bool:
        """A tensor defined as a sigmoid, between 0 and 1."""
        match self.system.definitions.get(ref.name):
            case Equation(_, T.Call("sigmoid")):
                return True
        return False

    def gates(self, factor: Expr) -> bool:
        gate = complement(factor) or factor
        return isinstance(gate, Ref) and self.is_gate(gate)

    def alike(self, ref: Ref) -> list[str]:
        """The other tensors of the same shape."""
        own = self.system.tensors[ref.name]
        found = self.system.tensors.values()
        return [
            t.name for t in found if t.name != ref.name and t.dims == own.dims and t.indexes == own.indexes
        ]

    def sizes(self, indices: Iterable[str]) -> Iterator[T.Size]:
        """How many values each index takes."""
        return (T.Size(self.ranges[i]) for i in indices)

    def left_like(self, index: str) -> list[str]:
        """The indices of the left side that run over what an index runs over."""
        names = [a.plain for a in self.equation.left.indices if a.plain]
        return [name for name in names if self.ranges[name] == self.ranges[index]]

    def summed(self) -> set[str]:
        """The indices that a sum around this place uses up."""
        return {i for p in self.parents if isinstance(p, T.Sum) for i in p.indices}


def sites(system: System, equation: Equation) -> list[Site]:
    """Every place in the equation's right side, parents before children; then the places that look alike but for the
    letters of their indices, each kind as one place: what is done to the first is done to all."""
    found: list[Site] = []

    def visit(node: Any, put: Callable[[Any], Expr], parents: tuple[Any, ...]) -> None:
        found.append(Site(node, put, parents, equation, system))
        for at, child in enumerate(T.children(node)):
            if not isinstance(child, T.Affine):
                visit(child, lambda new, at=at: put(_with_child(node, at, new)), (*parents, node))  # type: ignore[misc]

    visit(equation.right, lambda new: new, ())
    alike: dict[Expr, list[Site]] = {}
    for site in found:
        if isinstance(site.node, (T.Ref, T.Call, T.Mul, T.Div)):
            alike.setdefault(_nameless(site.node), []).append(site)
    for look, same in alike.items():
        if len(same) > 1:
            found.append(replace(same[0], put=partial(_put_all, equation.right, same[0].node, look)))
    return found


def in_order(node: object) -> tuple[str, ...]:
    """The free indices of an expression, in order of writing."""
    free = T.free_indices(node)
    return tuple(i for i in dict.fromkeys(T.letters(node)) if i in free)


def _nameless(node: Expr) -> Expr:
    """A node with its free indices numbered in order of writing."""
    return T.substitute(node, {name: f"#{n}" for n, name in enumerate(in_order(node))})


def _put_all(right: Expr, first: Expr, look: Expr, new: Expr) -> Expr:
    def renewed(node: Any) -> object:
        if type(node) is not type(first) or _nameless(node) != look:
            return node
        return T.substitute(new, dict(zip(in_order(first), in_order(node), strict=True)))

    return T.transform(right, renewed)


def unfolded(ref: Ref, definition: Equation, right: Expr | None = None) -> Expr | None:
    """What an equation (or another `right` side for it) says of the entry `ref`; None where an index cannot be put."""
    right = definition.right if right is None else right
    names = dict(zip((a.plain or "" for a in definition.left.indices), ref.indices, strict=True))
    taken = {*names, *(i for a in ref.indices for i in T.free_indices(a))}
    bound = {i for n in T.walk(right) for i in T.binds(n)} & taken
    right = T.substitute(right, {i: f"{i}'" for i in bound})
    held = {i for n in T.walk(right) if isinstance(n, (T.Softmax, T.Concat, T.Flatten)) for i in T.named(n)}
    moved = {i for i, a in names.items() if a.plain is None}
    return None if "" in names or moved & held else put(right, names)


def _with_child(node: Any, at: int, new: Any) -> Any:
    number = count()
    return T.mapped(node, lambda child: new if next(number) == at else child)


def is_scale(node: Expr) -> bool:
    """A number made of sizes and constants alone, such as `1/sqrt(I)`."""
    return any(isinstance(n, (T.Num, T.Size)) for n in T.walk(node)) and not any(
        isinstance(n, (Ref, T.Affine)) for n in T.walk(node)
    )


# ── sums and products in parts ──


def total(*terms: Expr) -> Expr:
    return terms[0] if len(terms) == 1 else T.Add(terms)


def without(items: tuple[T.N, ...], at: int) -> tuple[T.N, ...]:
    return items[:at] + items[at + 1 :]


def put_at(items: tuple[T.N, ...], at: int, new: T.N) -> tuple[T.N, ...]:
    return (*items[:at], new, *items[at + 1 :])


def those(names: tuple[str, ...], node: Expr) -> tuple[str, ...]:
    """The indices that a node depends on."""
    return tuple(i for i in names if i in T.free_indices(node))


def factors_of(node: Expr) -> tuple[Expr, ...]:
    return node.factors if isinstance(node, T.Mul) else (node,)


def bare(term: Expr) -> Expr:
    """A term without its sign."""
    return term.body if isinstance(term, T.Neg) else term


def complement(node: Expr) -> Expr | None:
    """The `g` of `1 - g`."""
    match node:
        case T.Add((T.Num(value), T.Neg(g)) | (T.Neg(g), T.Num(value))) if value == 1:
            return g
    return None
