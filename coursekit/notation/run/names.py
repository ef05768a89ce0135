"""The variables of one block's text. They are numbered: nothing stands in it that a person typed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..code.scope import Scope
from ..code.value import ATOM, MUL, Value, flat, number
from ..meaning.reach import Extents
from ..system import System

# The axis of a grid's recurrence: the entries of one anti-diagonal. Its length changes from step to step.
LANE = "~"


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


def literal(value: float) -> Value:
    whole = value.is_integer() and abs(value) < 1e15
    return number(str(int(value)) if whole else repr(value), ATOM if value >= 0 else MUL)
