"""Answers of several parts: one result made of many, and a dict that is checked entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .mistakes import Mistake
from .result import Result, combine
from .student import check

Check = Callable[[object, object, Sequence[Mistake]], Result]


def parts(results: Mapping[str, Result], praise: str = "Every part is right.") -> Result:
    """One result of several: right if all are, else with the sentences of those that are not.

    checks.parts({"shape": checks.properties(…), "number": checks.value(…)})
    """
    return combine(results, praise)


@check
def entries(
    one: Check,
    answer: object,
    expected: Mapping[str, object],
    *,
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Check an answer that is a dict, entry by entry: `one(entry, what is expected of it, mistakes)`; one part an
    entry.

    mistakes  `wrong` is the whole dict; each entry is held against its own part of it
    """
    found = {}
    for name, right_one in expected.items():
        entry = answer.get(name) if isinstance(answer, Mapping) else None
        result = one(entry, right_one, ())
        if not result.ok and mistakes:  # a mistake has to be run: only a wrong answer is worth that
            result = one(entry, right_one, [Mistake(m.name, m.sentence, m.wrong[name]) for m in mistakes])  # type: ignore[index]
        if result.rows:  # the entries' numbers come to stand in one table
            result = replace(
                result, columns=("entry", *result.columns), rows=tuple((name, *row) for row in result.rows)
            )
        named = result.ok or result.mistake
        found[name] = result if named else replace(result, sentence=f"`{name}`: {result.sentence}")
    return combine(found, "Every entry is right.").hinted(hint)
