"""One sweep through the equations of a system from last to first: every adjoint as a sum of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..system import System
from ..tree import (
    Apply,
    Call,
    Cases,
    Concat,
    Div,
    Expr,
    Flatten,
    Mul,
    Num,
    Pow,
    Reduce,
    Ref,
    Size,
    Softmax,
    Sum,
    free_indices,
    index,
    references,
    walk,
)
from .adjoint import hand_down
from .forward import Forward, Network
from .gather import Gather
from .scope import put
from .simplify import ONE, Term, combine, expression, terms

__all__ = ["Backward", "Made"]

NONLINEAR = (Call, Softmax, Reduce, Pow, Div, Concat, Flatten)


@dataclass(frozen=True)
class Read:
    """A place where a tensor is read: its adjoint there, for all values of the indices `around`."""

    ref: Ref
    g: Expr
    around: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """An equation of the gradient system: `name[left] = terms`."""

    left: tuple[str, ...]
    terms: list[Term]


class Backward:
    """`made` are the equations that a sweep from `of` gives, `pads` the tensors that must be zero outside."""

    def __init__(self, system: System, of: str, wrt: Sequence[str], one: frozenset[str] = frozenset()):
        self.system, self.of, self.one = system, of, one
        self.network = Network(system)
        self.scope, self.forward = self.network.scope, self.network.equations
        self.active = self.network.between(set(wrt), of)
        self.named = set(wrt) | self.network.recurrent()
        self.dims = {t.name: t.dims for t in system.tensors.values()}
        self.reads: dict[str, list[Read]] = {}
        self.made: dict[str, Made] = {}
        self.inner: list[str] = []  # the adjoints of what has no name in the forward system
        self.gather = Gather(self.scope, self.dims.__getitem__, self._may_pad, self._edges, self._product)
        self.equation = self.forward[-1]
        self.scalar = not system.tensors[of].dims
        self._sweep()

    @property
    def pads(self) -> set[str]:
        return self.gather.pads

    # ── what takes part ──────────────────────────────────────────────────────────────────────

    def _may_pad(self, name: str) -> bool:
        if name in self.system.padded:
            return True
        tensor = self.system.tensors.get(name)
        return name not in self.system.boundary and (tensor is None or tensor.indexes is None)

    def _edges(self, name: str) -> tuple[tuple[int, int], ...]:
        return () if name in self.system.padded else self.system.boundary.get(name, ())

    # ── names of adjoints ────────────────────────────────────────────────────────────────────

    def adjoint(self, name: str) -> str:
        """`dW` for `W`; an underscore more where the forward system has such a tensor."""
        word = "d" + name
        while word in self.system.tensors:
            word += "_"
        return word

    def target(self, name: str) -> tuple[str, ...]:
        """New indices for the axes of a tensor, with the letters that it is written with."""
        axes = self.network.axes(name)
        return tuple(self.scope.fresh(n, d) for n, d in zip(axes, self.dims[name], strict=True))

    def _new(self, kind: str) -> str:
        """`dz_h` in the equation of h, `dz_h2` for a second one."""
        stem = f"{kind}_{self.equation.left.name}"
        number, word = 1, stem
        taken = {*self.system.tensors, *map(self.adjoint, self.system.tensors)}
        while word in self.made or word in taken:
            number += 1
            word = f"{stem}{number}"
        if kind == "dz":
            self.inner.append(word)
        return word

    def _define(self, word: str, left: tuple[str, ...], found: list[Term]) -> Ref:
        self.made[word] = Made(left, found)
        self.dims[word] = tuple(self.scope.dims[i] for i in left)
        return Ref(word, tuple(index(i) for i in left))

    # ── the sweep ────────────────────────────────────────────────────────────────────────────

    def _sweep(self) -> None:
        waiting: list[str] = []
        for equation in reversed(self.forward):
            name = equation.left.name
            if name not in self.active or (
                name not in self.reads and name != self.of and name not in self.named
            ):
                continue
            self.equation = equation
            g = self._start(equation, waiting)
            if g is not None:
                self._descend(equation.right, g, equation.around, equation.left)
        for name in waiting:
            target = self.target(name)
            self.equation = next(e for e in self.forward if e.left.name == name)
            self.made[self.adjoint(name)] = Made(target, self.total(name, target))

    def _start(self, equation: Forward, waiting: list[str]) -> Expr | None:
        """The adjoint of the left side: a name where it is worth one, else the expression itself."""
        name = equation.left.name
        word = self.adjoint(name)
        if name == self.of and name not in self.reads and name not in self.named:
            self.dims[word] = self.dims[name]
            return ONE if self.scalar else Ref(word, equation.left.indices)
        if word in self.made:
            return Ref(word, equation.left.indices)
        if name not in self.named:
            target = self.target(name)
            found = self.total(name, target)
            if not found:
                return None
            bare = len(found) == 1 and not found[0].sums
            alone = isinstance(equation.right, NONLINEAR) or self._count(equation.right) < 2
            if bare and (alone or _atomic(found)):
                values = dict(zip(target, equation.left.indices, strict=True))
                return put(expression(found), values)
            self._define(word, target, found)
            return Ref(word, equation.left.indices)
        if name not in waiting:
            waiting.append(name)
        self.made[word] = Made((), [])  # its place among the equations; its terms are known after the sweep
        self.dims[word] = self.dims[name]
        return Ref(word, equation.left.indices)

    def total(self, name: str, target: tuple[str, ...]) -> list[Term]:
        """The adjoint of a tensor's entry: what all its reads give."""
        found = [Term()] if name == self.of and self.scalar else []
        if name == self.of and not self.scalar:
            seed = Ref(self.seed, tuple(index(i) for i in target))
            self.dims[self.seed] = self.dims[name]
            found = [Term(factors=((seed, 1),))]
        for read in self.reads.get(name, []):
            found += self.gather(read.ref, read.g, read.around, tuple(index(i) for i in target))
        return combine(found)

    @property
    def seed(self) -> str:
        """Where `of` is no scalar: the input that the sweep starts from."""
        word = self.adjoint(self.of)
        return f"{word}_seed" if self.of in self.reads or self.of in self.named else word

    def _descend(self, node: Expr, g: Expr, around: tuple[str, ...], value: Ref | None = None) -> None:
        if not self._count(node):
            return
        if isinstance(node, Ref):
            self.reads.setdefault(node.name, []).append(Read(node, g, around))
            return
        if isinstance(node, Mul):
            node = self._grouped(node)
        if isinstance(node, (Concat, Flatten)):
            around = tuple(i for i in around if i != node.axis)
        shown = self._shown(node)
        own = value if value is not None else self._value(shown) if _uses_value(node) else node
        for part, (_, adjoint, more) in zip(_parts(node), hand_down(shown, g, own, self.scope), strict=True):
            if not self._count(part):
                continue
            found = self._ones(terms(self.scope.apart(adjoint), self.scope))
            inner = (*around, *more)
            worth = self._count(part) > 1 or any(isinstance(n, Sum) for n in walk(part))
            if found and worth and not _atomic(found):
                left = tuple(i for i in inner if i in free_indices(part))
                rest = tuple(i for i in inner if i not in left)
                found = terms(Sum(rest, expression(found)), self.scope) if rest else found
                found, inner = [Term(factors=((self._define(self._new("dz"), left, found), 1),))], left
            if found:
                self._descend(part, expression(found), inner)

    def _count(self, node: Expr) -> int:
        """How many times tensors that take part are read in an expression."""
        return sum(1 for r in references(node) if r.name in self.active)

    def _grouped(self, node: Mul) -> Mul:
        """`W[j,I] (G[I] h[I])` for `W[j,I] G[I] h[I]`: entry by entry first, so that their adjoint is made once."""
        groups: dict[frozenset[str], list[Expr]] = {}
        for factor in node.factors:
            groups.setdefault(frozenset(free_indices(factor)), []).append(factor)
        if len(groups) == 1:
            return node
        join = lambda fs: Mul(tuple(fs)) if sum(self._count(f) > 0 for f in fs) > 1 else None
        parts = [[joined] if (joined := join(fs)) else fs for fs in groups.values()]
        return Mul(tuple(f for fs in parts for f in fs))

    def _shown(self, node: Expr) -> Expr:
        """The node as its own derivative may repeat it: without long expressions, which get a name instead."""
        match node:
            case Call(_, args):
                return replace(node, args=tuple(self._value(a) for a in args))
            case Mul(factors) if len(factors) > 1:
                return replace(
                    node, factors=tuple(f if _product_like(f) else self._value(f) for f in factors)
                )
            case Div(above, below):
                return Div(above if _product_like(above) else self._value(above), self._value(below))
            case Pow(inner, exponent):
                return Pow(self._value(inner), self._value(exponent))
            case Reduce():
                return replace(node, body=self._value(node.body))
        return node

    def _value(self, node: Expr) -> Expr:
        """An expression for a forward value: itself where it is short, else a tensor that is computed again."""
        if not any(isinstance(n, (Sum, Softmax, Reduce, Concat, Flatten, Apply)) for n in walk(node)):
            return node
        free = free_indices(node)
        left = tuple(i for i in self.scope.dims if i in free)
        known = next((w for w, m in self.made.items() if m.left == left and m.terms == [_whole(node)]), None)
        if known is not None:
            return Ref(known, tuple(index(i) for i in left))
        return self._define(self._new("u"), left, [_whole(node)])

    def _product(self, term: Term) -> Ref:
        left = tuple(i for i in self.scope.dims if i in term.free())
        return self._define(self._new("dz"), left, [term])

    def _ones(self, found: list[Term]) -> list[Term]:
        """Use that the sum of a distribution over an index is one."""
        return [self._one(t) for t in found]

    def _one(self, term: Term) -> Term:
        for factor, exponent in term.factors:
            if isinstance(factor, Ref) and factor.name in self.one and exponent == 1:
                others = set().union(*(free_indices(f) for f, _ in term.factors if f != factor))
                for i in term.sums:
                    if i not in others and any(a.plain == i for a in factor.indices):
                        rest = tuple((f, e) for f, e in term.factors if f != factor)
                        return Term(term.coefficient, tuple(s for s in term.sums if s != i), rest)
        return term


