"""`value`: a number, in a unit or by itself, against the right one or its digest; or several of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ..judging.student import a_thing, check, listed, stop, stopped, unanswered
from ..shown.locked import Outcome, is_digest, matches
from ..shown.result import Finding, Result, combine, formed, right, wrong

Expected = float | str  # the number itself, or its digest


@check
def value(
    answer: object,
    expected: Expected | Mapping[Any, Expected | None] | Sequence[Expected | None] | None,
    *,
    unit: object = None,
    units: Mapping[str, Expected] | None = None,
    within: float = 1e-6,
    relative: bool = True,
) -> Result:
    """Is the number right?

    expected  the number, or its digest; a dict or list of them for an answer with several entries; None leaves it to
              the grader, where few numbers are possible
    units     where the student names a unit: {"nats": 7.6009, "bits": 10.9658}; `unit` is what they named
    within    the error to accept where the number itself is given: of its size, or absolute (a digest
              carries its own)

    >>> value(0.6931472, math.log(2)).ok, value(0.7, math.log(2)).ok
    (True, False)
    """
    if units is not None:
        return _in_unit(answer, unit, units, within, relative)
    if isinstance(expected, (list, tuple)):
        expected = dict(enumerate(expected))
    if not isinstance(expected, Mapping):
        return _single(within, relative, answer, expected)  # type: ignore[arg-type]
    numbered = all(isinstance(key, int) for key in expected)
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if numbered and isinstance(answer, (list, tuple)):
        answer = dict(enumerate(answer))
    in_order = isinstance(answer, (list, tuple)) and len(answer) == len(expected)
    if not (in_order or isinstance(answer, Mapping) or unanswered(answer)):
        wanted = f"Answer with a dict that has the keys {listed([f'`{key}`' for key in expected])};"
        wanted = f"{len(expected)} numbers are needed here, and" if numbered else wanted
        stop("type", f"{wanted} this is {a_thing(answer)}.")
    for key in (key for key in answer if key not in expected) if isinstance(answer, Mapping) else ():
        stop("extra", f"There is no entry `{key}` in this question.")
    return entries(partial(stopped, _single, within, relative), answer, expected)


def _number(answer: object) -> float:
    """The student's number as a float; Stopped with the sentence about what it is instead."""
    if unanswered(answer):
        stop("empty", "There is no answer here yet.")
    number = None
    if not isinstance(answer, (bool, str, bytes)) and not callable(answer):
        with suppress(Exception):
            number = float(answer)  # type: ignore[arg-type]
    if number is None:
        stop("type", f"A number is needed here, and this is {a_thing(answer)}.")
    if not math.isfinite(number):
        stop("nan", f"The answer is {number}; it must be a finite number.")
    return number


def _outcome(number: float, expected: Expected, within: float, relative: bool) -> Outcome:
    if is_digest(expected, "number"):
        within = float(str(expected).split("$")[2])
    elif relative and float(expected):
        within *= abs(float(expected))
    return Outcome(numbers=(number,), reach=within)


def _same(number: float, expected: Expected, within: float, relative: bool) -> bool:
    outcome = _outcome(number, expected, within, relative)
    if is_digest(expected, "number"):
        return matches(outcome, str(expected))
    return abs(number - float(expected)) <= (outcome.reach or 0)


def _single(
    within: float, relative: bool, answer: object, expected: Expected | None, _: object = ()
) -> Result:
    number = _number(answer)
    if expected is None:
        return formed(f"Your answer was read as {number:.10g}.")
    if _same(number, expected, within, relative):
        return right(f"{number:.6g} is right.")
    kind, reason = "other", "."
    if not is_digest(expected, "number"):
        kind, reason = _relation(number, float(expected))
    outcome = _outcome(number, expected, within, relative)
    return wrong(kind, own=f"{number:.6g} is not right{reason}", outcomes=(outcome,))


