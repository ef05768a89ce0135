"""`properties`: an open design is judged by what it must do, whatever its formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .mistakes import Mistake
from .result import Result, combine, right, wrong
from .student import Stopped, check, name_of, run, unanswered, upper


@dataclass(frozen=True)
class Property:
    """`test(answer)` is true where the design has the property; `sentence` is for one that has not.

    A test may return (truth, rows of numbers) to show what it saw.
    """

    name: str
    sentence: str
    test: Callable[..., object]


class Untried(Result):
    """A property whose test could not use the answer."""


@check
def properties(
    answer: object, required: Sequence[Property], *, mistakes: Sequence[Mistake] = (), hint: str = ""
) -> Result:
    """Try every property on the student's function, or on the data that they wrote; one part a property.

    mistakes  well-known designs that fail: `wrong` is such a design, known by its giving the same values in the
              tests; or the names of the properties that fail for it, and no others
    """
    if unanswered(answer):
        raise Stopped(wrong("There is no answer here yet.", "empty"))
    parts, values = _trial(answer, required)
    result = combine(parts, f"{upper(name_of(answer, 'your answer'))} has all {len(parts)} properties.")
    if not result.ok:
        result = replace(result, sentence=_spoken(parts))
        failed = {name for name, part in parts.items() if not part.ok}
        for mistake in mistakes:
            if _made(mistake, callable(answer), failed, values, required):
                return wrong(mistake.sentence, "mistake", mistake=mistake.name, parts=parts).hinted(hint)
    return result.hinted(hint)


def _spoken(parts: Mapping[str, Result]) -> str:
    """The sentences of what failed. A test that broke is told only where none failed: it breaks as a consequence."""
    failed = {name: part for name, part in parts.items() if not part.ok}
    told = {name: part for name, part in failed.items() if not isinstance(part, Untried)}
    return combine(told or dict([next(iter(failed.items()))]), "").sentence


def _made(
    mistake: Mistake, of_function: bool, failed: set[str], values: list[object], required: Sequence[Property]
) -> bool:
    design, known = mistake.wrong, [p.name for p in required]
    names = {design} if isinstance(design, str) else design
    listed = isinstance(names, (set, frozenset, list, tuple))
    if listed and set(known).issuperset(names):  # type: ignore[arg-type]
        return failed == set(names)  # type: ignore[call-overload]
    if of_function and not callable(design):  # then only names of properties make sense
        strange = [name for name in names if name not in known] if listed else [design]  # type: ignore[attr-defined]
        raise ValueError(
            f"the mistake {mistake.name!r} names {strange[0]!r}, which is no property here; they are "
            + ", ".join(map(repr, known))
        )
    return _same(_trial(design, required)[1], values)


def _same(first: object, second: object) -> bool:
    """Equal data, tensors included: what two designs returned in the same tests."""
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_same, first, second))
    if hasattr(first, "shape") or hasattr(second, "shape"):
        import torch

        try:
            return bool(
                torch.allclose(torch.as_tensor(first), torch.as_tensor(second), rtol=1e-6, equal_nan=True)
            )
        except (TypeError, ValueError, RuntimeError):
            return False
    return first == second


def _trial(answer: object, required: Sequence[Property]) -> tuple[dict[str, Result], list[object]]:
    """The results by property, and every value that the answer gave on the way."""
    values: list[object] = [] if callable(answer) else [answer]

    def watched(*args, **kwargs):
        values.append(run(answer, *args, **kwargs))
        return values[-1]

    return {p.name: _try(watched if callable(answer) else answer, p) for p in required}, values


def _try(answer: object, wanted: Property) -> Result:
    try:
        seen = wanted.test(answer)
    except Stopped as stop:
        return stop.result
    except Exception as error:  # the test could not use what it was given
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
        return Untried(False, f"{wanted.sentence} (It could not be tried: {reason}.)", "property")
    holds, rows = seen if isinstance(seen, tuple) else (seen, ())
    if bool(holds):
        return right(f"It has the property “{wanted.name}”.")
    return wrong(wanted.sentence, "property", rows=tuple(tuple(row) for row in rows))
