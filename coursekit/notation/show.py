"""Syntax tree to canonical ASCII: `parse(show(program)) == program`.

Sums over capitals are printed as bare products wherever the reader's rule (`sums`) puts the same sum back.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from . import tree as T
from .functions import PI
from .names import capital_of, halves
from .sums import bare, close, doubtful, is_capital, rename_outside
from .tree import substitute, walk

# How tightly a form binds: what stands inside a looser place needs no brackets.
CONCAT, ADD, MUL, POWER, ATOM = range(5)


def show(node: object, explicit: bool = False) -> str:
    """A program, a statement, an expression or an index expression in ASCII.

    With `explicit`, every sum is written out: `y[j] = sum[I](W[j,I] x[I])`.
    """
    if isinstance(node, T.Program):
        return "\n".join(show(s, explicit) for s in node.statements)
    if isinstance(node, T.Directive):
        return _directive(node)
    if isinstance(node, T.Equation):
        left, right = capital_left(node)
        return f"{expression(left)} = {expression(right if explicit else implicit(right))}"
    if isinstance(node, T.Affine):
        return affine(node)
    if isinstance(node, (T.Compare, T.And)):
        return condition(node)
    return expression(node if explicit else implicit(node))


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
    if clash := sizes & {a for a in atoms if isinstance(a, str)}:
        right = substitute(right, {name: _another(name, atoms) for name in clash})
    return left, right


def _another(name: str, atoms: list) -> str:
    while name in atoms or T.SizeOf(name) in atoms:
        name += "'"
    return name


def implicit(node):
    """The node with those sums over capitals taken away that reading it would put back."""
    sums = [
        n for n in walk(node) if isinstance(n, T.Sum) and n.where is None and all(map(is_capital, n.indices))
    ]
    if not sums:
        return node
    free = frozenset(
        i for n in walk(node) if isinstance(n, T.Affine) for _, i in n.terms if isinstance(i, str)
    )
    free -= {i for s in sums for i in s.indices}
    stripped = bare(node, lambda s: s in sums)
    if close(stripped, free) == node and doubtful(stripped) is None:
        return stripped
    good = [s for s in sums if close(bare(node, lambda n, s=s: n == s), free) == node]  # type: ignore[misc]
    stripped = bare(node, lambda s: s in good)
    return stripped if close(stripped, free) == node and doubtful(stripped) is None else node


# ── expressions ──────────────────────────────────────────────────────────────────────────────


def expression(node, level: int = CONCAT) -> str:
    text, own = _FORMS[type(node)](node)
    return text if own >= level else f"({text})"


def _num(node: T.Num) -> tuple[str, int]:
    value: Fraction = node.value
    if value == PI.value:
        return "pi", ATOM
    if value.denominator == 1:
        return str(value.numerator), ATOM if value >= 0 else ADD
    return f"{value.numerator}/{value.denominator}", MUL if value >= 0 else ADD


def _ref(node: T.Ref) -> tuple[str, int]:
    if parts := halves(node.name):
        above, rank, below = parts
        over, under = T.Ref(above, node.indices[:rank]), T.Ref(below, node.indices[rank:])
        return f"d{_ref(over)[0]}/d{_ref(under)[0]}", ATOM
    if not node.indices:
        return node.name, ATOM
    return f"{node.name}[{','.join(affine(i) for i in node.indices)}]", ATOM


def _add(node: T.Add) -> tuple[str, int]:
    text = ""
    for term in node.terms:
        if isinstance(term, T.Neg):
            text += (" - " if text else "-") + expression(term.body, MUL)
        elif isinstance(term, T.Num) and term.value < 0:
            text += (" - " if text else "-") + expression(T.Num(-term.value), MUL)
        else:
            text += (" + " if text else "") + expression(term, MUL)
    return text, ADD


def _mul(node: T.Mul) -> tuple[str, int]:
    text = ""
    for k, factor in enumerate(node.factors):
        fraction = isinstance(factor, T.Div) or (isinstance(factor, T.Num) and factor.value.denominator != 1)
        part = expression(factor, MUL if k == 0 and fraction else POWER)
        if not text:
            text = part
        elif part[0].isdigit() or part[0] == "[" or (part[0] == "(" and not text.endswith("]")):
            text += " * " + part
        else:
            text += " " + part
    return text, MUL


def _neg(node: T.Neg) -> tuple[str, int]:
    return "-" + expression(node.body, MUL), ADD


def _div(node: T.Div) -> tuple[str, int]:
    return f"{expression(node.above, MUL)}/{expression(node.below, POWER)}", MUL


def _pow(node: T.Pow) -> tuple[str, int]:
    base = expression(node.base, ATOM)
    number = node.exponent.value if isinstance(node.exponent, T.Num) else Fraction(-1)
    layer = isinstance(node.base, T.Ref) and not node.base.indices and number in (0, 1)  # x^1 would be a name
    if number.denominator == 1 and number >= 0 and not layer:
        return f"{base}^{number}", POWER
    if isinstance(node.base, T.Ref) and not node.base.indices:
        base = f"({base})"  # a bare name would take the bracket into itself
    return f"{base}^({expression(node.exponent)})", POWER


def _call(node: T.Call) -> tuple[str, int]:
    return f"{node.function}({', '.join(expression(a, ADD) for a in node.args)})", ATOM


def _apply(node: T.Apply) -> tuple[str, int]:
    plain = node.function[:1].isupper() and len(node.function) > 1
    name = node.function if plain else f"{node.function}_Phi"
    return f"{name}({', '.join(expression(a, ADD) for a in node.args)})", ATOM


def _reduction(node: T.Sum | T.Softmax | T.Reduce) -> tuple[str, int]:
    word = {T.Sum: "sum", T.Softmax: "softmax"}.get(type(node)) or node.function  # type: ignore[union-attr]
    body = expression(node.body)
    if not node.indices:
        return f"{word}({body})", ATOM
    return f"{word}[{_bound(node)}]({body})", ATOM


def bound_apart(node: T.Sum | T.Softmax | T.Reduce) -> tuple[tuple[str, ...], tuple[T.Compare, ...]]:
    """The names to print under a sum, and its conditions: `t2 <= t1` alone binds t2 already."""
    where = node.where
    parts = () if where is None else (where,) if isinstance(where, T.Compare) else where.parts
    if len(parts) == len(node.indices) == 1 and isinstance(parts[0].left, T.Affine):
        names = () if parts[0].left.plain == node.indices[0] else node.indices
        return names, parts
    return node.indices, parts


def _bound(node: T.Sum | T.Softmax | T.Reduce) -> str:
    names, conditions = bound_apart(node)
    return ", ".join(filter(None, [",".join(names), *map(condition, conditions)]))


def _concat(node: T.Concat) -> tuple[str, int]:
    return "; ".join(expression(p, ADD) for _, p in node.parts), CONCAT


def _flatten(node: T.Flatten) -> tuple[str, int]:
    return f"concat[{','.join(node.indices)}]({expression(node.body)})", ATOM


def _cases(node: T.Cases) -> tuple[str, int]:
    branches = [f"{expression(v, ADD)} if {condition(c)}" for v, c in node.branches]
    return f"cases({', '.join(branches)}, {expression(node.otherwise, ADD)} otherwise)", ATOM


_FORMS: dict[type, Callable[..., tuple[str, int]]] = {
    T.Num: _num,
    T.Size: lambda n: (n.name, ATOM),
    T.Ref: _ref,
    T.Add: _add,
    T.Mul: _mul,
    T.Neg: _neg,
    T.Div: _div,
    T.Pow: _pow,
    T.Call: _call,
    T.Apply: _apply,
    T.Softmax: _reduction,
    T.Sum: _reduction,
    T.Reduce: _reduction,
    T.Concat: _concat,
    T.Flatten: _flatten,
    T.Position: lambda n: (affine(n.affine), ATOM if n.affine.plain else ADD),
    T.Cases: _cases,
    T.Iverson: lambda n: (f"[{condition(n.condition)}]", ATOM),
}


# ── indices, conditions, directives ──────────────────────────────────────────────────────────


def affine(node: T.Affine) -> str:
    return spell_affine(
        node, lambda atom: atom if isinstance(atom, str) else atom.name, lambda ref: _ref(ref)[0], "*"
    )


def spell_affine(node: T.Affine, name: Callable, lookup: Callable, times: str) -> str:
    """`2*t+dt-1`; after a size the constant comes first, as one writes it: `T-1-t`."""
    text, const = "", node.const
    for coefficient, atom in node.terms:
        if const and text and not isinstance(atom, T.SizeOf) and isinstance(node.terms[0][1], T.SizeOf):
            text, const = f"{text}{const:+d}", 0
        spelt = lookup(atom.ref) if isinstance(atom, T.Lookup) else name(atom)
        part = spelt if abs(coefficient) == 1 else f"{abs(coefficient)}{times}{spelt}"
        text += ("-" if coefficient < 0 else "+" if text else "") + part
    if const or not text:
        text += f"{const:+d}" if text else str(const)
    return text


def condition(node: T.Compare | T.And) -> str:
    if isinstance(node, T.And):
        return " and ".join(condition(p) for p in node.parts)
    return f"{_side(node.left)} {node.operator} {_side(node.right)}"


def _side(node) -> str:
    return affine(node) if isinstance(node, T.Affine) else expression(node, ADD)


def _directive(node: T.Directive) -> str:
    if node.word == "size":
        return f"size {node.names[0]} = {node.values[0]}"
    if node.word == "shape":
        pairs = zip(node.names, node.values, strict=True)
        return "  ".join(
            f"{name} in R^{{{dims.replace(',', ' x ')}}}" if dims else f"{name} in R" for name, dims in pairs
        )
    return f"{node.word} {', '.join(node.names)}".rstrip()
