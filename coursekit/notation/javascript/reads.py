"""The text of a function while it is being written: the loops and the questions that are open, outermost first.

A value is made at the outermost level that has all its indices, once. So sums and the normaliser of a softmax leave
the loops that they do not need, by construction.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from .. import tree as T
from ..code.scope import Scope, identifier
from ..indices import as_index, each, spelled
from ..meaning.reach import shifted
from ..system import Block

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
            vectors = [n for n in self.system.inputs if self.system.tensors[n].dims == (dim,)]
            text = self._size(dim) or "".join(f"inputs[{json.dumps(n)}]?.length" for n in vectors[:1])
            key = json.dumps(dim)
            told = text if text.isdigit() else f"sizes[{key}]" + (f" ?? {text}" if text else "")
            self.sizes[dim] = self.fresh(identifier(dim) or "n")
            self.lines.append(f"const {self.sizes[dim]} = size({key}, {told});")
        return self.sizes[dim]

    def length(self, dims: Iterable[str]) -> str:
        return " * ".join(self.size(d) for d in dims) or "1"


_EQUAL = {"==": "===", "!=": "!=="}


@dataclass
class Level:
    head: str = ""
    names: dict[str, str] = field(default_factory=dict)  # index -> its variable
    lines: list[str] = field(default_factory=list)
    known: dict[object, str] = field(default_factory=dict)  # a text or a node -> the variable that holds it


class Reads:
    """The function of one block."""

    def __init__(self, scope: Words, block: Block) -> None:
        self.scope, self.system, self.block = scope, scope.system, block
        self.own = {e.left.name for e in block.equations}
        self.taken: set[str] = set()
        self.stack = [Level()]
        self.ranges: dict[str, str] = {}
        self.inner = 0  # below this level a tensor of the block is still being made
        self.guarded = False  # is a condition asked before what is now written is looked at?

    def fresh(self, word: str) -> str:
        numbered = (f"{word}{'_' if word[-1].isdigit() else ''}{number}" for number in count(2))
        name = next(n for n in chain([word], numbered) if n not in self.taken and n not in self.scope.taken)
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

    @property
    def depth(self) -> int:
        return len(self.stack) - 1

    def say(self, line: str) -> None:
        self.stack[-1].lines.append(line)

    def put(self, level: int, text: str) -> str:
        """A constant at a level, once."""
        known = self.stack[level].known
        if text not in known and not re.fullmatch(r"-?[\w.]+", text):
            known[text] = self.fresh("c")
            self.stack[level].lines.append(f"const {known[text]} = {text};")
        return known.get(text, text)

    def var(self, index: str) -> str:
        return next(level.names[index] for level in reversed(self.stack) if index in level.names)

    def level_of(self, *nodes: object, less: Sequence[str] = ()) -> int:
        """The outermost level at which all that these nodes need has a value, some indices aside."""
        names = set().union(*(T.free_indices(n) for n in nodes)) - set(less)
        found = [max(n for n, level in enumerate(self.stack) if i in level.names) for i in names]
        own = any(r.name in self.own for n in nodes for r in T.references(n))
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

    def loop(self, index: str, step: int = 1) -> None:
        dim, v = self.ranges[index], self.variable(index)
        low, high = self.first(dim), self.stop(dim)
        turns = f"{v} = {low}; {v} < {high}; {v}++" if step > 0 else f"{v} = {high} - 1; {v} >= {low}; {v}--"
        self.stack.append(Level(f"for (let {turns})", {index: v}))

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

    def value(self, node: T.Expr) -> str:
        raise NotImplementedError

    def atom(self, part: T.IndexAtom) -> str:
        if isinstance(part, T.SizeOf):
            return self.scope.size(part.name)
        return self.value(part.ref) if isinstance(part, T.Lookup) else self.var(part)

    def affine(self, affine: T.Affine) -> str:
        return spelled(affine, self.atom)

    def holds(self, condition: T.Condition) -> str:
        if isinstance(condition, T.And):
            return " && ".join(self.holds(p) for p in condition.parts)
        both = (as_index(s) or s for s in (condition.left, condition.right))
        left, right = (self.affine(s) if isinstance(s, T.Affine) else self.value(s) for s in both)
        return f"{left} {_EQUAL.get(condition.operator, condition.operator)} {right}"

    def place(self, indices: Sequence[str]) -> str:
        """Where an entry stands in a table over these indices."""
        dims = [self.ranges[i] for i in indices]
        return self.entry(
            [(self.var(i), self.first(d), self.scope.size(d)) for i, d in zip(indices, dims, strict=True)]
        )

    def entry(self, places: Iterable[tuple[str, str, str]]) -> str:
        """The number of an entry, of its place on each axis, where that axis begins and how long it is."""
        text = ""
        for place, first, size in places:
            own = place if first == "0" else f"({place} - {first})"
            text = f"({text}) * {size} + {own}" if text else own
        return text or "0"

    def nest(self, indices: Sequence[str], conditions: Sequence[T.Condition | None] = ()) -> int:
        """Open a loop for each index, and ask each condition as soon as it can be. The answer is what `close` takes."""
        depth, rest = len(self.stack), [part for c in conditions for part in each(c)]
        for n in range(len(indices) + 1):
            for c in [c for c in rest if T.free_indices(c).isdisjoint(indices[n:])]:
                rest.remove(c)
                self.stack.append(Level(f"if ({self.holds(c)})"))
            if n < len(indices):
                self.loop(indices[n])
        return depth

    def at(self, ref: T.Ref, axis: int) -> str:
        """The place along an axis; one that is looked up is checked first."""
        affine, dim = ref.indices[axis], self.system.tensors[ref.name].dims[axis]
        text = self.affine(affine)
        if any(isinstance(a, T.Lookup) for _, a in affine.terms) and ref.name not in self.system.padded:
            checked = f"{text}, {self.first(dim)}, {self.stop(dim)}"
            call = f"inside({checked})" if self.guarded else f"at({json.dumps(ref.name)}, {checked})"
            return self.put(self.level_of(affine), call)
        return f"({text})" if " " in text else text

    def read(self, ref: T.Ref) -> str:
        dims = self.system.tensors[ref.name].dims
        places = [(self.at(ref, n), self.first(d), self.scope.size(d)) for n, d in enumerate(dims)]
        text = f"{self.scope.tensor[ref.name]}[{self.entry(places)}]"
        outside = {n: self.leaves(ref, n) for n in range(len(dims))}
        if ref.name in self.system.padded:
            tests = [test for found in outside.values() for _, test in found]
            return f"({' || '.join(tests)} ? 0 : {text})" if tests else text
        before: list[tuple[int, str]] = []  # the tests of other axes: the last decides, as in `evaluate`
        for axis, steps in sorted(self.system.boundary.get(ref.name, ())):
            for way, test in outside[axis]:
                if way * steps < 0:
                    continue
                place, edge = places[axis][0], self.scope.edge[ref.name, axis, way]
                first = f"{self.first(dims[axis])} - {-steps}" if way < 0 else self.stop(dims[axis])
                rows = [] if abs(steps) == 1 else [(place, f"({first})", str(abs(steps)))]
                own = f"{edge}[{self.entry([*places[:axis], *rows, *places[axis + 1 :]])}]"
                both = " || ".join(f"({other})" for n, other in before if n != axis)
                text = f"({test} ? {f'({both} ? {edge}.corner : {own})' if both else own} : {text})"
                before.append((axis, test))
        return text

    def leaves(self, ref: T.Ref, axis: int) -> list[tuple[int, str]]:
        """The tests, before and after, by which a read leaves its axis."""
        affine, dim = ref.indices[axis], self.system.tensors[ref.name].dims[axis]
        if self.ranges.get(affine.plain or "") == dim:
            return []
        text = self.affine(affine)
        both = [(-1, f"{text} < {self.first(dim)}"), (1, f"{text} >= {self.stop(dim)}")]
        return [b for b in both if b[0] * affine.const > 0] if shifted(affine, self.ranges, dim) else both
