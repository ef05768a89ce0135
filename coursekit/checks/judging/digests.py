"""Answers that a visible check can recognise and not show: salted digests.

    digest(7.6009, within=1e-3)
    digest(ClosedForm("2*h**2 + h*c", symbols=S))

Each is made with a slow hash, so that trying numbers or formulas one after the other takes hours. A choice, an order,
a graph or a growth has no digest: its few options could all be tried, and it is left to the grader.
"""

import hashlib
import secrets

from ...notation.formulas.closed_form import ClosedForm
from ..shown.locked import SLOW, Outcome, buckets, hours, slow

_MARK, _SLOW = "$", "~"


def digest(
    value: object, *, within: float | None = None, salt: str | None = None, anyway: bool = False
) -> str:
    """The text for a visible check. It carries its salt and, for a number, its tolerance.

    A number that one core finds in less than an hour is refused, unless `anyway`.
    """
    salt = secrets.token_hex(4) if salt is None else salt
    if _MARK in salt:
        raise ValueError("a salt must not contain a dollar sign")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if within is None or not within > 0:
            raise ValueError("the digest of a number needs `within`, the error to accept")
        outcome = Outcome(numbers=(float(value),), reach=float(within))
        if hours(outcome) < 1 and not anyway:
            raise ValueError(
                f"{value:g} within {within:g} is found by trying in {60 * hours(outcome):.0f} minutes: ask for more "
                f"digits (within {within * hours(outcome):.1g}), or leave it to the grader"
            )
        return _MARK.join(("number", salt, repr(float(within)), _hash(salt, _number(value, within)[0])))
    if isinstance(value, ClosedForm):
        return _MARK.join(("formula", salt, "", _hash(salt, formula_text(value))))
    raise ValueError("only a number or a formula has a digest: of few options all can be tried")


def is_digest(value: object, kind: str) -> bool:
    return isinstance(value, str) and value.startswith(kind + _MARK) and value.count(_MARK) == 3


def same_number(value: float, text: str) -> bool:
    """Always true within the tolerance, always false beyond three times it: the hidden number lies in a bucket two
    tolerances wide, and a number within reach of it has that bucket under its own interval."""
    return any(_is(text, token) for token in _number(value, reach_of(text)))


def reach_of(text: str) -> float:
    """The error that the digest of a number accepts."""
    return float(text.split(_MARK)[2])


def same_formula(form: ClosedForm, text: str) -> bool:
    """Formulas are compared by their values at fixed sizes."""
    return _is(text, formula_text(form))


def label(value: object) -> str:
    """A label as it is compared: without its blanks and its case."""
    return " ".join(str(value).split()).casefold()


def _number(value: object, within: float) -> list[str]:
    return [f"\n{bucket}" for bucket in buckets(float(value), within)]  # type: ignore[arg-type]


def _hash(salt: str, text: str) -> str:
    return _SLOW + hashlib.sha256(slow(salt, text, SLOW)).hexdigest()[:20]


def _is(digest: str, text: str) -> bool:
    _, salt, _, hashed = digest.split(_MARK)
    return _hash(salt, text) == hashed


_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def formula_text(form: ClosedForm) -> str:
    """The formula's value at four places where the symbols have distinct prime sizes."""
    values = []
    for shift in range(4):
        sizes = {name: _PRIMES[(n + 3 * shift) % len(_PRIMES)] for n, name in enumerate(form.symbols)}
        values.append(f"{form.value(**sizes):.11e}")
    return " ".join(values)
