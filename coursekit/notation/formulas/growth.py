"""Big-O bounds that a student types, compared as growth in several sizes at once.

`Growth("V*D + D**2 + d*D", given="V>=d, V>=D").compare("V*D")` is equal; without the side conditions it
misses the terms `D**2` and `d*D`. Every size may grow on its own unless a condition ties it to another.
Constants, `O( )`, `Θ( )` and bases of logarithms do not matter. The decision is exact: see `cone`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from ..errors import NotationError
from ..tree import Expr
from .cone import Vector, escape, minus
from .formula import read, symbols_of
from .normal import ONE, Atom, Monomial, Poly, Quotient, normal, plus, product, show, times

_UNIT = Quotient(ONE, ONE)


@dataclass(frozen=True)
class GrowthComparison:
    """`verdict` is `equal`, `too loose`, `missing a term` or `incomparable`.

    `terms` are those of the reference that the answer does not bound, `term` the first of them;
    `excess` are those of the answer that the reference does not bound."""

    verdict: str
    message: str
    terms: tuple[str, ...] = ()
    excess: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        return self.verdict == "equal"

    @property
    def term(self) -> str | None:
        return self.terms[0] if self.terms else None


class Growth:
    """A growth such as `V*D + D**2`, under side conditions such as `V >= d, w <= T`."""

    def __init__(self, text: str, given: str = "", symbols: Iterable[str] | None = None):
        self.text = text
        self.given = given
        declared = None if symbols is None else tuple(symbols)
        tree = read(text, declared)
        sides = [[read(side, declared) for side in re.split("[<>]=?|=|≤|≥", c)] for c in _conditions(given)]
        found = (*symbols_of(tree), *(s for side in sides for node in side for s in symbols_of(node)))
        self.symbols = declared or tuple(dict.fromkeys(found))
        self._given = tuple(_cone(given, self.symbols))
        self._ratio = self._read(tree)

    def _read(self, tree: Expr) -> Quotient:
        return _quotient(normal(tree), self._given)

    def compare(self, other: Growth | str) -> GrowthComparison:
        """How the answer `other` stands to this reference."""
        answer = other._ratio if isinstance(other, Growth) else self._read(read(other, self.symbols))
        missing, where = self._unbounded(self._ratio, answer)
        excess, beyond = self._unbounded(answer, self._ratio)
        if not missing and not excess:
            return GrowthComparison("equal", "The two grow alike.")
        if not missing:
            message = f"The bound holds but is too loose: {_list(excess)} "
            message += f"{_verb(excess, 'grow')} faster than needed{beyond}."
            return GrowthComparison("too loose", message, excess=excess)
        if not excess:
            message = f"The bound misses {_list(missing, 'the term')}{where}."
            return GrowthComparison("missing a term", message, terms=missing)
        message = f"Neither bounds the other: {_list(missing)} {_verb(missing, 'be')} not covered{where}, "
        message += f"and {_list(excess)} {_verb(excess, 'be')} more than needed{beyond}."
        return GrowthComparison("incomparable", message, missing, excess)

    def _unbounded(self, of: Quotient, by: Quotient) -> tuple[tuple[str, ...], str]:
        """The terms of `of` that `by` does not bound, and a case in which the first is the larger."""
        bounds = [dict(m) for m in product(by.above, of.below)]
        terms, where = [], ""
        for term in self._sorted(of.above):
            for below in by.below:
                found = escape(_together(term, below), bounds, self._given)
                if found is not None:
                    terms.append(self._show(term, of.below))
                    where = where or _case(found, self.symbols)
                    break
        return tuple(terms), where

    def _show(self, term: Monomial, below: Poly) -> str:
        text = self._term(term)
        if below == ONE:
            return text
        divisor = " + ".join(map(self._term, self._sorted(below)))
        return f"{text}/({divisor})"

    def _term(self, monomial: Monomial) -> str:
        """The term with its symbols in the order of the question."""
        place = {name: k for k, name in enumerate(self.symbols)}
        ordered = sorted(monomial, key=lambda f: (place.get(f[0], len(place)), repr(f)))
        powers = [
            _show_exponential(a[1], p) for a, p in ordered if isinstance(a, tuple) and a[0] == "exp" and p > 0
        ]
        plain = tuple(f for f in ordered if not (isinstance(f[0], tuple) and f[0][0] == "exp" and f[1] > 0))
        return "*".join([show(plain), *powers] if plain or not powers else powers)

    def _sorted(self, monomials: Iterable[Monomial]) -> list[Monomial]:
        place = {name: k for k, name in enumerate(self.symbols)}
        return sorted(monomials, key=lambda m: (sorted(place.get(a, len(place)) for a, _ in m), repr(m)))

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms that no other term bounds: the growth's normal form."""
        kept = list(self._sorted(self._ratio.above))
        for term in list(kept):
            others = [dict(m) for m in kept if m != term]
            if others and escape(dict(term), others, self._given) is None:
                kept.remove(term)
        return tuple(self._show(term, self._ratio.below) for term in kept)

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
        return f"{logs[0][1]}**({show(tuple(f for f in exponent if f[0] != logs[0]))})"
    base = round(math.exp(scale), 3)
    inner = show(exponent)
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
        parts = re.split("([<>]=?|==?|≤|≥)", condition)
        if len(parts) < 3:
            raise NotationError(f"a side condition looks like `V >= d`; `{condition.strip()}` does not")
        for left, sign, right in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            small, large = (left, right) if sign[0] in "<≤=" else (right, left)
            yield from _below(small, large, symbols, condition)
            if sign[0] == "=":
                yield from _below(large, small, symbols, condition)


