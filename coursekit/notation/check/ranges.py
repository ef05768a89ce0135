"""Dimensions: over what each index ranges.

An index that stands alone in an axis (or shifted by a constant) ranges over that axis, so the two are one
dimension; so union-find over the axes of tensors and the indices of equations gives every dimension. An
index that stands with another (`x+dx`) or with a stride (`2*t`) has a range of its own, which follows from
the others (`system.Derived`), unless the tensor is padded and the stride is one: then it is the axis again.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain, count
from typing import Any, Literal

from .. import tree as T
from ..errors import NotationError
from ..indices import difference, each, put
from ..meaning.reach import Guard, reads
from ..meaning.table import COMPARE
from ..names import capital_of, small_of
from ..system import Derived, Joined, Reach, Tensor
from ..tree import references, single, transform, walk

Node = tuple[Literal["axis"], str, int] | tuple[Literal["index"], int, str]  # tensor, k; equation, name


def error(message: str, source: str, span: T.Span) -> NotationError:
    return NotationError(message, source, span.line, span.column, span.width)


class Union:
    """Disjoint sets."""

    def __init__(self) -> None:
        self.parent: dict[Any, Any] = {}

    def find(self, node: Any) -> Any:
        self.parent.setdefault(node, node)
        while self.parent[node] != node:
            self.parent[node] = self.parent[self.parent[node]]
            node = self.parent[node]
        return node

    def join(self, a: Any, b: Any) -> None:
        ra, rb = self.find(a), self.find(b)
        if ra != rb:
            self.parent[rb] = ra


def outside(
    equations: Iterable[T.Equation], padded: Collection[str]
) -> dict[str, tuple[tuple[int, int], ...]]:
    """How far each tensor is read before (-) and after (+) its range, for want of padding and of a condition."""
    found: dict[str, dict[tuple[int, bool], int]] = {}
    for ref, guards in (read for e in equations for read in reads(e.right) if read[0].name not in padded):
        for axis, affine in enumerate(ref.indices):
            name = single(affine)
            if not affine.const or len(affine.terms) > 1 or name is None:
                continue
            if not all(_kept(name, affine.const, away, guards) for away in range(abs(affine.const))):
                steps = found.setdefault(ref.name, {})
                key = (axis, affine.const > 0)
                steps[key] = max(steps.get(key, 0), affine.const, key=abs)
    return {name: tuple((a, s) for (a, _), s in sorted(steps.items())) for name, steps in found.items()}


def equalities(node: object) -> Iterator[tuple[str, T.Ref]]:
    """Each index that is compared with a tensor's values: the v and the w[b,t] of `[w[b,t] == v]`."""
    for found in walk(node):
        if isinstance(found, T.Compare) and found.operator == "==":
            for one, other in ((found.left, found.right), (found.right, found.left)):
                affine = one.affine if isinstance(one, T.Position) else one
                if isinstance(other, T.Ref) and isinstance(affine, T.Affine) and affine.plain:
                    yield affine.plain, other


