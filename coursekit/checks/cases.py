"""Running a student's function on the cases of a question, and taking apart what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .mistakes import Mistake
from .result import Result, wrong
from .student import Stopped, a_thing, listed, name_of, run, upper

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
        has = f"; it has {listed(extra)} instead" if extra else ""
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
    needs = f"{listed([f'`{p}`' for p in parts])}, in this order or as a dict with these keys"
    raise Stopped(wrong(f"{upper(name)} must return {needs}, and it returns {a_thing(value)}.", "type"))


def collect(answer: object, cases: Sequence[Case], takes: Sequence[str] | None, parts: Sequence[str]):
    """For each part, what the student's function gives in every case; Stopped where it gives nothing."""
    name = name_of(answer)
    returned = [split(call(answer, case, takes), parts, name) for case in cases]
    return {part: [values[part] for values in returned] for part in parts}


class Mistaken:
    """What the named mistakes give in every case. They are run once, when an answer turns out wrong."""

    def __init__(self, mistakes: Sequence[Mistake], cases: Sequence[Case], takes, parts: Sequence[str]):
        self._all = mistakes, cases, takes, parts
        self._table: dict[str, list[tuple[Mistake, list[object]]]] = {}

    def of(self, part: str) -> list[tuple[Mistake, list[object]]]:
        """The mistakes that touch a part, with what they give for it."""
        if not self._table:
            mistakes, cases, takes, parts = self._all
            self._table = {name: [] for name in parts}
            for mistake in mistakes:
                try:
                    given = collect(mistake.wrong, cases, takes, parts)
                except Stopped:
                    continue  # a mistake that stops gives no numbers: see `stopped_alike`
                for name, values in given.items():
                    if not any(isinstance(value, Missing) for value in values):
                        self._table[name].append((mistake, values))
        return self._table[part]


def stopped_alike(
    stop: Stopped, mistakes: Sequence[Mistake], cases: Sequence[Case], takes, parts
) -> Result | None:
    """The one mistake that stops with the very error that the student's function stopped with."""
    if stop.result.kind not in ("error", "type"):
        return None
    found = []
    for mistake in mistakes:
        try:
            collect(mistake.wrong, cases, takes, parts)
        except Stopped as other:
            if other.result.sentence == stop.result.sentence:
                found.append(mistake)
    if len(found) != 1:
        return None
    return wrong(found[0].sentence, "mistake", mistake=found[0].name, block=stop.result.block)


def answers_of(answer: object, mistakes: Sequence[Mistake], cases: Sequence[Case], takes, parts):
    """`collect` for a student's function: where it stops, a named mistake may be the reason."""
    try:
        return collect(answer, cases, takes, parts)
    except Stopped as stop:
        named = stopped_alike(stop, mistakes, cases, takes, parts)
        raise (stop if named is None else Stopped(named)) from None
