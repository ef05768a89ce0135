"""The text of a function while it is being written: the loops and the questions that are open, outermost first.

A value is made at the outermost level that has all its indices, once. So factors, offsets, sums and the
normaliser of a softmax leave the loops that they do not need, by construction.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Elsewhere:
    """What is read in place of a tensor where `test` holds: `array`, in which `axis` is `deep` long and starts
    `shift` earlier; the axes in `dropped` it does not have."""

    test: str
    level: int
    array: str
    dropped: tuple[int, ...] = ()
    axis: int = -1
    deep: int = 0
    shift: str = ""


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

    def loop(self, index: str, low: str = "", high: str = "", step: int = 1) -> None:
        dim, v = self.ranges[index], self.variable(index)
        first, stop = self.first(dim), self.stop(dim)
        low = self.put(self.depth, f"Math.max({first}, {low})") if low else first
        high = self.put(self.depth, f"Math.min({stop}, {high})") if high else stop
        forwards, backwards = f"{v} = {low}; {v} < {high}; {v}++", f"{v} = {high} - 1; {v} >= {low}; {v}--"
        self.stack.append(Level(f"for (let {forwards if step > 0 else backwards})", {index: v}))

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
        text = ""
        for i in indices:
            first = self.first(self.ranges[i])
            own = self.var(i) if first == "0" else f"({self.var(i)} - {first})"
            text = f"({text}) * {self.scope.size(self.ranges[i])} + {own}" if text else own
        return text or "0"

    def nest(self, indices: Sequence[str], conditions: Sequence[T.Condition | None] = ()) -> int:
        """Open a loop for each index, as narrow as the conditions allow. The answer is what `close` takes."""
        depth, left, rest = len(self.stack), list(indices), parts(conditions)
        while True:
            for c in [c for c in rest if not T.free_indices(c) & set(left)]:
                rest.remove(c)
                self.stack.append(Level(f"if ({self.holds(c)})"))
            if not left:
                return depth
            found = next(((c, i, b) for c in rest for i, op, b in self.solved(c, left) if op == "=="), None)
            if found:  # an index whose value a condition tells needs no loop
                c, index, other = found
                rest.remove(c)
                left.remove(index)
                dim, v = self.ranges[index], self.variable(index)
                self.say(f"const {v} = {self.affine(other)};")
                whole = f" && {v} % 1 === 0" if any(T.references(other)) else ""
                test = f"{v} >= {self.first(dim)} && {v} < {self.stop(dim)}{whole}"
                self.stack.append(Level(f"if ({test})", {index: v}))
                continue
            # An index that an equation will tell once the others have values comes after them.
            equal = [(i, T.free_indices(c)) for c in rest for i, op, _ in told(c) if op == "=="]
            later = {i for i, names in equal if names & {*left} - {i}}
            index = next((i for i in left if i not in later), left[0])
            left.remove(index)
            ends = {"<": "", ">": ""}
            for c in [c for c in rest if not any(T.references(c))]:
                for _, op, other in self.solved(c, [index]):
                    if op[0] in ends and not ends[op[0]]:
                        ends[op[0]] = self.affine(other) + (" + 1" if op in ("<=", ">") else "")
                        rest.remove(c)
            self.loop(index, ends[">"], ends["<"])

    def solved(self, c: T.Compare, names: Sequence[str]) -> Iterator[tuple[str, str, T.Affine]]:
        """`index operator affine`, where a condition says it of an index that has no value yet, and all else has."""
        for index, op, other in told(c):
            known = all(any(i in level.names for level in self.stack) for i in T.free_indices(other))
            if index in names and known:
                yield index, op, other

    def pieces(self, ref: T.Ref, other: Elsewhere | None = None) -> list[tuple[int, str]]:
        """The terms of an entry's flat place, each with the level that it needs; its sign comes first."""
        dims, found = self.system.tensors[ref.name].dims, []
        dropped, axis_, deep = (other.dropped, other.axis, other.deep) if other else ((), -1, 0)
        for axis, affine in enumerate(ref.indices):
            if axis in dropped or (axis == axis_ and deep == 1):
                continue
            rest = [n for n in range(axis + 1, len(dims)) if n not in dropped]
            sizes = [str(deep) if n == axis_ else self.scope.size(dims[n]) for n in rest]
            stride = self.put(0, " * ".join(s for s in sizes if s != "1") or "1")
            first = self.first(dims[axis])
            start = other.shift if other and axis == axis_ else "" if first == "0" else f"-{first}"
            terms = [*self.terms(affine, axis, ref), *([(start[0], 0, start[1:])] if start else [])]
            for sign, level, *words in terms:
                found.append((level, sign + (" * ".join(w for w in (*words, stride) if w != "1") or "1")))
        return sorted(found, key=lambda piece: piece[0])

    def terms(self, affine: T.Affine, axis: int, ref: T.Ref) -> list[tuple[str, int, *tuple[str, ...]]]:
        """An index expression as (sign, level, factors); one that is looked up is checked first."""
        if any(isinstance(a, T.Lookup) for _, a in affine.terms) and ref.name not in self.system.padded:
            dim, level = self.system.tensors[ref.name].dims[axis], self.level_of(affine)
            checked = f"{self.affine(affine)}, {self.first(dim)}, {self.stop(dim)}"
            call = f"inside({checked})" if self.guarded else f"at({json.dumps(ref.name)}, {checked})"
            return [("+", level, self.put(level, call))]
        sign: Callable[[int], str] = lambda n: "-" if n < 0 else "+"
        needs: Callable[[T.IndexAtom], int] = lambda atom: self.level_of(T.Affine(((1, atom),)))
        own = [(sign(f), needs(a), str(abs(f)), self.atom(a)) for f, a in affine.terms]
        const = [(sign(affine.const), self.level_of(affine), str(abs(affine.const)))] if affine.const else []
        return [*own, *const]

    def gathered(self, pieces: list[tuple[int, str]], start: str = "") -> str:
        """Their sum, what needs fewer loops made further out."""
        text = start
        for number, (level, piece) in enumerate(pieces):
            text = f"{text} {piece[0]} {piece[1:]}" if text else piece.removeprefix("+")
            last = number + 1 == len(pieces) or pieces[number + 1][0] > level
            text = self.put(level, text) if last and level < self.depth else text
        return text or "0"

    def read(self, ref: T.Ref) -> str:
        array, others = self.scope.tensor[ref.name], self.elsewhere(ref)
        if len(others) == 1:
            return self.chosen(ref, array, others[0])
        text = f"{array}[{self.gathered(self.pieces(ref))}]"
        for number, one in enumerate(others):  # the last axis decides, as in `evaluate`
            both = " || ".join(f"({o.test})" for o in others[:number] if o.axis != one.axis)
            own = f"{one.array}[{self.gathered(self.pieces(ref, one))}]"
            text = f"({one.test} ? {f'({both} ? {one.array}.corner : {own})' if both else own} : {text})"
        return text

    def chosen(self, ref: T.Ref, array: str, other: Elsewhere) -> str:
        """The array and the place are chosen where the outer loop begins: the inner one has no question."""
        here, there = self.pieces(ref), self.pieces(ref, other)
        level = max([other.level, *(n for n, _ in {*here} ^ {*there})])
        if level == self.depth:
            one = "0" if other.dropped else f"{other.array}[{self.gathered(there)}]"
            return f"({other.test} ? {one} : {array}[{self.gathered(here)}])"
        inner = [p for p in here if p[0] > level]

        def choice() -> str:
            test = self.put(level, other.test)
            one, two = (self.gathered([p for p in pieces if p[0] <= level]) for pieces in (there, here))
            source = self.put(level, f"{test} ? {other.array} : {array}")
            return f"{source} {self.put(level, f'{test} ? {one} : {two}')}"

        source, base = self.once(level, ("read", ref, self.guarded), choice).split()
        return f"{source}[{self.gathered(inner, base)}]"

    def elsewhere(self, ref: T.Ref) -> list[Elsewhere]:
        dims, found = self.system.tensors[ref.name].dims, []
        open_ = [n for n, a in enumerate(ref.indices) if self.ranges.get(a.plain or "") != dims[n]]
        if ref.name in self.system.padded:
            tests = [t for n in open_ for _, t in self.leaves(ref, n)]
            level = self.level_of(*(ref.indices[n] for n in open_))
            length = self.scope.length(d for n, d in enumerate(dims) if n not in open_)
            zeros = self.put(0, f"new Float64Array({length})") if tests else ""
            return [Elsewhere(" || ".join(tests), level, zeros, tuple(open_))] if tests else []
        for axis, steps in self.system.boundary.get(ref.name, ()):
            for way, test in self.leaves(ref, axis) if axis in open_ else ():
                if way * steps > 0:
                    first, edge = self.first(dims[axis]), self.scope.edge[ref.name, axis, way]
                    start = f"+{-steps}" if first == "0" else f"+({-steps} - {first})"
                    shift = start if way < 0 else f"-{self.stop(dims[axis])}"
                    level = self.level_of(ref.indices[axis])
                    found.append(Elsewhere(test, level, edge, (), axis, abs(steps), shift))
        return sorted(found, key=lambda e: e.axis)

    def leaves(self, ref: T.Ref, axis: int) -> list[tuple[int, str]]:
        """The tests, before and after, by which a read leaves its axis."""
        affine, dim = ref.indices[axis], self.system.tensors[ref.name].dims[axis]
        text = self.affine(affine)
        both = [(-1, f"{text} < {self.first(dim)}"), (1, f"{text} >= {self.stop(dim)}")]
        return [b for b in both if b[0] * affine.const > 0] if shifted(affine, self.ranges, dim) else both


def parts(conditions: Sequence[T.Condition | None]) -> list[T.Compare]:
    return [p for c in conditions for p in each(c)]


def told(c: T.Compare) -> Iterator[tuple[str, str, T.Affine]]:
    """`index operator affine`, where a condition says it of a bare index that the other side does not need."""
    left, right = as_index(c.left), as_index(c.right)
    for a, b, op in ((left, right, c.operator), (right, left, _FLIPPED.get(c.operator, c.operator))):
        if a is not None and b is not None and a.plain and a.plain not in T.free_indices(b):
            yield a.plain, op, b
