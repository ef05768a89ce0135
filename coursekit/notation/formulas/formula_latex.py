"""LaTeX for a formula's tree."""

from __future__ import annotations

from ..names import GREEK
from ..tree import Add, Call, Div, Expr, Mul, Neg, Num, Pow, Size


def _latex_name(name: str) -> str:
    head, _, tail = name.partition("_")
    head = "\\" + head if head in GREEK else head if len(head) == 1 else rf"\mathrm{{{head}}}"
    return f"{head}_{{{tail}}}" if tail else head


def latex(node: Expr, level: int = 0) -> str:
    """The formula in LaTeX, with brackets only where they are needed."""
    match node:
        case Num(value):
            text = (
                str(value)
                if value.denominator == 1
                else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
            )
            own = 4 if value >= 0 else 1
        case Size(name):
            text, own = _latex_name(name), 4
        case Add(terms):
            text, own = latex(terms[0], 1), 1
            for term in terms[1:]:
                text += " - " + latex(term.body, 2) if isinstance(term, Neg) else " + " + latex(term, 1)
        case Neg(body):
            text, own = "-" + latex(body, 2), 1
        case Mul(factors):
            text, own = latex(factors[0], 2), 2
            for factor in factors[1:]:
                following = latex(factor, 2)
                text += (r" \cdot " if following[0].isdigit() else " ") + following
        case Div(above, below):
            text, own = rf"\frac{{{latex(above)}}}{{{latex(below)}}}", 4
        case Pow(base, exponent):
            text, own = f"{latex(base, 4)}^{{{latex(exponent)}}}", 3
        case Call("sqrt", (body,)):
            text, own = rf"\sqrt{{{latex(body)}}}", 4
        case Call("ceil" | "floor" | "abs" as function, (body,)):
            left, right = {
                "ceil": (r"\lceil ", r" \rceil"),
                "floor": (r"\lfloor ", r" \rfloor"),
                "abs": "||",
            }[function]
            text, own = f"{left}{latex(body)}{right}", 4
        case Call(function, args):
            name = {"log2": r"\log_2", "log10": r"\log_{10}"}.get(function, "\\" + function)
            text, own = rf"{name}\left({', '.join(map(latex, args))}\right)", 4
        case _:
            raise TypeError(f"{type(node).__name__} is not part of a formula")
    return text if own >= level else rf"\left({text}\right)"
