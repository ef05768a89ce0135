"""Indices with names of their own: what is known of them, and the equations of a system written with them.

While equations are taken apart and put together again, every index is called `t~3`: the letter it was
written with, and a number that no other index has.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import tree as T
from ..names import small_of
from ..system import System, Tensor
from ..tree import Equation, Expr, Lookup, Ref, references, substitute, walk


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

    def inside(self, affine: T.Affine, dim: str) -> bool:
        """Whether an index expression is surely in the range of `dim`."""
        if affine.plain is not None:
            return self.dims.get(affine.plain) == dim
        if len(affine.terms) == 1 and affine.terms[0][0] == 1:
            atom = affine.terms[0][1]
            if isinstance(atom, T.Lookup):
                tensor = self.tensors.get(atom.ref.name)
                return affine.const == 0 and tensor is not None and tensor.indexes == dim
            return isinstance(atom, T.SizeOf) and atom.name == dim and affine.const == -1
        mirror = [
            self.dims.get(a) if isinstance(a, str) else getattr(a, "name", None) for _, a in affine.terms
        ]
        if [f for f, _ in affine.terms] == [1, -1] and mirror == [dim, dim] and affine.const == -1:
            return isinstance(affine.terms[0][1], T.SizeOf) and isinstance(affine.terms[1][1], str)  # T-1-t
        return not affine.terms and affine.const == 0 and dim not in self.centered

    def outside(self, affine: T.Affine, dim: str) -> bool:
        """Whether an index expression is surely out of the range of `dim`: `-1`, or `T` for `T` of them."""
        if dim in self.centered:
            return False
        return (
            affine.const < 0
            if not affine.terms
            else affine.terms == ((1, T.SizeOf(dim)),) and affine.const >= 0
        )


def fixed(node: object) -> set[str]:
    """Indices for which only another plain index may be put: a softmax or a concatenation names them."""
    kinds = (T.Softmax, T.Concat, T.Flatten)
    return {i for n in T.walk(node) if isinstance(n, kinds) for i in T.named(n).difference(T.binds(n))}


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
