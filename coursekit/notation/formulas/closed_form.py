"""Closed forms that a student types: `2*h**2 + h*c`, `1/sqrt(I)`, `\\frac{J}{2}`.

`ClosedForm("2*h**2 + h*c", symbols=["h", "c"]).compare("h**2 + h*c")` says whether the two are equal
for all positive sizes and, if not, what kind of difference there is. Equality is decided by normal forms;
only where a root of a sum, a logarithm or an exponential leaves that open is it decided by evaluation
at several points of several magnitudes with many digits. Where something is rounded, those sizes are whole.
"""

import contextlib
import decimal
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

from ..errors import NotationError
from ..indices import each
from ..latex import Latex
from ..polynomial import Atom, Monomial, Polynomial, term
from ..show import ATOM, MUL, POWER, Text
from ..tree import Add, Call, Num, Pow, Size, Sum, transform
from .formula import placed, read, symbols_of
from .normal import ONE, Quotient, normal, opaque, sizes_in

_WIDE = decimal.Context(
    prec=120, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN
)  # n**n may stand inside a logarithm
_CLOSE = Decimal(10) ** -40
_SCALES = (3, 3, 1000, 1000, 10**6, 10**6)  # sizes of three magnitudes


@dataclass(frozen=True)
class ClosedFormComparison:
    """`kind` is None where the two are equal, else one of `sign`, `reciprocal`, `constant factor`, `log base`,
    `off by one`, `missing term`, `extra term`, `coefficient`, `missing factor`, `extra factor`,
    `wrong factor`, `different`."""

    equal: bool
    message: str
    kind: str | None = None


class ClosedForm:
    """A formula in declared symbols. With `symbols=None` every name in it is one."""

    def __init__(self, text: str, symbols: Iterable[str] | None = None):
        self.text = text
        declared = None if symbols is None else tuple(symbols)
        self.tree = read(text, declared)
        self.symbols = symbols_of(self.tree) if declared is None else declared
        self.place = placed(self.symbols)
        self.normal = normal(self.tree)

    def _other(self, other: "ClosedForm | str") -> "ClosedForm":
        return other if isinstance(other, ClosedForm) else ClosedForm(other, self.symbols)

    def value(self, **sizes: float) -> float:
        """The number for given sizes."""
        missing = [s for s in symbols_of(self.tree) if s not in sizes]
        if missing:
            raise NotationError(f"a value for `{missing[0]}` is needed")
        with localcontext(_WIDE):
            try:
                return float(_value(self.normal, {name: Decimal(v) for name, v in sizes.items()}))
            except ArithmeticError as error:
                raise NotationError("the formula has no value at these sizes") from error

    def latex(self) -> str:
        return _Latex(page=False).formula(self.tree)

    def equals(self, other: "ClosedForm | str") -> bool:
        return _equal(self.normal, self._other(other).normal)

    def compare(self, other: "ClosedForm | str") -> ClosedFormComparison:
        """Whether the answer `other` equals this, and if not, how they differ."""
        answer = self._other(other)
        if self.equals(answer):
            return ClosedFormComparison(True, "The two are equal.")
        for rule in (_turned, _constant_factor, _one_more, _one_term, _shifted, _terms, _factor):
            found = rule(self, answer)
            if found is not None:
                return ClosedFormComparison(False, found[1], found[0])
        return ClosedFormComparison(False, self._numbers(answer), "different")

    def term(self, monomial: Monomial, coefficient: Fraction = Fraction(1)) -> str:
        return term(monomial, coefficient, first=self.place)

    def _numbers(self, answer: "ClosedForm") -> str:
        names = dict.fromkeys((*symbols_of(self.tree), *symbols_of(answer.tree)))
        primes = (2, 3, 5, 7, 11, 13, 17, 19)
        for first in range(len(primes)):
            sizes = dict(zip(names, (*primes[first:], *primes[:first]), strict=False))
            with contextlib.suppress(NotationError):
                expected, got = f"{self.value(**sizes):.6g}", f"{answer.value(**sizes):.6g}"
                if expected != got:  # where one rounds up and the other down they may agree
                    at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                    return (
                        f"The two formulas differ{' at ' + at if at else ''}: expected {expected}, got {got}."
                    )
        return "The two formulas are not equal."

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"ClosedForm({self.text!r}, symbols={list(self.symbols)})"


