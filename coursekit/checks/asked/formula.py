"""`big_o` and `closed_form`: formulas in the sizes of a problem, that a student types."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from math import prod

from ...notation.errors import NotationError
from ...notation.formulas.closed_form import ClosedForm
from ...notation.formulas.growth import Growth
from ..judging.student import check, unreadable, written
from ..shown.locked import Outcome, formula_text, is_digest, matches
from ..shown.mathml import mathml
from ..shown.result import Result, formed, right, wrong

Sizes = Sequence[Mapping[str, int]]  # those of a problem by name, several times


@check
def big_o(answer: object, expected: object = None, *, symbols: Sequence[str], given: str = "") -> Result:
    """Does the answer grow as it should?

    expected  the growth as text; or what the language counted, `equations.cost().multiply_adds`; nothing leaves
              it to the grader
    symbols   the sizes that may stand in the answer
    given     side conditions that the question states: "V >= d, V >= D"

    >>> big_o("3 V D + D", "V*D", symbols="VD").ok
    True
    """
    growth = written(answer, lambda text: Growth(text, given, symbols), "the growth")
    reading = _typeset(growth.text, symbols)
    if expected is None:
        return formed(f"Your growth was read as `{growth}`.", reading=reading)
    compared = Growth(str(expected), given, symbols).compare(growth)
    if compared.equal:
        return right(f"`{growth}` is right.", reading=reading)
    kind, outcome = compared.verdict, Outcome(text=str(growth))
    own = compared.message if kind == "too loose" else _GROWTH[kind]
    return wrong(kind, own=own, whole=compared.message, outcomes=(outcome,), reading=reading)


# What a comparison says of the student's own formula, by its kind; its message names pieces of the right one.
_GROWTH = {
    "missing a term": "The bound misses a term.",
    "incomparable": "Neither bounds the other: the bound misses a term, and has one that is more than needed.",
}
_FORM = {
    "sign": "A sign is wrong.",
    "reciprocal": "Your formula is upside down.",
    "constant factor": "A constant factor is wrong.",
    "log base": "The base of the logarithm is wrong.",
    "off by one": "Off by one.",
    "missing term": "A term is missing.",
    "extra term": "There is a term too many.",
    "coefficient": "A coefficient is wrong.",
    "missing factor": "A factor is missing.",
    "extra factor": "There is a factor too many.",
    "wrong factor": "A factor is wrong.",
}


@check
def closed_form(
    answer: object,
    expected: object = None,
    *,
    symbols: Sequence[str],
    oracle: Callable[..., float] | None = None,
    at: Sizes = (),
) -> Result:
    """Is the formula equal to the right one, for all sizes?

    expected  the formula as text, or the digest of a `ClosedForm` with the same symbols
    oracle    instead of it, something that counts: `oracle(J=4, K=3)` must be the formula's value at each of
              the sizes `at` (a torch module's parameters, the counted work of a function)

    >>> closed_form("n(n+1)/2", "n**2/2 + n/2", symbols="n").ok
    True
    """
    form = written(answer, lambda text: ClosedForm(text, symbols), "the formula")
    result = _judged(form, expected, symbols, oracle, at)
    return replace(result, reading=_typeset(form.text, symbols))


def _judged(
    form: ClosedForm, expected: object, symbols: Sequence[str], oracle: Callable[..., float] | None, at: Sizes
) -> Result:
    if oracle is not None:
        return _counted(form, oracle, at)
    if expected is None:
        return formed(f"Your formula was read as `{form}`.")
    outcomes = _outcomes(form)
    if is_digest(expected, "formula"):
        plain = wrong("other", own=f"`{form}` is not right.", outcomes=outcomes)
        same = any(matches(outcome, str(expected)) for outcome in outcomes)
        return right(f"`{form}` is right.") if same else plain
    compared = ClosedForm(str(expected), symbols).compare(form)
    if compared.equal:
        return right(f"`{form}` is right.")
    kind = compared.kind or "different"
    own = _FORM.get(kind, "Your formula is not the right one.")
    return wrong(kind, own=own, whole=compared.message, outcomes=outcomes)


def _typeset(text: str, symbols: Sequence[str]) -> str:
    try:
        return mathml(ClosedForm(text, symbols).latex())
    except NotationError:  # a growth may be written as no closed form is
        return ""


def _outcomes(form: ClosedForm) -> tuple[Outcome, ...]:
    try:
        return (Outcome(text=formula_text(form)),)
    except NotationError:  # it has no value at the sizes where formulas are told apart
        return ()


def _counted(form: ClosedForm, oracle: Callable[..., float], at: Sizes) -> Result:
    if not at:
        raise ValueError("an oracle needs sizes to be asked at: at=[dict(J=4, K=3), …]")
    rows, off = [], []
    for sizes in at:
        try:
            yours = form.value(**sizes)
        except NotationError as error:
            return unreadable(error, "other")
        counted = float(oracle(**sizes))
        if abs(yours - counted) > 1e-9 * max(1.0, abs(counted)):
            rows.append((", ".join(f"{n} = {s}" for n, s in sizes.items()), yours, counted))
            off.append(sizes)
    if not rows:
        return right(f"`{form}` is right: it agrees with the count at {len(at)} sizes.")
    where, yours, counted = rows[0]
    own = f"`{form}` is not right: with {where} it gives {yours:.10g}"
    kind, more = _slip(form, rows, at) if len(rows) == len(at) > 1 else ("other", "")
    for name in form.symbols if len(off) < len(at) else ():
        if all((sizes[name] == 1) == (sizes not in off) for sizes in at):
            more = f" It is right only where `{name}` is 1."
    return wrong(
        kind, own=f"{own}.{more}", whole=f"{own}, and counting gives {counted:.10g}.{more}",
        columns=("sizes", "yours", "counted"), rows=tuple(rows), outcomes=_outcomes(form),
    )  # fmt: skip


def _slip(form: ClosedForm, rows: Sequence[tuple[str, float, float]], at: Sizes) -> tuple[str, str]:
    """The one slip, the same at every size, that leads from what counting gives to the formula."""
    pairs = [(yours, counted) for _, yours, counted in rows]
    same: Callable[[list[float]], bool] = lambda found: len({round(one, 6) for one in found}) == 1
    terms = [*combinations(form.symbols, 1), *combinations_with_replacement(form.symbols, 2)]
    products = [[prod(sizes[name] for name in term) for sizes in at] for term in terms]
    if same([yours - counted for yours, counted in pairs]):
        return "off by one", " It is off by the same number at every size."
    if not all(yours and counted for yours, counted in pairs):
        return "other", ""
    if same([yours / counted for yours, counted in pairs]):
        return "constant factor", " A constant factor is wrong."
    if same([yours * counted for yours, counted in pairs]):
        return "reciprocal", " It is upside down."
    for sizes in products:
        ratios = [(y / c, size) for (y, c), size in zip(pairs, sizes, strict=True) if size != 1]
        for kind, power, said in (
            ("extra", -1, "There is a factor too many."),
            ("missing", 1, "A factor is missing."),
        ):
            if len(ratios) > 1 and same([ratio * size**power for ratio, size in ratios]):
                return f"{kind} factor", f" {said}"
    for sizes in products if len(at) > 2 else ():  # two sizes would agree with too much
        shares = [(yours - counted) / size for (yours, counted), size in zip(pairs, sizes, strict=True)]
        if same(shares):
            extra = ("extra term", " There is too much of one term.")
            return (
                extra
                if shares[0] > 0
                else ("missing term", " There is too little of one term, or it is missing.")
            )
    return "other", ""