def _below(small: str, large: str, symbols: Sequence[str], condition: str) -> Iterable[Vector]:
    less, more = (_quotient(normal(read(side, symbols)), ()) for side in (small, large))
    lower, upper = product(less.above, more.below), product(more.above, less.below)
    if len(upper) != 1:
        raise NotationError(f"the larger side of `{condition.strip()}` must be one product")
    (top,) = upper
    for monomial in lower:
        yield minus(dict(top), dict(monomial))


# ── forgetting constants ─────────────────────────────────────────────────────────────────────


def _together(a: Monomial, b: Monomial) -> Vector:
    return minus(dict(a), {atom: -exponent for atom, exponent in b})


def _power(a: Quotient, exponent: Fraction) -> Quotient:
    """`(x + y)**p` grows as `x**p + y**p` for p > 0."""
    if exponent < 0:
        return _power(Quotient(a.below, a.above), -exponent)
    scaled = [{tuple((v, e * exponent) for v, e in m): ONE[()] for m in side} for side in (a.above, a.below)]
    return Quotient(*scaled)


def _quotient(q: Quotient, given: Sequence[Vector]) -> Quotient:
    above, below = _sum(q.above, given), _sum(q.below, given)
    return times(above, Quotient(below.below, below.above))


def _sum(poly: Poly, given: Sequence[Vector]) -> Quotient:
    """The sum's positive terms, provided that they bound the negative ones."""
    growing = [_monomial(m, given) for m, c in poly.items() if c > 0]
    if not growing:
        raise NotationError("the formula is zero or negative, so it has no growth")
    total = reduce(plus, growing)
    for monomial, coefficient in poly.items():
        if coefficient < 0:
            term = _monomial(monomial, given)
            bounds = [dict(m) for m in product(total.above, term.below)]
            if any(escape(_together(t, b), bounds, given) for t in term.above for b in total.below):
                message = f"the term `{show(monomial, coefficient)}` is not bounded by the others, "
                raise NotationError(message + "so the formula could be negative")
    return total


def _monomial(monomial: Monomial, given: Sequence[Vector]) -> Quotient:
    result = _UNIT
    for atom, exponent in monomial:
        result = times(result, _power(_atom(atom, given), exponent))
    return result


def _variable(variable: object, exponent: Fraction = Fraction(1)) -> Quotient:
    return Quotient({((variable, exponent),): ONE[()]}, ONE)


def _atom(atom: Atom, given: Sequence[Vector]) -> Quotient:
    if isinstance(atom, str):
        return _variable(atom)
    match atom:
        case ("prime", _):
            return _UNIT
        case ("log", inside):
            return _logarithm(inside, given)
        case ("sum", inside):
            return _sum(dict(inside), given)
        case ("exp", exponent):
            return _exponential(exponent, given)
        case ("call", "max" | "min" as function, keys):
            parts = [_quotient(Quotient(dict(a), dict(b)), given) for a, b in keys]
            turned = parts if function == "max" else [_power(p, Fraction(-1)) for p in parts]
            total = reduce(plus, turned)
            return total if function == "max" else _power(total, Fraction(-1))  # min(a,b) = 1/max(1/a,1/b)
        case ("call", "ceil" | "floor" | "abs", ((above, below),)):
            return _quotient(Quotient(dict(above), dict(below)), given)
    raise NotationError(
        "the growth of this formula is not known to the course; write it as a sum of products"
    )


def _logarithm(inside: Atom, given: Sequence[Vector]) -> Quotient:
    """`log(x + y)` grows as `log x + log y`, and `log(x**a * y)` too."""
    if isinstance(inside, int):
        return _UNIT
    if isinstance(inside, str) or (inside and inside[0] == "log"):
        return _variable(("log", inside))
    if inside and isinstance(inside[0], str):
        raise NotationError(
            "the growth of this logarithm is not known to the course; simplify what it is taken of"
        )
    parts = []
    for monomial, coefficient in inside:
        for atom, exponent in monomial:
            if coefficient > 0 and exponent < 0:
                raise NotationError(
                    "a logarithm of a quotient has no growth of its own; write it as a difference"
                )
            if coefficient > 0:
                parts.append(_logarithm_of_atom(atom, given))
    return reduce(plus, parts) if parts else _UNIT


def _logarithm_of_atom(atom: Atom, given: Sequence[Vector]) -> Quotient:
    if isinstance(atom, tuple) and atom[0] == "exp":
        return _monomial(atom[1], given)
    if isinstance(atom, tuple) and atom[0] == "prime":
        return _UNIT
    return _logarithm(atom[1] if isinstance(atom, tuple) and atom[0] == "sum" else atom, given)


def _exponential(exponent: Monomial, given: Sequence[Vector]) -> Quotient:
    """`2**T`: its own variable, above every power of T; the base is an exponent of that variable."""
    scale = 1.0
    rest = []
    for atom, power in exponent:
        if isinstance(atom, tuple) and atom[0] == "log" and isinstance(atom[1], int):
            scale *= math.log(atom[1]) ** float(power)
        else:
            rest.append((atom, power))
    if not rest:
        return _UNIT
    inner = _monomial(tuple(rest), given)
    if inner.below != ONE or len(inner.above) != 1 or any(p < 0 for _, p in next(iter(inner.above))):
        raise NotationError("the growth of this power is not known to the course; simplify its exponent")
    (vector,) = inner.above
    return _variable(("exp", vector), Fraction(scale).limit_denominator(10**6))
