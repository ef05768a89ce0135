"""An expression as the text that computes it: that of `code`, and what a reader would not want to see.

What a recurrence does not change is computed before it; products come in the cheapest order; what a condition hides is
kept from making nan, in a value and in its gradient. Variables are numbered: nothing that a person typed is in a text.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import tree as T
from ..code.expressions import Expressions
from ..code.scope import Scope
from ..code.value import ADD, ATOM, MUL, POWER, Value, flat
from ..meaning.evaluate import constant_value
from ..meaning.reach import Extents, Guard, conditions, fail
from ..system import System
from .product import LANE, literal, product
from .reads import read

if TYPE_CHECKING:
    from .recur import Frame

_LONG = 400  # characters of a text, at which it becomes a line of its own: Python reads none that is too deep


@dataclass
class Lines:
    """Lines that each set a variable. One that depends on what is yet to be written is told last."""

    count: Iterator[int]
    lines: list[str | Callable[[], str]] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)  # a text -> the variable that holds it

    def set(self, text: str, made: str = "") -> str:
        if text not in self.known and not text.isidentifier():
            self.known[text] = f"v{next(self.count)}"
            self.lines.append(f"{self.known[text]} = {made or text}")
        return self.known.get(text, text)

    def told(self, indent: str = "    ") -> list[str]:
        return [indent + (line if isinstance(line, str) else line()) for line in self.lines]


class Names(Scope):
    """What a block's text is handed, and what it sets before it begins. Sizes are numbers here."""

    def __init__(
        self, system: System, sizes: dict[str, int], whole_numbers: frozenset[str], count: Iterator[int]
    ) -> None:
        self.system, self.extents, self.count = system, Extents(system, sizes), count
        self.whole_numbers = whole_numbers  # the inputs that hold such only, by their type
        self.number = {name: n for n, name in enumerate(system.tensors)}
        self.parameters: dict[str, None] = {}
        self.objects: dict[str, Any] = {}
        self.imports = set()
        self.before = Lines(count)

    def own(self, name: str) -> str:
        """A tensor that the block itself makes."""
        return f"x{self.number[name]}"

    def use(self, name: str, word: str = "x") -> str:
        """A tensor that the block is handed: `x3`; as the whole numbers that were given, `w3`."""
        variable = f"{word}{self.number[name]}"
        self.parameters[variable] = None
        return variable

    def beyond(self, name: str, axis: int, before: bool) -> str:
        """What a tensor is before or after an axis."""
        for place, (own, steps) in enumerate(self.system.boundary.get(name, ())):
            if own == axis and (steps < 0) == before and name not in self.system.padded:
                return self.use(name, f"e{place}_")
        return "0.0"

    def object(self, value: Any) -> str:
        """A variable for a function or a number that is made with the plan."""
        name = f"k{next(self.count)}"
        self.objects[name] = value
        return name

    def kept(self, text: str) -> str:
        """What depends on sizes alone: made once for each device and type of number."""
        return self.before.set(text, f"keep({next(self.count)}, lambda: {text})")

    @property
    def like(self) -> str:
        return "like"

    def size(self, dim: str) -> str:
        return "lane" if dim == LANE else str(self.extents.size(dim))

    def numbers(self, dim: str) -> str:
        span = self.extents.span(dim)
        return self.kept(f"torch.arange({span.start}, {span.stop}, device=like.device)")

    def text(self, lines: list[str]) -> str:
        """The block as a function."""
        lines = [*self.before.told(), *lines]  # the parameters are known when all lines are
        head = f"def function({', '.join(['like', 'keep', 'functions', *self.parameters])}):"
        return flat("\n".join([head, *lines]))