def _equal(p: Quotient, q: Quotient) -> bool:
    if not (p + -q).above:
        return True
    if not opaque(p) and not opaque(q):
        return False
    pairs = list(_values(p, q))
    return bool(pairs) and all(_same(x, y) for x, y in pairs)


# ── kinds of difference: each rule gives (kind, sentence) or None ────────────────────────────


def _turned(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    if _equal(-right.normal, answer.normal):
        return "sign", "The sign is wrong: your formula is the right one times -1."
    if right.normal.above and _equal(right.normal.inverse, answer.normal):
        return "reciprocal", "Your formula is upside down: it is one over the right one."
    return None


def _constant_factor(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    ratios = [b / a for a, b in _values(right.normal, answer.normal) if a]
    if len(ratios) < 2 or not all(_same(r, ratios[0]) for r in ratios) or not symbols_of(right.tree):
        return None
    ratio = float(ratios[0])
    if not ratio:
        return None
    for base, named, other in ((math.e, "is natural", 2), (math.e, "is natural", 10), (2, "has base 2", 10)):
        factor = math.log(other, base)
        if min(abs(ratio - factor), abs(1 / ratio - factor)) < 1e-12:
            return "log base", f"The base of the logarithm is wrong: one {named}, the other has base {other}."
    exact = Fraction(ratio).limit_denominator(1000)
    text = str(exact) if abs(float(exact) - ratio) < 1e-12 * abs(ratio) else f"{ratio:.6g}"
    return "constant factor", f"A constant factor is wrong: your formula is {text} times the right one."


def _one_more(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    for by in (1, -1):
        if _equal(right.normal + Quotient(ONE * by), answer.normal):
            return "off by one", f"Off by one: your formula is 1 too {'large' if by > 0 else 'small'}."
    return None


def _one_term(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    """One term is missing, or there is one too many: a simpler thing to say than a shifted symbol."""
    counts = len(right.normal.above.terms), len(answer.normal.above.terms)
    found = _terms(right, answer) if abs(counts[0] - counts[1]) == 1 else None
    return found if found and found[0] in ("missing term", "extra term") else None


def _shifted(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    for by in (1, -1):
        step = Num(Fraction(by))
        for name in symbols_of(right.tree):
            moved = transform(
                right.tree, lambda n, name=name, step=step: Add((n, step)) if n == Size(name) else n
            )
            if _equal(normal(moved), answer.normal):
                sign = "+" if by > 0 else "-"
                return "off by one", f"Off by one: you have `{name} {sign} 1` where `{name}` belongs."
    return None


def _terms(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    """Differences between two sums over the same denominator."""
    if right.normal.below != answer.normal.below:
        return None
    ours, theirs = dict(right.normal.above.terms), dict(answer.normal.above.terms)
    missing = [(m, c) for m, c in ours.items() if m not in theirs]
    extra = [(m, c) for m, c in theirs.items() if m not in ours]
    changed = [m for m in ours if m in theirs and ours[m] != theirs[m]]
    if missing and not extra and not changed:
        return "missing term", f"A term is missing: `{Polynomial.of(missing).written(first=right.place)}`."
    if extra and not missing and not changed:
        return "extra term", f"There is a term too many: `{Polynomial.of(extra).written(first=right.place)}`."
    if len(changed) == 1 and not missing and not extra:
        (m,) = changed
        if ours[m] == -theirs[m]:
            return "sign", f"The sign of the term `{right.term(m, abs(ours[m]))}` is wrong."
        name = f"`{right.term(m)}`" if m else "the constant"
        return "coefficient", f"The coefficient of {name} is {theirs[m]}; it should be {ours[m]}."
    return None


def _factor(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    """The answer is the right one times a single product."""
    if not right.normal.above or not answer.normal.above or opaque(right.normal) or opaque(answer.normal):
        return None
    ratio = answer.normal * right.normal.inverse
    if len(ratio.below.terms) != 1:  # perhaps one sum is the other times a monomial
        (m, c), (n, d) = ratio.above.terms[0], ratio.below.terms[0]
        part = Quotient(Polynomial.of([(m, c)])) * Quotient(Polynomial.of([(n, d)])).inverse
        ratio = part if (part * Quotient(ratio.below)).above == ratio.above else ratio
    if len(ratio.above.terms) != 1 or len(ratio.below.terms) != 1:
        return None
    ((monomial, coefficient),) = ratio.above.terms
    if all(e > 0 for _, e in monomial):
        return "extra factor", f"There is a factor too many: `{right.term(monomial, coefficient)}`."
    turned = tuple((a, -e) for a, e in monomial)
    if all(e > 0 for _, e in turned):
        return "missing factor", f"A factor is missing: `{right.term(turned, 1 / coefficient)}`."
    return "wrong factor", f"Your formula is the right one times `{right.term(monomial, coefficient)}`."


# ── evaluation ───────────────────────────────────────────────────────────────────────────────


def _same(a: Decimal, b: Decimal) -> bool:
    with localcontext(_WIDE):
        return abs(a - b) <= _CLOSE * max(abs(a), abs(b), Decimal(1))


def _values(a: Quotient, b: Quotient) -> Iterator[tuple[Decimal, Decimal]]:
    """Both formulas at the same random points; points where one does not exist are passed over,
    unless the other does exist there. Rounding makes many small whole sizes worth a look."""
    names = sorted(sizes_in(a, b))
    rounded = "ceil" in repr((a, b)) or "floor" in repr((a, b))
    draw = random.Random(20)
    with localcontext(_WIDE):
        for scale in (0,) * 40 * rounded + _SCALES:
            sizes = {
                n: Decimal(draw.randrange(scale * 100 or 97, scale * 400 or 97 * 13)) / 97 for n in names
            }
            if rounded:
                sizes = {n: Decimal(math.floor(size)) for n, size in sizes.items()}
            found = []
            for side in (a, b):
                with contextlib.suppress(ArithmeticError):
                    found.append(_value(side, sizes))
            if len(found) == 2:
                yield found[0], found[1]
            elif found:
                yield Decimal(0), Decimal(1)


def _value(a: Quotient, sizes: dict[str, Decimal]) -> Decimal:
    """The formula's value, in the context of many digits."""
    return _total(a.above, sizes) / _total(a.below, sizes)


def _total(poly: Polynomial, sizes: dict[str, Decimal]) -> Decimal:
    return sum((_product(m, sizes) * c.numerator / c.denominator for m, c in poly.terms), Decimal(0))


def _product(monomial: Monomial, sizes: dict[str, Decimal]) -> Decimal:
    powers = (_atom(atom, sizes) ** (Decimal(e.numerator) / e.denominator) for atom, e in monomial)
    return math.prod(powers, start=Decimal(1))


def _atom(atom: Atom, sizes: dict[str, Decimal]) -> Decimal:
    match atom:
        case ("prime", value):
            return Decimal(value)
        case ("sum", inside):
            return _total(inside, sizes)
        case ("log", inside):
            return _total(inside, sizes).ln()
        case ("exp", monomial):
            return _product(monomial, sizes).exp()
        case ("call", function, args):
            return _CALLS[function](_value(a, sizes) for a in args)
    return sizes[atom]


def _rounded(x: Decimal, way: str) -> Decimal:
    """A third of three is one: what is whole but for the last digits is whole."""
    near = x.to_integral_value()
    return near if abs(x - near) < _CLOSE else x.to_integral_value(way)


_CALLS: dict[str, Callable[[Iterator[Decimal]], Decimal]] = {
    "max": max,
    "min": min,
    "exp": lambda xs: next(xs).exp(),
    "abs": lambda xs: abs(next(xs)),
    "ceil": lambda xs: _rounded(next(xs), decimal.ROUND_CEILING),
    "floor": lambda xs: _rounded(next(xs), decimal.ROUND_FLOOR),
}


class _Latex(Latex):
    """Formulas typeset: here a bare name may have a power, and some functions are signs."""

    corners: ClassVar = {"ceil": (r"\lceil ", r" \rceil"), "floor": (r"\lfloor ", r" \rfloor"), "abs": "||"}

    def pow(self, node: Pow) -> Text:
        return f"{self.formula(node.base, ATOM)}^{{{self.formula(node.exponent)}}}", POWER

    def call(self, node: Call) -> Text:
        if node.function in self.corners:
            left, right = self.corners[node.function]
            return f"{left}{self.formula(node.args[0])}{right}", ATOM
        if node.function.startswith("log"):
            base = f"_{{{node.function[3:]}}}" if node.function != "log" else ""
            return rf"\log{base}{self.brackets(self.formulas(node.args))}", ATOM
        return super().call(node)

    def bound(self, node: Sum) -> Text:  # type: ignore[override]
        low, high = each(node.where)
        under = f"{self.index(node.indices[0])}={self.formula(low.left)}"
        return rf"\sum_{{{under}}}^{{{self.formula(high.right)}}} {self.formula(node.body, MUL)}", MUL
