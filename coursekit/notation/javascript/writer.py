"""The function of one block while it is being written: the loops and the questions that are open, outermost first.

A value is made at the outermost level that has all its indices, once. So sums and the normaliser of a softmax leave
the loops that they do not need, by construction.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from .. import tree as T
from ..code.scope import identifier
from ..indices import as_index, each, spelled
from ..meaning.pairing import apart, nested
from ..meaning.reach import conditions, shifted, unconditional
from ..system import Block

if TYPE_CHECKING:
    from .function import Words

_EQUAL = {"==": "===", "!=": "!=="}
_CALLS = {
    "sigmoid": "(1 / (1 + Math.exp(-{z})))",
    "relu": "Math.max({z}, 0)",
    "erf": "erf({z})",
    "gelu": "({z} * (1 + erf({z} / Math.SQRT2)) / 2)",
    "silu": "({z} / (1 + Math.exp(-{z})))",
    "softplus": "(Math.max({z}, 0) + Math.log1p(Math.exp(-Math.abs({z}))))",
}
# Where each begins, and what a value does to it.
_REDUCERS = {
    "sum": ("0", "{r} += {v}"),
    "max": ("-Infinity", "{r} = Math.max({r}, {v})"),
    "min": ("Infinity", "{r} = Math.min({r}, {v})"),
    "prod": ("1", "{r} *= {v}"),
    "argmax": ("-Infinity", "if ({v} > {r}) [{r}, {own}] = [{v}, {i}]"),
    "logsumexp": ("0", "{r} += Math.exp({v} - {own})"),
}


@dataclass
class Level:
    head: str = ""
    names: dict[str, str] = field(default_factory=dict)  # index -> its variable
    lines: list[str] = field(default_factory=list)
    known: dict[object, str] = field(default_factory=dict)  # a text or a node -> the variable that holds it


class Writer:
    """The function of one block."""

    def __init__(self, scope: "Words", block: Block) -> None:
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
            before = f"({text})" if " " in text else text
            text = f"{before} * {size} + {own}" if text else own
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

    # ── values ───────────────────────────────────────────────────────────────────────────────────

    def define(self, equation: T.Equation) -> None:
        looped = {name for name, _ in self.block.loops}
        depth = self.nest([n for a in equation.left.indices for n in a.names if n not in looped])
        text = self.value(equation.right)
        self.say(f"{self.read(equation.left)} = {text};")
        self.close(depth)

    def value(self, node: T.Expr) -> str:
        """The text of a value at the present level; what needs fewer indices is made further out."""
        level = self.level_of(node)
        if level == self.depth or isinstance(node, (T.Num, T.Size)):
            return self.text(node)
        return self.once(level, (node, self.guarded), lambda: self.put(level, self.text(node)))

    def looked(self, node: T.Expr, guarded: bool = True) -> str:
        """A value that is looked at under a condition."""
        before, self.guarded = self.guarded, self.guarded or guarded
        text = self.value(node)
        self.guarded = before
        return text

    def text(self, node: T.Expr) -> str:
        match node:
            case T.Num(number):
                text = repr(float(number)).removesuffix(".0")
                return f"({text})" if number < 0 else text
            case T.Size(name):
                return self.scope.size(name)
            case T.Ref():
                return self.read(node)
            case T.Add(terms):
                signed = [("-", t.body) if isinstance(t, T.Neg) else ("+", t) for t in terms]
                text = " ".join(f"{sign} {self.value(body)}" for sign, body in signed)
                return f"({text.removeprefix('+ ')})"
            case T.Neg(body):
                return f"(-{self.value(body)})"
            case T.Sum(indices, T.Mul(factors), None) if len(indices) > 1 and apart(node):
                return self.value(nested(indices, factors))
            case T.Mul() | T.Div() if asked := conditions(node):
                test = " && ".join(self.holds(c) for c in asked)
                return f"({test} ? {self.looked(unconditional(node))} : 0)"
            case T.Mul():
                return f"({' * '.join(map(self.value, node.factors))})"
            case T.Div(above, below):
                return f"({self.value(above)} / {self.value(below)})"
            case T.Pow(base, exponent):
                return f"Math.pow({self.value(base)}, {self.value(exponent)})"
            case T.Call(function, args) if function in _CALLS:
                return _CALLS[function].format(z=self.put(self.depth, self.value(args[0])))
            case T.Call(function, args):
                return f"Math.{function}({', '.join(map(self.value, args))})"
            case T.Position(affine):
                return f"({self.affine(affine)})"
            case T.Cases(branches, otherwise):
                tried = [(self.holds(condition), self.looked(branch)) for branch, condition in branches]
                return _chosen(tried, self.looked(otherwise))
            case T.Iverson(condition):
                return f"({self.holds(condition)} ? 1 : 0)"
        return _WHOLE[type(node)](self, node)

    def reduced(self, node: T.Sum | T.Reduce) -> str:
        value, beside = self.reduction(node)
        if isinstance(node, T.Reduce) and node.function == "logsumexp":
            return f"(Number.isFinite({beside}) ? {beside} + Math.log({value}) : {beside})"
        return beside or value

    def reduction(self, node: T.Sum | T.Reduce) -> tuple[str, str]:
        """The variable of a reduction, and the one that is set beside it: the greatest value, or its place."""
        kind, body, beside = "sum", node.body, ""
        asked = [] if node.where is None else [node.where]
        if isinstance(node, T.Reduce):
            kind = node.function
        elif among := conditions(body):
            asked, body = asked + among, unconditional(body)
        if kind == "logsumexp":
            beside = self.reduced(T.Reduce("max", node.indices, body, node.where))
        elif kind == "argmax":
            beside = self.fresh("place")
            self.say(f"let {beside} = {self.first(self.ranges[node.indices[0]])};")
        name, (start, step) = self.fresh("r"), _REDUCERS[kind]
        self.say(f"let {name} = {start};")
        depth = self.nest(node.indices, asked)
        value = self.put(self.depth, self.looked(body, bool(asked)))
        self.say(step.format(r=name, v=value, own=beside, i=self.var(node.indices[0])) + ";")
        self.close(depth)
        return name, beside

    def softmax(self, node: T.Softmax) -> str:
        """The greatest score and the normaliser are found once, outside the loops over the softmax's own indices."""
        asked = [] if node.where is None else [node.where]
        scores = T.Reduce("logsumexp", node.indices, node.body, node.where)
        level = self.level_of(node.body, *asked, less=node.indices)
        total, top = self.once(level, scores, lambda: " ".join(self.reduction(scores))).split()
        value = f"(Math.exp({self.looked(node.body, bool(asked))} - {top}) / {total})"
        return f"({self.holds(asked[0])} ? {value} : 0)" if asked else value

    def apply(self, node: T.Apply) -> str:
        """An opaque function is called once for all entries that it gives, with a flat array a vector."""
        key, dims = json.dumps(node.function), [self.ranges[i] for i in node.out]

        def made() -> str:
            words = []
            for arg, names in zip(node.args, node.slices, strict=True):
                if not names:
                    words.append(self.value(arg))
                    continue
                words.append(row := self.fresh("row"))
                length = self.scope.length(self.ranges[i] for i in names)
                self.say(f"const {row} = new Float64Array({length});")
                depth = self.nest(names)
                self.say(f"{row}[{self.place(names)}] = {self.value(arg)};")
                self.close(depth)
            name = self.fresh("given")
            call = f"functions[{key}]({', '.join(words)})"
            self.say(f"const {name} = array({key}, {call}, {self.scope.length(dims)});")
            return name

        level = max(self.level_of(a, less=s) for a, s in zip(node.args, node.slices, strict=True))
        return f"{self.once(level, ('apply', node), made)}[{self.place(node.out)}]"

    def joined(self, node: T.Concat) -> str:
        """Each part where the place along the axis is its own."""
        v, start, shift = self.var(node.axis), self.first(self.ranges[node.axis]), "0"
        texts = []
        for along, part in node.parts:
            dim = self.ranges[along]
            own = {along: f"{v} - {start} - {shift} + {self.first(dim)}"}
            shift = self.put(0, f"{shift} + {self.scope.size(dim)}")
            texts.append((f"{v} < {start} + {shift}", self.looked(self.renamed(node.axis, part, own))))
        return _chosen(texts[:-1], texts[-1][1])

    def flat(self, node: T.Flatten) -> str:
        """The indices of the entry that stands at a place along the axis."""
        values, rest = {}, f"({self.var(node.axis)} - {self.first(self.ranges[node.axis])})"
        for name in reversed(node.indices):
            size = self.scope.size(self.ranges[name])
            values[name] = f"{rest} % {size} + {self.first(self.ranges[name])}"
            rest = f"Math.floor({rest} / {size})"
        return self.value(self.renamed(node.axis, node.body, values))

    def renamed(self, axis: str, node: T.Expr, values: dict[str, str]) -> T.Expr:
        """The node with indices of its own, whose values the index along an axis tells."""
        level = self.level_of(T.Position(T.index(axis)))
        new = {name: f"{name} {len(self.ranges)}" for name in values}
        self.ranges = {**self.ranges, **{new[name]: self.ranges[name] for name in values}}
        self.stack[level].names |= {new[name]: self.put(level, text) for name, text in values.items()}
        return T.substitute(node, new)


def _chosen(branches: Sequence[tuple[str, str]], text: str) -> str:
    """The first branch whose test holds, else the text."""
    for test, branch in reversed(branches):
        text = f"({test} ? {branch} : {text})"
    return text


_WHOLE: dict[type, Callable[[Writer, Any], str]] = {  # what takes whole axes at once
    T.Sum: Writer.reduced,
    T.Reduce: Writer.reduced,
    T.Softmax: Writer.softmax,
    T.Apply: Writer.apply,
    T.Concat: Writer.joined,
    T.Flatten: Writer.flat,
}
