"""Syntax tree to LaTeX that MathJax renders, and that `parse` reads back to the same program."""

from __future__ import annotations

import re
from collections.abc import Callable

from .names import GREEK
from .parse.symbols import ACCENTS
from .show import ADD, ATOM, CONCAT, MUL, POWER, bound_apart, capital_left, implicit, spell_affine
from .tree import (
    Add,
    Affine,
    And,
    Apply,
    Call,
    Cases,
    Compare,
    Concat,
    Directive,
    Div,
    Equation,
    Flatten,
    Iverson,
    Mul,
    Neg,
    Num,
    Position,
    Pow,
    Program,
    Reduce,
    Ref,
    Size,
    Softmax,
    Sum,
)  # fmt: skip

_FUNCTIONS = {
    "sigmoid": r"\sigma", "tanh": r"\tanh", "relu": r"\text{ReLU}", "exp": r"\exp", "log": r"\ln",
    "abs": r"\text{abs}", "min": r"\min", "max": r"\max", "transpose": r"\text{transpose}",
}  # fmt: skip
_SIGNS = {"==": "=", "!=": r"\ne", "<": "<", "<=": r"\le", ">": ">", ">=": r"\ge"}
_HATS = set(ACCENTS.values())
_COMMANDS = {value: key for key, value in reversed(ACCENTS.items())}


def latex(node: object) -> str:
    """A program as an `aligned` display; a statement or an expression as a formula."""
    if isinstance(node, Program):
        lines = " \\\\\n".join(_statement(s) for s in node.statements)
        return f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}"
    if isinstance(node, (Equation, Directive)):
        return _statement(node).replace("&", "")
    if isinstance(node, Affine):
        return affine(node)
    if isinstance(node, (Compare, And)):
        return condition(node)
    return formula(implicit(node))


def _statement(node: Equation | Directive) -> str:
    if isinstance(node, Equation):
        left, right = capital_left(node)
        return f"{formula(left)} &= {formula(implicit(right))}"
    if node.word == "parameters":
        return f"\\Phi &= ({', '.join(name(n) for n in node.names)})"
    if node.word == "size":
        return f"\\text{{size}}\\; {index(node.names[0])} &= {node.values[0]}"
    if node.word == "shape":
        shapes = (
            f"{name(n)} \\in \\mathbb{{R}}^{{{_shape(v)}}}"
            for n, v in zip(node.names, node.values, strict=True)
        )
        return "& " + r" \quad ".join(shapes)
    spell = index if node.word == "centered" else name
    return f"&\\text{{{node.word}}}\\; {', '.join(spell(n) for n in node.names)}".rstrip()


def _shape(dims: str) -> str:
    return r" \times ".join(index(d) for d in dims.split(","))


# ── names ────────────────────────────────────────────────────────────────────────────────────


def name(text: str) -> str:
    """`W_hG` -> `W_{hG}`, `h_tilde` -> `\\tilde{h}`, `W_LR_{l+1}` -> `W^{LR}_{\\ell+1}`."""
    primes = len(text) - len(text.rstrip("'"))
    base, *groups = re.findall(r"\{[^}]*\}|[^_{}]+", text.rstrip("'"))
    out = _letters(base)
    while groups and groups[0] in _HATS:
        out = f"\\{_COMMANDS[groups.pop(0)]}{{{out}}}"
    if len(groups) > 1:
        out += f"^{{{_script(groups.pop(0))}}}"
    for group in groups[:1]:
        out += f"_{{{_script(group)}}}"
    for group in groups[1:]:
        out += f"{{}}_{{{_script(group)}}}"
    return out + "'" * primes


def _letters(word: str) -> str:
    if word == "l":
        return r"\ell"
    if word in GREEK:
        return "\\" + word
    if len(word) == 1:
        return word
    return f"\\text{{{word}}}" if len(word) > 3 else f"\\mathit{{{word}}}"


def _script(group: str) -> str:
    group = group.strip("{}")
    if re.fullmatch(r"[a-z]{2,}", group) and group not in GREEK:
        return f"\\text{{{group}}}"
    return re.sub(r"(?<![A-Za-z])l(?![A-Za-z])", r"\\ell", group)


def index(text: str) -> str:
    """`t1` -> `t_1`, `tin` -> `t_{\\text{in}}`, `dx` -> `\\Delta x`."""
    primes = len(text) - len(text.rstrip("'"))
    word = text.rstrip("'")
    if match := re.fullmatch(r"([A-Za-z])(\d+)", word):
        out = f"{_letters(match.group(1))}_{{{match.group(2)}}}"
    elif match := re.fullmatch(r"([A-Za-z])(in|out)", word):
        out = f"{match.group(1)}_{{\\text{{{match.group(2)}}}}}"
    elif re.fullmatch(r"d[a-z]", word):
        out = f"\\Delta {word[1]}"
    else:
        out = _letters(word)
    return out + "'" * primes


# ── expressions ──────────────────────────────────────────────────────────────────────────────


def formula(node, level: int = CONCAT) -> str:
    text, own = _FORMS[type(node)](node)
    return text if own >= level else _brackets(text)


def _brackets(text: str) -> str:
    tall = "\\frac" in text or "\\sum" in text or "\\underset" in text
    return f"\\left({text}\\right)" if tall else f"({text})"


