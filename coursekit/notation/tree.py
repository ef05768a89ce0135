"""The syntax tree: what an equation *is*, apart from how it is written or run.

Three kinds of node, all frozen, hashable and compared by meaning (a `Span` never takes part).
In what the parser makes, no `Add` stands directly in an `Add` and no `Mul` directly in a `Mul`, a
negative or fractional constant is one `Num`, and `a - b` is `Add((a, Neg(b)))`.

- an **index expression** says which entry of an axis: `t`, `t-1`, `2*t+dt`, `w[b,t]`;
- an **expression** says a number, for each value of its free indices;
- a **statement** defines a tensor, entry by entry.

An index name is a string in its ASCII spelling (`t`, `t1`, `tin`, `dx`, `j'`). A name that starts
with a capital is summed over (or, on a left side, free); the parser has already made every such sum
explicit as a `Sum` node, so that nothing after the parser needs to know the convention. Only the
printers know it again: a `Sum` over capitals whose body is a product prints as the bare product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, TypeVar, Union, get_args

N = TypeVar("N", bound=Any)  # a node of any kind


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node stands in the text: line and column from 1, and its width."""

    line: int = 0
    column: int = 0
    width: int = 1


NOWHERE = Span()


@dataclass(frozen=True, slots=True)
class Node:
    """Whatever stands somewhere in a text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# ── index expressions ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tensor of whole numbers used as an index: the `w[b,t]` of `e[w[b,t],i]`."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A dimension's size inside an index: the `T` of `x[b,T-1-t]` (written where `T` is a size)."""

    name: str


Index = str  # an index's name
IndexAtom = Union[Index, Lookup, SizeOf]


@dataclass(frozen=True, slots=True)
class Affine(Node):
    """`const + Σ coefficient · atom`: every index expression of the language, in one form.

    `terms` are in order of first writing, without zero coefficients and without repeated atoms.
    """

    terms: tuple[tuple[int, IndexAtom], ...]
    const: int = 0

    @property
    def plain(self) -> str | None:
        """The index's name if this is a bare index, else None."""
        if len(self.terms) == 1 and self.const == 0 and self.terms[0][0] == 1:
            atom = self.terms[0][1]
            return atom if isinstance(atom, str) else None
        return None

    @property
    def names(self) -> list[str]:
        """The indices that stand in it."""
        return [atom for _, atom in self.terms if isinstance(atom, str)]


def index(name: str, shift: int = 0, stride: int = 1) -> Affine:
    """`index("t", -1)` is `t-1`."""
    return Affine(((stride, name),), shift)


def single(affine: Affine) -> str | None:
    """The index of `t`, `t-1`, `T-1-t`: the one whose range is the axis itself."""
    names = [(c, a) for c, a in affine.terms if isinstance(a, str)]
    others = [a for _, a in affine.terms if not isinstance(a, str)]
    if len(names) != 1 or any(isinstance(a, Lookup) for a in others):
        return None
    coefficient, name = names[0]
    if coefficient == 1 and not others:
        return name
    if coefficient == -1 and len(others) == 1 and affine.const == -1:
        return name
    return None


