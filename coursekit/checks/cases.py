"""Running a student's function on the cases of a question, and taking apart what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .mistakes import Mistake
from .result import Result, wrong
from .student import Stopped, a_thing, name_of, run, upper

Case = Mapping[str, object]


@dataclass(frozen=True)
class Missing:
    """A part that is not in what the function returned."""

    result: Result


def cases_of(given: Case | Sequence[Case]) -> list[dict[str, object]]:
    """One case or several, each the variables of the question by name."""
    cases = [dict(given)] if isinstance(given, Mapping) else [dict(case) for case in given]
    if not cases:
        raise ValueError("a check needs at least one case")
    return cases


def call(answer: object, case: Case, takes: Sequence[str] | None) -> object:
    """`answer(*case)`: the variables that it takes, in order; what is already a value is left as it is."""
    if isinstance(answer, (Mapping, tuple)):
        return answer
    return run(answer, *(case[name] for name in (takes or case)))


def split(value: object, parts: Sequence[str], name: str) -> dict[str, object]:
    """What stands for each part: a dict by key, a tuple by position, a single value as it is."""
    if isinstance(value, Mapping):
        extra = [f"`{key}`" for key in value if key not in parts]
        has = f"; it has {_and(extra)} instead" if extra else ""
        return {
            part: value[part] if part in value else Missing(
                wrong(f"There is no `{part}` in what {name} returns{has}.", "missing")
            )
            for part in parts
        }  # fmt: skip
    if len(parts) == 1:
        return {parts[0]: value}
    if isinstance(value, (tuple, list)) and len(value) == len(parts):
        return dict(zip(parts, value, strict=True))
    needs = f"a dict with the keys {_and([f'`{p}`' for p in parts])}"
    raise Stopped(wrong(f"{upper(name)} must return {needs}, and it returns {a_thing(value)}.", "type"))


def collect(answer: object, cases: Sequence[Case], takes: Sequence[str] | None, parts: Sequence[str]):
    """For each part, what the student's function gives in every case; Stopped where it gives nothing."""
    name = name_of(answer)
    returned = [split(call(answer, case, takes), parts, name) for case in cases]
    return {part: [values[part] for values in returned] for part in parts}


def outputs_of(mistakes: Sequence[Mistake], cases: Sequence[Case], takes, parts: Sequence[str]):
    """For each part, the mistakes that touch it with what they give in every case."""
    table: dict[str, list[tuple[Mistake, list[object]]]] = {part: [] for part in parts}
    for mistake in mistakes:
        try:
            given = collect(mistake.wrong, cases, takes, parts)
        except Stopped:
            continue  # a mistake that stops (a product of wrong shapes) gives no numbers to recognise
        for part, values in given.items():
            if not any(isinstance(value, Missing) for value in values):
                table[part].append((mistake, values))
    return table


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
