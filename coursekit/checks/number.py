"""`value`: a number, by itself or in a unit, against the right one or against its digest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .digests import is_digest, same_number
from .mistakes import Mistake
from .result import Result, combine, right, wrong
from .student import a_thing, check, listed, unanswered

Expected = float | str  # the number itself, or its digest


@check
def value(
    answer: object,
    expected: Expected | Mapping[str, Expected] | Sequence[Expected],
    *,
    unit: object = None,
    units: Mapping[str, Expected] | None = None,
    within: float = 1e-6,
    relative: bool = True,
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Is the number right?

    expected  the number, or its digest; a dict or list of them for an answer with several entries
    units     where the student names a unit: {"nats": 7.6009, "bits": 10.9658}; `unit` is what they named
    within    the error to accept where the number itself is given: of its size, or absolute (a digest
              carries its own)
    mistakes  named mistakes; `wrong` is the wrong number, or all of the wrong numbers
    """
    if units is not None:
        result = _in_unit(answer, unit, units, within, relative, mistakes)
    elif isinstance(expected, Mapping):
        result = _entries(answer, expected, within, relative, mistakes)
    elif isinstance(expected, (list, tuple)):
        if not isinstance(answer, Mapping) and hasattr(answer, "__len__") and not isinstance(answer, str):
            answer = dict(enumerate(_listed(answer)))
        result = _entries(answer, dict(enumerate(expected)), within, relative, mistakes)
    else:
        result = _single(answer, expected, within, relative, mistakes)  # type: ignore[arg-type]
    return result.hinted(hint)


def number_of(answer: object) -> float | Result:
    """The student's number as a float, or the sentence about what it is instead."""
    if unanswered(answer):
        return wrong("There is no answer here yet.", "empty")
    if isinstance(answer, (bool, str, bytes)) or callable(answer):
        return wrong(f"A number is needed here, and this is {a_thing(answer)}.", "type")
    try:
        number = float(answer)  # type: ignore[arg-type]
    except Exception:
        return wrong(f"A number is needed here, and this is {a_thing(answer)}.", "type")
    if not math.isfinite(number):
        return wrong(f"The answer is {number}; it must be a finite number.", "nan")
    return number


def same(number: float, expected: Expected, within: float, relative: bool) -> bool:
    if is_digest(expected, "number"):
        return same_number(number, expected)  # type: ignore[arg-type]
    reach = within * abs(float(expected)) if relative and float(expected) else within
    return abs(number - float(expected)) <= reach


def _single(answer: object, expected: Expected, within, relative, mistakes: Sequence[Mistake]) -> Result:
    number = number_of(answer)
    if isinstance(number, Result):
        return number
    if same(number, expected, within, relative):
        return right(f"{number:.6g} is right.")
    for mistake in mistakes:
        if same(number, mistake.wrong, within, relative):  # type: ignore[arg-type]
            return wrong(mistake.sentence, "mistake", mistake=mistake.name)
    if not is_digest(expected, "number") and (found := _relation(number, float(expected))):
        return wrong(f"{number:.6g} is not right: {found[1]}", found[0])
    return wrong(f"{number:.6g} is not right.", "other")


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
    return None


def _in_unit(answer, unit, units: Mapping[str, Expected], within, relative, mistakes) -> Result:
    number = number_of(answer)
    if isinstance(number, Result):
        return number
    names = ", ".join(f"`{name}`" for name in units)
    if unanswered(unit):
        return wrong(f"Name the unit of your number as well: one of {names}.", "empty")
    chosen = str(unit).strip().lower()
    if chosen not in units:
        return wrong(f"The unit must be one of {names}, and this is {a_thing(unit)}.", "unit")
    if same(number, units[chosen], within, relative):
        return right(f"{number:.6g} {chosen} is right.")
    for name, expected in units.items():
        if same(number, expected, within, relative):
            return wrong(f"{number:.6g} is the right number in {name}, and you said {chosen}.", "unit")
    return _single(answer, units[chosen], within, relative, mistakes)


def _entries(answer: object, expected: Mapping, within, relative, mistakes: Sequence[Mistake]) -> Result:
    if unanswered(answer):
        return wrong("There is no answer here yet.", "empty")
    if not isinstance(answer, Mapping):
        if all(isinstance(key, int) for key in expected):
            return wrong(f"{len(expected)} numbers are needed here, and this is {a_thing(answer)}.", "type")
        keys = listed([f"`{key}`" for key in expected])
        return wrong(f"Answer with a dict that has the keys {keys}; this is {a_thing(answer)}.", "type")
    extra = [key for key in answer if key not in expected]
    if extra:
        return wrong(f"There is no entry `{extra[0]}` in this question.", "extra")
    parts = {}
    for key, right_one in expected.items():
        if key not in answer:
            parts[str(key)] = wrong(f"The entry `{key}` is missing.", "missing")
            continue
        result = _single(answer[key], right_one, within, relative, ())
        parts[str(key)] = result if result.ok else wrong(f"Entry `{key}`: {result.sentence}", result.kind)
    # A mistake is the text of a cell that would have to be run: only a wrong answer is worth that.
    for mistake in () if all(part.ok for part in parts.values()) else mistakes:
        wrongs = (
            mistake.wrong if isinstance(mistake.wrong, Mapping) else dict(enumerate(_listed(mistake.wrong)))
        )
        alike = wrongs.keys() == answer.keys() and all(
            not isinstance(number := number_of(answer[key]), Result)
            and same(number, wrongs[key], within, relative)
            for key in answer
        )
        if alike:
            return wrong(mistake.sentence, "mistake", mistake=mistake.name, parts=parts)
    return combine(parts, f"All {len(parts)} numbers are right.")


def _listed(answer) -> list:
    return answer.tolist() if hasattr(answer, "tolist") else list(answer)