def _num(node: Num) -> tuple[str, int]:
    value = node.value
    if value.denominator == 1:
        return str(value.numerator), ATOM if value >= 0 else ADD
    text = f"\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    return (text, MUL) if value >= 0 else ("-" + text, ADD)


def _ref(node: Ref) -> tuple[str, int]:
    if not node.indices:
        return name(node.name), ATOM
    return f"{name(node.name)}[{', '.join(affine(i) for i in node.indices)}]", ATOM


def _add(node: Add) -> tuple[str, int]:
    text = ""
    for term in node.terms:
        negative = isinstance(term, Neg) or (isinstance(term, Num) and term.value < 0)
        body = term.body if isinstance(term, Neg) else Num(-term.value) if negative else term  # type: ignore[union-attr]
        sign = (" - " if text else "-") if negative else (" + " if text else "")
        text += sign + formula(body, MUL)
    return text, ADD


def _mul(node: Mul) -> tuple[str, int]:
    text = ""
    for factor in node.factors:
        part = formula(factor, MUL if isinstance(factor, (Div, Num)) else POWER)
        if not text:
            text = part
        elif (
            part[0].isdigit()
            or part.startswith(("[", "\\left["))
            or (part.startswith(("(", "\\left(")) and text[-1] != "]")
        ):
            text += r" \cdot " + part
        else:
            text += " " + part
    return text, MUL


def _div(node: Div) -> tuple[str, int]:
    return f"\\frac{{{formula(node.above, ADD)}}}{{{formula(node.below, ADD)}}}", MUL


def _pow(node: Pow) -> tuple[str, int]:
    indexed = isinstance(node.base, Ref) and node.base.indices
    base = formula(node.base, ATOM) if indexed else _brackets(formula(node.base))
    return f"{base}^{{{formula(node.exponent)}}}", POWER


def _call(node: Call) -> tuple[str, int]:
    if node.function == "sqrt":
        return f"\\sqrt{{{formula(node.args[0])}}}", ATOM
    return f"{_FUNCTIONS[node.function]}{_brackets(', '.join(formula(a, ADD) for a in node.args))}", ATOM


def _apply(node: Apply) -> tuple[str, int]:
    return f"{name(node.function)}_{{\\Phi}}{_brackets(', '.join(formula(a, ADD) for a in node.args))}", ATOM


def _sum(node: Sum | Reduce) -> tuple[str, int]:
    word = "sum" if isinstance(node, Sum) else node.function
    if word not in ("sum", "prod"):
        return f"\\{word}_{{{_bound(node)}}}{_brackets(formula(node.body))}", ATOM
    return f"\\{word}_{{{_bound(node)}}} {formula(node.body, MUL)}", MUL


def _softmax(node: Softmax) -> tuple[str, int]:
    head = f"\\underset{{{_bound(node)}}}{{\\text{{softmax}}}}" if node.indices else r"\text{softmax}"
    return head + _brackets(formula(node.body)), ATOM


def _bound(node: Sum | Softmax | Reduce) -> str:
    names, conditions = bound_apart(node)
    return ", ".join([*map(index, names), *map(condition, conditions)])


def _flatten(node: Flatten) -> tuple[str, int]:
    indices = ", ".join(index(i) for i in node.indices)
    return f"\\underset{{{indices}}}{{\\text{{concat}}}}{_brackets(formula(node.body))}", ATOM


def _cases(node: Cases) -> tuple[str, int]:
    rows = [f"{formula(v, ADD)} & \\text{{if }} {condition(c)}" for v, c in node.branches]
    rows.append(f"{formula(node.otherwise, ADD)} & \\text{{otherwise}}")
    return "\\begin{cases} " + r" \\ ".join(rows) + " \\end{cases}", ATOM


_FORMS: dict[type, Callable[..., tuple[str, int]]] = {
    Num: _num,
    Size: lambda n: (index(n.name) if "_" not in n.name else name(n.name), ATOM),
    Ref: _ref,
    Add: _add,
    Mul: _mul,
    Neg: lambda n: ("-" + formula(n.body, MUL), ADD),
    Div: _div,
    Pow: _pow,
    Call: _call,
    Apply: _apply,
    Softmax: _softmax,
    Sum: _sum,
    Reduce: _sum,
    Concat: lambda n: ("; ".join(formula(p, ADD) for _, p in n.parts), CONCAT),
    Flatten: _flatten,
    Position: lambda n: (affine(n.affine), ATOM if n.affine.plain else ADD),
    Cases: _cases,
    Iverson: lambda n: (f"\\left[{condition(n.condition)}\\right]", ATOM),
}


def affine(node: Affine) -> str:
    spell = lambda atom: index(atom if isinstance(atom, str) else atom.name)
    return spell_affine(node, spell, lambda ref: _ref(ref)[0], " ")


def condition(node: Compare | And) -> str:
    if isinstance(node, And):
        return r" \text{ and } ".join(condition(p) for p in node.parts)
    left, right = (affine(s) if isinstance(s, Affine) else formula(s, ADD) for s in (node.left, node.right))
    return f"{left} {_SIGNS[node.operator]} {right}"
