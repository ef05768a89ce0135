"""Big-O bounds that a student types, compared as growth in several sizes at once.

>>> Growth("V*D + D**2 + d*D", given="V>=d, V>=D").compare("V*D").verdict
'equal'

Without the side conditions it misses the terms `D**2` and `d*D`. Every size may grow on its own unless a
condition ties it to another. Constants, `O( )`, `Θ( )` and bases of logarithms do not matter. The decision is
exact: see `cone`.
"""

import math
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from ..errors import NotationError
from ..polynomial import Atom, Monomial, Polynomial, term
from .cone import Vector, escape, minus
from .formula import placed, read, symbols_of
from .normal import ONE, Quotient, normal

_UNIT = Quotient(ONE)
_SIGN = re.compile("([<>]=?|==?|≤|≥)")


@dataclass(frozen=True)
class GrowthComparison:
    """`verdict` is `equal`, `too loose`, `missing a term` or `incomparable`."""

    verdict: str
    message: str

    @property
    def equal(self) -> bool:
        return self.verdict == "equal"


class Growth:
    """A growth such as `V*D + D**2`, under side conditions such as `V >= d, w <= T`."""

    def __init__(self, text: str, given: str = "", symbols: Iterable[str] | None = None):
        self.text = text
        self.given = given
        declared = None if symbols is None else tuple(symbols)
        tree = read(text, declared, growth=True)
        sides = [read(side, declared) for c in _conditions(given) for side in _SIGN.split(c)[::2]]
        found = (s for node in (tree, *sides) for s in symbols_of(node))
        self.symbols = declared or tuple(dict.fromkeys(found))
        self.place = placed(self.symbols)
        self._given = tuple(_cone(given, self.symbols))
        self._ratio = _quotient(normal(tree), self._given)

    def compare(self, other: "Growth | str") -> GrowthComparison:
        """How the answer `other` stands to this reference."""
        answer = other if isinstance(other, Growth) else Growth(other, self.given, self.symbols)
        missing, where = self._unbounded(self._ratio, answer._ratio)
        excess, beyond = self._unbounded(answer._ratio, self._ratio)
        if not missing and not excess:
            return GrowthComparison("equal", "The two grow alike.")
        if not missing:
            message = f"The bound holds but is too loose: {_list(excess)} "
            message += f"{_verb(excess, 'grow')} faster than needed{beyond}."
            return GrowthComparison("too loose", message)
        if not excess:
            return GrowthComparison(
                "missing a term", f"The bound misses {_list(missing, 'the term')}{where}."
            )
        message = f"Neither bounds the other: {_list(missing)} {_verb(missing, 'be')} not covered{where}, "
        message += f"and {_list(excess)} {_verb(excess, 'be')} more than needed{beyond}."
        return GrowthComparison("incomparable", message)

    def _unbounded(self, of: Quotient, by: Quotient) -> tuple[tuple[str, ...], str]:
        """The terms of `of` that `by` does not bound, and a case in which the first is the larger."""
        bounds = [dict(m) for m, _ in (by.above * of.below).terms]
        terms, where = [], ""
        for monomial in self._sorted(of.above):
            for below, _ in by.below.terms:
                found = escape(_together(monomial, below), bounds, self._given)
                if found is not None:
                    terms.append(self._show(monomial, of.below))
                    where = where or _case(found, self.symbols)
                    break
        return tuple(terms), where

    def _show(self, monomial: Monomial, below: Polynomial) -> str:
        divisor = "" if below == ONE else f"/({' + '.join(map(self._term, self._sorted(below)))})"
        return self._term(monomial) + divisor

    def _term(self, monomial: Monomial) -> str:
        """The term with its symbols in the order of the question; exponentials come last."""
        raised = tuple(f for f in monomial if isinstance(f[0], tuple) and f[0][0] == "exp" and f[1] > 0)
        plain = tuple(f for f in monomial if f not in raised)
        powers = [_show_exponential(a[1], p) for a, p in raised]
        return "*".join([term(plain, first=self.place), *powers] if plain or not powers else powers)

    def _sorted(self, poly: Polynomial) -> list[Monomial]:
        return sorted(
            (m for m, _ in poly.terms), key=lambda m: (sorted(self.place(a)[0] for a, _ in m), repr(m))
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that no other term bounds: the growth's normal form."""
        kept = self._sorted(self._ratio.above)
        for monomial in list(kept):
            others = [dict(m) for m in kept if m != monomial]
            if others and escape(dict(monomial), others, self._given) is None:
                kept.remove(monomial)
        return tuple(self._show(monomial, self._ratio.below) for monomial in kept)

    def __str__(self) -> str:
        return f"O({' + '.join(self.terms)})"

    def __repr__(self) -> str:
        return f"Growth({self.text!r}, given={self.given!r})"


def _list(terms: Sequence[str], word: str = "") -> str:
    quoted = [f"`{t}`" for t in terms]
    if word and len(quoted) > 1:
        word += "s"
    joined = quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
    return f"{word} {joined}".strip()


def _show_exponential(exponent: Monomial, scale: Fraction) -> str:
    """`2**T` and `V**T` as they were typed, where the base can be seen again."""
    logs = [a for a, p in exponent if isinstance(a, tuple) and a[0] == "log" and p == 1]
    if logs and scale == 1:
        return f"{logs[0][1]}**({term(tuple(f for f in exponent if f[0] != logs[0]))})"
    base = round(math.exp(scale), 3)
    inner = term(exponent)
    inner = inner if len(exponent) == 1 and exponent[0][1] == 1 else f"({inner})"
    return f"{base:g}**{inner}" if base == int(base) else f"exp({float(scale):.3g}*{inner})"


def _verb(terms: Sequence[str], verb: str) -> str:
    one, many = {"be": ("is", "are"), "grow": ("grows", "grow")}[verb]
    return one if len(terms) == 1 else many


def _case(direction: Vector, symbols: Sequence[str]) -> str:
    """A direction in words: which sizes grow and which stay."""
    speeds = {s: direction.get(s, Fraction(0)) for s in symbols if s in direction}
    top = max(speeds.values(), default=Fraction(0))
    if not top:
        return ""
    fast = [s for s in speeds if speeds[s] == top]
    slow = [s for s in speeds if speeds[s] < top]
    if not slow:
        return ""
    return f" (take {', '.join(f'`{s}`' for s in fast)} much larger than {', '.join(f'`{s}`' for s in slow)})"


# ── side conditions ──────────────────────────────────────────────────────────────────────────


def _conditions(given: str) -> list[str]:
    return [c for c in re.split(r"[,;]|\band\b", given) if c.strip()]


def _cone(given: str, symbols: Sequence[str]) -> Iterable[Vector]:
    """Each condition as a vector `c` with `c·u >= 0`."""
    for condition in _conditions(given):
        parts = _SIGN.split(condition)
        if len(parts) < 3:
            raise NotationError(f"a side condition looks like `V >= d`; `{condition.strip()}` does not")
        for left, sign, right in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            small, large = (left, right) if sign[0] in "<≤=" else (right, left)
            yield from _below(small, large, symbols, condition)
            if sign[0] == "=":
                yield from _below(large, small, symbols, condition)


def _below(small: str, large: str, symbols: Sequence[str], condition: str) -> Iterable[Vector]:
    less, more = (_quotient(normal(read(side, symbols)), ()) for side in (small, large))
    lower, upper = less.above * more.below, more.above * less.below
    if len(upper.terms) != 1:
        raise NotationError(f"the larger side of `{condition.strip()}` must be one product")
    for monomial, _ in lower.terms:
        yield minus(dict(upper.terms[0][0]), dict(monomial))


# ── forgetting constants ─────────────────────────────────────────────────────────────────────


def _together(a: Monomial, b: Monomial) -> Vector:
    return minus(dict(a), {atom: -exponent for atom, exponent in b})


def _power(a: Quotient, exponent: Fraction) -> Quotient:
    """`(x + y)**p` grows as `x**p + y**p` for p > 0."""
    if exponent < 0:
        return _power(Quotient(a.below, a.above), -exponent)
    sides = (
        [(tuple((v, e * exponent) for v, e in m), Fraction(1)) for m, _ in p.terms]
        for p in (a.above, a.below)
    )
    return Quotient(*map(Polynomial.of, sides))


def _sum_of(parts: Iterable[Quotient]) -> Quotient:
    return reduce(operator.add, parts)


def _quotient(q: Quotient, given: Sequence[Vector]) -> Quotient:
    above, below = _sum(q.above, given), _sum(q.below, given)
    return above * Quotient(below.below, below.above)


def _sum(poly: Polynomial, given: Sequence[Vector]) -> Quotient:
    """The sum's positive terms, provided that they bound the negative ones."""
    growing = [_monomial(m, given) for m, c in poly.terms if c > 0]
    if not growing:
        raise NotationError("the formula is zero or negative, so it has no growth")
    total = _sum_of(growing)
    for monomial, coefficient in poly.terms:
        if coefficient < 0:
            part = _monomial(monomial, given)
            bounds = [dict(m) for m, _ in (total.above * part.below).terms]
            pairs = ((t, b) for t, _ in part.above.terms for b, _ in total.below.terms)
            if any(escape(_together(t, b), bounds, given) for t, b in pairs):
                message = f"the term `{term(monomial, coefficient)}` is not bounded by the others, "
                raise NotationError(message + "so the formula could be negative")
    return total


def _monomial(monomial: Monomial, given: Sequence[Vector]) -> Quotient:
    return math.prod((_power(_atom(atom, given), exponent) for atom, exponent in monomial), start=_UNIT)


def _variable(variable: object, exponent: Fraction = Fraction(1)) -> Quotient:
    return Quotient(Polynomial.size(variable, exponent))


def _atom(atom: Atom, given: Sequence[Vector]) -> Quotient:
    match atom:
        case str():
            return _variable(atom)
        case ("prime", _):
            return _UNIT
        case ("log", inside):
            return _logarithm(inside, given)
        case ("sum", inside):
            return _sum(inside, given)
        case ("exp", exponent):
            return _exponential(exponent, given)
        case ("call", "max" | "ceil" | "floor" | "abs", args):
            return _sum_of(_quotient(a, given) for a in args)
        case ("call", "min", args):  # min(a,b) = 1/max(1/a,1/b)
            return _power(_sum_of(_power(_quotient(a, given), Fraction(-1)) for a in args), Fraction(-1))
    raise NotationError(
        "the growth of this formula is not known to the course; write it as a sum of products"
    )


def _logarithm(inside: Polynomial, given: Sequence[Vector]) -> Quotient:
    """`log(x + y)` grows as `log x + log y`, and `log(x**a * y)` too."""
    parts = []
    for monomial, coefficient in inside.terms:
        for atom, exponent in monomial if coefficient > 0 else ():
            if exponent < 0:
                raise NotationError(
                    "a logarithm of a quotient has no growth of its own; write it as a difference"
                )
            parts.append(_logarithm_of_atom(atom, given))
    return _sum_of(parts) if parts else _UNIT


def _logarithm_of_atom(atom: Atom, given: Sequence[Vector]) -> Quotient:
    match atom:
        case str():
            return _variable(("log", atom))
        case ("log", inside) if len(inside.terms) == 1 and len(inside.names) == 1:
            return _variable(("log", ("log", inside.names[0])))
        case ("exp", exponent):
            return _monomial(exponent, given)
        case ("prime", _):
            return _UNIT
        case ("sum", inside):
            return _logarithm(inside, given)
    raise NotationError(
        "the growth of this logarithm is not known to the course; simplify what it is taken of"
    )


def _exponential(exponent: Monomial, given: Sequence[Vector]) -> Quotient:
    """`2**T`: its own variable, above every power of T; the base is an exponent of that variable."""
    scale = 1.0
    rest = []
    for atom, power in exponent:
        if isinstance(atom, tuple) and atom[0] == "log" and atom[1].constant:
            scale *= math.log(atom[1].constant) ** float(power)
        else:
            rest.append((atom, power))
    if not rest:
        return _UNIT
    inner = _monomial(tuple(rest), given)
    if inner.below != ONE or len(inner.above.terms) != 1 or any(p < 0 for _, p in inner.above.terms[0][0]):
        raise NotationError("the growth of this power is not known to the course; simplify its exponent")
    return _variable(("exp", inner.above.terms[0][0]), Fraction(scale).limit_denominator(10**6))
