"""The text of every kind of expression, and of the equation that it stands in."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from .. import tree as T
from ..meaning.pairing import apart, nested
from ..meaning.reach import conditions, unconditional
from ..tree import Equation, Expr, Position, Ref, index
from .reads import Reads

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


class Values(Reads):
    def define(self, equation: Equation) -> None:
        looped = {name for name, _ in self.block.loops}
        depth = self.nest([n for a in equation.left.indices for n in a.names if n not in looped])
        text = self.value(equation.right)
        self.say(f"{self.read(equation.left)} = {text};")
        self.close(depth)

    def value(self, node: Expr) -> str:
        """The text of a value at the present level; what needs fewer indices is made further out."""
        level = self.level_of(node)
        if level == self.depth or isinstance(node, (T.Num, T.Size)):
            return self.text(node)
        return self.once(level, (node, self.guarded), lambda: self.put(level, self.text(node)))

    def looked(self, node: Expr, guarded: bool = True) -> str:
        """A value that is looked at under a condition."""
        before, self.guarded = self.guarded, self.guarded or guarded
        text = self.value(node)
        self.guarded = before
        return text

    def text(self, node: Expr) -> str:
        match node:
            case T.Num(number):
                text = repr(float(number)).removesuffix(".0")
                return f"({text})" if number < 0 else text
            case T.Size(name):
                return self.scope.size(name)
            case Ref():
                return self.read(node)
            case T.Add(terms):
                return f"({' + '.join(map(self.value, terms))})"
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
            case Position(affine):
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

    def renamed(self, axis: str, node: Expr, values: dict[str, str]) -> Expr:
        """The node with indices of its own, whose values the index along an axis tells."""
        level = self.level_of(Position(index(axis)))
        new = {name: f"{name} {len(self.ranges)}" for name in values}
        self.ranges = {**self.ranges, **{new[name]: self.ranges[name] for name in values}}
        self.stack[level].names |= {new[name]: self.put(level, text) for name, text in values.items()}
        return T.substitute(node, new)


def _chosen(branches: Sequence[tuple[str, str]], text: str) -> str:
    """The first branch whose test holds, else the text."""
    for test, branch in reversed(branches):
        text = f"({test} ? {branch} : {text})"
    return text


_WHOLE: dict[type, Callable[[Values, Any], str]] = {  # what takes whole axes at once
    T.Sum: Values.reduced,
    T.Reduce: Values.reduced,
    T.Softmax: Values.softmax,
    T.Apply: Values.apply,
    T.Concat: Values.joined,
    T.Flatten: Values.flat,
}
