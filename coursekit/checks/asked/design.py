"""`properties`: an open design is judged by what it must do, whatever its formula."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

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
    design = _Design(answer, returns)
    parts = {p.name: stopped(design.tried, p) for p in required}
    result = combine(parts, f"{upper(name_of(answer, 'your answer'))} has all {len(parts)} properties.")
    if result.ok:
        return result
    failed = {name: part for name, part in parts.items() if not part.ok}
    broken = {name: part for name, part in failed.items() if part.kind in ("untried", "error")}
    # A test that broke is told only where none failed: it breaks as a consequence. So does one that got a NaN again.
    told = {name: part for name, part in failed.items() if name not in [*broken, *design.lost[1:]]}
    told = told or dict([*failed.items()][:1])
    outcome = outcome_of([design.values, sorted(failed), [part.sentence for part in broken.values()]])
    return replace(result, findings=combine(told, "").findings, outcomes=(outcome,))


class _Design:
    """A student's design, and all that it gives on the way."""

    def __init__(self, answer: object, returns: Sequence[str]):
        self.answer, self.returns = answer, returns
        self.values: list[object] = [] if callable(answer) else [answer]
        self.coarse: list[str] = []  # where the question itself gives float32, that is no reason
        self.lost: list[str] = []  # the properties that fail where a NaN comes out

    def given(self, change: Callable[[object], object]) -> object:
        """The answer, with what it gives changed for a test."""
        answer = self.answer
        if not callable(answer):
            return change(answer)

        def watched(*args: object, **kwargs: object) -> object:
            value = run(answer, *args, **kwargs)
            if isinstance(value, Mapping) and self.returns:
                value = tuple(value[name] for name in self.returns if name in value)
            self.values.append(value)
            self.coarse.append(coarse([*args, *kwargs.values()]))
            return change(value)

        watched.__wrapped__ = answer  # type: ignore[attr-defined]
        return watched

    def tried(self, wanted: Property) -> Result:
        begun = len(self.values)
        try:
            try:
                seen = wanted.test(self.given(as_torch))
            except Stopped:
                raise
            except Exception:  # the test may need tensors where the answer is a list
                del self.values[begun:]
                seen = wanted.test(self.given(lambda value: as_torch(value, lists=True)))
        except Stopped:
            raise
        except Exception as error:  # the test could not use what it was given
            return wrong("untried", own=f"{wanted.sentence} (It could not be tried: {describe(error)})")
        holds, rows = seen if isinstance(seen, tuple) else (seen, ())
        if bool(holds):
            return right(f"It has the property “{wanted.name}”.")
        note = "" if any(self.coarse) else coarse(self.values[begun:])
        if any(map(isnan, outcome_of(self.values[begun:]).numbers)):
            self.lost.append(wanted.name)
            note = " (Your answer gives a NaN there, which is no number.)"
        return wrong("property", own=wanted.sentence + note, rows=tuple(map(tuple, rows)))


def near(first: object, second: object, within: float = 1e-9) -> bool:
    """Are two numbers, or tensors of them, the same for the test of a property? float32 is given its own rounding."""
    import torch

    both = [torch.as_tensor(value) for value in (first, second)]
    if any(tensor.dtype == torch.float32 for tensor in both):
        within = max(within, 2e-5)  # what it may cost
    a, b = (tensor.double() for tensor in both)
    return a.shape == b.shape and bool(((a - b).abs() <= within * b.abs().max().clamp_min(1.0)).all())
