"""Answers of several parts: one result made of many, and a dict that is checked entry by entry."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..judging.student import check, stop, unanswered
from ..shown.result import Finding, Result, combine, wrong

Check = Callable[[object, object, tuple[()]], Result]


def parts(results: Mapping[str, Result], praise: str = "Every part is right.") -> Result:
    """One result of several: right if all are, else with the sentences of those that are not.

    checks.parts({"shape": checks.properties(…), "number": checks.value(…)})
    """
    return combine(results, praise)


def about(noun: str, result: Result) -> Result:
    """The same result, said of one thing among several."""
    findings = [Finding(f.kind, f.said(own=True), f.said(), noun) for f in result.findings]
    return replace(result, findings=tuple(findings))


@check
def entries(one: Check, answer: object, expected: Mapping[Any, object]) -> Result:
    """Check an answer that is a dict, entry by entry: `one(entry, what is expected of it, ())`; one part an entry."""
    if unanswered(answer):
        stop("empty", "There is no answer here yet.")
    if isinstance(answer, (list, tuple)) and len(answer) == len(expected):  # in the order of the question
        answer = dict(zip(expected, answer, strict=True))
    found = {}
    for name, right_one in expected.items():
        entry = answer.get(name) if isinstance(answer, Mapping) else None
        if isinstance(answer, Mapping) and name not in answer:
            found[str(name)] = wrong("missing", own=f"The entry `{name}` is missing.")
            continue
        result = one(entry, right_one, ())
        if result.rows:  # the entries' numbers come to stand in one table
            result = replace(
                result, columns=("entry", *result.columns), rows=tuple((name, *row) for row in result.rows)
            )
        found[str(name)] = result if result.ok or result.mistake else about(f"`{name}`:", result)
    return combine(found, "Every entry is right.")