# How a wrong number hangs together with the right one, where that is plain.
_RELATIONS: tuple[tuple[Callable[[float], float], str, str], ...] = (
    (lambda x: -x, "sign", "its sign is wrong."),
    (lambda x: x / math.log(2), "unit",
     "it is the right number divided by ln 2. Bits, where nats are asked for?"),
    (lambda x: x * math.log(2), "unit", "it is the right number times ln 2. Nats, where bits are asked for?"),
    (lambda x: x / math.log(10), "unit",
     "it is the right number divided by ln 10. Was the logarithm to base 10?"),
    (lambda x: 100 * x, "factor", "it is off by a factor of 100: a share and a percentage differ by that."),
    (lambda x: x / 100, "factor", "it is off by a factor of 100: a share and a percentage differ by that."),
    (lambda x: 1 / x, "inverse", "it is one over the right number."),
    (lambda x: 2 * x, "factor", "it is off by a factor of 2."),
    (lambda x: x / 2, "factor", "it is off by a factor of 2."),
    (lambda x: math.exp(min(x, 700.0)), "logarithm", "a logarithm stands between it and the right number."),
    (lambda x: math.log(x) if x > 0 else math.inf, "logarithm",
     "a logarithm stands between it and the right number."),
)  # fmt: skip


def _relation(number: float, expected: float) -> tuple[str, str]:
    for related, kind, reason in _RELATIONS if expected else ():
        other = related(expected)
        if math.isfinite(other) and abs(number - other) <= 1e-3 * abs(other):
            return kind, f": {reason}"
    if expected.is_integer() and not number.is_integer() and abs(number - expected) <= 1:
        return "rounding", ": a whole number is asked for."
    if abs(number - expected) <= 1e-2 * abs(expected):
        return "rounding", ": it is close; compute it with more digits."
    return "other", "."


def _in_unit(
    answer: object, unit: object, units: Mapping[str, Expected], within: float, relative: bool
) -> Result:
    number, names = _number(answer), ", ".join(f"`{name}`" for name in units)
    if unanswered(unit):
        stop("empty", f"Name the unit of your number as well: one of {names}.")
    chosen = str(unit).strip().lower()
    if chosen not in units:
        stop("unit", f"The unit must be one of {names}, and this is {a_thing(unit)}.")
    meant = [name for name, expected in units.items() if _same(number, expected, within, relative)]
    if chosen in meant:
        return right(f"{number:.6g} {chosen} is right.")
    if meant:
        stop("unit", f"{number:.6g} is the right number in {meant[0]}, and you said {chosen}.")
    return _single(within, relative, answer, units[chosen])


def parts(results: Mapping[str, Result], praise: str = "Every part is right.") -> Result:
    """One result of several: right if all are, else with the sentences of those that are not.

    checks.parts({"shape": checks.properties(…), "number": checks.value(…)})
    """
    return combine(results, praise)


@check
def entries(one: Callable[..., Result], answer: object, expected: Mapping[Any, object]) -> Result:
    """Check an answer that is a dict, entry by entry: `one(entry, what is expected of it, ())`; one part an entry."""
    if unanswered(answer):
        stop("empty", "There is no answer here yet.")
    if isinstance(answer, (list, tuple)) and len(answer) == len(expected):  # in the order of the question
        answer = dict(zip(expected, answer, strict=True))
    found = {}
    for name, right_one in expected.items():
        if isinstance(answer, Mapping) and name not in answer:
            found[str(name)] = wrong("missing", own=f"The entry `{name}` is missing.")
            continue
        result = one(answer[name] if isinstance(answer, Mapping) else None, right_one, ())
        if result.rows:  # the entries' numbers come to stand in one table
            rows = tuple((name, *row) for row in result.rows)
            result = replace(result, columns=("entry", *result.columns), rows=rows)
        if not result.ok and not result.mistake:
            said = (Finding(f.kind, f.said(own=True), f.said(), f"`{name}`:") for f in result.findings)
            result = replace(result, findings=tuple(said))
        found[str(name)] = result
    return combine(found, "Every entry is right.")
