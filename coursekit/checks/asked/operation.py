"""`operations`: the work that a student's code really does, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

from torch import Tensor

from ..judging.cases import Case, Missing, cases_of, split
from ..judging.counting import Count, count
from ..judging.student import Stopped, check, listed, name_of, run, stop, upper
from ..judging.tensors import close, dtype_of, read
from ..shown.locked import Outcome
from ..shown.result import Finding, Result, right, wrong

ENTRIES = 8  # so many entries may be computed for each multiply-add that is enough

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
    oracle: Callable | None = None,
    returns: Sequence[str] = ("result",),
) -> Result:
    """Count the multiply-adds of `answer(*case)` and hold them against a bound.

    at_most, exactly  a number; or one a case; or a function of the case, `lambda **case: …`
    grows             with cases of growing size: how much the count may grow from each to the next
    oracle            a trusted function: what each counted call returns must be what it returns; where it gives a
                      dict, in these parts of what `returns` names

    The entries that are computed are held to the same growth as the multiply-adds, so that products cannot be had
    another way.

    Without an oracle this counts work, and says nothing about the result.
    """
    cases = cases_of(given)
    counts = [_count(answer, case) for case in cases]
    if oracle is not None:
        for case, counted in zip(cases, counts, strict=True):
            _right(answer, counted.value, oracle, case, returns)
    totals = [c.multiply_adds for c in counts]
    name = upper(name_of(answer))
    rows = tuple((operator, number) for operator, number in counts[-1].by.items())
    numbers: dict = {"columns": ("operator", "multiply-adds"), "rows": rows}
    if not all(totals):
        return wrong(
            "uncounted",
            own=f"No multiply-adds were seen in {name_of(answer)}: does it compute with the tensors it is given?",
        )
    fault = _bound(name, totals, _each(exactly, cases), exact=True) or _bound(
        name, totals, _each(at_most, cases), exact=False
    )
    fault = fault or (_growth(name, totals, grows) if grows is not None else None)
    bounds = _each(exactly, cases) or _each(at_most, cases)
    fault = fault or _entries(name, [c.entries for c in counts], bounds, grows)
    if fault is None:
        return right(f"{name} does {_number(totals[-1])} multiply-adds, as it should.", **numbers)
    outcomes = (Outcome(text=" ".join(map(str, totals))),)
    return replace(wrong(fault.kind, **numbers), findings=(fault,), outcomes=outcomes)


def _count(answer: Callable, case: Case) -> Count:
    counted = count(lambda: run(answer, *case.values()))
    if counted.escapes:
        ways = " and ".join(f"`{way}`" for way in counted.escapes)
        stop(
            "escape",
            (
                f"{upper(name_of(answer))} takes numbers out of torch by {ways}, and work outside torch cannot be "
                "counted: stay with torch's tensors."
            ),
        )
    if not any(isinstance(v, Tensor) for v in _values(counted.value)):
        stop("escape", f"{upper(name_of(answer))} must return a torch tensor to be counted.")
    return counted


def _right(answer: Callable, value: object, oracle: Callable, case: Case, returns: Sequence[str]) -> None:
    """Stopped, unless the counted call gave what the oracle gives: work on a wrong result is not worth counting."""
    expected = oracle(**case)
    rights = expected if isinstance(expected, Mapping) else {returns[0]: expected}
    given = split(value, returns, name_of(answer))
    for part, right_one in rights.items():
        if isinstance(missing := given[part], Missing):
            raise Stopped(missing.result)
        like = right_one.detach().double()
        noun = f"`{part}`" if len(returns) > 1 else f"what {name_of(answer)} returns"
        if not close(read(given[part], like, noun), like, dtype_of(given[part])):
            sizes = listed([f"{list(v.shape)}" for v in case.values() if isinstance(v, Tensor)][:3])
            what = f"{upper(name_of(answer))} gives a wrong result on inputs of shape {sizes}"
            stop("result", f"{what}: it must be right at every size.")


def _entries(
    name: str, entries: Sequence[int], bounds: Sequence[int] | None, grows: float | None
) -> Finding | None:
    """Numbers computed by any operator: not many times the multiply-adds that are enough, nor growing faster."""
    for number, bound in zip(entries, bounds or entries, strict=True):
        if number > ENTRIES * bound:
            return Finding(
                "operations", f"{name} computes {_number(number)} entries, far more than it needs."
            )
    for at, (before, after) in enumerate(pairwise(entries)):
        most = grows if grows is not None else None
        if bounds is not None:
            most = min(most or inf, 1.25 * bounds[at + 1] / bounds[at])
        if most is not None and after > most * max(before, 1):
            own = (
                f"The number of entries that {name[0].lower() + name[1:]} computes grows from {_number(before)} to "
                f"{_number(after)}, {after / max(before, 1):.3g} times"
            )
            return Finding("growth", f"{own}, faster than it may.", f"{own}; it may grow {most:.3g} times.")
    return None


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


def _bound(name: str, totals: Sequence[int], bounds: Sequence[int] | None, *, exact: bool) -> Finding | None:
    for total, bound in zip(totals, bounds or totals, strict=True):
        if total > bound or (exact and total != bound):
            words = f"{_number(bound)} {'are needed' if exact else 'are enough'}"
            share = f", {total / bound:.3g} times as many" if total > bound else ""
            own = f"{name} does {_number(total)} multiply-adds, {'more' if total > bound else 'fewer'} than are needed."
            whole = f"{name} does {_number(total)} multiply-adds where {words}{share}."
            return Finding("operations", own, whole)
    return None


def _growth(name: str, totals: Sequence[int], grows: float) -> Finding | None:
    for before, after in pairwise(totals):
        if after > grows * before:
            own = (
                f"The work of {name[0].lower() + name[1:]} grows from {_number(before)} to {_number(after)} "
                f"multiply-adds, {after / before:.3g} times"
            )
            return Finding("operations", f"{own}: too fast.", f"{own}; it may grow at most {grows:g} times.")
    return None


def _number(n: int) -> str:
    return f"{n:,}".replace(",", " ")
