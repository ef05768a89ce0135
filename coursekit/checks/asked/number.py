"""`value`: a number, by itself or in a unit, against the right one or against its digest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..judging.digests import is_digest, reach_of, same_number
from ..judging.student import a_thing, check, listed, unanswered
from ..shown.locked import Outcome
from ..shown.result import Finding, Result, combine, formed, right, wrong

Expected = float | str  # the number itself, or its digest


@check
def value(
    answer: object,
    expected: Expected | Mapping[str, Expected] | Sequence[Expected] | None,
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
    """
    if units is not None:
        result = _in_unit(answer, unit, units, within, relative)
    elif isinstance(expected, Mapping):
        if not isinstance(answer, Mapping) and _counted(answer) == len(
            expected
        ):  # in the order of the question
            answer = dict(zip(expected, _listed(answer), strict=True))
        result = _entries(answer, expected, within, relative)
    elif isinstance(expected, (list, tuple)):
        if not isinstance(answer, Mapping) and _counted(answer) is not None:
            answer = dict(enumerate(_listed(answer)))
        result = _entries(answer, dict(enumerate(expected)), within, relative)
    else:
        result = _single(answer, expected, within, relative)  # type: ignore[arg-type]
    return result


def number_of(answer: object) -> float | Result:
    """The student's number as a float, or the sentence about what it is instead."""
    if unanswered(answer):
        return wrong("empty", own="There is no answer here yet.")
    if isinstance(answer, (bool, str, bytes)) or callable(answer):
        return wrong("type", own=f"A number is needed here, and this is {a_thing(answer)}.")
    try:
        number = float(answer)  # type: ignore[arg-type]
    except Exception:
        return wrong("type", own=f"A number is needed here, and this is {a_thing(answer)}.")
    if not math.isfinite(number):
        return wrong("nan", own=f"The answer is {number}; it must be a finite number.")
    return number


def same(number: float, expected: Expected, within: float, relative: bool) -> bool:
    if is_digest(expected, "number"):
        return same_number(number, expected)  # type: ignore[arg-type]
    return abs(number - float(expected)) <= _reach(expected, within, relative)


def _reach(expected: Expected, within: float, relative: bool) -> float:
    if is_digest(expected, "number"):
        return reach_of(str(expected))
    return within * abs(float(expected)) if relative and float(expected) else within


def _single(answer: object, expected: Expected | None, within, relative) -> Result:
    number = number_of(answer)
    if isinstance(number, Result):
        return number
    if expected is None:
        return formed(f"Your answer was read as {number:.10g}.")
    if same(number, expected, within, relative):
        return right(f"{number:.6g} is right.")
    found = None if is_digest(expected, "number") else _relation(number, float(expected))
    kind, reason = found or ("other", "")
    outcome = Outcome(numbers=(number,), reach=_reach(expected, within, relative))
    return wrong(
        kind, own=f"{number:.6g} is not right{': ' + reason if reason else '.'}", outcomes=(outcome,)
    )


def _relation(number: float, expected: float) -> tuple[str, str] | None:
    """How a wrong number hangs together with the right one, where that is plain."""

    def near(x: float) -> bool:
        return abs(number - x) <= 1e-3 * abs(x)

    if expected == 0:
        return None
    if near(-expected):
        return "sign", "its sign is wrong."
    if near(expected / math.log(2)):
        return "unit", "it is the right number divided by ln 2. Bits, where nats are asked for?"
    if near(expected * math.log(2)):
        return "unit", "it is the right number times ln 2. Nats, where bits are asked for?"
    if near(expected / math.log(10)):
        return "unit", "it is the right number divided by ln 10. Was the logarithm to base 10?"
    if near(100 * expected) or near(expected / 100):
        return "factor", "it is off by a factor of 100: a share and a percentage differ by that."
    if near(1 / expected):
        return "inverse", "it is one over the right number."
    if near(2 * expected) or near(expected / 2):
        return "factor", "it is off by a factor of 2."
    if abs(number - expected) <= 1e-2 * abs(expected):
        return "rounding", "it is close; compute it with more digits."
    if number > 0 and expected > 0 and (near(math.exp(min(expected, 700))) or near(math.log(expected))):
        return "logarithm", "a logarithm stands between it and the right number."
    return None


def _in_unit(answer, unit, units: Mapping[str, Expected], within, relative) -> Result:
    number = number_of(answer)
    if isinstance(number, Result):
        return number
    names = ", ".join(f"`{name}`" for name in units)
    if unanswered(unit):
        return wrong("empty", own=f"Name the unit of your number as well: one of {names}.")
    chosen = str(unit).strip().lower()
    if chosen not in units:
        return wrong("unit", own=f"The unit must be one of {names}, and this is {a_thing(unit)}.")
    if same(number, units[chosen], within, relative):
        return right(f"{number:.6g} {chosen} is right.")
    for name, expected in units.items():
        if same(number, expected, within, relative):
            return wrong("unit", own=f"{number:.6g} is the right number in {name}, and you said {chosen}.")
    return _single(answer, units[chosen], within, relative)


def _entries(answer: object, expected: Mapping, within, relative) -> Result:
    if unanswered(answer):
        return wrong("empty", own="There is no answer here yet.")
    if not isinstance(answer, Mapping):
        if all(isinstance(key, int) for key in expected):
            return wrong(
                "type", own=f"{len(expected)} numbers are needed here, and this is {a_thing(answer)}."
            )
        keys = listed([f"`{key}`" for key in expected])
        return wrong("type", own=f"Answer with a dict that has the keys {keys}; this is {a_thing(answer)}.")
    extra = [key for key in answer if key not in expected]
    if extra:
        return wrong("extra", own=f"There is no entry `{extra[0]}` in this question.")
    parts = {}
    for key, right_one in expected.items():
        if key not in answer:
            parts[str(key)] = wrong("missing", own=f"The entry `{key}` is missing.")
            continue
        result = _single(answer[key], right_one, within, relative)
        parts[str(key)] = result if result.ok else about(f"entry `{key}`:", result)
    if all(part.kind == "form" for part in parts.values()):
        return formed(f"Your answer was read as {listed([str(number_of(answer[key])) for key in expected])}.")
    return combine(parts, f"All {len(parts)} numbers are right.")


def about(noun: str, result: Result) -> Result:
    """The same result, said of one thing among several."""
    findings = [Finding(f.kind, f.said(own=True), f.said(), noun) for f in result.findings]
    return replace(result, findings=tuple(findings))


def _counted(answer: object) -> int | None:
    """How many numbers a list, a tuple or an array has."""
    try:
        return None if isinstance(answer, (str, bytes, Mapping)) else len(answer)  # type: ignore[arg-type]
    except TypeError:
        return None


def _listed(answer) -> list:
    return answer.tolist() if hasattr(answer, "tolist") else list(answer)
