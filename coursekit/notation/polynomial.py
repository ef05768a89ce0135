"""The one exact polynomial: what `cost` counts with, and what `formulas` brings a formula into.

`Polynomial.size("V") * Polynomial.size("D") + 1` prints as `D*V + 1` and is called with sizes:
`p(V=11, D=5) == 56`. A monomial is a product of powers of **atoms**: names of sizes, all positive, and, in a formula,
tuples that `formulas.normal` makes (a root of a prime, a logarithm). Coefficients and exponents are fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Union

from .errors import NotationError

Number = Union[int, Fraction]
Atom = Any  # str for a size, else a tuple
Monomial = tuple[tuple[Atom, Fraction], ...]
MAX_TERMS = 400


def degree(monomial: Monomial) -> Fraction:
    return sum((exponent for _, exponent in monomial), Fraction(0))


def divides(a: Monomial, b: Monomial) -> bool:
    """Whether `a <= b` for all sizes of at least one."""
    powers = dict(b)
    return all(powers.get(name, 0) >= exponent for name, exponent in a)


def _place(term: tuple[Monomial, Fraction]) -> tuple[Fraction, list[str]]:
    """The highest powers first; among equals, in the order of the alphabet."""
    names = (str(atom) for atom, exponent in term[0] for _ in range(math.ceil(abs(exponent))))
    return -degree(term[0]), list(names)


@dataclass(frozen=True, slots=True)
class Polynomial:
    """`terms` are the monomials with their coefficients, none of them zero, in one order for equal polynomials.

    `aliases` are other names for the sizes, understood when the polynomial is called; they take no
    part in comparison.
    """

    terms: tuple[tuple[Monomial, Fraction], ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(
        terms: Iterable[tuple[Monomial, Fraction]], aliases: Mapping[str, str] | None = None
    ) -> Polynomial:
        """The sum of these terms."""
        total: dict[Monomial, Fraction] = {}
        for monomial, coefficient in terms:
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
            if len(total) > MAX_TERMS:
                raise NotationError(f"multiplied out, the formula has more than {MAX_TERMS} terms")
        if any(c.numerator.bit_length() + c.denominator.bit_length() > 4000 for c in total.values()):
            raise NotationError("the formula has a number that is too large")
        return Polynomial(tuple(sorted(((m, c) for m, c in total.items() if c), key=_place)), aliases or {})

    @staticmethod
    def number(value: Number) -> Polynomial:
        return Polynomial((((), Fraction(value)),)) if value else Polynomial()

    @staticmethod
    def size(name: Atom, exponent: Fraction = Fraction(1)) -> Polynomial:
        return Polynomial(((((name, exponent),), Fraction(1)),))

    @staticmethod
    def product(exponents: Mapping[Atom, Fraction], coefficient: Number = 1) -> Polynomial:
        """A product of powers; those of primes and of sums are worked out: `2**(3/2)` is `2 * 2**(1/2)`."""
        number, kept, sums = Fraction(coefficient), [], []
        for atom, exponent in exponents.items():
            kind = atom[0] if isinstance(atom, tuple) else ""
            if kind == "prime":
                whole = math.floor(exponent)
                number *= Fraction(atom[1]) ** whole
                exponent -= whole
            if kind == "sum" and exponent.denominator == 1 and exponent > 0:
                sums.append(atom[1] ** int(exponent))
            elif exponent:
                kept.append((atom, exponent))
        return math.prod(sums, start=Polynomial.of([(tuple(sorted(kept, key=repr)), number)]))

    def named(self, aliases: Mapping[str, str]) -> Polynomial:
        """The same polynomial, callable with these names too."""
        return Polynomial(self.terms, dict(aliases))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({atom for monomial, _ in self.terms for atom, _ in monomial}, key=str))

    @property
    def constant(self) -> Fraction | None:
        """The value, if it is a number."""
        value = dict(self.terms).get((), Fraction(0))
        return value if len(self.terms) == bool(value) else None

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        if not isinstance(other, (Polynomial, int, Fraction)):
            return NotImplemented
        right = other if isinstance(other, Polynomial) else Polynomial.number(other)
        return Polynomial.of((*self.terms, *right.terms), {**self.aliases, **right.aliases})

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        if isinstance(other, (int, Fraction)):
            return Polynomial(tuple((m, c * other) for m, c in self.terms) if other else (), self.aliases)
        if not isinstance(other, Polynomial):
            return NotImplemented
        terms = (t for a, c in self.terms for b, d in other.terms for t in _times(a, b, c * d))
        return Polynomial.of(terms, {**self.aliases, **other.aliases})

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        return self + -other

    def __rsub__(self, other: Polynomial | Number) -> Polynomial:
        return -self + other

    def __pow__(self, exponent: int) -> Polynomial:
        return math.prod([self] * exponent, start=Polynomial.number(1).named(self.aliases))

    def __bool__(self) -> bool:
        return bool(self.terms)

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
        kept = [(m, Fraction(1)) for m in growing if not any(m != n and divides(m, n) for n in growing)]
        return Polynomial.of(kept, self.aliases)

    def at_most(self, other: Polynomial) -> bool:
        """Whether `self <= other` is plain at all sizes >= 1: each term of the difference that is
        negative is covered by positive terms that it divides."""
        room = dict((other - self).terms)
        for low in [m for m in room if room[m] < 0]:
            for high in [m for m in room if room[m] > 0 and divides(low, m)]:
                moved = min(room[high], -room[low])
                room[high] -= moved
                room[low] += moved
            if room[low] < 0:
                return False
        return True

    def __str__(self) -> str:
        return self.written("^")

    def written(self, power: str = "**", first: Callable[[Atom], Any] = str) -> str:
        """The sum as it would be typed, the atoms of each product in the order of `first`."""
        text = ""
        for monomial, coefficient in self.terms:
            word = term(monomial, abs(coefficient), power, first)
            text += (" - " if coefficient < 0 else " + ") + word if text else "-" * (coefficient < 0) + word
        return text or "0"


def _times(a: Monomial, b: Monomial, coefficient: Fraction) -> tuple[tuple[Monomial, Fraction], ...]:
    exponents = dict(a)
    for atom, exponent in b:
        exponents[atom] = exponents.get(atom, Fraction(0)) + exponent
    return Polynomial.product(exponents, coefficient).terms


def term(
    monomial: Monomial,
    coefficient: Fraction = Fraction(1),
    power: str = "**",
    first: Callable[[Atom], Any] = str,
) -> str:
    """A term as it would be typed: `2*h*c`, `D**2`, `1/sqrt(I)`."""
    above: list[str] = []
    below: list[str] = []
    for atom, exponent in sorted(monomial, key=lambda factor: first(factor[0])):
        (above if exponent > 0 else below).append(_power(atom, abs(exponent), power))
    size = abs(coefficient)
    if size.numerator != 1 or not above:
        above.insert(0, str(size.numerator))
    if size.denominator != 1:
        below.insert(0, str(size.denominator))
    text = "*".join(above)
    if below:
        text += "/" + (below[0] if len(below) == 1 else f"({'*'.join(below)})")
    return "-" + text if coefficient < 0 else text


def _power(atom: Atom, exponent: Fraction, power: str) -> str:
    base = _atom(atom)
    if exponent == Fraction(1, 2):
        return f"sqrt({base})"
    base = f"({base})" if isinstance(atom, tuple) and atom[0] == "sum" else base
    number = str(exponent) if exponent.denominator == 1 else f"({exponent})"
    return base if exponent == 1 else f"{base}{power}{number}"


def _atom(atom: Atom) -> str:
    match atom:
        case ("prime", value):
            return str(value)
        case ("sum", inside):
            return str(inside.written())
        case ("log", inside):
            return f"log({inside.written() if isinstance(inside, Polynomial) else _atom(inside)})"
        case ("exp", monomial):
            return f"exp({term(monomial)})"
        case ("call", function, args):
            return f"{function}({', '.join(map(str, args))})"
    return str(atom)