class Ranges:
    """The dimensions of a list of equations; everything that `System` says about sizes."""

    def __init__(
        self, equations: list[T.Equation], padded: frozenset[str], defined: set[str], program: T.Program
    ) -> None:
        self.equations = equations
        self.padded = padded
        self.defined = defined
        self.source = program.source
        self.sets = Union()
        self.ranks: dict[str, int] = {}
        self.values: dict[str, Node] = {}  # a tensor of whole numbers -> the axis it indexes
        self.strided: list[tuple[int, T.Ref, int]] = []
        for number, equation in enumerate(equations):
            for ref in references(equation):
                self.read(number, ref)
        for number, equation in enumerate(equations if self.values else ()):
            # in `[w[b,t] == v]` the index v runs over what w, looked up elsewhere, is an index into
            for index, ref in equalities(equation.right):
                if ref.name in self.values:
                    self.sets.join(self.values[ref.name], ("index", number, index))
        self.sizes: dict[str, Node] = {}  # declared: the `n` of `W in R^{n x m}`
        self.unread: dict[str, list[str]] = {}  # declared, but in no equation
        for directive in program.statements:
            if isinstance(directive, T.Directive) and directive.word == "shape":
                self.declare(directive)
        for number, equation in enumerate(equations):
            self.compared(number, equation)
        self.settle()
        self.ends()
        if self.unread:
            self.measure()
        self.names: dict[Node, str] = {}
        self.name_all()
        self.tensors = self.describe()
        self.derived = self.derive()
        self.joined = self.join()
        self.aliases = self.alias()
        self.boundary = outside(self.equations, self.padded)

    # ── classes ──────────────────────────────────────────────────────────────────────────────

    def read(self, number: int, ref: T.Ref) -> None:
        self.ranks.setdefault(ref.name, len(ref.indices))
        for k, affine in enumerate(ref.indices):
            axis: Node = ("axis", ref.name, k)
            self.sets.find(axis)
            for _, atom in affine.terms:
                if isinstance(atom, str):
                    self.sets.find(("index", number, atom))
            name = single(affine)
            if name is not None:
                self.sets.join(axis, ("index", number, name))
            elif len(affine.terms) == 1 and isinstance(affine.terms[0][1], T.Lookup):
                tensor = affine.terms[0][1].ref.name
                if tensor in self.values:
                    self.sets.join(self.values[tensor], axis)
                self.values[tensor] = axis
            elif any(isinstance(a, str) for _, a in affine.terms):
                self.strided.append((number, ref, k))

    def compared(self, number: int, equation: T.Equation) -> None:
        """In `y[t] = sum[s <= t](x[s])` nothing else tells how far t runs: as far as s does. The i of `[c == 2*i+1]`,
        which indexes nothing, runs no further than c."""
        for c in (n for n in walk(equation.right) if isinstance(n, T.Compare)):
            if not isinstance(c.left, T.Affine) or not isinstance(c.right, T.Affine):
                continue
            one, other = c.left.plain, c.right.plain
            names = c.right.names if len(c.right.terms) == 1 and c.operator == "==" and not other else []
            if one and names and ("index", number, names[0]) not in self.sets.parent:
                self.sets.join(("index", number, one), ("index", number, names[0]))
                continue
            if one is None or other is None:
                continue
            nodes: list[Node] = [("index", number, one), ("index", number, other)]
            told = self.fixed() | {self.sets.find(axis) for axis in self.sizes.values()}
            known = [self.sets.find(node) in told for node in nodes]
            if known.count(True) == 1:
                self.sets.join(*nodes if known[0] else nodes[::-1])

    def declare(self, directive: T.Directive) -> None:
        """Axes that are declared with one size are one dimension."""
        for name, dims in zip(directive.names, directive.values, strict=True):
            axes = [d for d in dims.split(",") if d not in ("", "1")]
            if name not in self.ranks:
                self.unread[name] = axes
                continue
            if self.ranks[name] < len(axes):
                has = f"{len(axes)} axes, but has {self.ranks[name]} in its equations"
                raise error(f"`{name}` is declared with {has}", self.source, directive.span)
            self.declare_axes(name, axes)

    def declare_axes(self, name: str, sizes: list[str]) -> None:
        for k, size in enumerate(sizes, self.ranks[name] - len(sizes)):
            axis: Node = ("axis", name, k)
            self.sets.join(self.sizes.setdefault(size, axis), axis)

    def ends(self) -> None:
        """The T of `x[T-1]`, where no index is called t: the size of the axis that it is the last place of."""
        letters = {n[2].rstrip("0123456789'") for n in self.sets.parent if n[0] == "index"}
        for ref in (r for e in self.equations for r in references(e.right)):
            for k, affine in enumerate(ref.indices):
                size = affine.terms[0][1] if len(affine.terms) == 1 and affine.const < 0 else None
                if isinstance(size, T.SizeOf) and not {size.name, small_of(size.name)} & letters:
                    axis: Node = ("axis", ref.name, k)
                    self.sets.join(self.sizes.setdefault(size.name, axis), axis)

    def measure(self) -> None:
        """A tensor that is declared but not read is an input for its shape alone, where nothing else gives a
        size that it has (`e in R^{V x i}` beside `de[v,i] = [w[B,T] == v] dx[B,T,i]`)."""
        nodes = (n for e in self.equations for n in walk(e.right))
        named = {n.name for n in nodes if isinstance(n, (T.Size, T.SizeOf))}
        named -= {capital_of(n[2]) for n in self.sets.parent if n[0] == "index"}
        for name, sizes in self.unread.items():
            fixed = self.fixed()
            loose = {s for s, axis in self.sizes.items() if self.sets.find(axis) not in fixed}
            if any(s in loose or (s in named and s not in self.sizes) for s in sizes):
                self.ranks[name] = len(sizes)
                self.declare_axes(name, sizes)

    def fixed(self) -> set[Node]:
        """The classes whose size an input tensor gives."""
        axes = [n for n in self.sets.parent if n[0] == "axis" and n[1] not in self.defined]
        return {self.sets.find(n) for n in axes}

    def settle(self) -> None:
        """Padded, stride one: the output is as long as the input."""
        for number, ref, k in self.strided:
            if ref.name not in self.padded:
                continue
            main = self.main_index(number, ref.indices[k], self.fixed())
            if main is not None and (1, main) in ref.indices[k].terms:
                self.sets.join(("axis", ref.name, k), ("index", number, main))

    def main_index(self, number: int, affine: T.Affine, fixed: set[Node]) -> str | None:
        """The index of `2*t+dt` that no input tensor gives a range: the left side's first."""
        left = [a.plain for a in self.equations[number].left.indices]
        free = [n for n in affine.names if self.sets.find(("index", number, n)) not in fixed]
        return next((n for n in free if n in left), free[0] if free else None)

    # ── names ────────────────────────────────────────────────────────────────────────────────

    def name_all(self) -> None:
        """Each class is called as it was declared, or by the capital of the first left index over it, else
        of its first use."""
        order: list[tuple[Node, str]] = []
        for number, equation in enumerate(self.equations):
            order += [(("index", number, a.plain), a.plain) for a in equation.left.indices if a.plain]
        for number, equation in enumerate(self.equations):
            order += [(("index", number, a), a) for a in T.letters(equation)]
        taken: set[str] = set()
        wanted: dict[Node, list[str]] = {}
        for node, index in order:
            wanted.setdefault(self.sets.find(node), []).append(capital_of(index))
        for size, axis in self.sizes.items():
            if not size.isdigit():
                wanted.setdefault(self.sets.find(axis), []).insert(0, size)
        looked_up = {self.sets.find(axis): tensor for tensor, axis in reversed(self.values.items())}
        for node in list(self.sets.parent):
            root = self.sets.find(node)
            if root not in wanted:  # an axis that is only ever read at constants or by lookups
                name = looked_up.get(root) or f"{node[1]}{node[2]}"
                wanted[root] = [capital_of(name)]
        for root, names in wanted.items():
            numbered = (f"{names[0]}{k}" for k in count(2))
            self.names[root] = next(n for n in chain(names, numbered) if n not in taken)
            taken.add(self.names[root])

    def dim(self, node: Node) -> str:
        return self.names[self.sets.find(node)]

    def describe(self) -> dict[str, Tensor]:
        found = {}
        for name, rank in self.ranks.items():
            dims = tuple(self.dim(("axis", name, k)) for k in range(rank))
            indexes = self.dim(self.values[name]) if name in self.values else None
            found[name] = Tensor(name, dims, name in self.defined, indexes)
        return found

    # ── what follows from other sizes ────────────────────────────────────────────────────────

    def derive(self) -> dict[str, Derived]:
        fixed = self.fixed()
        reaches: dict[str, list[tuple[int, str, Reach]]] = {}
        for number, ref, k in self.strided:
            affine = ref.indices[k]
            main = self.main_index(number, affine, fixed)
            axis: Node = ("axis", ref.name, k)
            if main is None or self.sets.find(("index", number, main)) == self.sets.find(axis):
                continue
            reach = Reach(affine, self.dim(("axis", ref.name, k)), ref.name in self.padded)
            reaches.setdefault(self.dim(("index", number, main)), []).append((number, main, reach))
        derived = {}
        for dim, found in reaches.items():
            index = found[0][1]
            alike = (replace(r, affine=T.renamed(r.affine, {main: index})) for _, main, r in found)
            unique = dict.fromkeys(alike)
            pairs = ((number, a) for number, main, r in found for a in r.affine.names if a != main)
            others = {a: self.dim(("index", number, a)) for number, a in pairs}
            derived[dim] = Derived(index, tuple(unique), tuple(others.items()))
        return derived

    def join(self) -> dict[str, Joined]:
        joined = {}
        for number, equation in enumerate(self.equations):
            for node in walk(equation.right):
                if isinstance(node, (T.Concat, T.Flatten)):
                    parts = [(a,) for a, _ in node.parts] if isinstance(node, T.Concat) else [node.indices]
                    dims = (tuple(self.dim(("index", number, i)) for i in part) for part in parts)
                    joined[self.dim(("index", number, node.axis))] = Joined(node.axis, tuple(dims))
        return joined

    def alias(self) -> dict[str, str]:
        """Every capital that a reader may use for a size; one that means two dimensions is left out."""
        meanings: dict[str, set[str]] = {}
        for node in self.sets.parent:
            if node[0] == "index":
                meanings.setdefault(capital_of(node[2]), set()).add(self.dim(node))
        aliases = {name: next(iter(dims)) for name, dims in meanings.items() if len(dims) == 1}
        aliases |= {name: name for name in self.names.values()}
        for size, axis in self.sizes.items():
            aliases.setdefault(size, self.dim(axis))
        shorter: dict[str, set[str]] = {}
        for name in meanings:
            if name in aliases:
                shorter.setdefault(name.rstrip("0123456789'") or name, set()).add(aliases[name])
        for name, dims in shorter.items():
            if name not in aliases and len(dims) == 1:
                aliases[name] = next(iter(dims))
        return aliases

    # ── sizes by their dimension's name ──────────────────────────────────────────────────────

    def rename_sizes(self, equations: list[T.Equation]) -> tuple[list[T.Equation], dict[int, dict[str, str]]]:
        """The equations with each `Size` and `SizeOf` called by its dimension, and each index's range."""
        final, ranges = [], {}
        for number, equation in enumerate(equations):
            own = {n[2]: self.dim(n) for n in self.sets.parent if n[0] == "index" and n[1] == number}
            ranges[number] = own

            def rename(node: object, own: dict[str, str] = own) -> object:
                if isinstance(node, T.Size):
                    return replace(node, name=self.size(node.name, own, node))
                if isinstance(node, T.Affine) and any(isinstance(a, T.SizeOf) for _, a in node.terms):
                    terms = tuple(
                        (c, T.SizeOf(self.size(a.name, own, node)) if isinstance(a, T.SizeOf) else a)
                        for c, a in node.terms
                    )
                    return replace(node, terms=terms)
                return node

            final.append(transform(equation, rename))
        return final, ranges

    def size(self, name: str, own: dict[str, str], node: T.Size | T.Affine) -> str:
        for index in (name, small_of(name)):
            if index in own:
                return own[index]
        if name in self.aliases:
            return self.aliases[name]
        for index, dim in own.items():  # T, where the indices are t1 and t2: the first of them
            if index.rstrip("0123456789'") == small_of(name):
                return dim
        message = f"`{name}` is read as a size, but no index ranges over it; if it is a matrix, declare its "
        message += f"shape: `{name} in R^{{n x m}}`; if it is a number of its own, say `{name} in R`"
        raise error(message, self.source, node.span)


def _kept(name: str, shift: int, away: int, guards: tuple[Guard, ...]) -> bool:
    """Does a condition keep a read at `t-1` from the step `away` from the edge (the first, or for `t+1` the last)?"""
    last = T.Affine(((1, T.SizeOf(capital_of(name))),), -1 - away)
    place = {name: T.Affine((), away) if shift < 0 else last}
    for condition, holds in guards:
        for part in each(condition) if holds or isinstance(condition, T.Compare) else ():
            if isinstance(part.left, T.Affine) and isinstance(part.right, T.Affine):
                gap = difference(put(part.left, place), put(part.right, place))
                if not gap.terms and COMPARE[part.operator](gap.const, 0) != holds:
                    return True
    return False