# ── expressions ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Num(Node):
    """A constant. Exact where it was written exactly (`1/2` and `0.5` are both Fraction(1, 2))."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Size(Node):
    """A bare capital outside brackets: the size of that dimension, as in `1/sqrt(I)`."""

    name: str


@dataclass(frozen=True, slots=True)
class Ref(Node):
    """One entry of a tensor, `W_hG[j,I]`; a scalar has no indices. `name` is the ASCII spelling."""

    name: str
    indices: tuple[Affine, ...] = ()


@dataclass(frozen=True, slots=True)
class Add(Node):
    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Mul(Node):
    factors: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Neg(Node):
    body: Expr


@dataclass(frozen=True, slots=True)
class Div(Node):
    above: Expr
    below: Expr


@dataclass(frozen=True, slots=True)
class Pow(Node):
    base: Expr
    exponent: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function the language knows, entry by entry: sigmoid tanh relu exp log sqrt abs min max."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """A named function the language does not know: `CELL(h[t-1,J], V[t,K])`.

    `slices` has, for each argument, the indices along which the function takes a whole vector
    (`J` for the first); `out` are the indices that its value ranges over (the left side's slice).
    """

    function: str
    args: tuple[Expr, ...]
    slices: tuple[tuple[Index, ...], ...]
    out: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Softmax(Node):
    """`softmax[x,y](body)`: positive, and one in sum over `indices` jointly (where `where` holds)."""

    indices: tuple[Index, ...]
    body: Expr
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """The sum of `body` over `indices` (where `where` holds), written `sum[i](…)` or by a capital."""

    indices: tuple[Index, ...]
    body: Expr
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """`max[t](…)`, `min[t](…)`, `prod[t](…)`: another way to use up indices."""

    function: str
    indices: tuple[Index, ...]
    body: Expr
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class Concat(Node):
    """`a[t,I]; b[t,K]`: the parts laid end to end along the left side's `axis`.

    Part n is a pair: the index that runs along the axis inside that part, and the part itself.
    """

    axis: Index
    parts: tuple[tuple[Index, Expr], ...]


@dataclass(frozen=True, slots=True)
class Flatten(Node):
    """`a[0,t,I]; ...; a[K-1,t,I]`: the entries of `body` laid end to end along the left side's `axis`,
    the last of `indices` running fastest (`("K", "I")`: position k·I + i holds `body` at k, i)."""

    axis: Index
    indices: tuple[Index, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Position(Node):
    """An index used as a number: the `t1` and the `t2` of `(t1-t2)^2` (the parser makes one for each)."""

    affine: Affine


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A condition on indices (`t2 <= t1`) or on values (`norm <= n`); `operator` is one of
    `==  !=  <  <=  >  >=`."""

    left: Affine | Expr
    operator: str
    right: Affine | Expr


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Compare, ...]


Condition = Union[Compare, And]


@dataclass(frozen=True, slots=True)
class Cases(Node):
    """The first branch whose condition holds, else `otherwise`."""

    branches: tuple[tuple[Expr, Condition], ...]
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Iverson(Node):
    """`[i == j]`: one where the condition holds, zero elsewhere."""

    condition: Condition


Expr = Union[
    Num, Size, Ref, Add, Mul, Neg, Div, Pow, Call, Apply, Softmax, Sum, Reduce, Concat, Flatten, Position,
    Cases, Iverson,
]  # fmt: skip


# ── statements ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Equation(Node):
    """`left = right` for every value of the left side's indices."""

    left: Ref
    right: Expr


@dataclass(frozen=True, slots=True)
class Directive(Node):
    """A statement about the system: `pad L` (read zero outside L; no names: everywhere),
    `parameters W, B`, `size t = 5`, `shape L = V, d`."""

    word: str
    names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


Statement = Union[Equation, Directive]


@dataclass(frozen=True, slots=True)
class Program:
    statements: tuple[Statement, ...]
    source: str = field(default="", compare=False, repr=False)

    @property
    def equations(self) -> tuple[Equation, ...]:
        return tuple(s for s in self.statements if isinstance(s, Equation))


# ── walking and rewriting ────────────────────────────────────────────────────────────────────

_KINDS = frozenset(
    (*get_args(Expr), *get_args(Statement), *get_args(Condition), Affine, Lookup, SizeOf, Program)
)


def _fields(said: str) -> dict[type, tuple[str, ...]]:
    """For each kind the fields whose type, as it is written above, mentions one of these."""
    return {kind: tuple(f.name for f in fields(kind) if re.search(said, str(f.type))) for kind in _KINDS}


_PARTS = _fields("Expr|Ref|Affine|IndexAtom|Condition|Compare|Statement")  # what may hold nodes
_NAMES = {kind: names for kind, names in _fields("Index").items() if names}  # what holds names of indices


# The most frequent kinds, without looking at each field.
_DIRECT: dict[type, Callable[..., list[Any]]] = {
    Affine: lambda node: [atom for _, atom in node.terms if type(atom) is not str],
    Ref: lambda node: list(node.indices),
    Add: lambda node: list(node.terms),
    Mul: lambda node: list(node.factors),
}


