"""One sweep through the equations of a system from last to first: every adjoint as a sum of terms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from .. import tree as T
from ..functions import FUNCTIONS, ONE
from ..indices import put
from ..names import small_of
from ..system import System
from .adjoint import hand_down
from .gather import Gather
from .simplify import Scope, Term, base, combine, expression, terms, whole

NONLINEAR = (T.Call, T.Softmax, T.Reduce, T.Pow, T.Div, T.Concat, T.Flatten)
WHOLE = (T.Softmax, T.Reduce, T.Concat, T.Flatten, T.Apply)  # they take whole axes at once


@dataclass(frozen=True)
class Read:
    """A place where a tensor is read: its adjoint there, for all values of the indices `around`."""

    ref: T.Ref
    g: T.Expr
    around: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """An equation of the gradient system: `name[left] = terms`."""

    left: tuple[str, ...]
    terms: list[Term]


class Backward:
    """`made` are the equations that a sweep from `of` gives, `gather.pads` the tensors that must be zero outside."""

    def __init__(self, system: System, of: str, wrt: Sequence[str], one: frozenset[str] = frozenset()):
        self.system, self.of, self.one = system, of, one
        centered = {d for r in system.ranges.values() for n, d in r.items() if n in system.centered}
        self.scope = Scope({}, dict(system.tensors), frozenset(centered))
        self.letters: dict[str, list[str]] = {}  # for each dimension, those that it is written with
        self.forward = list(map(self._own_names, system.definitions.values()))
        # The tensors that depend on one of `wrt` and that `of` depends on, as values and not as indices.
        reads = {e.left.name: _values(e.right) for e in self.forward}
        depends, reached = set(wrt), {of}
        for _ in self.forward:
            depends |= {name for name, some in reads.items() if depends & some}
            reached |= {n for name, some in reads.items() if name in reached for n in some}
        self.active = depends & reached
        self.named = set(wrt)  # and what an equation of its own block reads before it is computed there
        for block in system.blocks:
            later: set[str] = set()
            for equation in reversed(block.equations):
                later.add(equation.left.name)
                self.named |= later & {r.name for r in T.references(equation.right)}
        self.dims = {t.name: t.dims for t in system.tensors.values()}
        self.reads: dict[str, list[Read]] = {}
        self.made: dict[str, Made] = {}
        self.inner: list[str] = []  # the adjoints of what has no name in the forward system
        self.gather = Gather(self.scope, system, self.dims, self._product)
        self.equation = self.forward[-1]
        self.scalar = not system.tensors[of].dims
        self._sweep()

    def _own_names(self, equation: T.Equation) -> T.Equation:
        """The equation with index names of its own."""
        own = {}
        for name, dim in self.system.ranges[equation].items():
            letter, letters = small_of(name), self.letters.setdefault(dim, [])
            own[name] = self.scope.fresh(letter, dim)
            letters += [letter] if letter not in letters else []
        left, right = T.substitute(equation.left, own), T.substitute(equation.right, own)
        return T.Equation(left, self.scope.apart(right))

    def target(self, name: str) -> tuple[str, ...]:
        """New indices for the axes of a tensor, with letters that it is written with somewhere, not tensors' names."""
        refs = [*(e.left for e in self.forward), *(r for e in self.forward for r in T.references(e.right))]
        chosen: list[str] = []
        for axis, dim in enumerate(self.dims[name]):
            plain = [r.indices[axis].plain for r in refs if r.name == name]
            own = [base(p) for p in plain if p is not None] + [*self.letters.get(dim, []), small_of(dim)]
            spare = [*"vijklmn", *(f"v{n}" for n in range(1, 100))]
            taken = {*chosen, *self.system.tensors}
            chosen.append(next(p for p in [*own, *spare] if p not in taken))
        return tuple(map(self.scope.fresh, chosen, self.dims[name]))

    def adjoint(self, name: str) -> str:
        """`dW` for `W`; an underscore more where the forward system has such a tensor."""
        word = "d" + name
        while word in self.system.tensors:
            word += "_"
        return word

    def _new(self, kind: str) -> str:
        """`dz_h` in the equation of h, `dz_h2` for a second one."""
        stem = f"{kind}_{self.equation.left.name}"
        taken = {*self.made, *self.system.tensors, *map(self.adjoint, self.system.tensors)}
        word = next(w for w in chain([stem], (f"{stem}{n}" for n in count(2))) if w not in taken)
        if kind == "dz":
            self.inner.append(word)
        return word

    def define(self, word: str, left: tuple[str, ...], found: list[Term]) -> T.Ref:
        self.made[word] = Made(left, found)
        self.dims[word] = tuple(self.scope.dims[i] for i in left)
        return T.Ref(word, tuple(T.index(i) for i in left))

    def _sweep(self) -> None:
        waiting: list[str] = []
        for equation in reversed(self.forward):
            name = equation.left.name
            if name not in self.active or name not in {*self.reads, self.of, *self.named}:
                continue
            self.equation = equation
            if (g := self._start(equation, waiting)) is not None:
                around = tuple(dict.fromkeys(i for a in equation.left.indices for i in a.names))
                self._descend(equation.right, g, around, equation.left)
        for name in waiting:
            target = self.target(name)
            self.equation = next(e for e in self.forward if e.left.name == name)
            self.define(self.adjoint(name), target, self.total(name, target))

    def _start(self, equation: T.Equation, waiting: list[str]) -> T.Expr | None:
        """The adjoint of the left side: a name where it is worth one, else the expression itself."""
        name = equation.left.name
        word = self.adjoint(name)
        if name == self.of and name not in self.reads and name not in self.named:
            self.dims[word] = self.dims[name]
            return ONE if self.scalar else T.Ref(word, equation.left.indices)
        if word in self.made:
            return T.Ref(word, equation.left.indices)
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
            self.define(word, target, found)
            return T.Ref(word, equation.left.indices)
        if name not in waiting:
            waiting.append(name)
        self.made[word] = Made((), [])  # its place among the equations; its terms are known after the sweep
        self.dims[word] = self.dims[name]
        return T.Ref(word, equation.left.indices)

    def total(self, name: str, target: tuple[str, ...]) -> list[Term]:
        """The adjoint of a tensor's entry: what all its reads give."""
        found = [Term()] if name == self.of and self.scalar else []
        if name == self.of and not self.scalar:
            seed = T.Ref(self.seed, tuple(T.index(i) for i in target))
            self.dims[self.seed] = self.dims[name]
            found = [whole(seed)]
        for read in self.reads.get(name, []):
            found += self.gather(read.ref, read.g, read.around, tuple(T.index(i) for i in target))
        return combine(found)

    @property
    def seed(self) -> str:
        """Where `of` is no scalar: the input that the sweep starts from."""
        word = self.adjoint(self.of)
        return f"{word}_seed" if self.of in self.reads or self.of in self.named else word

    def _descend(self, node: T.Expr, g: T.Expr, around: tuple[str, ...], value: T.Ref | None = None) -> None:
        if not self._count(node):
            return
        if isinstance(node, T.Ref):
            self.reads.setdefault(node.name, []).append(Read(node, g, around))
            return
        if isinstance(node, T.Mul):
            node = self._grouped(node)
        if isinstance(node, (T.Concat, T.Flatten)):
            around = tuple(i for i in around if i != node.axis)
        shown = self._shown(node)
        shorter = isinstance(node, (T.Softmax, T.Reduce))  # the rule, with the node's own value
        match node:
            case T.Call(function):
                shorter = FUNCTIONS[function].by_value
            case T.Pow(_, exponent):
                shorter = not isinstance(exponent, T.Num)
        own = value if value is not None else self._value(shown) if shorter else node
        handed = hand_down(shown, g, own, self.scope)
        for part, (_, adjoint, more) in zip(T.expressions(node), handed, strict=True):
            if not self._count(part):
                continue
            found = [self._one(t) for t in terms(self.scope.apart(adjoint), self.scope)]
            inner = (*around, *more)
            worth = self._count(part) > 1 or _has(part, T.Sum)
            if found and worth and not _atomic(found):
                left = tuple(i for i in inner if i in T.free_indices(part))
                rest = tuple(i for i in inner if i not in left)
                found = terms(T.Sum(rest, expression(found)), self.scope) if rest else found
                found, inner = [whole(self.define(self._new("dz"), left, found))], left
            if found:
                self._descend(part, expression(found), inner)

    def _count(self, node: T.Expr) -> int:
        """How many times tensors that take part are read in an expression."""
        return sum(r.name in self.active for r in T.references(node))

    def _grouped(self, node: T.Mul) -> T.Mul:
        """`W[j,I] (G[I] h[I])` for `W[j,I] G[I] h[I]`: entry by entry first, so that their adjoint is made once."""
        groups: dict[frozenset[str], list[T.Expr]] = {}
        for factor in node.factors:
            groups.setdefault(frozenset(T.free_indices(factor)), []).append(factor)
        if len(groups) == 1:
            return node
        many: Callable[[list[T.Expr]], bool] = lambda fs: sum(self._count(f) > 0 for f in fs) > 1
        parts = [[T.Mul(tuple(fs))] if many(fs) else fs for fs in groups.values()]
        return T.Mul(tuple(f for fs in parts for f in fs))

    def _shown(self, node: T.Expr) -> T.Expr:
        """The node as its own derivative may repeat it: without long expressions, which get a name instead."""
        match node:
            case T.Call() | T.Pow():
                return T.mapped(node, self._value)
            case T.Mul(factors) if len(factors) > 1:
                return T.Mul(tuple(f if _product_like(f) else self._value(f) for f in factors))
            case T.Div(above, below):
                return T.Div(above if _product_like(above) else self._value(above), self._value(below))
            case T.Reduce():
                return replace(node, body=self._value(node.body))
        return node

    def _value(self, node: T.Expr) -> T.Expr:
        """An expression for a forward value: itself where it is short, else a tensor that is computed again."""
        if not _has(node, T.Sum, *WHOLE):
            return node
        free = T.free_indices(node)
        made = Made(tuple(i for i in self.scope.dims if i in free), [whole(node)])
        known = next((word for word, other in self.made.items() if other == made), None)
        return self.define(known or self._new("u"), made.left, made.terms)

    def _product(self, term: Term) -> T.Ref:
        left = tuple(i for i in self.scope.dims if i in term.free())
        return self.define(self._new("dz"), left, [term])

    def _one(self, term: Term) -> Term:
        """Use that the sum of a distribution over an index is one."""
        for factor, exponent in term.factors:
            if isinstance(factor, T.Ref) and factor.name in self.one and exponent == 1:
                others = set().union(*(T.free_indices(f) for f, _ in term.factors if f != factor))
                for i in term.sums:
                    if i not in others and any(a.plain == i for a in factor.indices):
                        rest = tuple((f, e) for f, e in term.factors if f != factor)
                        return Term(term.coefficient, tuple(s for s in term.sums if s != i), rest)
        return term


def _values(node: object) -> set[str]:
    """The tensors that stand in an expression as values, not as indices."""
    inner = [id(r) for n in T.walk(node) if isinstance(n, T.Lookup) for r in T.references(n.ref)]
    return {r.name for r in T.references(node) if id(r) not in inner}


def _product_like(node: T.Expr) -> bool:
    """A sum of products: it joins a product without a name of its own."""
    return not _has(node, T.Call, *WHOLE) or not _has(node, T.Sum, *WHOLE)


def _has(node: T.Expr, *kinds: type) -> bool:
    return any(isinstance(n, kinds) for n in T.walk(node))


def _atomic(found: list[Term]) -> bool:
    """A number times at most one tensor: nothing that would be computed twice."""
    if len(found) != 1 or found[0].sums:
        return False
    kinds = [type(f) for f, _ in found[0].factors if not isinstance(f, T.Size)]
    return kinds in ([], [T.Ref])
