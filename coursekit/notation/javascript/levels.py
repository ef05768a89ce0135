"""The text of a function while it is being written: the loops and the questions that are open, outermost first.

A value is made at the outermost level that has all its indices, once. So factors, offsets, sums and the
normaliser of a softmax leave the loops that they do not need, by construction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..code.scope import Scope, identifier
from ..system import Block
from ..tree import free_indices, references

_RESERVED = """
abstract arguments await boolean break byte case catch char class const continue debugger default delete do double
else enum eval export extends final finally float for function goto if implements import in instanceof int interface
let long native new null package private protected public return short static super switch synchronized this throw
throws transient true false try typeof undefined var void volatile while with yield NaN Infinity Math Number Array
Float64Array Object Error inputs sizes boundary functions made fail erf size array side room at inside within
"""


class Words(Scope):
    """The names of a JavaScript function. Flat arrays have no shape: a size that no other tells is given."""

    words = frozenset(_RESERVED.split())
    least, half = "Math.min", "({} >> 1)"

    def floor(self, above: str, below: int) -> str:
        return f"Math.floor(({above}) / {below})" if below > 1 else above

    def size(self, dim: str) -> str:
        dim = self.system.aliases.get(dim, dim)
        if dim not in self.sizes:
            text, key = self._size(dim), json.dumps(dim)
            vector = next((n for n in self.system.inputs if self.system.tensors[n].dims == (dim,)), None)
            if text is None and vector is not None:
                text = f"inputs[{json.dumps(vector)}]?.length"
            given = f"sizes[{key}]" + (f" ?? {text}" if text else "")
            self.sizes[dim] = self.fresh(identifier(dim) or "n")
            told = text if text and text.isdigit() else given
            self.lines.append(f"const {self.sizes[dim]} = size({key}, {told});")
        return self.sizes[dim]

    def length(self, dims: Iterable[str]) -> str:
        return " * ".join(self.size(d) for d in dims) or "1"


@dataclass
class Level:
    head: str = ""
    names: dict[str, str] = field(default_factory=dict)  # index -> its variable
    lines: list[str] = field(default_factory=list)
    known: dict[object, str] = field(default_factory=dict)  # a text or a node -> the variable that holds it


class Levels:
    """The function of one block."""

    def __init__(self, scope: Words, block: Block) -> None:
        self.scope, self.system, self.block = scope, scope.system, block
        self.own = {e.left.name for e in block.equations}
        self.taken: set[str] = set()
        self.stack = [Level()]
        self.ranges: dict[str, str] = {}
        self.inner = 0  # below this level a tensor of the block is still being made
        self.guarded = False  # is a condition asked before what is now written is looked at?

    # ── names ────────────────────────────────────────────────────────────────────────────────

    def fresh(self, word: str) -> str:
        name, number = word, 1
        while name in self.taken | self.scope.taken:
            number += 1
            name = f"{word}{'_' if word[-1].isdigit() else ''}{number}"
        self.taken.add(name)
        return name

    def variable(self, index: str) -> str:
        return self.fresh(identifier(index).lower() or "n")

    def first(self, dim: str) -> str:
        """The first value of an index over a dimension."""
        return self.put(0, self.scope.spelled(self.scope.span(dim)[0]))

    def stop(self, dim: str) -> str:
        first, size = self.first(dim), self.scope.size(dim)
        return size if first == "0" else self.put(0, f"{size} + {first}")

    # ── levels ───────────────────────────────────────────────────────────────────────────────

    @property
    def depth(self) -> int:
        return len(self.stack) - 1

    def say(self, line: str) -> None:
        self.stack[-1].lines.append(line)

    def put(self, level: int, text: str) -> str:
        """A constant at a level, once."""
        known = self.stack[level].known
        if re.fullmatch(r"-?[\w.]+", text):
            return text
        if text not in known:
            known[text] = self.fresh("c")
            self.stack[level].lines.append(f"const {known[text]} = {text};")
        return known[text]

    def var(self, index: str) -> str:
        return next(level.names[index] for level in reversed(self.stack) if index in level.names)

    def bound(self, names: set[str]) -> bool:
        return all(any(i in level.names for level in self.stack) for i in names)

    def level_of(self, *nodes: object, less: Sequence[str] = ()) -> int:
        """The outermost level at which all that these nodes need has a value, some indices aside."""
        names = set().union(*(free_indices(n) for n in nodes)) - set(less)
        found = [max(n for n, level in enumerate(self.stack) if i in level.names) for i in names]
        own = any(r.name in self.own for n in nodes for r in references(n))
        return max([*found, self.inner if own else 0])

    def once(self, level: int, key: object, make: Callable[[], str]) -> str:
        """What is made at a level, and only the first time that it is asked for there."""
        known = self.stack[level].known
        if key not in known:
            held = self.stack[level + 1 :]
            del self.stack[level + 1 :]
            known[key] = make()
            self.stack += held
        return known[key]

    def loop(self, index: str, low: str = "", high: str = "", step: int = 1) -> None:
        dim, v = self.ranges[index], self.variable(index)
        first, stop = self.first(dim), self.stop(dim)
        low = self.put(self.depth, f"Math.max({first}, {low})") if low else first
        high = self.put(self.depth, f"Math.min({stop}, {high})") if high else stop
        head = f"for (let {v} = {low}; {v} < {high}; {v}++)"
        if step < 0:
            head = f"for (let {v} = {high} - 1; {v} >= {low}; {v}--)"
        self.stack.append(Level(head, {index: v}))

    def close(self, depth: int) -> None:
        """Close levels until `depth` of them are open."""
        while len(self.stack) > depth:
            level = self.stack.pop()
            if len(level.lines) == 1 and not level.lines[0].startswith(("const", "let")):
                self.say(f"{level.head} {level.lines[0]}")
            elif level.lines:
                self.say(f"{level.head} {{")
                self.stack[-1].lines += ["  " + line for line in level.lines]
                self.say("}")
