"""The expressions of one equation as Python text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from .. import tree as T
from ..functions import FUNCTIONS
from ..indices import spelled
from ..meaning.reach import Guard, has_conditions
from .reads import product, read
from .scope import Loop, Scope
from .value import ADD, ATOM, COMMA, COMPARE, MUL, POWER, SIGN, Value, assignment, fraction, joint, number


class Expressions:
    """Writes what stands on the right of one equation; inside a recurrence, `loop` is it."""

    def __init__(self, scope: Scope, equation: T.Equation, loop: Loop | None = None) -> None:
        self.system, self.scope, self.equation, self.loop = scope.system, scope, equation, loop
        self.ranges = self.system.ranges[equation]
        left = [a.plain or "" for a in equation.left.indices]
        self.rank = {name: k for k, name in enumerate(left)}
        self.guarded = has_conditions(equation.right)
        self.before: list[str] = []  # lines that come before the equation's own

    @property
    def left(self) -> tuple[str, ...]:
        """The axes that the equation's value is to have."""
        looped = self.loop.names if self.loop else {}
        return tuple(name for name in self.rank if name not in looped)

    def whole(self) -> str:
        """The text of the equation's right side, with the axes of its left."""
        return self.real(self.expanded(self.value(self.equation.right), self.left)).text

    def order(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=lambda n: (self.rank.get(n, 99), n.swapcase())))

    def position(self, affine: T.Affine) -> Value:
        """An index expression as whole numbers."""
        values = {atom: self.atom(atom) for _, atom in affine.terms}
        axes = self.order({a for v in values.values() for a in v.axes})
        spread = {atom: value.beside(axes) for atom, value in values.items()}
        levels = {atom: MUL if abs(f) == 1 else POWER for f, atom in affine.terms}
        text = spelled(affine, lambda atom: spread[atom].at(levels[atom]))
        match affine.terms:
            case ():
                level = ATOM
            case ((factor, atom),) if factor > 0 and not affine.const:
                level = spread[atom].level if factor == 1 else MUL
            case _:
                level = ADD
        return Value(text, axes, level, "whole", not axes)

    def atom(self, atom: T.IndexAtom) -> Value:
        if isinstance(atom, T.SizeOf):
            return number(self.scope.size(atom.name))
        return self.looked_up(atom.ref) if isinstance(atom, T.Lookup) else self.counter(atom)

    def looked_up(self, ref: T.Ref) -> Value:
        return replace(read(self, ref), kind="whole")

    def counter(self, name: str) -> Value:
        """An index itself."""
        if self.loop is not None and name in self.loop.names:
            return number(self.loop.names[name])
        return Value(self.scope.numbers(self.ranges[name]), (name,), ATOM, "whole")

    def named(self, name: str, text: str) -> str:
        """A variable for a text that is long or is read again, set on a line before the equation's."""
        if self.loop is not None:
            return text
        if text not in self.scope.named:
            self.scope.named[text] = self.scope.fresh(name)
            self.before += assignment(self.scope.named[text], text)
        return self.scope.named[text]

    guards: Sequence[Guard] = ()

    def under(self, guards: Sequence[Guard], make: Callable[[], Value]) -> Value:
        """What is looked at only where the conditions are as said."""
        return make()

    def safe(self, value: Value) -> Value:
        """One in place of every entry that a condition keeps from being looked at."""
        return value

    def real(self, value: Value) -> Value:
        """As real numbers, for what will not mix whole numbers with them."""
        if value.kind == "real" or value.constant:
            return value
        return replace(value, text=f"{value.at(ATOM)}.to({self.scope.like}.dtype)", level=ATOM, kind="real")

    def of_one_kind(self, values: Sequence[Value], minus: bool = False) -> list[Value]:
        """Ready for arithmetic. Of whole numbers that meet a fraction alone torch would make its own choice of real
        ones; two truths it would not add but join; and it takes no truth off anything."""
        truths = [v for v in values if v.kind == "truth"]
        settled = joint(values) == "whole" or any(v.kind == "real" and not v.constant for v in values)
        if len(truths) == len(values) or (truths and minus) or not settled:
            return [self.real(v) for v in values]
        return list(values)

    def expanded(self, value: Value, axes: tuple[str, ...]) -> Value:
        """With exactly these axes, in this order."""
        lacking = [self.scope.size(self.ranges[a]) for a in axes if a not in value.axes]
        if value.constant:
            sizes = ", ".join(lacking) + "," * (len(lacking) == 1)
            made = f"new_full(({sizes}), {value.text})" if axes else f"new_tensor({value.text})"
            return Value(f"{self.scope.like}.{made}", axes)
        if not lacking:
            return value.turned(axes)
        spread = value.beside(axes)
        shape = ", ".join("-1" if a in value.axes else self.scope.size(self.ranges[a]) for a in axes)
        return replace(spread, text=f"{spread.at(ATOM)}.expand({shape})", axes=axes, level=ATOM)

    def tensor(self, value: Value) -> Value:
        """A tensor, for what will not take a number, or would choose its type."""
        return self.expanded(value, ()) if value.constant else value

    def full(self, value: Value, names: Sequence[str]) -> Value:
        """With these axes at least."""
        missing = [n for n in names if n not in value.axes]
        return self.expanded(value, self.order({*value.axes, *names})) if missing else value

    def dims(self, value: Value, names: Sequence[str]) -> str:
        """Where some axes are, as torch takes it: `-1` for the last."""
        places = sorted(value.axes.index(n) for n in names)
        if places == [len(value.axes) - 1]:
            return "-1"
        return str(places[0]) if len(places) == 1 else f"({', '.join(map(str, places))})"

    def einsum(self, values: Sequence[Value], axes: tuple[str, ...]) -> str:
        """`einsum("ji,bi->bj", W, h)`: the letters are those of the equation, small."""
        letters: dict[str, str] = {}
        for name in [*axes, *(a for v in values for a in v.axes)]:
            if name not in letters:
                own = ascii_lowercase.find(name[0].lower())
                near = ascii_lowercase[own:] + ascii_lowercase[:own] + ascii_uppercase
                letters[name] = next(x for x in near if x not in letters.values())
        spell: Callable[[Sequence[str]], str] = lambda names: "".join(letters[n] for n in names)
        spec = ",".join(spell(v.axes) for v in values)
        texts = f",{COMMA}".join(self.real(v).text for v in values)
        self.scope.imports.add("from torch import einsum")
        return f'einsum("{spec}->{spell(axes)}",{COMMA}{texts})'

    def together(self, values: Sequence[Value]) -> tuple[list[Value], tuple[str, ...]]:
        """Values ready to meet entry by entry, and the axes that they then have."""
        axes = self.order({a for v in values for a in v.axes})
        return [v.beside(axes) for v in values], axes

    def value(self, node: T.Expr) -> Value:
        return _WAYS[type(node)](self, node)

    def power(self, node: T.Pow) -> Value:
        base, by = self.value(node.base), self.value(node.exponent)
        kind = "whole" if base.kind != "real" and not base.constant and by.text.isdigit() else "real"
        base = base if kind == "whole" else self.real(base)
        (a, b), axes = self.together([base if by.text.isdigit() else self.safe(base), by])
        text = f"{a.at(ATOM)} ** {b.at(ATOM)}"
        return Value(text, axes, POWER, kind, a.constant and b.constant)

    def add(self, terms: Sequence[T.Expr]) -> Value:
        signed = []
        for k, term in enumerate(terms):
            sign, term = (-1, term.body) if isinstance(term, T.Neg) else (1, term)
            low = k and isinstance(term, T.Num) and term.value < 0
            signed.append((T.Num(-term.value), -sign) if low else (term, sign))  # type: ignore[union-attr]
        minus = any(sign < 0 for _, sign in signed)
        values, axes = self.together(self.of_one_kind([self.value(t) for t, _ in signed], minus))
        text = ""
        for value, (_, sign) in zip(values, signed, strict=True):
            part = value.at(MUL)
            text += f"{SIGN}{'-' if sign < 0 else '+'} {part}" if text else ("-" if sign < 0 else "") + part
        return Value(text, axes, ADD, joint(values), all(v.constant for v in values))

    def call(self, function: str, args: Sequence[T.Expr]) -> Value:
        if function in ("min", "max"):
            return self.extreme(function, [self.value(a) for a in args])
        (arg,) = args
        if function == "log" and isinstance(arg, T.Softmax) and arg.where is None and not self.guards:
            return self.softmax(arg, "log_softmax")
        value = self.value(arg)
        if value.constant:
            if function == "sqrt":
                return number(f"{value.at(ATOM)} ** 0.5", POWER)
            if function in ("exp", "tanh", "sin", "cos", "erf") or (function == "log" and self.loop is None):
                self.scope.imports.add("import math")
                return number(f"math.{function}({value.text})")
        value = self.real(self.tensor(value))  # of whole numbers torch would give its own choice of real ones
        row = FUNCTIONS[function]
        value = value if row.finite else self.safe(value)
        options = "".join(f", {word}={given}" for word, given in row.options)
        return Value(f"{row.torch}({value.text}{options})", value.axes)

    def extreme(self, function: str, values: list[Value]) -> Value:
        best = values[0]
        bound = "max" if function == "min" else "min"
        for value in values[1:]:
            if best.constant and value.constant:
                best = number(f"{function}({best.text}, {value.text})")
            elif best.constant or value.constant:
                tensor, limit = (value, best) if best.constant else (best, value)
                best = Value(f"{tensor.at(ATOM)}.clamp({bound}={limit.text})", tensor.axes)
            else:
                (a, b), axes = self.together([self.real(best), self.real(value)])
                best = Value(f"torch.{function}imum({a.text},{COMMA}{b.text})", axes)
        return best

    def masked(self, node: T.Softmax | T.Reduce, fill: str) -> Value:
        """The body over all of its indices, `fill` where the condition fails."""
        if node.where is None:
            return self.full(self.real(self.value(node.body)), node.indices)
        value = self.under([(node.where, True)], lambda: self.value(node.body))
        mask = self.condition(node.where)
        axes = self.order({*value.axes, *mask.axes, *node.indices})
        holds, spread = mask.beside(axes).text, self.real(value).beside(axes).text
        return self.full(Value(f"torch.where({holds},{COMMA}{spread},{COMMA}{fill})", axes), node.indices)

    def softmax(self, node: T.Softmax, function: str) -> Value:
        value = self.soft(node, function, self.masked(node, "-torch.inf"))
        match node.where:
            case None:
                return value
            case T.Compare(T.Affine() as a, "<=" | ">=" | "==", T.Affine() as b) if a.plain and b.plain:
                if self.ranges.get(a.plain) == self.ranges.get(b.plain):
                    return value  # `t2 <= t1`, both over one range, always leaves `t2 == t1`
        return replace(
            value, text=f"{value.text}.nan_to_num()"
        )  # with nothing allowed, no weight and not nan

    def soft(self, node: T.Softmax, function: str, value: Value) -> Value:
        if len(node.indices) == 1:
            text = f"torch.{function}({value.text},{COMMA}dim={self.dims(value, node.indices)})"
            return replace(value, text=text, level=ATOM)
        rest = self.order(set(value.axes) - set(node.indices))
        value = value.turned((*rest, *node.indices))
        sizes = ", ".join(self.scope.size(self.ranges[i]) for i in node.indices)
        flat = f"{value.at(ATOM)}.flatten({len(rest)})"
        return Value(f"torch.{function}({flat},{COMMA}dim=-1).unflatten(-1, ({sizes}))", value.axes)

    def reduce(self, node: T.Reduce) -> Value:
        fill = {"min": "torch.inf", "prod": "1.0"}.get(node.function, "-torch.inf")
        value = self.masked(node, fill)
        axes = tuple(a for a in value.axes if a not in node.indices)
        if node.function == "prod":
            places = sorted((value.axes.index(i) for i in node.indices), reverse=True)
            return Value(value.at(ATOM) + "".join(f".prod({place})" for place in places), axes)
        if node.function == "argmax":
            text = f"{value.at(ATOM)}.argmax({self.dims(value, node.indices)})"
            if node.indices[0] not in self.system.centered:
                return Value(text, axes, kind="whole")
            return Value(f"{text} - {self.scope.size(self.ranges[node.indices[0]])} // 2", axes, ADD, "whole")
        word = node.function if node.function == "logsumexp" else f"a{node.function}"
        return Value(f"{value.at(ATOM)}.{word}({self.dims(value, node.indices)})", axes)

    def concat(self, node: T.Concat) -> Value:
        parts = [(along, self.full(self.real(self.value(part)), (along,))) for along, part in node.parts]
        shared = {a for along, v in parts for a in v.axes if a != along}
        axes = self.order(shared | {node.axis})
        owns = [tuple(along if a == node.axis else a for a in axes) for along, _ in parts]
        texts = [self.expanded(value, own).text for (_, value), own in zip(parts, owns, strict=True)]
        place = "-1" if axes[-1] == node.axis else str(axes.index(node.axis))
        return Value(f"torch.cat([{f',{COMMA}'.join(texts)}], dim={place})", axes)

    def flatten(self, node: T.Flatten) -> Value:
        value = self.full(self.value(node.body), node.indices)
        rest = self.order(set(value.axes) - set(node.indices))
        value = value.turned((*rest, *node.indices))
        return Value(f"{value.at(ATOM)}.flatten({len(rest)})", (*rest, node.axis))

    def apply(self, node: T.Apply) -> Value:
        """A function of the reader's own: whole vectors last, everything else as leading axes."""
        values = [self.real(self.full(self.value(a), s)) for a, s in zip(node.args, node.slices, strict=True)]
        pairs = list(zip(values, node.slices, strict=True))
        lead = self.order({a for v, s in pairs for a in v.axes if a not in s})
        texts = [self.expanded(v, (*lead, *s)).text for v, s in pairs]
        return Value(f"{self.opaque(node, len(lead))}({f',{COMMA}'.join(texts)})", (*lead, *node.out))

    def opaque(self, node: T.Apply, lead: int) -> str:
        return self.scope.word(self.scope.functions, node.function)

    def cases(self, branches: Sequence[tuple[T.Expr, T.Condition]], otherwise: T.Expr) -> Value:
        failed = [(condition, False) for _, condition in branches]
        value = self.under(failed, lambda: self.real(self.value(otherwise)))
        for k, (branch, condition) in reversed(list(enumerate(branches))):
            guards = [*failed[:k], (condition, True)]
            chosen = self.under(guards, partial(self.value, branch))
            chosen, holds = self.real(chosen), self.condition(condition)
            if holds.constant:
                (a, b), axes = self.together([chosen, value])
                axes = self.order({*a.axes, *b.axes})
                a, b = (self.real(self.expanded(v, axes)) for v in (chosen, value))
                value = Value(f"({a.text} if {holds.text} else {b.text})", axes)
                continue
            (m, a, b), axes = self.together([holds, chosen, value])
            b = self.tensor(b) if a.constant else b
            value = Value(f"torch.where({m.text},{COMMA}{a.text},{COMMA}{b.text})", axes)
        return value

    def condition(self, node: T.Condition) -> Value:
        if isinstance(node, T.And):
            values, axes = self.together([self.condition(part) for part in node.parts])
            word = " and " if all(v.constant for v in values) else " & "
            return Value(word.join(f"({v.text})" for v in values), axes, COMPARE, "truth", word == " and ")
        sides = [self.side(s) for s in (node.left, node.right)]
        (a, b), axes = self.together(sides)
        text = f"{a.at(ADD)} {node.operator} {b.at(ADD)}"
        return Value(text, axes, COMPARE, "truth", a.constant and b.constant)

    def side(self, side: T.Affine | T.Expr) -> Value:
        return self.position(side) if isinstance(side, T.Affine) else self.value(side)


_WAYS: dict[type, Callable[[Expressions, Any], Value]] = {
    T.Num: lambda _, node: fraction(node.value),
    T.Size: lambda write, node: number(write.scope.size(node.name)),
    T.Ref: read,
    T.Add: lambda write, node: write.add(node.terms),
    T.Mul: product,
    T.Neg: product,
    T.Div: product,
    T.Sum: product,
    T.Pow: Expressions.power,
    T.Call: lambda write, node: write.call(node.function, node.args),
    T.Apply: Expressions.apply,
    T.Softmax: lambda write, node: write.softmax(node, "softmax"),
    T.Reduce: Expressions.reduce,
    T.Concat: Expressions.concat,
    T.Flatten: Expressions.flatten,
    T.Position: lambda write, node: write.position(node.affine),
    T.Cases: lambda write, node: write.cases(node.branches, node.otherwise),
    T.Iverson: lambda write, node: write.condition(node.condition),
}
