"""A piece of Python text that stands for a tensor with named axes: how two are lined up, and how it is laid out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise

# How tightly a text binds, as in Python.
COMPARE, ADD, MUL, POWER, ATOM = range(5)


@dataclass(frozen=True)
class Value:
    """`axes` are index names in the tensor's own order; a plain number has none and is `constant`.

    `kind` is "real", "whole" or "truth".
    """

    text: str
    axes: tuple[str, ...] = ()
    level: int = ATOM
    kind: str = "real"
    constant: bool = False

    def at(self, level: int) -> str:
        """The text where it is to bind so tightly."""
        return self.text if self.level >= level else f"({self.text})"

    def turned(self, axes: tuple[str, ...]) -> "Value":
        """The same tensor with its axes in another order."""
        if self.axes == axes:
            return self
        order = [self.axes.index(a) for a in axes]
        moved = [k for k, place in enumerate(order) if k != place]
        turn = f".permute({', '.join(map(str, order))})"
        if len(order) == 2:
            turn = ".T"
        elif len(moved) == 2:
            turn = f".transpose({moved[0]}, {moved[1]})"
        return replace(self, text=self.at(ATOM) + turn, axes=axes, level=ATOM)

    def beside(self, axes: tuple[str, ...]) -> "Value":
        """The tensor made ready to meet one with these axes by broadcasting."""
        value = self.turned(tuple(a for a in axes if a in self.axes))
        first = axes.index(value.axes[0]) if value.axes else len(axes)
        wanted = [":" if a in value.axes else "None" for a in axes[first:]]
        if "None" not in wanted:
            return value
        tail = len(wanted) - wanted[::-1].index(":")
        if wanted[tail:] and "None" not in wanted[:tail] and len(value.axes) > 1:
            wanted = ["...", *wanted[tail:]]
        return replace(value, text=value.at(ATOM) + slots(wanted), level=ATOM)


def number(text: str, level: int = ATOM) -> Value:
    return Value(text, (), level, "real", True)


def fraction(value: Fraction) -> Value:
    short = str(value.numerator) if value.denominator == 1 else str(float(value))
    if value.denominator == 1 or (Fraction(short) == value and len(short) < 8):
        return number(short, ATOM if value >= 0 else MUL)
    return number(f"{value.numerator} / {value.denominator}", MUL)


def joint(values: Sequence[Value]) -> str:
    """The kind of what arithmetic makes of some values: whole where none of them is real or a fraction."""
    whole = (v.kind != "real" or (v.constant and re.fullmatch(r"\w+", v.text)) for v in values)
    return "whole" if all(whole) else "real"


def slots(places: Sequence[str]) -> str:
    """`[:, None, t]` without what may be left out at its end."""
    kept = [n for n, place in enumerate(places, 1) if place != ":"]
    return f"[{', '.join(places[: kept[-1]])}]" if kept else ""


# They stand where a line may end, and are never part of what is given out.
SIGN = "\u2028"  # before the sign of a term
COMMA = "\u2029"  # after a comma between arguments
WIDTH = 78


def assignment(left: str, right: str, comment: str = "", indent: int = 4) -> list[str]:
    """`left = right  # comment`, on one line or on several."""
    lines = _lines(f"{left} = ", right, f"  # {comment}" if comment else "", WIDTH - indent)
    return [" " * indent + line for line in lines]


def flat(text: str) -> str:
    """The same on one line."""
    return text.replace(SIGN, " ").replace(COMMA, " ")


def _lines(head: str, text: str, tail: str, width: int) -> list[str]:
    """On one line; or with what stands in brackets on a line of its own, or each of its parts on one."""
    depths = _depths(text)
    places = [(depth, k) for k, depth in enumerate(depths) if text[k] in (SIGN, COMMA)]
    if not places or len(flat(head + text + tail)) <= width:
        return [flat(head + text + tail)]
    level, first = min(places)
    if level == 0:
        return _lines(head, f"({text})", tail, width)
    start = max(k for k in range(first) if depths[k] < level and text[k] in "([")
    stop = next(k for k in range(first, len(text)) if depths[k] < level)
    inside, width = text[start + 1 : stop], width - 4
    body = [flat(inside)]
    if len(body[0]) > width:
        body = [line for part, end in _parts(inside) for line in _lines("", part, end, width)]
    return [flat(head + text[: start + 1]), *(f"    {line}" for line in body), flat(text[stop:] + tail)]


def _parts(text: str) -> list[tuple[str, str]]:
    """The arguments between brackets, each with its comma; or the terms of the one that stands there."""
    outer = [k for k, depth in enumerate(_depths(text)) if depth == 0]
    mark, end = (COMMA, ",") if any(text[k] == COMMA for k in outer) else (SIGN, "")
    cuts = [-1, *(k for k in outer if text[k] == mark), len(text)]
    return [(text[a + 1 : b].removesuffix(end), end) for a, b in pairwise(cuts)]


def _depths(text: str) -> list[int]:
    """For each character, how many brackets are open around it; a bracket belongs outside itself."""
    steps = accumulate(((c in "([") - (c in ")]") for c in text), initial=0)
    return [depth - (c in ")]") for c, depth in zip(text, steps, strict=False)]