class Writer(Expressions):
    """Writes one equation. Inside a recurrence, `frame` is its loop, and `outer` writes what comes before it."""

    def __init__(self, scope: Names, equation: T.Equation, frame: "Frame | None" = None):
        super().__init__(scope, equation)
        self.scope: Names = scope
        self.extents, self.frame = scope.extents, frame
        self.ranges = {LANE: LANE, **self.ranges}
        self.rank[LANE] = -1
        self.guards: list[Guard] = []
        self.lines = frame.step if frame is not None else scope.before
        self.outer = self
        self.around: Frame | None = None  # the loop that this comes before
        if frame is not None:
            self.outer = Writer(scope, equation)
            self.outer.around, self.outer.guards, self.outer.ranges = frame, self.guards, self.ranges

    @property
    def left(self) -> tuple[str, ...]:
        looped = self.frame.looped if self.frame else ()
        rest = tuple(a.plain or "" for a in self.equation.left.indices if a.plain not in looped)
        return (LANE, *rest) if self.frame and self.frame.lanes else rest

    def values(self, name: str) -> range:
        return self.extents.span(self.ranges[name])

    def length(self, name: str) -> int:
        return 1 if name == LANE else len(self.values(name))

    def counter(self, name: str) -> Value:
        value = super().counter(name)
        return value if self.frame is None else self.frame.hoist(value)

    def position(self, affine: T.Affine) -> Value:
        constant = all(isinstance(a, T.SizeOf) for _, a in affine.terms)
        return replace(super().position(affine), constant=constant)

    def looked_up(self, ref: T.Ref) -> Value:
        """A tensor of whole numbers, read to be used as an index."""
        given = ref.name in self.scope.whole_numbers
        if self.inside(ref):
            value = self.value(ref)
        elif self.frame is not None:
            return self.frame.hoist(self.outer.looked_up(ref))
        else:
            value = read(self, ref, self.scope.use(ref.name, "w") if given else "")

        def check(found: Tensor) -> Tensor:
            if not found.is_meta and bool((found != found.round()).any()):
                wrong = found[found != found.round()].flatten()[0].item()
                message = f"`{ref.name}` is used as an index but holds {wrong}, which is no whole number"
                raise fail(self.system, message, ref.span)
            return found.long()

        text = value.text if given else f"{self.scope.object(check)}({value.text})"
        text = f"{value.at(ATOM)}.long()" if given and self.inside(ref) else text
        return replace(value, text=text, kind="whole")

    def inside(self, node: object) -> bool:
        """Does a value change with the recurrence that is running?"""
        return self.frame is not None and self.frame.moves(node)

    def under(self, guards: Sequence[Guard], make: Callable[[], Value]) -> Value:
        self.guards.extend(guards)
        made = make()
        del self.guards[len(self.guards) - len(guards) :]
        return made

    def safe(self, value: Value) -> Value:
        looped = self.frame.looped if self.frame is not None else frozenset()
        for condition, sense in list(self.guards):
            if not value.constant and T.free_indices(condition) - looped <= set(value.axes):
                (m, x), axes = self.together([self.condition(condition), value])
                both = f"{x.text}, 1.0" if sense else f"1.0, {x.text}"
                value = Value(f"torch.where({m.text}, {both})", axes)
        return value

    def value(self, node: T.Expr) -> Value:
        if (constant := self.constant(node)) is not None:
            return literal(constant)
        if self.frame is not None and not self.inside(node):
            return self.frame.hoist(self.outer.value(node))
        found = self.moving(node)
        if len(found.text) > _LONG:
            found = replace(found, text=self.lines.set(found.text), level=ATOM)
        return found

    def constant(self, node: T.Expr) -> float | None:
        return constant_value(self.system, self.extents.sizes, node)

    def moving(self, node: T.Expr) -> Value:
        match node:
            case T.Ref():
                return self.frame.read(self, node) if self.frame is not None else read(self, node)
            case T.Neg(T.Mul() | T.Sum() | T.Div()) | T.Mul() | T.Sum():
                return product(self, node)
            case T.Neg(body):
                return replace(found := self.value(body), text=f"-{found.at(MUL)}", level=MUL)
            case T.Div(above, below):
                if self.constant(below) is not None:
                    return product(self, node)
                guards = [(c, True) for c in conditions(node)]
                divisor = self.under(guards, lambda: self.safe(self.value(below)))
                (a, b), axes = self.together([self.value(above), divisor])
                return Value(f"{a.at(MUL)} / {b.at(POWER)}", axes, MUL)
            case T.Call("min" | "max" as function, args):
                return self.extreme(function, [self.tensor(self.value(a)) for a in args])
        return self.real(super().value(node))

    def add(self, terms: Sequence[T.Expr]) -> Value:
        # A positive term first, so that the others are added or taken off.
        terms = sorted(terms, key=lambda t: isinstance(t, T.Neg))
        still, moving = ([t for t in terms if self.inside(t) is sense] for sense in (False, True))
        if not still or self.frame is None:
            return super().add(terms)
        # What the loop does not change is added up once, for all steps.
        value = self.value(T.Add(tuple(still)) if len(still) > 1 else still[0])
        (a, b), axes = self.together([super().add(moving), value])
        return Value(f"{a.text} + {b.at(MUL)}", axes, ADD)

    def opaque(self, node: T.Apply, lead: int) -> str:
        wanted = tuple(self.length(o) for o in node.out)

        def call(functions: dict[str, Callable[..., Tensor]], *args: Tensor) -> Tensor:
            if node.function not in functions:
                message = f"`{node.function}` is not known: give functions={{{node.function!r}: …}}"
                raise fail(self.system, message, node.span)
            result = functions[node.function](*args)
            if result.ndim != lead + len(wanted) or tuple(result.shape[lead:]) != wanted:
                message = f"`{node.function}` must give its value with the last axes {wanted}, but it gave the shape "
                raise fail(self.system, f"{message}{tuple(result.shape)}", node.span)
            return result

        return f"partial({self.scope.object(call)}, functions)"

    def softmax(self, node: T.Softmax, function: str) -> Value:
        if node.where is None:
            return super().softmax(node, function)
        value, mask = self.masked(node, "-torch.inf"), self.condition(node.where)
        along = [value.axes.index(i) - len(value.axes) for i in node.indices if i in mask.axes]
        once = self.frame is None and not any(True for _ in T.references(node.where))

        def some(mask: Tensor) -> Tensor:
            for d in along:
                mask = mask.any(d, keepdim=True)
            return mask

        def masked(scores: Tensor, mask: Tensor, keep: Any, soft: Callable[[Tensor], Tensor]) -> Tensor:
            # Where the condition is on indices alone, whether it leaves a row empty is asked but once.
            if once and keep(masked, lambda: not mask.is_meta and bool(some(mask).all())):
                return soft(scores)
            # A row in which nothing is allowed has weight nowhere, and hands no gradient back.
            return torch.where(mask, soft(torch.where(some(mask), scores, 0.0)), 0.0)

        lay = self.soft(node, function, Value("x", value.axes)).turned(value.axes).text
        given = f"{value.text}, {mask.beside(value.axes).text}, keep, lambda x: {lay}"
        return Value(f"{self.scope.object(masked)}({given})", value.axes)

    def condition(self, node: T.Condition) -> Value:
        """A condition is looked at under those before it, not under itself."""
        if self.frame is not None and not self.inside(node):
            return self.frame.hoist(self.outer.condition(node))
        before = [c for c, _ in self.guards]
        own = before.index(node) if node in before else len(before)
        later = self.guards[own:]
        del self.guards[own:]
        found = super().condition(node)
        self.guards.extend(later)
        if found.constant:
            found = Value(f"torch.tensor({found.text}, device=like.device)", kind="truth")
        known = self.lines.set if any(True for _ in T.references(node)) else self.scope.kept
        return replace(found, text=known(found.text), level=ATOM)
