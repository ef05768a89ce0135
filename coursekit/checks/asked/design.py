"""`properties`: an open design is judged by what it must do, whatever its formula."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..judging.outcome import as_torch, coarse, outcome_of
from ..judging.student import Stopped, check, describe, name_of, run, stop, stopped, unanswered, upper
from ..shown.result import Result, combine, right, wrong


@dataclass(frozen=True)
class Property:
    """`test(answer)` is true where the design has the property; `sentence` is for one that has not.

    A test may return (truth, rows of numbers) to show what it saw.
    """

    name: str
    sentence: str
    test: Callable[..., object]


@check
def properties(answer: object, required: Sequence[Property], *, returns: Sequence[str] = ()) -> Result:
    """Try every property on the student's function, or on the data that they wrote; one part a property.

    returns  the names of the several values that it returns: the tests get them in this order, also out of a dict
    """
    if unanswered(answer):
        stop("empty", "There is no answer here yet.")
    values: list[object] = [] if callable(answer) else [answer]  # every one that the answer gives on the way
    given_coarse: list[str] = []  # where the question itself gives float32, that is no reason

    def given(change: Callable[[object], object]) -> object:
        """The answer, with what it gives changed for a test."""
        if not callable(answer):
            return change(answer)

        def watched(*args: object, **kwargs: object) -> object:
            value = run(answer, *args, **kwargs)
            if isinstance(value, Mapping) and returns:
                value = tuple(value[name] for name in returns if name in value)
            values.append(value)
            given_coarse.append(coarse([*args, *kwargs.values()]))
            return change(value)

        watched.__wrapped__ = answer  # type: ignore[attr-defined]
        return watched

    parts = {p.name: stopped(_try, given, p, values, given_coarse) for p in required}
    result = combine(parts, f"{upper(name_of(answer, 'your answer'))} has all {len(parts)} properties.")
    if result.ok:
        return result
    failed = {name: part for name, part in parts.items() if not part.ok}
    broken = {name: part for name, part in failed.items() if part.kind in ("untried", "error")}
    # A test that broke is told only where none failed: it breaks as a consequence.
    told = {name: part for name, part in failed.items() if name not in broken} or dict([*failed.items()][:1])
    outcome = outcome_of([values, sorted(failed), [part.sentence for part in broken.values()]])
    return replace(result, findings=combine(told, "").findings, outcomes=(outcome,))


def near(first: object, second: object, within: float = 1e-9) -> bool:
    """Are two numbers, or tensors of them, the same for the test of a property? float32 is given its own rounding."""
    import torch

    both = [torch.as_tensor(value) for value in (first, second)]
    if any(tensor.dtype == torch.float32 for tensor in both):
        within = max(within, 2e-5)  # what it may cost
    a, b = (tensor.double() for tensor in both)
    return a.shape == b.shape and bool(((a - b).abs() <= within * b.abs().max().clamp_min(1.0)).all())


def _try(
    given: Callable[[Callable[[object], object]], object],
    wanted: Property,
    values: list[object],
    given_coarse: list[str],
) -> Result:
    begun = len(values)
    try:
        try:
            seen = wanted.test(given(as_torch))
        except Stopped:
            raise
        except Exception:  # the test may need tensors where the answer is a list
            del values[begun:]
            seen = wanted.test(given(lambda value: as_torch(value, lists=True)))
    except Stopped:
        raise
    except Exception as error:  # the test could not use what it was given
        return wrong("untried", own=f"{wanted.sentence} (It could not be tried: {describe(error)})")
    holds, rows = seen if isinstance(seen, tuple) else (seen, ())
    if bool(holds):
        return right(f"It has the property “{wanted.name}”.")
    note = "" if any(given_coarse) else coarse(values[begun:])
    return wrong("property", own=wanted.sentence + note, rows=tuple(map(tuple, rows)))