def _parts(node: Expr) -> list[Expr]:
    """What `hand_down` hands to, in its order."""
    match node:
        case Concat(_, parts):
            return [part for _, part in parts]
        case Cases(branches, otherwise):
            return [*(e for e, _ in branches), otherwise]
        case Div(above, below):
            return [above, below]
        case Pow(inner, exponent):
            return [inner, exponent]
    for field in ("terms", "factors", "args"):
        if hasattr(node, field):
            return list(getattr(node, field))
    return [node.body] if hasattr(node, "body") else []


def _uses_value(node: Expr) -> bool:
    """Whether the rule for a node is shorter with the node's own value."""
    if isinstance(node, Call):
        return node.function in ("sigmoid", "tanh", "relu", "exp", "sqrt")
    return isinstance(node, (Softmax, Reduce)) or (
        isinstance(node, Pow) and not isinstance(node.exponent, Num)
    )


def _product_like(node: Expr) -> bool:
    """A sum of products: it joins a product without a name of its own."""
    return not any(
        isinstance(n, (Softmax, Reduce, Concat, Flatten, Apply, Call)) for n in walk(node)
    ) or not any(isinstance(n, (Sum, Softmax, Reduce, Concat, Flatten, Apply)) for n in walk(node))


def _whole(node: Expr) -> Term:
    return Term(factors=((node, 1),))


def _atomic(found: list[Term]) -> bool:
    """A number times at most one tensor: nothing that would be computed twice."""
    if len(found) != 1 or found[0].sums:
        return False
    return sum(1 for f, _ in found[0].factors if not isinstance(f, Size)) <= 1 and all(
        isinstance(f, (Ref, Size)) for f, _ in found[0].factors
    )
