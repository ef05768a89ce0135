"""Closed forms that a student types: `2*h**2 + h*c`, `1/sqrt(I)`, `\\frac{J}{2}`.

`ClosedForm("2*h**2 + h*c", symbols=["h", "c"]).compare("h**2 + h*c")` says whether the two are equal
for all positive sizes and, if not, what kind of difference there is. Equality is decided by normal forms;
only where a root of a sum, a logarithm or an exponential leaves that open is it decided by evaluation
at several points of several magnitudes with sixty digits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DecimalException, localcontext
from fractions import Fraction

from ..errors import NotationError
from ..tree import Add, Call, Div, Expr, Mul, Neg, Num, Pow, Size, transform
from .formula import read, symbols_of
from .formula_latex import latex
from .normal import ONE, Monomial, Poly, Quotient, inverse, normal, opaque, plus, show, show_sum, times

_DIGITS = 60
_WIDE = Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)  # n**n may stand inside a logarithm
_CLOSE = Decimal(10) ** -40
_SCALES = (3, 1000, 10**6)  # three disjoint ranges of sizes, two points in each


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

    def __init__(self, text: str, symbols: Iterable[str] | None = None, positive: bool = True):
        if not positive:
            raise NotationError("closed forms are compared for positive sizes only")
        self.text = text
        declared = None if symbols is None else tuple(symbols)
        self.tree = read(text, declared)
        self.symbols = symbols_of(self.tree) if declared is None else declared
        self._normal = normal(self.tree)

    def _other(self, other: ClosedForm | str) -> ClosedForm:
        return other if isinstance(other, ClosedForm) else ClosedForm(other, self.symbols)

    def value(self, **sizes: float) -> float:
        """The number for given sizes."""
        missing = [s for s in symbols_of(self.tree) if s not in sizes]
        if missing:
            raise NotationError(f"a value for `{missing[0]}` is needed")
        with localcontext(_WIDE):
            return float(_evaluate(self.tree, {name: Decimal(v) for name, v in sizes.items()}))

    def latex(self) -> str:
        return latex(self.tree)

    def equals(self, other: ClosedForm | str) -> bool:
        return _equal(self.tree, self._other(other).tree)

    def compare(self, other: ClosedForm | str) -> ClosedFormComparison:
        """Whether the answer `other` equals this, and if not, how they differ."""
        answer = self._other(other)
        if self.equals(answer):
            return ClosedFormComparison(True, "The two are equal.")
        for rule in (_turned, _constant_factor, _one_more, _one_term, _shifted, _terms, _factor):
            found = rule(self, answer)
            if found is not None:
                return ClosedFormComparison(False, found[1], found[0])
        return ClosedFormComparison(False, self._numbers(answer), "different")

    def _numbers(self, answer: ClosedForm) -> str:
        names = dict.fromkeys((*symbols_of(self.tree), *symbols_of(answer.tree)))
        sizes = dict(zip(names, (2, 3, 5, 7, 11, 13, 17, 19), strict=False))
        try:
            expected, got = self.value(**sizes), answer.value(**sizes)
        except NotationError:
            return "The two formulas are not equal."
        at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        return f"The two formulas differ{' at ' + at if at else ''}: expected {expected:.6g}, got {got:.6g}."

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"ClosedForm({self.text!r}, symbols={list(self.symbols)})"


def _equal(a: Expr, b: Expr) -> bool:
    p, q = normal(a), normal(b)
    if not plus(p, Quotient({m: -c for m, c in q.above.items()}, q.below)).above:
        return True
    if not opaque(p) and not opaque(q):
        return False
    pairs = list(_values(a, b))
    return bool(pairs) and all(_same(x, y) for x, y in pairs)


# ── kinds of difference: each rule gives (kind, sentence) or None ────────────────────────────


def _is(tree: Expr, answer: ClosedForm) -> bool:
    try:
        return _equal(tree, answer.tree)
    except NotationError:
        return False


def _turned(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    if _is(Neg(right.tree), answer):
        return "sign", "The sign is wrong: your formula is the right one times -1."
    if _is(Div(Num(Fraction(1)), right.tree), answer):
        return "reciprocal", "Your formula is upside down: it is one over the right one."
    return None


def _constant_factor(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    ratios = [b / a for a, b in _values(right.tree, answer.tree) if a]
    if len(ratios) < 2 or not all(_same(r, ratios[0]) for r in ratios) or not symbols_of(right.tree):
        return None
    ratio = float(ratios[0])
    if not ratio:
        return None
    for base in (2, 10):
        for factor in (math.log(base), 1 / math.log(base)):
            if abs(ratio - factor) < 1e-12:
                return (
                    "log base",
                    f"The base of the logarithm is wrong: one is natural, the other has base {base}.",
                )
    if abs(ratio - math.log2(10)) < 1e-12 or abs(1 / ratio - math.log2(10)) < 1e-12:
        return "log base", "The base of the logarithm is wrong: one has base 2, the other base 10."
    exact = Fraction(ratio).limit_denominator(1000)
    text = str(exact) if abs(float(exact) - ratio) < 1e-12 * abs(ratio) else f"{ratio:.6g}"
    return "constant factor", f"A constant factor is wrong: your formula is {text} times the right one."


def _one_more(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    for by in (1, -1):
        if _is(Add((right.tree, Num(Fraction(by)))), answer):
            return "off by one", f"Off by one: your formula is 1 too {'large' if by > 0 else 'small'}."
    return None


def _one_term(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    """One term is missing, or there is one too many: a simpler thing to say than a shifted symbol."""
    counts = len(right._normal.above), len(answer._normal.above)
    found = _terms(right, answer) if abs(counts[0] - counts[1]) == 1 else None
    return found if found and found[0] in ("missing term", "extra term") else None


def _shifted(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    for by in (1, -1):
        step = Num(Fraction(by))
        for name in symbols_of(right.tree):
            moved = transform(
                right.tree, lambda n, name=name, step=step: Add((n, step)) if n == Size(name) else n
            )
            if _is(moved, answer):
                sign = "+" if by > 0 else "-"
                return "off by one", f"Off by one: you have `{name} {sign} 1` where `{name}` belongs."
    return None


def _terms(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    """Differences between two sums over the same denominator."""
    if right._normal.below != answer._normal.below:
        return None
    ours, theirs = right._normal.above, answer._normal.above
    missing = {m: c for m, c in ours.items() if m not in theirs}
    extra = {m: c for m, c in theirs.items() if m not in ours}
    changed = [m for m in ours if m in theirs and ours[m] != theirs[m]]
    if missing and not extra and not changed:
        return "missing term", f"A term is missing: `{_written(missing, right)}`."
    if extra and not missing and not changed:
        return "extra term", f"There is a term too many: `{_written(extra, right)}`."
    if len(changed) == 1 and not missing and not extra:
        (m,) = changed
        term = show(_ordered(m, right)) if m else "the constant"
        if ours[m] == -theirs[m]:
            return "sign", f"The sign of the term `{show(_ordered(m, right), abs(ours[m]))}` is wrong."
        name = f"`{term}`" if m else term
        return "coefficient", f"The coefficient of {name} is {theirs[m]}; it should be {ours[m]}."
    return None


def _factor(right: ClosedForm, answer: ClosedForm) -> tuple[str, str] | None:
    """The answer is the right one times a single product."""
    if not right._normal.above or not answer._normal.above or opaque(right._normal) or opaque(answer._normal):
        return None
    ratio = times(answer._normal, inverse(right._normal))
    if len(ratio.above) != 1 or len(ratio.below) != 1:
        ratio = _reduced(ratio)
    if len(ratio.above) != 1 or len(ratio.below) != 1:
        return None
    ((monomial, coefficient),) = ratio.above.items()
    if all(e > 0 for _, e in monomial):
        return (
            "extra factor",
            f"There is a factor too many: `{show(_ordered(monomial, right), coefficient)}`.",
        )
    turned = tuple((a, -e) for a, e in monomial)
    if all(e > 0 for _, e in turned):
        return "missing factor", f"A factor is missing: `{show(_ordered(turned, right), 1 / coefficient)}`."
    times_ = show(_ordered(monomial, right), coefficient)
    return "wrong factor", f"Your formula is the right one times `{times_}`."


def _reduced(ratio: Quotient) -> Quotient:
    """The quotient of two sums where one is the other times a monomial."""
    (m1, c1), (m2, c2) = (min(side.items(), key=repr) for side in (ratio.above, ratio.below))
    candidate = times(Quotient({m1: c1}, ONE), inverse(Quotient({m2: c2}, ONE)))
    scaled = times(candidate, Quotient(ratio.below, ONE))
    return candidate if scaled.above == ratio.above else ratio


def _ordered(monomial: Monomial, form: ClosedForm) -> Monomial:
    place = {name: k for k, name in enumerate(form.symbols)}
    return tuple(sorted(monomial, key=lambda f: (place.get(f[0], len(place)), repr(f))))


def _written(poly: Poly, form: ClosedForm) -> str:
    return show_sum({_ordered(m, form): c for m, c in poly.items()})


# ── evaluation ───────────────────────────────────────────────────────────────────────────────


def _same(a: Decimal, b: Decimal) -> bool:
    with localcontext(_WIDE):
        return abs(a - b) <= _CLOSE * max(abs(a), abs(b), Decimal(1))


def _values(a: Expr, b: Expr) -> Iterator[tuple[Decimal, Decimal]]:
    """Both formulas at the same random points; points where one does not exist are passed over,
    unless the other does exist there."""
    names = sorted({*symbols_of(a), *symbols_of(b)})
    draw = random.Random(20)
    with localcontext(_WIDE):
        for scale in _SCALES:
            for _ in range(2):
                sizes = {n: Decimal(draw.randrange(scale * 100, scale * 400)) / 97 for n in names}
                left, right = _attempt(a, sizes), _attempt(b, sizes)
                if left is not None and right is not None:
                    yield left, right
                elif (left is None) != (right is None):
                    yield Decimal(0), Decimal(1)


def _attempt(node: Expr, sizes: dict[str, Decimal]) -> Decimal | None:
    try:
        return _evaluate(node, sizes)
    except NotationError:
        return None


def _evaluate(node: Expr, sizes: dict[str, Decimal]) -> Decimal:
    try:
        return _compute(node, sizes)
    except (DecimalException, ArithmeticError) as error:
        raise NotationError("the formula has no value at these sizes") from error


def _compute(node: Expr, sizes: dict[str, Decimal]) -> Decimal:
    def of(n: Expr) -> Decimal:
        return _compute(n, sizes)

    match node:
        case Num(value):
            return Decimal(value.numerator) / value.denominator
        case Size(name):
            return sizes[name]
        case Add(terms):
            return sum(map(of, terms), Decimal(0))
        case Mul(factors):
            return math.prod(map(of, factors), start=Decimal(1))
        case Neg(body):
            return -of(body)
        case Div(above, below):
            return of(above) / of(below)
        case Pow(base, exponent):
            return of(base) ** of(exponent)
        case Call(function, args):
            return _CALLS[function](*map(of, args))
    raise TypeError(f"{type(node).__name__} is not part of a formula")


_CALLS: dict[str, Callable[..., Decimal]] = {
    "sqrt": Decimal.sqrt,
    "log": Decimal.ln,
    "log2": lambda x: x.ln() / Decimal(2).ln(),
    "log10": Decimal.log10,
    "exp": Decimal.exp,
    "abs": abs,
    "ceil": lambda x: Decimal(math.ceil(x)),
    "floor": lambda x: Decimal(math.floor(x)),
    "max": lambda *xs: max(xs),
    "min": lambda *xs: min(xs),
}
