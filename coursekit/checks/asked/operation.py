"""`operations`: the work that a student's code really does, and how it grows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

from ..judging.cases import Case, cases_of, split
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
    for case, counted in zip(cases, counts, strict=True):
        if oracle is not None:
            _right(answer, counted.value, oracle(**case), case, returns)
    name, totals = name_of(answer), [c.multiply_adds for c in counts]
    if not all(totals):
        seen = f"No multiply-adds were seen in {name}"
        stop("uncounted", f"{seen}: does it compute with the tensors it is given?")
    most, exact = _each(at_most, cases), _each(exactly, cases)
    fault = next(_faults(name, totals, [c.entries for c in counts], most, exact, grows or inf), None)
    numbers: dict[str, Any] = {"columns": ("operator", "multiply-adds"), "rows": tuple(counts[-1].by.items())}
    if fault is None:
        return right(f"{upper(name)} does {_number(totals[-1])} multiply-adds, as it should.", **numbers)
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
    answer: Callable[..., object],
    value: object,
    expected: Tensor | Mapping[str, Tensor],
    case: Case,
    returns: Sequence[str],
) -> None:
    """Stopped, unless the counted call gave what the oracle gives: work on a wrong result is not worth counting."""
    rights = expected if isinstance(expected, Mapping) else {returns[0]: expected}
    given = split(value, returns, name_of(answer))
    for part, right_one in rights.items():
        if isinstance(missing := given[part], Stopped):
            raise missing
        like = right_one.detach().double()
        noun = f"`{part}`" if len(returns) > 1 else f"what {name_of(answer)} returns"
        if not close(read(given[part], like, noun), like, dtype_of(given[part])):
            sizes = listed([f"{list(v.shape)}" for v in case.values() if isinstance(v, Tensor)][:3])
            what = f"{upper(name_of(answer))} gives a wrong result on inputs of shape {sizes}"
            stop("result", f"{what}: it must be right at every size.")


def _each(bound: Bound | None, cases: Sequence[Case]) -> list[int] | None:
    if bound is None:
        return None
    if callable(bound):
        return [bound(**case) for case in cases]
    return list(bound) if isinstance(bound, (list, tuple)) else [bound] * len(cases)  # type: ignore[list-item]


def _faults(
    name: str,
    totals: list[int],
    entries: list[int],
    most: list[int] | None,
    exact: list[int] | None,
    grows: float,
) -> Iterator[Finding]:
    """Of the multiply-adds, and of the numbers that any operator computes: these may be some times more."""
    for bounds, words in ((most, "enough"), (exact, "needed")):
        for total, bound in zip(totals, bounds or totals, strict=True):
            if total > bound or (words == "needed" and total < bound):
                does = f"{upper(name)} does {_number(total)} multiply-adds"
                share = f", {total / bound:.3g} times as many" if total > bound else ""
                own = f"{does}, {'more' if total > bound else 'fewer'} than are needed."
                yield Finding("operations", own, f"{does} where {_number(bound)} are {words}{share}.")
    yield from _growth("operations", f"The work of {name} grows", totals, [grows] * len(totals))
    bounds = exact or most or entries
    if any(number > ENTRIES * bound for number, bound in zip(entries, bounds, strict=True)):
        far = f"{upper(name)} computes {_number(max(entries))} entries, far more than it needs."
        yield Finding("operations", far)
    limits = (
        [min(grows, 1.25 * after / before) for before, after in pairwise(bounds)]
        if exact or most
        else [grows]
    )
    yield from _growth(
        "growth", f"The number of entries that {name} computes grows", entries, limits * len(entries)
    )


def _growth(kind: str, said: str, numbers: list[int], limits: list[float]) -> Iterator[Finding]:
    for (before, after), most in zip(pairwise(numbers), limits, strict=False):
        if after > most * max(before, 1):
            times = f"{after / max(before, 1):.3g} times"
            own = f"{said} from {_number(before)} to {_number(after)}, {times}"
            yield Finding(
                kind, f"{own}, faster than it may.", f"{own}; it may grow at most {most:.3g} times."
            )


def _number(n: int) -> str:
    return f"{n:,}".replace(",", " ")
