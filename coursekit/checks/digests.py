"""Answers that a visible check can recognise and not show: salted digests.

    digest(7.6009, within=1e-3)        a number
    digest("b"), digest({"a", "c"})    a choice, several choices
    digest(["c", "a", "b"])            an order
    digest({("h0", "h1", "H"), …})     the edges of a graph
    digest(Growth("V*D", symbols=S)), digest(ClosedForm("2*h**2 + h*c", symbols=S))

A digest keeps an answer out of sight; whoever tries every option will find it, as with the check itself.
Grades stand on hidden tests.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable

from ..notation.formulas.closed_form import ClosedForm
from ..notation.formulas.growth import Growth

_MARK = "$"


def digest(value: object, *, within: float | None = None, salt: str | None = None) -> str:
    """The text to paste into a visible check. It carries its salt and, for a number, its tolerance."""
    salt = secrets.token_hex(4) if salt is None else salt
    if _MARK in salt:
        raise ValueError("a salt must not contain a dollar sign")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if within is None or not within > 0:
            raise ValueError("the digest of a number needs `within`, the error to accept")
        return _MARK.join(
            ("number", salt, repr(float(within)), _hash(salt, str(_bucket(float(value), within))))
        )
    if isinstance(value, (set, frozenset)) and value and all(isinstance(item, tuple) for item in value):
        hashes = sorted(_hash(salt, edge_text(edge)) for edge in value)
        return _MARK.join(("edges", salt, str(len(value)), ",".join(hashes)))
    if isinstance(value, (list, tuple)):
        return _MARK.join(("order", salt, str(len(value)), _hash(salt, "\n".join(map(label, value)))))
    if isinstance(value, Growth):
        return _MARK.join(("growth", salt, "", _hash(salt, str(value))))
    if isinstance(value, ClosedForm):
        return _MARK.join(("formula", salt, "", _hash(salt, _values(value))))
    return _MARK.join(("choice", salt, "", _hash(salt, choice_text(value))))


def is_digest(value: object, kind: str) -> bool:
    return isinstance(value, str) and value.startswith(kind + _MARK) and value.count(_MARK) == 3


def same_number(value: float, text: str) -> bool:
    """Always true within the tolerance, always false beyond three times it.

    The hidden number lies in a bucket two tolerances wide; a number within reach of it has that bucket
    under its own interval, so no rounding edge can reject a right answer. (The middle is looked at too: with
    both ends on an edge, float error could step over the bucket between them.)
    """
    _, salt, within, hashed = text.split(_MARK)
    reach = float(within)
    touched = {_bucket(value + step * reach, reach) for step in (-1, 0, 1)}
    return any(_hash(salt, str(bucket)) == hashed for bucket in touched)


def same_choice(value: object, text: str) -> bool:
    _, salt, _, hashed = text.split(_MARK)
    return _hash(salt, choice_text(value)) == hashed


def same_order(value: Iterable[object], text: str) -> bool:
    _, salt, _, hashed = text.split(_MARK)
    return _hash(salt, "\n".join(map(label, value))) == hashed


def same_growth(growth: Growth, text: str) -> bool:
    """Growths are compared by their normal form, which forgets how they were written."""
    _, salt, _, hashed = text.split(_MARK)
    return _hash(salt, str(growth)) == hashed


def same_formula(form: ClosedForm, text: str) -> bool:
    """Formulas are compared by their values at fixed sizes."""
    _, salt, _, hashed = text.split(_MARK)
    return _hash(salt, _values(form)) == hashed


def size_of(text: str) -> int:
    """How many items an order has, or edges a graph."""
    return int(text.split(_MARK)[2])


def has_edge(edge: tuple, text: str) -> bool:
    _, salt, _, hashes = text.split(_MARK)
    return _hash(salt, edge_text(edge)) in hashes.split(",")


def label(value: object) -> str:
    """A label as it is compared: without its blanks and its case."""
    return " ".join(str(value).split()).casefold()


def choice_text(value: object) -> str:
    chosen = value if isinstance(value, (set, frozenset, list, tuple)) else [value]
    return "\n".join(sorted({label(item) for item in chosen}))


def edge_text(edge: tuple) -> str:
    return "\n".join(str(end).strip() for end in edge)


def _bucket(value: float, within: float) -> int:
    return math.floor(value / (2 * within))


def _hash(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()[:20]


_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def _values(form: ClosedForm) -> str:
    """The formula's value at four places where the symbols have distinct prime sizes."""
    values = []
    for shift in range(4):
        sizes = {name: _PRIMES[(n + 3 * shift) % len(_PRIMES)] for n, name in enumerate(form.symbols)}
        values.append(f"{form.value(**sizes):.11e}")
    return " ".join(values)