def children(node: object) -> list[Any]:
    """The nodes directly below this one, in order of writing."""
    if direct := _DIRECT.get(type(node)):
        return direct(node)
    return [n for n in _leaves([getattr(node, part) for part in _PARTS[type(node)]]) if type(n) in _KINDS]


def _leaves(values: Iterable[object]) -> list[Any]:
    """What stands in fields: themselves, and what their tuples hold."""
    found: list[Any] = []
    for value in values:
        if type(value) is tuple:
            found += _leaves(value)
        else:
            found.append(value)
    return found


def walk(node: object) -> Iterator[object]:
    """Every node below and including this one, parents before children."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        below = children(top)
        below.reverse()
        stack += below


def expressions(node: object) -> list[Expr]:
    """The expressions directly below this one, without index expressions and conditions."""
    return [n for n in children(node) if type(n) not in (Affine, Compare, And, Lookup, SizeOf)]


def mapped(node: N, function: Callable[[Any], object]) -> N:
    """The node with `function(n)` in place of each node `n` directly below it."""
    changes = {}
    for part in _PARTS[type(node)]:
        old = getattr(node, part)
        new = _rebuild(old, function)
        if new is not old:
            changes[part] = new
    return replace(node, **changes) if changes else node


def transform(node: N, function: Callable[..., object]) -> N:
    """Rebuild the tree from the leaves up, each node replaced by `function(node)`."""

    def rebuilt(n: Any) -> Any:
        return function(mapped(n, rebuilt))

    whole: N = rebuilt(node)
    return whole


def _rebuild(value: object, function: Callable[[Any], object]) -> object:
    if type(value) in _KINDS:
        return function(value)
    if type(value) is tuple:
        items = tuple([_rebuild(item, function) for item in value])
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def named(node: object) -> set[str]:
    """The indices that a node names by itself, not by what stands below it."""
    held = _leaves(getattr(node, part) for part in _NAMES.get(type(node), ()))
    return {leaf for leaf in held if type(leaf) is str}


def scopes(node: object) -> Iterator[tuple[object, tuple[str, ...]]]:
    """The nodes directly below, each with the indices that this node uses up there."""
    match node:
        case Concat(_, parts):
            yield from ((part, (along,)) for along, part in parts)
        case Apply(_, args, slices, _):
            yield from zip(args, slices, strict=True)
        case _:
            own = node.indices if isinstance(node, (Sum, Reduce, Flatten)) else ()
            yield from ((child, own) for child in children(node))


def binds(node: object) -> tuple[str, ...]:
    """The indices that a node uses up."""
    return tuple(dict.fromkeys(i for _, own in scopes(node) for i in own))


def free_indices(node: Any) -> set[str]:
    """The indices a node's value depends on: all that stand in it, less those it uses up."""
    kind = type(node)
    if kind is Affine:
        names = {a for _, a in node.terms if type(a) is str}
    else:
        names = {node.axis} if kind in (Concat, Flatten) else set(node.out) if kind is Apply else set()
    for child, own in scopes(node) if kind in _NAMES else ((n, ()) for n in children(node)):
        names |= free_indices(child).difference(own)
    return names


def letters(*nodes: object) -> list[str]:
    """The indices in all the index expressions of nodes, in order of writing."""
    return [name for node in nodes for n in walk(node) if isinstance(n, Affine) for name in n.names]


def references(node: object) -> Iterator[Ref]:
    """Every tensor entry that stands in a node, lookups included."""
    return (n for n in walk(node) if isinstance(n, Ref))


def substitute(node: N, names: dict[str, str]) -> N:
    """Rename indices everywhere, bound ones included; the caller sees to it that none collide."""

    return transform(node, lambda n: renamed(n, names))


def renamed(node: N, names: dict[str, str]) -> N:
    """A node with other names for the indices that it names by itself."""

    def new(value: Any) -> Any:
        if type(value) is tuple:
            return tuple([new(item) for item in value])
        return names.get(value, value) if type(value) is str else value

    own = _NAMES.get(type(node))
    return replace(node, **{part: new(getattr(node, part)) for part in own}) if own else node


def rename_tensors(node: N, names: Mapping[str, str]) -> N:
    """The tensors of a node under other names."""
    return transform(node, lambda n: replace(n, name=names.get(n.name, n.name)) if isinstance(n, Ref) else n)
