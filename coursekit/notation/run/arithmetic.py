"""Arithmetic on Python numbers that ends as tensor arithmetic does: in inf and nan, never in an exception."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction

__all__ = ["COMPARE", "FUNCTIONS", "REDUCE", "divide", "exp", "power", "real"]


def real(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def power(base: float, exponent: float) -> float:
    try:
        value = base**exponent
    except (OverflowError, ZeroDivisionError):
        odd = exponent == int(exponent) and int(exponent) % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    return math.nan if isinstance(value, complex) else value


def exp(z: float) -> float:
    try:
        return math.exp(z)
    except OverflowError:
        return math.inf


def _log(z: float) -> float:
    return math.log(z) if z > 0 else -math.inf if z == 0 else math.nan


def _sqrt(z: float) -> float:
    return math.sqrt(z) if z >= 0 else math.nan


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


FUNCTIONS: dict[str, Callable] = {
    "sigmoid": _sigmoid,
    "tanh": math.tanh,
    "relu": lambda z: max(z, 0.0),
    "exp": exp,
    "log": _log,
    "sqrt": _sqrt,
    "abs": abs,
    "min": min,
    "max": max,
}
REDUCE: dict[str, Callable[[Iterable], float]] = {
    "max": lambda values: max(values, default=-math.inf),
    "min": lambda values: min(values, default=math.inf),
    "prod": math.prod,
}
COMPARE: dict[str, Callable] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
