"""`operations`: the work that a student's code really does, and how it grows."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

from ..judging.cases import Case, Missing, cases_of, split
from ..judging.counting import Count, count
from ..judging.student import Stopped, check, listed, name_of, run, stop, upper
from ..judging.tensors import close, dtype_of, read
from ..shown.locked import Outcome
from ..shown.result import Finding, Result, right

ENTRIES = 8  # so many entries may be computed for each multiply-add that is enough

# A number, one a case, or a function of the case's variables.
Bound = int | Sequence[int] | Callable[..., int]
Oracle = Callable[..., Tensor | Mapping[str, Tensor]]


@check
def operations(
    answer: Callable[..., object],
    given: Case | Sequence[Case],
    *,
    at_most: Bound | None = None,
    exactly: Bound | None = None,
    grows: float | None = None,
    oracle: Oracle | None = None,
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
    if not all(totals):
        seen = f"No multiply-adds were seen in {name_of(answer)}"
        stop("uncounted", f"{seen}: does it compute with the tensors it is given?")
    most, exact = _each(at_most, cases), _each(exactly, cases)
    fault = (
        _bound(name, totals, most) or _bound(name, totals, exact, exact=True) or _growth(name, totals, grows)
    )
    fault = fault or _entries(name, [c.entries for c in counts], exact or most, grows)
    numbers: dict[str, Any] = {"columns": ("operator", "multiply-adds"), "rows": tuple(counts[-1].by.items())}
    if fault is None:
        return right(f"{name} does {_number(totals[-1])} multiply-adds, as it should.", **numbers)
    return Result(False, (fault,), **numbers, outcomes=(Outcome(text=" ".join(map(str, totals))),))


def _count(answer: Callable[..., object], case: Case) -> Count:
    counted = count(lambda: run(answer, *case.values()))
    if counted.escapes:
        ways = " and ".join(f"`{way}`" for way in counted.escapes)
        where = f"{upper(name_of(answer))} takes numbers out of torch by {ways}"
        stop("escape", f"{where}, and work outside torch cannot be counted: stay with torch's tensors.")
    if not any(isinstance(value, Tensor) for value in tree_leaves(counted.value)):
        stop("escape", f"{upper(name_of(answer))} must return a torch tensor to be counted.")
    return counted


def _right(
    answer: Callable[..., object], value: object, oracle: Oracle, case: Case, returns: Sequence[str]
) -> None:
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
            far = f"{name} computes {_number(number)} entries, far more than it needs."
            return Finding("operations", far)
    for at, (before, after) in enumerate(pairwise(entries)):
        most = min(grows or inf, 1.25 * bounds[at + 1] / bounds[at] if bounds else inf)
        if after > most * max(before, 1):
            own = (
                f"The number of entries that {name[0].lower() + name[1:]} computes grows from {_number(before)} to "
                f"{_number(after)}, {after / max(before, 1):.3g} times"
            )
            return Finding("growth", f"{own}, faster than it may.", f"{own}; it may grow {most:.3g} times.")
    return None


def _each(bound: Bound | None, cases: Sequence[Case]) -> list[int] | None:
    if bound is None:
        return None
    if callable(bound):
        return [bound(**case) for case in cases]
    return list(bound) if isinstance(bound, (list, tuple)) else [bound] * len(cases)  # type: ignore[list-item]


def _bound(
    name: str, totals: Sequence[int], bounds: Sequence[int] | None, exact: bool = False
) -> Finding | None:
    for total, bound in zip(totals, bounds or totals, strict=True):
        if total > bound or (exact and total < bound):
            does = f"{name} does {_number(total)} multiply-adds"
            words = f"{_number(bound)} are {'needed' if exact else 'enough'}"
            share = f", {total / bound:.3g} times as many" if total > bound else ""
            own = f"{does}, {'more' if total > bound else 'fewer'} than are needed."
            return Finding("operations", own, f"{does} where {words}{share}.")
    return None


def _growth(name: str, totals: Sequence[int], grows: float | None) -> Finding | None:
    for before, after in pairwise(totals):
        if grows is not None and after > grows * before:
            own = (
                f"The work of {name[0].lower() + name[1:]} grows from {_number(before)} to {_number(after)} "
                f"multiply-adds, {after / before:.3g} times"
            )
            return Finding("operations", f"{own}: too fast.", f"{own}; it may grow at most {grows:g} times.")
    return None


def _number(n: int) -> str:
    return f"{n:,}".replace(",", " ")
