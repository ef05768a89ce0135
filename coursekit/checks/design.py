"""`properties`: an open design is judged by what it must do, whatever its formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .mistakes import Mistake
from .result import Result, combine, right, wrong
from .student import Stopped, check, name_of, run, unanswered


@dataclass(frozen=True)
class Property:
    """`test(function)` is true where the design has the property; `sentence` is for one that has not.

    A test may return (truth, rows of numbers) to show what it saw.
    """

    name: str
    sentence: str
    test: Callable[[Callable], object]


@check
def properties(
    answer: Callable, required: Sequence[Property], *, mistakes: Sequence[Mistake] = (), hint: str = ""
) -> Result:
    """Try every property on the student's function; one part a property.

    mistakes  well-known designs that fail: `wrong` is the name of the property, or the set of those, that they
              fail; if exactly these fail, the mistake's sentence stands instead
    """
    if unanswered(answer) or not callable(answer):
        run(answer)  # stops with the sentence for what is no function
    parts = {wanted.name: _try(answer, wanted) for wanted in required}
    result = combine(parts, f"{name_of(answer)} has all {len(parts)} properties.")
    failed = {name for name, part in parts.items() if not part.ok}
    for mistake in mistakes:
        fails = {mistake.wrong} if isinstance(mistake.wrong, str) else set(mistake.wrong)  # type: ignore[call-overload]
        if failed and failed == fails:
            return wrong(mistake.sentence, "mistake", mistake=mistake.name, parts=parts).hinted(hint)
    return result.hinted(hint)


def _try(answer: Callable, wanted: Property) -> Result:
    try:
        seen = wanted.test(lambda *args, **kwargs: run(answer, *args, **kwargs))
    except Stopped as stop:
        return stop.result
    except Exception as error:  # the test could not use what the function returned
        reason = (
            f" (what it returns cannot be used: {type(error).__name__}: {str(error).splitlines()[0][:120]})"
        )
        return wrong(wanted.sentence.rstrip(".") + reason + ".", "property")
    holds, rows = seen if isinstance(seen, tuple) else (seen, ())
    if bool(holds):
        return right(f"It has the property “{wanted.name}”.")
    return wrong(wanted.sentence, "property", rows=tuple(tuple(row) for row in rows))
