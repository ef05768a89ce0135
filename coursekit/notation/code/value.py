"""A piece of Python text that stands for a tensor with named axes, and how two such are lined up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

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


def number(text: str, level: int = ATOM) -> Value:
    return Value(text, (), level, "real", True)


def fraction(value: Fraction) -> Value:
    if value.denominator == 1:
        return number(str(value.numerator), ATOM if value >= 0 else MUL)
    if str(Fraction(str(float(value)))) == str(value) and len(str(float(value))) < 8:
        return number(str(float(value)), ATOM if value >= 0 else MUL)
    return number(f"{value.numerator} / {value.denominator}", MUL)


def joint(values: Sequence[Value]) -> str:
    """The kind of what arithmetic makes of some values: whole where none of them is real or a fraction."""
    whole = (v.kind != "real" or (v.constant and re.fullmatch(r"\w+", v.text)) for v in values)
    return "whole" if all(whole) else "real"


def at_level(value: Value, level: int) -> str:
    return value.text if value.level >= level else f"({value.text})"


def slots(places: Sequence[str]) -> str:
    """`[:, None, t]` without what may be left out at its end."""
    kept = list(places)
    while kept and kept[-1] == ":":
        kept.pop()
    return f"[{', '.join(kept)}]" if kept else ""


def permuted(value: Value, axes: tuple[str, ...]) -> Value:
    """The same tensor with its axes in another order."""
    if value.axes == axes:
        return value
    text = at_level(value, ATOM)
    order = [value.axes.index(a) for a in axes]
    moved = [k for k, place in enumerate(order) if k != place]
    if len(order) == 2:
        text += ".T"
    elif len(moved) == 2:
        text += f".transpose({moved[0]}, {moved[1]})"
    else:
        text += f".permute({', '.join(map(str, order))})"
    return replace(value, text=text, axes=axes, level=ATOM)


def aligned(value: Value, axes: tuple[str, ...]) -> Value:
    """The tensor made ready to meet one with these axes by broadcasting."""
    value = permuted(value, tuple(a for a in axes if a in value.axes))
    if not value.axes:
        return value
    first = axes.index(value.axes[0])
    wanted = [":" if a in value.axes else "None" for a in axes[first:]]
    if "None" not in wanted:
        return value
    tail = len(wanted) - 1 - wanted[::-1].index(":")
    after = wanted[tail + 1 :]
    if after and "None" not in wanted[:tail] and len(value.axes) > 1:
        wanted = ["...", *after]
        return replace(value, text=at_level(value, ATOM) + f"[{', '.join(wanted)}]", level=ATOM)
    return replace(value, text=at_level(value, ATOM) + slots(wanted), level=ATOM)
