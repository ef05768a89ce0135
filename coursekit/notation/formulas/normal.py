"""The normal form of a formula: a quotient of two sums of monomials, with exact coefficients.

A monomial is a product of powers of **atoms** with rational exponents. A symbol is an atom, and it is positive;
so `sqrt(x*y)` is `x**(1/2) * y**(1/2)`. Other atoms are tuples: a prime under a root, `("log", …)`,
`("exp", …)`, `("sum", …)` for a root of a sum, and functions that have no algebra (`max`, `ceil`).
Two formulas with the same normal form are equal. Where every atom is a symbol the converse holds too:
monomials with different exponents are linearly independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from ..errors import NotationError
from ..tree import Add, Call, Div, Expr, Mul, Neg, Num, Pow, Size

Atom = Any  # str for a symbol, else a tuple
Monomial = tuple[tuple[Atom, Fraction], ...]
Poly = dict[Monomial, Fraction]

MAX_TERMS = 400
MAX_POWER = 64
ONE: Poly = {(): Fraction(1)}


@dataclass(frozen=True)
class Quotient:
    above: Poly
    below: Poly

    @property
    def constant(self) -> Fraction | None:
        """The value, if it is a rational number."""
        if self.below == ONE and set(self.above) <= {()}:
            return self.above.get((), Fraction(0))
        return None


def normal(node: Expr) -> Quotient:
    """The normal form of a formula."""
    match node:
        case Num(value):
            return _number(value)
        case Size(name):
            return _of({((name, Fraction(1)),): Fraction(1)})
        case Neg(body):
            return times(_number(Fraction(-1)), normal(body))
        case Add(terms):
            return reduce(plus, map(normal, terms))
        case Mul(factors):
            return reduce(times, map(normal, factors))
        case Div(above, below):
            return times(normal(above), inverse(normal(below)))
        case Pow(base, exponent):
            return power(normal(base), normal(exponent))
        case Call("sqrt", (body,)):
            return power(normal(body), _number(Fraction(1, 2)))
        case Call("exp", (body,)):
            return _exp(normal(body))
        case Call("log", (body,)):
            return _log(normal(body))
        case Call("log2" | "log10" as function, (body,)):
            ten = _log(_number(Fraction(int(function[3:]))))
            return times(_log(normal(body)), inverse(ten))
        case Call(function, args):
            return _function(function, [normal(a) for a in args])
    raise TypeError(f"{type(node).__name__} is not part of a formula")


# ── arithmetic ───────────────────────────────────────────────────────────────────────────────


def _of(above: Poly, below: Poly = ONE) -> Quotient:
    return Quotient(above, below)


def _number(value: Fraction) -> Quotient:
    return _of({(): value} if value else {})


def add(a: Poly, b: Poly) -> Poly:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return _bounded({m: c for m, c in total.items() if c})


def _bounded(poly: Poly) -> Poly:
    if len(poly) > MAX_TERMS:
        raise NotationError(f"multiplied out, the formula has more than {MAX_TERMS} terms")
    if any(c.numerator.bit_length() + c.denominator.bit_length() > 4000 for c in poly.values()):
        raise NotationError("the formula has a number that is too large")
    return poly


def product(a: Poly, b: Poly) -> Poly:
    total: Poly = {}
    for m1, c1 in a.items():
        for m2, c2 in b.items():
            exponents = dict(m1)
            for atom, exponent in m2:
                exponents[atom] = exponents.get(atom, 0) + exponent
            for monomial, coefficient in _monomial(exponents).items():
                total[monomial] = total.get(monomial, Fraction(0)) + coefficient * c1 * c2
        _bounded(total)
    return {m: c for m, c in total.items() if c}


def _monomial(exponents: dict[Atom, Fraction]) -> Poly:
    """A product of powers, primes and roots of sums reduced: `2**(3/2)` is `2 * 2**(1/2)`."""
    coefficient, kept, expanded = Fraction(1), [], ONE
    for atom, exponent in exponents.items():
        if not exponent:
            continue
        if isinstance(atom, tuple) and atom[0] == "prime":
            whole = math.floor(exponent)
            coefficient *= Fraction(atom[1]) ** whole
            exponent -= whole
        elif isinstance(atom, tuple) and atom[0] == "sum" and exponent.denominator == 1 and exponent > 0:
            expanded = product(expanded, _whole_power(dict(atom[1]), int(exponent)))
            continue
        if exponent:
            kept.append((atom, exponent))
    result: Poly = {tuple(sorted(kept, key=repr)): coefficient}
    return result if expanded is ONE else product(result, expanded)


def plus(a: Quotient, b: Quotient) -> Quotient:
    if a.below == b.below:
        return _of(add(a.above, b.above), a.below)
    return _of(add(product(a.above, b.below), product(b.above, a.below)), product(a.below, b.below))


def times(a: Quotient, b: Quotient) -> Quotient:
    if not a.above or not b.above:
        return _number(Fraction(0))
    return _tidy(product(a.above, b.above), product(a.below, b.below))


def _tidy(above: Poly, below: Poly) -> Quotient:
    """A single term below the bar goes up; equal sums cancel."""
    if len(below) == 1:
        ((monomial, coefficient),) = below.items()
        turned = tuple((atom, -exponent) for atom, exponent in monomial)
        return _of(product(above, _scaled(_monomial(dict(turned)), 1 / coefficient)))
    if above == below:
        return _of(ONE)
    return _of(above, below)


def _scaled(poly: Poly, by: Fraction) -> Poly:
    return {m: c * by for m, c in poly.items()}


def inverse(a: Quotient) -> Quotient:
    if not a.above:
        raise NotationError("the formula divides by zero")
    return _tidy(a.below, a.above)


def _whole_power(a: Poly, n: int) -> Poly:
    result = ONE
    for _ in range(n):
        result = product(result, a)
    return result


def power(base: Quotient, exponent: Quotient) -> Quotient:
    n = exponent.constant
    if n is None:
        return _exp(times(exponent, _log(base)))
    if abs(n) > MAX_POWER:
        raise NotationError(f"the exponent {n} is too large; at most {MAX_POWER} is read")
    if n < 0:
        return power(inverse(base), _number(-n))
    if n.denominator == 1:
        return _tidy(_whole_power(base.above, int(n)), _whole_power(base.below, int(n)))
    return _tidy(_root(base.above, n), _root(base.below, n))


def _root(poly: Poly, n: Fraction) -> Poly:
    if len(poly) == 1:
        ((monomial, coefficient),) = poly.items()
        factors = _primes(coefficient)
        if factors is not None:
            exponents = {atom: e * n for atom, e in monomial}
            for prime, e in factors.items():
                exponents[("prime", prime)] = e * n
            return _monomial(exponents)
    if not poly:
        return {}
    return {((("sum", key(poly)), n),): Fraction(1)}


def _primes(value: Fraction) -> dict[int, int] | None:
    """The prime factors of a positive number with their exponents; None if it is not worth the time."""
    if value <= 0:
        return None
    factors: dict[int, int] = {}
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        p = 2
        while p * p <= number and p < 10_000:
            while number % p == 0:
                factors[p] = factors.get(p, 0) + sign
                number //= p
            p += 1
        if number > 1:
            if number > 10**8:
                return None
            factors[number] = factors.get(number, 0) + sign
    return factors


def key(poly: Poly) -> tuple[tuple[Monomial, Fraction], ...]:
    """A polynomial as a hashable value, one for equal polynomials."""
    return tuple(sorted(poly.items(), key=repr))


# ── logarithm, exponential, the rest ─────────────────────────────────────────────────────────


def _log(a: Quotient) -> Quotient:
    return plus(_of(_log_sum(a.above)), times(_number(Fraction(-1)), _of(_log_sum(a.below))))


def _log_sum(poly: Poly) -> Poly:
    if not poly:
        raise NotationError("the logarithm of zero does not exist")
    factors = _primes(next(iter(poly.values()))) if len(poly) == 1 else None
    if factors is None:
        return {((("log", key(poly)), Fraction(1)),): Fraction(1)}
    (monomial,) = poly
    total: Poly = {}
    for prime, count in factors.items():
        total = add(total, {((("log", prime), Fraction(1)),): Fraction(count)})
    for atom, exponent in monomial:
        total = add(total, _scaled(_log_atom(atom), exponent))
    return total


def _log_atom(atom: Atom) -> Poly:
    if isinstance(atom, tuple) and atom[0] == "exp":
        return {atom[1]: Fraction(1)}
    inside = atom[1] if isinstance(atom, tuple) and atom[0] in ("prime", "sum") else atom
    return {((("log", inside), Fraction(1)),): Fraction(1)}


def _exp(a: Quotient) -> Quotient:
    """`exp(c·m)` is the atom exp(m) to the power c, and `exp(c·log x)` is `x**c`."""
    if a.below != ONE:
        return _of({((("call", "exp", (key(a.above), key(a.below))), Fraction(1)),): Fraction(1)})
    result: Poly = ONE
    for monomial, coefficient in a.above.items():
        lone = monomial[0] if len(monomial) == 1 and monomial[0][1] == 1 else None
        if lone and isinstance(lone[0], tuple) and lone[0][0] == "log":
            inside = lone[0][1]
            atom = ("prime", inside) if isinstance(inside, int) else inside
            atom = (
                ("sum", inside)
                if isinstance(inside, tuple) and inside and isinstance(inside[0], tuple)
                else atom
            )
        else:
            atom = ("exp", monomial)
        result = product(result, _monomial({atom: coefficient}))
    return _tidy(result, ONE)


def _function(function: str, args: list[Quotient]) -> Quotient:
    values = [v for a in args if (v := a.constant) is not None]
    if len(values) == len(args):
        known: dict[str, Callable[..., Fraction | int]] = {"max": max, "min": min, "abs": lambda v: abs(v[0])}
        known |= {"ceil": lambda v: math.ceil(v[0]), "floor": lambda v: math.floor(v[0])}
        return _number(Fraction(known[function](values)))
    if function == "abs" and args[0].below == ONE and all(c > 0 for c in args[0].above.values()):
        return args[0]
    keys = tuple(sorted({(key(a.above), key(a.below)) for a in args}, key=repr))
    if len(keys) == 1 and function in ("max", "min"):
        return args[0]
    return _of({((("call", function, keys), Fraction(1)),): Fraction(1)})


def opaque(a: Quotient) -> bool:
    """Whether it holds an atom other than a symbol or a root of a prime, so that unequal normal forms
    may still be equal."""
    return any(
        not isinstance(atom, str) and atom[0] != "prime"
        for poly in (a.above, a.below)
        for monomial in poly
        for atom, _ in monomial
    )


# ── printing a monomial ──────────────────────────────────────────────────────────────────────


def show(monomial: Monomial, coefficient: Fraction = Fraction(1)) -> str:
    """A term as it would be typed: `2*h*c`, `D**2`, `1/sqrt(I)`."""
    above: list[str] = []
    below: list[str] = []
    for atom, exponent in monomial:
        (above if exponent > 0 else below).append(_show_power(atom, abs(exponent)))
    size = abs(coefficient)
    if size.numerator != 1 or not above:
        above.insert(0, str(size.numerator))
    if size.denominator != 1:
        below.insert(0, str(size.denominator))
    text = "*".join(above)
    if below:
        text += "/" + (below[0] if len(below) == 1 else f"({'*'.join(below)})")
    return "-" + text if coefficient < 0 else text


def _show_power(atom: Atom, exponent: Fraction) -> str:
    if exponent == Fraction(1, 2):
        return f"sqrt({_show_atom(atom)})"
    base = _show_atom(atom)
    if exponent == 1:
        return base if not _is_sum(atom) else f"({base})"
    base = f"({base})" if _is_sum(atom) else base
    return f"{base}**{exponent}" if exponent.denominator == 1 else f"{base}**({exponent})"


def _is_sum(atom: Atom) -> bool:
    return isinstance(atom, tuple) and atom[0] == "sum"


def show_sum(poly: Poly | tuple[tuple[Monomial, Fraction], ...]) -> str:
    items = poly.items() if isinstance(poly, dict) else poly
    text = " + ".join(show(m, c) for m, c in items) or "0"
    return text.replace("+ -", "- ")


def _show_atom(atom: Atom) -> str:
    if isinstance(atom, str):
        return atom
    match atom:
        case ("prime", value):
            return str(value)
        case ("log", int() | str() as inside):
            return f"log({inside})"
        case ("log", inside) if inside and isinstance(inside[0], str):
            return f"log({_show_atom(inside)})"
        case ("log", inside) | ("sum", inside):
            return f"log({show_sum(inside)})" if atom[0] == "log" else show_sum(inside)
        case ("exp", monomial):
            return f"exp({show(monomial)})"
        case ("call", function, keys):
            args = (show_sum(a) if b == key(ONE) else f"({show_sum(a)})/({show_sum(b)})" for a, b in keys)
            return f"{function}({', '.join(args)})"
    raise TypeError(atom)
