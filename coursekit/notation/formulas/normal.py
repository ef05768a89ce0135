"""The normal form of a formula: a quotient of two polynomials, with exact coefficients.

A symbol is positive; so `sqrt(x*y)` is `x**(1/2) * y**(1/2)`. Atoms that are no symbols are tuples: `("prime", 2)`
under a root, `("log", polynomial)`, `("exp", monomial)`, `("sum", polynomial)` for a root of a sum, and
`("call", name, quotients)` for functions that have no algebra (`max`, `ceil`). Under `ceil` and `floor` sizes are
whole numbers. Two formulas with the same normal form are equal. Where every atom is a symbol the converse holds too:
monomials with different exponents are linearly independent.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from .. import tree as T
from ..errors import NotationError
from ..indices import each
from ..polynomial import Atom, Monomial, Polynomial

MAX_POWER = 64
ONE = Polynomial.number(1)


@dataclass(frozen=True)
class Quotient:
    above: Polynomial
    below: Polynomial = ONE

    @property
    def constant(self) -> Fraction | None:
        """The value, if it is a rational number."""
        return self.above.constant if self.below == ONE else None

    @property
    def inverse(self) -> "Quotient":
        if not self.above:
            raise NotationError("the formula divides by zero")
        return _tidy(self.below, self.above)

    def __add__(self, other: "Quotient") -> "Quotient":
        if self.below == other.below:
            return Quotient(self.above + other.above, self.below)
        return Quotient(self.above * other.below + other.above * self.below, self.below * other.below)

    def __neg__(self) -> "Quotient":
        return Quotient(-self.above, self.below)

    def __mul__(self, other: "Quotient") -> "Quotient":
        if not self.above or not other.above:
            return _number(0)
        return _tidy(self.above * other.above, self.below * other.below)

    def __pow__(self, exponent: int) -> "Quotient":
        return _tidy(self.above**exponent, self.below**exponent)

    def __str__(self) -> str:
        above, below = self.above.written(), self.below.written()
        return above if self.below == ONE else f"({above})/({below})"


def _tidy(above: Polynomial, below: Polynomial) -> Quotient:
    """A single term below the bar goes up; equal sums cancel."""
    if len(below.terms) == 1:
        ((monomial, coefficient),) = below.terms
        turned = Polynomial.product({atom: -exponent for atom, exponent in monomial}, 1 / coefficient)
        return Quotient(above * turned)
    return Quotient(ONE) if above == below else Quotient(above, below)


def _number(value: int | Fraction) -> Quotient:
    return Quotient(Polynomial.number(value))


def _lone(atom: Atom) -> Quotient:
    return Quotient(Polynomial.size(atom))


def normal(node: T.Expr) -> Quotient:
    match node:
        case T.Num(value):
            return _number(value)
        case T.Size(name):
            return _lone(name)
        case T.Neg(body):
            return -normal(body)
        case T.Add(terms):
            return reduce(Quotient.__add__, map(normal, terms))
        case T.Mul(factors):
            return reduce(Quotient.__mul__, map(normal, factors))
        case T.Div(above, below):
            return normal(above) * normal(below).inverse
        case T.Pow(base, exponent):
            return power(normal(base), normal(exponent))
        case T.Sum((name,), body, where):
            low, high = each(where)
            return _summed(normal(body), name, normal(low.left), normal(high.right))  # type: ignore[arg-type]
        case T.Call(function, args):
            return _function(function, [normal(a) for a in args])
    raise TypeError(f"{type(node).__name__} is not part of a formula")


def power(base: Quotient, exponent: Quotient) -> Quotient:
    n = exponent.constant
    if n is None:
        return _exp(exponent * _log(base))
    if abs(n) > MAX_POWER:
        raise NotationError(f"the exponent {n} is too large; at most {MAX_POWER} is read")
    if n < 0:
        return power(base.inverse, _number(-n))
    if n.denominator == 1:
        return base ** int(n)
    return _tidy(_root(base.above, n), _root(base.below, n))


def _root(poly: Polynomial, n: Fraction) -> Polynomial:
    factors = _primes(poly.terms[0][1]) if len(poly.terms) == 1 else None
    if factors is None:
        return Polynomial.product({("sum", poly): n}) if poly else poly
    exponents = {atom: e * n for atom, e in poly.terms[0][0]}
    return Polynomial.product({**exponents, **{("prime", p): e * n for p, e in factors.items()}})


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


# ── logarithm, exponential, the rest ─────────────────────────────────────────────────────────


def _log(a: Quotient) -> Quotient:
    return Quotient(_log_sum(a.above) - _log_sum(a.below))


def _log_sum(poly: Polynomial) -> Polynomial:
    if not poly:
        raise NotationError("the logarithm of zero does not exist")
    factors = _primes(poly.terms[0][1]) if len(poly.terms) == 1 else None
    if factors is None:
        return Polynomial.size(("log", poly))
    total = Polynomial()
    for prime, count in factors.items():
        total += Polynomial.size(("log", Polynomial.number(prime))) * count
    for atom, exponent in poly.terms[0][0]:
        total += _log_atom(atom) * exponent
    return total


def _log_atom(atom: Atom) -> Polynomial:
    match atom:
        case ("exp", monomial):
            return Polynomial.of([(monomial, Fraction(1))])
        case ("prime", value):
            return Polynomial.size(("log", Polynomial.number(value)))
        case ("sum", inside):
            return Polynomial.size(("log", inside))
    return Polynomial.size(("log", Polynomial.size(atom)))


def _exp(a: Quotient) -> Quotient:
    """`exp(c·m)` is the atom exp(m) to the power c, and `exp(c·log x)` is `x**c`."""
    if a.below != ONE:
        return _lone(("call", "exp", (a,)))
    result = Quotient(ONE)
    for monomial, coefficient in a.above.terms:
        match monomial:
            case ((("log", inside), 1),):
                result *= Quotient(_root(inside, coefficient))
            case _:
                result *= Quotient(Polynomial.size(("exp", monomial), coefficient))
    return result


def _function(function: str, args: list[Quotient]) -> Quotient:
    first = args[0]
    match function:
        case "sqrt":
            return power(first, _number(Fraction(1, 2)))
        case "exp":
            return _exp(first)
        case "log":
            return _log(first)
        case _ if function.startswith("log"):
            return _log(first) * _log(_number(int(function[3:]))).inverse
        case "abs" if first.below == ONE and all(c > 0 for _, c in first.above.terms):
            return first
        case "ceil" | "floor" if first.below == ONE and (whole := _whole(first.above)):
            return Quotient(whole) + _function(function, [Quotient(first.above - whole)])
        case "max" | "min" if len({*args}) == 1:
            return first
    values = [v for a in args if (v := a.constant) is not None]
    if len(values) == len(args):
        known: dict[str, Callable[..., Fraction | int]] = {"max": max, "min": min, "abs": lambda v: abs(v[0])}
        known |= {"ceil": lambda v: math.ceil(v[0]), "floor": lambda v: math.floor(v[0])}
        return _number(Fraction(known[function](values)))
    return _lone(("call", function, tuple(sorted({*args}, key=repr))))


def _whole(poly: Polynomial) -> Polynomial:
    """The terms that are whole numbers, whatever the sizes are."""

    def whole(monomial: Monomial) -> bool:
        return all(isinstance(a, str) and e > 0 and e.denominator == 1 for a, e in monomial)

    return Polynomial(tuple((m, c) for m, c in poly.terms if c.denominator == 1 and whole(m)))


# ── sums ─────────────────────────────────────────────────────────────────────────────────────


def _summed(body: Quotient, name: str, low: Quotient, high: Quotient) -> Quotient:
    """The sum of `body` for `name` from `low` to `high`: of powers of it, and of what is raised to it."""
    if name in sizes_in(body.below):
        raise NotationError(
            f"a sum over `{name}` is read where `{name}` does not stand below a fraction's bar"
        )
    after, total = high + _number(1), _number(0)
    for monomial, coefficient in body.above.terms:
        inner = [factor for factor in monomial if name in sizes_in((factor,))]
        rest = Quotient(
            Polynomial.of([(tuple(f for f in monomial if f not in inner), coefficient)]), body.below
        )
        match inner:
            case []:
                part = after + -low
            case [(atom, exponent)] if atom == name and exponent.denominator == 1 and 0 < exponent <= 8:
                part = _at(int(exponent), high) + -_at(int(exponent), low + _number(-1))
            case [(("exp", inside), exponent)] if dict(inside).get(name) == 1:
                slope = Quotient(Polynomial.of([(tuple(f for f in inside if f[0] != name), exponent)]))
                ratio = _exp(slope)
                part = (_exp(slope * after) + -_exp(slope * low)) * (ratio + _number(-1)).inverse
            case _:
                raise NotationError(
                    f"a sum over `{name}` is read of powers of `{name}` and of powers to `{name}`"
                )
        total += rest * part
    return total


def _at(power: int, last: Quotient) -> Quotient:
    """`1**p + 2**p + … + last**p`, out of (last+1)**(p+1) = 1 + Σ_j C(p+1, j) Σ_k k**j."""
    total = (last + _number(1)) ** (power + 1) + _number(-1)
    for j in range(power):
        total += _number(-math.comb(power + 1, j)) * (_at(j, last) if j else last)
    return total * _number(Fraction(1, power + 1))


def _atoms(*parts: Quotient | Polynomial | Monomial) -> Iterator[Atom]:
    """Every atom, those inside others too."""
    for part in parts:
        if isinstance(part, Quotient):
            yield from _atoms(part.above, part.below)
        elif isinstance(part, Polynomial):
            yield from _atoms(*(monomial for monomial, _ in part.terms))
        else:
            for atom, _ in part:
                yield atom
                if isinstance(atom, tuple) and atom[0] != "prime":
                    yield from _atoms(*(atom[2] if atom[0] == "call" else atom[1:]))


def sizes_in(*parts: Quotient | Polynomial | Monomial) -> set[str]:
    """The sizes that stand anywhere in them."""
    return {atom for atom in _atoms(*parts) if isinstance(atom, str)}


def opaque(a: Quotient) -> bool:
    """Whether it holds an atom other than a symbol or a root of a prime, so that unequal normal forms
    may still be equal."""
    return any(isinstance(atom, tuple) and atom[0] != "prime" for atom in _atoms(a))
