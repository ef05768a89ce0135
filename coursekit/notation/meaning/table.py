"""Numbers in plain Python: tables of them, and arithmetic that ends as tensor arithmetic does: in inf and nan."""

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

Place = tuple[int, ...]


def strides(shape: Sequence[int]) -> list[int]:
    """How far apart neighbours along each axis lie."""
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


class Table:
    __slots__ = ("flat", "shape")

    def __init__(self, shape: Sequence[int], flat: list[Any]):
        self.flat: list[float] = flat
        self.shape = tuple(shape)

    @classmethod
    def of(cls, nested: object, shape: Sequence[int]) -> "Table":
        """From lists in lists, which are known to have this shape."""
        rows: list[Any] = [nested]
        for _ in shape:
            rows = [entry for row in rows for entry in row]
        return cls(shape, rows)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, place: Sequence[int]) -> float:
        return self.flat[sum(p * s for p, s in zip(place, strides(self.shape), strict=True))]

    def places(self) -> Iterator[Place]:
        return product(*map(range, self.shape))

    def nested(self) -> Any:
        rows: list[Any] = self.flat
        for size in self.shape[:0:-1]:
            rows = [rows[k : k + size] for k in range(0, len(rows), size)]
        return rows if self.shape else rows[0]

    def map(self, function: Callable[[float], float]) -> "Table":
        return Table(self.shape, [function(x) for x in self.flat])

    def permute(self, order: Sequence[int]) -> "Table":
        shape = [self.shape[a] for a in order]
        back = [list(order).index(a) for a in range(len(order))]
        return Table(shape, [self[[p[b] for b in back]] for p in product(*map(range, shape))])


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


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
