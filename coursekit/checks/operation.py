"""`operations`: the work that a student's code really does, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor

from .cases import Case, cases_of
from .counting import Count, count
from .mistakes import Mistake
from .result import Result, right, wrong
from .student import Stopped, check, name_of, run, upper

Bound = (
    int | Sequence[int] | Callable[..., int]
)  # a number, one a case, or a function of the case's variables


@check
def operations(
    answer: Callable,
    given: Case | Sequence[Case],
    *,
    at_most: Bound | None = None,
    exactly: Bound | None = None,
    grows: float | None = None,
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
) -> Result:
    """Count the multiply-adds of `answer(*case)` and hold them against a bound.

    at_most, exactly  a number; or one a case; or a function of the case, `lambda **case: …`
    grows             with cases of growing size: how much the count may grow from each to the next
    mistakes          `wrong` is the count that the mistake leads to, a function of the case that gives it, or code
                      whose work is counted

    Check first that the function is right: this counts work, and says nothing about its result.
    """
    cases = cases_of(given)
    counts = [_count(answer, case) for case in cases]
    totals = [c.multiply_adds for c in counts]
    name = upper(name_of(answer))
    rows = tuple((operator, number) for operator, number in counts[-1].by.items())
    numbers = {"columns": ("operator", "multiply-adds"), "rows": rows}
    if not all(totals):
        return wrong(
            f"No multiply-adds were seen in {name_of(answer)}: does it compute with the tensors it is given?",
            "uncounted",
        ).hinted(hint)
    fault = _bound(name, totals, _each(exactly, cases), exact=True) or _bound(
        name, totals, _each(at_most, cases), exact=False
    )
    fault = fault or (_growth(name, totals, grows) if grows is not None else None)
    if fault is None:
        return right(f"{name} does {_number(totals[-1])} multiply-adds, as it should.", **numbers)
    for mistake in mistakes:
        if totals == [_work(mistake.wrong, case) for case in cases]:
            return wrong(mistake.sentence, "mistake", mistake=mistake.name, **numbers).hinted(hint)
    return wrong(fault, "operations", **numbers).hinted(hint)


def _count(answer: Callable, case: Case) -> Count:
    counted = count(lambda: run(answer, *case.values()))
    if counted.escapes:
        ways = " and ".join(f"`{way}`" for way in counted.escapes)
        raise Stopped(
            wrong(
                f"{upper(name_of(answer))} takes numbers out of torch by {ways}, and work outside torch cannot be "
                "counted: stay with torch's tensors.",
                "escape",
            )
        )
    if not any(isinstance(v, Tensor) for v in _values(counted.value)):
        raise Stopped(wrong(f"{upper(name_of(answer))} must return a torch tensor to be counted.", "escape"))
    return counted


def _values(value: object):
    if isinstance(value, dict):
        value = tuple(value.values())
    return value if isinstance(value, (tuple, list)) else (value,)


def _each(bound: Bound | None, cases: Sequence[Case]) -> list[int] | None:
    if bound is None:
        return None
    if callable(bound):
        return [bound(**case) for case in cases]
    return list(bound) if isinstance(bound, (list, tuple)) else [bound] * len(cases)  # type: ignore[list-item]


def _work(wasteful: object, case: Case) -> int | None:
    """The count that a mistake leads to: the number, what a function of the case gives, or the work of code."""
    if not callable(wasteful):
        return wasteful  # type: ignore[return-value]
    counted = count(lambda: run(wasteful, **case))
    return counted.value if isinstance(counted.value, int) else counted.multiply_adds


def _bound(name: str, totals: Sequence[int], bounds: Sequence[int] | None, *, exact: bool) -> str | None:
    for total, bound in zip(totals, bounds or totals, strict=True):
        if total > bound or (exact and total != bound):
            words = f"{_number(bound)} {'are needed' if exact else 'are enough'}"
            share = f", {total / bound:.3g} times as many" if total > bound else ""
            return f"{name} does {_number(total)} multiply-adds where {words}{share}."
    return None


def _growth(name: str, totals: Sequence[int], grows: float) -> str | None:
    for before, after in pairwise(totals):
        if after > grows * before:
            return (
                f"The work of {name[0].lower() + name[1:]} grows from {_number(before)} to {_number(after)} "
                f"multiply-adds, {after / before:.3g} times; it may grow at most {grows:g} times."
            )
    return None


def _number(n: int) -> str:
    return f"{n:,}".replace(",", " ")
