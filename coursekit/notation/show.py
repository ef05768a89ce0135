"""Syntax tree to canonical ASCII: `parse(show(program)) == program`.

Sums over capitals are printed as bare products wherever the reader's rule (`sums`) puts the same sum back.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from . import tree as T
from .functions import PI
from .names import capital_of, fresh, halves
from .sums import bare, close, doubtful, is_capital, rename_outside
from .tree import substitute, walk

# How tightly a form binds: what stands inside a looser place needs no brackets.
CONCAT, ADD, MUL, POWER, ATOM = range(5)
Text = tuple[str, int]  # what is written, and how tightly it binds
Bound = T.Sum | T.Softmax | T.Reduce


def show(node: object, explicit: bool = False) -> str:
    """A program, a statement, an expression or an index expression in ASCII.

    With `explicit`, every sum is written out: `y[j] = sum[I](W[j,I] x[I])`.
    """
    statements = node.statements if isinstance(node, T.Program) else (node,)
    return "\n".join(Writer().line(s, explicit) for s in statements)


def capital_left(equation: T.Equation) -> tuple[T.Ref, T.Expr]:
    """The two sides as they are written down.

    An opaque function gives a vector: its left side has capitals, `h[t,J] = CELL(…)`. Where `T-1` reads the
    size T, a summed index T takes another name, or the size would be read as the index.
    """
    out = {i for n in walk(equation.right) if isinstance(n, T.Apply) for i in n.out}
    names = {i: capital_of(i) for i in out}
    left, right = equation.left, equation.right
    if names:
        left, right = substitute(left, names), rename_outside(right, names)
    atoms = [a for n in walk(right) if isinstance(n, T.Affine) for _, a in n.terms]
    sizes = {a.name for a in atoms if isinstance(a, T.SizeOf)}
    used = {a for a in atoms if isinstance(a, str)}
    for name in sizes & used:
        right = substitute(right, {name: fresh(name + "'", sizes | used)})
    return left, right


def implicit(node: T.Expr) -> T.Expr:
    """The node with those sums over capitals taken away that reading it would put back."""
    sums = [n for n in walk(node) if isinstance(n, T.Sum) and not n.where and all(map(is_capital, n.indices))]
    if not sums:
        return node
    free = frozenset(T.letters(node))
    free -= {i for s in sums for i in s.indices}
    stripped = bare(node, lambda s: s in sums)
    if close(stripped, free) == node and doubtful(stripped) is None:
        return stripped
    good = [s for s in sums if close(bare(node, lambda n, s=s: n == s), free) == node]  # type: ignore[misc]
    stripped = bare(node, lambda s: s in good)
    return stripped if close(stripped, free) == node and doubtful(stripped) is None else node


def word_of(node: Bound) -> str:
    return node.function if isinstance(node, T.Reduce) else type(node).__name__.lower()


# ── the writer ───────────────────────────────────────────────────────────────────────────────


class Writer:
    """Writes nodes in ASCII; `latex` has one that spells differently.

    The method of a node's kind gives its text, and how tightly that binds.
    """

    comma, between, times, equals, conjunction, coefficient, pi = ",", " ", " * ", " = ", " and ", "*", "pi"
    signs: Mapping[str, str] = {}  # comparisons that are not written as they are called

    name: Callable[[str], str] = staticmethod(str)
    index: Callable[[str], str] = staticmethod(str)

    def brackets(self, text: str) -> str:
        return f"({text})"

    def line(self, node: Any, explicit: bool = False) -> str:
        """A statement, an expression, an index expression or a condition."""
        if isinstance(node, T.Equation):
            left, right = capital_left(node)
            return f"{self.formula(left)}{self.equals}{self.line(right, explicit)}"
        if isinstance(node, T.Directive):
            return self.directive(node)
        if isinstance(node, T.Affine):
            return self.affine(node)
        if isinstance(node, (T.Compare, T.And)):
            return self.condition(node)
        return self.formula(node if explicit else implicit(node))

    def directive(self, node: T.Directive) -> str:
        if node.word == "size":
            return f"size {node.names[0]} = {node.values[0]}"
        if node.word == "shape":
            pairs = zip(node.names, node.values, strict=True)
            shapes = ((name, dims.replace(",", " x ")) for name, dims in pairs)
            return "  ".join(f"{name} in R" + (f"^{{{dims}}}" if dims else "") for name, dims in shapes)
        return f"{node.word} {', '.join(node.names)}".rstrip()

    def formula(self, node: Any, level: int = CONCAT) -> str:
        kind = "bound" if isinstance(node, Bound) else type(node).__name__.lower()
        text, own = getattr(self, kind)(node)
        return text if own >= level else self.brackets(text)

    def formulas(self, nodes: Iterable[Any], between: str = ", ") -> str:
        return between.join(self.formula(n, ADD) for n in nodes)

    # ── numbers and entries ──

    def num(self, node: T.Num) -> Text:
        value: Fraction = node.value
        if value == PI.value:
            return self.pi, ATOM
        if value.denominator == 1:
            return str(value.numerator), ATOM if value >= 0 else ADD
        text = self.fraction(str(abs(value.numerator)), str(value.denominator))
        return (text, MUL) if value >= 0 else (f"-{text}", ADD)

    def fraction(self, above: str, below: str) -> str:
        return f"{above}/{below}"

    def size(self, node: T.Size) -> Text:
        return node.name, ATOM

    def ref(self, node: T.Ref) -> Text:
        if parts := halves(node.name):
            above, rank, below = parts
            over, under = T.Ref(above, node.indices[:rank]), T.Ref(below, node.indices[rank:])
            return self.derivative(self.ref(over)[0], self.ref(under)[0]), ATOM
        indices = self.comma.join(map(self.affine, node.indices))
        return self.name(node.name) + (f"[{indices}]" if indices else ""), ATOM

    def derivative(self, above: str, below: str) -> str:
        return f"d{above}/d{below}"

    def position(self, node: T.Position) -> Text:
        return self.affine(node.affine), ATOM if node.affine.plain else ADD

    def affine(self, node: T.Affine) -> str:
        """`2*t+dt-1`; after a size the constant comes first, as one writes it: `T-1-t`."""
        text, const = "", node.const
        for coefficient, atom in node.terms:
            if const and text and not isinstance(atom, T.SizeOf) and isinstance(node.terms[0][1], T.SizeOf):
                text, const = f"{text}{const:+d}", 0
            if isinstance(atom, T.Lookup):
                part = self.ref(atom.ref)[0]
            else:
                part = self.index(atom.name if isinstance(atom, T.SizeOf) else atom)
            many = "" if abs(coefficient) == 1 else f"{abs(coefficient)}{self.coefficient}"
            text += ("-" if coefficient < 0 else "+" if text else "") + many + part
        if const or not text:
            text += f"{const:+d}" if text else str(const)
        return text

    # ── arithmetic ──

    def add(self, node: T.Add) -> Text:
        text = ""
        for term in node.terms:
            if isinstance(term, T.Num) and term.value < 0:
                term = T.Neg(T.Num(-term.value))
            minus = isinstance(term, T.Neg)
            text += (" - " if text else "-") if minus else " + " if text else ""
            text += self.formula(term.body if isinstance(term, T.Neg) else term, MUL)
        return text, ADD

    def neg(self, node: T.Neg) -> Text:
        return f"-{self.formula(node.body, MUL)}", ADD

    def mul(self, node: T.Mul) -> Text:
        text = ""
        for factor in node.factors:
            part = self.formula(factor, self.beside(factor, not text))
            opens = part.removeprefix("\\left")[0]
            clear = not opens.isdigit() and opens != "[" and (opens != "(" or text.endswith("]"))
            text += (self.between if clear else self.times) + part if text else part
        return text, MUL

    def beside(self, factor: T.Expr, first: bool) -> int:
        """How tightly a factor must bind: a fraction that stands first can be taken for nothing else."""
        fraction = isinstance(factor, T.Div) or (isinstance(factor, T.Num) and factor.value.denominator != 1)
        return MUL if first and fraction else POWER

    def div(self, node: T.Div) -> Text:
        above = self.formula(node.above, MUL)
        ends = isinstance(node.above, T.Mul) and isinstance(node.above.factors[-1], T.Add)
        if ends and self.times in above:
            above = f"({above})"  # between matrices a sign binds less than the slash
        return f"{above}/{self.formula(node.below, POWER)}", MUL

    def pow(self, node: T.Pow) -> Text:
        base = self.formula(node.base, ATOM)
        number = node.exponent.value if isinstance(node.exponent, T.Num) else Fraction(-1)
        bare = isinstance(node.base, T.Ref) and not node.base.indices
        if number.denominator == 1 and number >= (2 if bare else 0):  # x^1 would be a name
            return f"{base}^{number}", POWER
        if bare:
            base = f"({base})"  # a bare name would take the bracket into itself
        return f"{base}^({self.formula(node.exponent)})", POWER

    # ── functions ──

    def call(self, node: T.Call) -> Text:
        return f"{node.function}({self.formulas(node.args)})", ATOM

    def apply(self, node: T.Apply) -> Text:
        plain = node.function[:1].isupper() and len(node.function) > 1
        return f"{node.function}{'' if plain else '_Phi'}({self.formulas(node.args)})", ATOM

    def bound(self, node: Bound) -> Text:
        over = f"[{self.over(node)}]" if node.indices else ""
        return f"{word_of(node)}{over}({self.formula(node.body)})", ATOM

    def over(self, node: Bound) -> str:
        """What stands under a sum: its indices and its conditions; `t2 <= t1` alone binds t2 already."""
        where, names = node.where, node.indices
        parts = () if where is None else (where,) if isinstance(where, T.Compare) else where.parts
        if len(parts) == len(names) == 1 and isinstance(parts[0].left, T.Affine):
            names = () if parts[0].left.plain == names[0] else names
        listed = self.comma.join(map(self.index, names))
        return ", ".join(filter(None, [listed, *map(self.condition, parts)]))

    def concat(self, node: T.Concat) -> Text:
        return self.formulas((part for _, part in node.parts), "; "), CONCAT

    def flatten(self, node: T.Flatten) -> Text:
        return f"concat[{','.join(node.indices)}]({self.formula(node.body)})", ATOM

    # ── conditions ──

    def cases(self, node: T.Cases) -> Text:
        branches = [f"{self.formula(v, ADD)} if {self.condition(c)}" for v, c in node.branches]
        return f"cases({', '.join(branches)}, {self.formula(node.otherwise, ADD)} otherwise)", ATOM

    def iverson(self, node: T.Iverson) -> Text:
        return f"[{self.condition(node.condition)}]", ATOM

    def condition(self, node: T.Condition) -> str:
        if isinstance(node, T.And):
            return self.conjunction.join(map(self.condition, node.parts))
        sides = (node.left, node.right)
        left, right = (self.affine(s) if isinstance(s, T.Affine) else self.formula(s, ADD) for s in sides)
        return f"{left} {self.signs.get(node.operator, node.operator)} {right}"
