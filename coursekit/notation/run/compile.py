"""An expression made ready to run: each kind of node becomes a few tensor operations on named axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from functools import reduce as fold
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import tree as T
from ..functions import FUNCTIONS
from ..meaning.arithmetic import COMPARE
from ..meaning.evaluate import constant_value
from ..meaning.reach import Extents, conditions, fail
from ..system import System
from .named import LANE, Code, Env, as_tensor, elementwise, expand, number
from .product import product
from .reads import affine_code, read
from .whole import apply, concat, flatten, reduce, softmax

if TYPE_CHECKING:
    from .recur import Frame


def _call(name: str) -> Any:
    function = FUNCTIONS[name]
    call: Any = fold(getattr, function.torch.split(".")[1:], torch)
    return partial(call, **dict(function.options)) if function.options else call


_CALLS = {name: _call(name) for name in FUNCTIONS}


class Compiler(Extents):
    """Makes `Code` of one equation's expressions. Inside a recurrence, `frame` is its loop.

    `whole_numbers` are the inputs that hold whole numbers only, by their type.
    """

    def __init__(
        self,
        system: System,
        sizes: dict[str, int],
        equation: T.Equation,
        whole_numbers: frozenset[str] = frozenset(),
        frame: Frame | None = None,
    ):
        super().__init__(system, sizes)
        self.whole_numbers, self.equation, self.frame = whole_numbers, equation, frame
        self.ranges = dict(system.ranges[equation])
        left = [a.plain for a in equation.left.indices]
        self.rank = {name: n for n, name in enumerate(left) if name is not None}
        self.guards: list[tuple[T.Condition, bool]] = []
        self.outer = self
        self.around: Frame | None = None  # the loop that this comes before
        if frame is not None:
            self.outer = Compiler(system, sizes, equation, whole_numbers)
            self.outer.around = frame
            self.outer.guards = self.guards
            self.outer.ranges = self.ranges

    # ── indices ──────────────────────────────────────────────────────────────────────────────

    def order(self, names: set[str]) -> tuple[str, ...]:
        """The one order in which axes stand in this equation: the left side's, then by name."""
        return tuple(sorted(names, key=lambda n: (self.rank.get(n, -1 if n == LANE else 99), n)))

    def values(self, name: str) -> range:
        return self.span(self.ranges[name])

    def length(self, name: str) -> int:
        return 1 if name == LANE else self.sizes[self.ranges[name]]

    def ends(self, affine: T.Affine) -> tuple[int, int]:
        """The least and the greatest value of an index expression without lookups."""
        found = self.interval(affine, self.ranges)
        assert found is not None
        return found

    def counter(self, name: str) -> Code:
        """The index itself as whole numbers."""
        if self.frame is not None and name in self.frame.looped:
            return self.frame.hoist(self.outer.counter(name))
        span = self.values(name)
        key = ("counter", span.start, span.stop)
        return Code(
            (name,),
            lambda env: env.constant(key, lambda: torch.arange(span.start, span.stop, device=env.device)),
        )

    def whole(self, ref: T.Ref) -> Code:
        """A tensor of whole numbers, read to be used as an index."""
        if self.inside(ref):
            code = self.code(ref)
        elif self.frame is not None:
            return self.frame.hoist(self.outer.whole(ref))
        else:
            code = read(self, ref, whole=True)
        run = code.run
        if ref.name in self.whole_numbers:
            return Code(code.axes, lambda env: run(env).long())

        def check(env: Env) -> Tensor:
            given = run(env)
            if not given.is_meta and bool((given != given.round()).any()):
                wrong = given[given != given.round()].flatten()[0].item()
                message = f"`{ref.name}` is used as an index but holds {wrong}, which is no whole number"
                raise fail(self.system, message, ref.span)
            return given.long()

        return Code(code.axes, check)

    # ── what depends on the loop ─────────────────────────────────────────────────────────────

    def inside(self, node: object) -> bool:
        """Does a value change with the recurrence that is running?"""
        return self.frame is not None and self.frame.moves(node)

    def guarded(self, affine: T.Affine) -> bool:
        return any(T.free_indices(c) & T.free_indices(affine) for c, _ in self.guards)

    def under(self, conditions: Sequence[tuple[T.Condition, bool]], make: Callable[[], Code]) -> Code:
        """Compile what is looked at only where the conditions are as said."""
        self.guards.extend(conditions)
        try:
            return make()
        finally:
            del self.guards[len(self.guards) - len(conditions) :]

    def safe(self, code: Code) -> Code:
        """One in place of every entry that a condition keeps from being looked at."""
        looped = self.frame.looped if self.frame is not None else frozenset()
        for condition, sense in list(self.guards):
            if code.number is None and T.free_indices(condition) - looped <= set(code.axes):
                pick = (
                    (lambda m, x: torch.where(m, x, 1.0)) if sense else (lambda m, x: torch.where(m, 1.0, x))
                )
                code = elementwise(pick, [self.condition(condition), code], self.order)
        return code

    # ── expressions ──────────────────────────────────────────────────────────────────────────

    def code(self, node: T.Expr) -> Code:
        value = constant_value(self.system, self.sizes, node)
        if value is not None:
            return number(value)
        if self.frame is not None and not self.inside(node):
            return self.frame.hoist(self.outer.code(node))
        match node:
            case T.Ref():
                return self.frame.read(self, node) if self.inside(node) and self.frame else read(self, node)
            case T.Add(terms):
                return self.add(terms)
            case T.Neg(T.Mul() | T.Sum() | T.Div()):
                return product(self, node)
            case T.Neg(body):
                return elementwise(torch.neg, [self.code(body)], self.order)
            case T.Mul() | T.Sum():
                return product(self, node)
            case T.Div(above, below):
                if constant_value(self.system, self.sizes, below) is not None:
                    return product(self, node)
                guards = [(c, True) for c in conditions(node)]
                divisor = self.under(guards, lambda: self.safe(self.code(below)))
                parts = [self.code(above), divisor]
                return elementwise(torch.true_divide, parts, self.order)
            case T.Pow(base, exponent):
                return self.power(base, exponent)
            case T.Call(function, args):
                return self.call(function, args)
            case T.Apply():
                return apply(self, node)
            case T.Softmax():
                return softmax(self, node, torch.softmax)
            case T.Reduce():
                return reduce(self, node)
            case T.Concat():
                return concat(self, node)
            case T.Flatten():
                return flatten(self, node)
            case T.Position(affine):
                whole = self.side(affine)
                return Code(whole.axes, lambda env: whole.run(env).to(env.dtype), whole.number)
            case T.Cases(branches, otherwise):
                return self.cases(branches, otherwise)
            case T.Iverson(condition):
                return self.mask(condition)
        raise AssertionError(f"no way to run {node!r}")

    def add(self, terms: Sequence[T.Expr]) -> Code:
        signed = [(t.body, -1) if isinstance(t, T.Neg) else (t, 1) for t in terms]
        signed.sort(key=lambda p: -p[1])  # a positive term first, so that the others are added or taken off
        if self.frame is None:
            return self._total([(self.code(t), s) for t, s in signed])
        # What the loop does not change is added up once, for all steps.
        still = [(t, s) for t, s in signed if not self.inside(t)]
        moving = [(self.code(t), s) for t, s in signed if self.inside(t)]
        if still:
            rest = self.outer._total([(self.outer.code(t), s) for t, s in still])
            moving.append((self.frame.hoist(rest), 1))
        return self._total(sorted(moving, key=lambda p: -p[1]))

    def _total(self, codes: Sequence[tuple[Code, int]]) -> Code:
        total, sign = codes[0]
        if sign < 0:
            minus = total.number is None
            total = elementwise(torch.neg, [total], self.order) if minus else number(-(total.number or 0.0))
        for code, s in codes[1:]:
            if total.number is not None and code.number is not None:
                total = number(total.number + s * code.number)
            elif s > 0:
                total = elementwise(lambda a, b: a + b, [total, code], self.order)
            else:
                total = elementwise(lambda a, b: a - b, [total, code], self.order)
        return total

    def power(self, base: T.Expr, exponent: T.Expr) -> Code:
        code, by = self.code(base), self.code(exponent)
        if by.number is not None and by.number >= 0 and by.number.is_integer():
            whole = int(by.number)
            if whole == 2:
                return elementwise(torch.square, [code], self.order)
            return elementwise(lambda x: x**whole, [code], self.order)
        if code.number is not None:
            return elementwise(lambda a, b: a**b, [code, by], self.order)
        return elementwise(torch.pow, [self.safe(code), by], self.order)

    def call(self, function: str, args: Sequence[T.Expr]) -> Code:
        first = args[0]
        if function == "log" and isinstance(first, T.Softmax) and first.where is None and not self.guards:
            return softmax(self, first, torch.log_softmax)
        if function not in _CALLS:
            raise fail(self.system, f"{function} is no function of the language", self.equation.span)
        codes = [self.code(a) for a in args]
        if not FUNCTIONS[function].finite:
            # Where an entry is masked away, what stands under these is set to one: no NaN, no NaN gradient.
            codes = [self.safe(c) for c in codes]
        if function in ("min", "max"):
            pair: Callable[[Code, Code], Code] = lambda *two: elementwise(_CALLS[function], two, self.order)
            return fold(pair, map(as_tensor, codes))
        return elementwise(_CALLS[function], codes, self.order)

    # ── conditions ───────────────────────────────────────────────────────────────────────────

    def condition(self, condition: T.Condition) -> Code:
        """A tensor of truth values. A condition is looked at under those before it, not under itself."""
        before = [c for c, _ in self.guards]
        own = before.index(condition) if condition in before else len(before)
        later = self.guards[own:]
        del self.guards[own:]
        try:
            return self._condition(condition)
        finally:
            self.guards.extend(later)

    def _condition(self, condition: T.Condition) -> Code:
        if self.frame is not None and not self.inside(condition):
            return self.frame.hoist(self.outer.condition(condition))
        if isinstance(condition, T.And):
            whole, *rest = (self.condition(c) for c in condition.parts)
            for part in rest:
                whole = elementwise(torch.logical_and, [whole, part], self.order)
            return whole
        sides = [self.side(condition.left), self.side(condition.right)]
        if all(s.number is not None for s in sides):
            sides[0] = as_tensor(sides[0])
        code = elementwise(COMPARE[condition.operator], sides, self.order)
        if any(True for _ in T.references(condition)):
            return code
        run, key = code.run, object()
        return Code(code.axes, lambda env: env.constant(key, lambda: run(env)))

    def side(self, side: T.Affine | T.Expr) -> Code:
        if not isinstance(side, T.Affine):
            return self.code(side)
        terms, const = self.terms(side)
        if not terms and not any(isinstance(atom, T.Lookup) for _, atom in side.terms):
            return number(const)
        looked_up = [(c, atom.ref) for c, atom in side.terms if isinstance(atom, T.Lookup)]
        if all(ref.name in self.whole_numbers for _, ref in looked_up):
            return affine_code(self, side)
        # A real number may be compared with an index as well.
        rest = tuple(t for t in side.terms if not isinstance(t[1], T.Lookup))
        reals = tuple(T.Mul((T.Num(Fraction(c)), ref)) for c, ref in looked_up)
        return self.code(T.Add((*reals, T.Position(T.Affine(rest, side.const)))))

    def mask(self, condition: T.Condition) -> Code:
        """One where the condition holds, zero elsewhere."""
        if self.frame is not None and not self.inside(condition):
            return self.frame.hoist(self.outer.mask(condition))
        code = self.condition(condition)
        return Code(code.axes, lambda env: code.run(env).to(env.dtype))

    def cases(self, branches: Sequence[tuple[T.Expr, T.Condition]], otherwise: T.Expr) -> Code:
        before: list[tuple[T.Condition, bool]] = []
        chosen: list[tuple[Code, Code]] = []
        for branch, condition in branches:
            guard = [*before, (condition, True)]
            chosen.append((self.under(guard, partial(self.code, branch)), self.condition(condition)))
            before.append((condition, False))
        result = self.under(before, lambda: self.code(otherwise))
        for code, holds in reversed(chosen):
            if code.number is not None and result.number is not None:
                code = as_tensor(code)
            result = elementwise(torch.where, [holds, code, result], self.order)
        return result

    # ── whole axes at once ───────────────────────────────────────────────────────────────────

    def full(self, code: Code, names: Sequence[str]) -> Code:
        """The code with at least the axes `names`, which it may not depend on."""
        code = as_tensor(code)
        if all(n in code.axes for n in names):
            return code
        axes = self.order(set(code.axes) | set(names))
        return expand(code, axes, [self.length(a) for a in axes])

    def define(self) -> Code:
        """The equation's right side, laid out as its left side is."""
        left = []
        for affine in self.equation.left.indices:
            if affine.plain is None:
                raise fail(self.system, "a left side is written with bare indices", self.equation.left.span)
            left.append(affine.plain)
        if self.frame is not None:
            left = self.frame.axes(left)
        code = as_tensor(self.code(self.equation.right))
        return expand(code, left, [self.length(a) for a in left])
