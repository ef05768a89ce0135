"""One part of an answer (a gradient, an output) against the right tensors of every case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from torch import Tensor

from ..judging.cases import Missing
from ..judging.mistakes import matching
from ..judging.outcome import outcome_of
from ..judging.student import Stopped, upper
from ..judging.tensors import at, close, dtype_of, low_precision, read, worst
from ..shown.panel import shape_of
from ..shown.result import PLAIN, Finding, Result, right
from .instead import Instead
from .recognise import recognise

Suspects = Callable[[Sequence[Tensor]], Finding | None]  # a recogniser of the check's own
Measured = Callable[[int, tuple[int, ...]], float]  # the central difference at (case, entry)


def judge_all(
    nouns: Mapping[str, str],
    answers: Mapping[str, Sequence[object]],
    rights: Mapping[str, Sequence[Tensor]],
    given: Sequence[Mapping[str, object]],
    instead: Instead,
    more: Callable[[str], tuple[Suspects, Measured]] | None = None,
) -> dict[str, Result]:
    """A result for each part; `nouns` says what it is ("the gradient of `H`"), `answers` and `rights` have one item a
    case. `instead` asks the oracle of the cases `given` with a variable changed; `more` is what gradients know."""
    parts = {}
    for name, noun in nouns.items():
        absent = next((value for value in answers[name] if isinstance(value, Missing)), None)
        known = (None, None) if more is None else more(name)
        parts[name] = (
            absent.result if absent else _judge(name, noun, answers[name], rights, given, instead, *known)
        )
    return parts


def _judge(
    part: str,
    noun: str,
    answers: Sequence[object],
    all_rights: Mapping[str, Sequence[Tensor]],
    given: Sequence[Mapping[str, object]],
    instead: Instead,
    suspects: Suspects | None,
    measured: Measured | None,
) -> Result:
    """One part, in every case; what is known of the question tells how it is wrong."""
    rights = all_rights[part]
    dtype = dtype_of(answers[0])
    outcomes = (outcome_of(list(answers)),)
    try:
        tensors = [read(value, like, noun) for value, like in zip(answers, rights, strict=True)]
    except Stopped as stop:
        return replace(stop.result, outcomes=outcomes if stop.result.kind != "empty" else ())
    pairs = list(zip(tensors, rights, strict=True))
    if all(close(a, g, dtype_of(raw)) for raw, (a, g) in zip(answers, pairs, strict=True)):
        return right(f"{upper(noun)} is right.", reading=shape_of(tensors[0]))
    if matching():
        return Result(False, (Finding("other", "is not right.", of=noun),), outcomes=outcomes)
    number = next(n for n, (a, g) in enumerate(pairs) if not close(a, g, dtype_of(answers[n])))
    entry = worst(*pairs[number])
    columns: tuple[str, ...] = ("entry", "yours", "right")
    row: tuple[object, ...] = (f"{part}{at(entry)[4:]}", *(tensor[entry].item() for tensor in pairs[number]))
    if measured is not None:
        columns, row = (*columns, "by central differences"), (*row, measured(number, entry))
    others = {name: values for name, values in all_rights.items() if name != part}
    found = recognise(pairs, others, given, suspects)
    if found is None and (coarse := low_precision(dtype)):
        found = Finding("type", f"is not right. {coarse}")

    @cache
    def look() -> Finding | None:
        better = instead(part, tensors)
        return None if better is None else replace(better, of=noun)

    told = replace(found or Finding("other", "is not right."), of=noun)
    return Result(
        False, (told,), columns, (row,), outcomes=outcomes, reading=shape_of(tensors[0]),
        look=look if told.kind in PLAIN else None,
    )  # fmt: skip
