"""Polynomials in dimension names, exact: what `cost` counts with.

`Polynomial.size("V") * Polynomial.size("D") + 1` prints as `D*V + 1` and is called with sizes:
`p(V=11, D=5) == 56`. Coefficients are fractions; exponents are whole and not negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Union

from ..errors import NotationError
from ..formulas.normal import Monomial, add, product

Number = Union[int, Fraction]


def _degree(monomial: Monomial) -> Fraction:
    return sum((exponent for _, exponent in monomial), Fraction(0))


def _divides(a: Monomial, b: Monomial) -> bool:
    """Whether `a <= b` for all sizes of at least one."""
    powers = dict(b)
    return all(powers.get(name, 0) >= exponent for name, exponent in a)


def _write(monomial: Monomial) -> str:
    return "*".join(name if exponent == 1 else f"{name}^{exponent}" for name, exponent in monomial)


@dataclass(frozen=True, slots=True)
class Polynomial:
    """`terms` maps a monomial to its coefficient, none of them zero.

    `aliases` are other names for the sizes, understood when the polynomial is called; they take no
    part in comparison.
    """

    terms: tuple[tuple[Monomial, Fraction], ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def _of(terms: Mapping[Monomial, Fraction], aliases: Mapping[str, str]) -> Polynomial:
        kept = [(m, c) for m, c in terms.items() if c]
        kept.sort(key=lambda item: (-_degree(item[0]), [n for n, e in item[0] for _ in range(int(e))]))
        return Polynomial(tuple(kept), aliases)

    @staticmethod
    def number(value: Number) -> Polynomial:
        return Polynomial._of({(): Fraction(value)}, {})

    @staticmethod
    def size(name: str) -> Polynomial:
        return Polynomial(((((name, Fraction(1)),), Fraction(1)),))

    def named(self, aliases: Mapping[str, str]) -> Polynomial:
        """The same polynomial, callable with these names too."""
        return Polynomial(self.terms, dict(aliases))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({name for monomial, _ in self.terms for name, _ in monomial}))

    @property
    def degree(self) -> int:
        return int(max((_degree(m) for m, _ in self.terms), default=0))

    def _lift(self, other: object) -> Polynomial | None:
        if isinstance(other, Polynomial):
            return other
        return Polynomial.number(other) if isinstance(other, (int, Fraction)) else None

    def _aliases(self, other: Polynomial) -> Mapping[str, str]:
        return {**self.aliases, **other.aliases}

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        right = self._lift(other)
        if right is None:
            return NotImplemented
        return Polynomial._of(add(dict(self.terms), dict(right.terms)), self._aliases(right))

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        right = self._lift(other)
        if right is None:
            return NotImplemented
        return Polynomial._of(product(dict(self.terms), dict(right.terms)), self._aliases(right))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        right = self._lift(other)
        return NotImplemented if right is None else self + -right

    def __rsub__(self, other: Polynomial | Number) -> Polynomial:
        return -self + other

    def __pow__(self, exponent: int) -> Polynomial:
        result = Polynomial.number(1).named(self.aliases)
        for _ in range(exponent):
            result = result * self
        return result

    def __bool__(self) -> bool:
        return bool(self.terms)

    def replace(self, sizes: Mapping[str, Polynomial | Number]) -> Polynomial:
        """Each named size replaced by a polynomial or a number."""
        total = Polynomial.number(0).named(self.aliases)
        for monomial, coefficient in self.terms:
            term = Polynomial.number(coefficient)
            for name, exponent in monomial:
                value = sizes.get(name, Polynomial.size(name))
                term = term * (self._lift(value) or Polynomial.number(0)) ** int(exponent)
            total = total + term
        return total

    def __call__(self, **sizes: Number) -> Number:
        """The value at these sizes, each by the dimension's name or by any alias of it."""
        values: dict[str, Number] = {}
        for name, value in sizes.items():
            values[name if name in self.names else self.aliases.get(name, name)] = value
        missing = [name for name in self.names if name not in values]
        if missing:
            raise NotationError(f"{self} needs a size for {', '.join(missing)}.")
        total = Fraction(0)
        for monomial, coefficient in self.terms:
            for name, exponent in monomial:
                coefficient *= Fraction(values[name]) ** int(exponent)
            total += coefficient
        return int(total) if total.denominator == 1 else total

    @property
    def big_o(self) -> Polynomial:
        """Growth: constant factors dropped, and each term that another exceeds at all sizes >= 1."""
        growing = [m for m, c in self.terms if c > 0]
        kept = {m: Fraction(1) for m in growing if not any(m != n and _divides(m, n) for n in growing)}
        return Polynomial._of(kept, self.aliases)

    def at_most(self, other: Polynomial) -> bool:
        """Whether `self <= other` is plain at all sizes >= 1: each term of the difference that is
        negative is covered by positive terms that it divides."""
        room = dict((other - self).terms)
        for low in [m for m in room if room[m] < 0]:
            for high in [m for m in room if room[m] > 0 and _divides(low, m)]:
                moved = min(room[high], -room[low])
                room[high] -= moved
                room[low] += moved
            if room[low] < 0:
                return False
        return True

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for monomial, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            size = abs(coefficient)
            whole = size.denominator == 1
            number = str(size) if whole else f"({size})"
            written = _write(monomial)
            word = number if not written else written if size == 1 else f"{number}*{written}"
            text += f" {sign} {word}" if text else (word if sign == "+" else f"-{word}")
        return text
