"""`derivation`: a chain of equalities, each line held against the line before it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from ...notation.derive.derivation import Derivation, Step
from ...notation.equations import Equations
from ..judging.student import check, written
from ..shown.locked import Outcome
from ..shown.result import Result, combine, right, wrong

_MARKS = {"right": "✓", "definition": " ", "follows": "✓", "right again": "✓", "repeated": " "}


@check
def derivation(
    answer: object,
    given: str | Equations,
    *,
    derives: Sequence[str] = (),
    using: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    steps: int = 1,
    known: str = "",
    distributions: Sequence[str] = (),
) -> Result:
    """Does each line follow from the line before it? Each line is a part and earns its points.

    given          the system that the derivation is about
    derives        what must be derived, as the language writes the first line of its chain: "dJ/dz[i]"
    using          the tensors that may stand in the last line of each of these, or a dict of them; no derivative
    steps          how many lines each of them takes at least: a result that falls from the sky is none
    known          a derivation that is right, by which a wrong line can be explained
    distributions  inputs that sum to one over their last index
    """
    found = written(answer, lambda text: _steps(text, given, tuple(distributions), known), "the derivation")
    parts: dict[str, Result] = {}
    for step in (s for s in found if not _still(s)):
        name = f"line {step.line}"
        same = sum(n.split(",")[0] == name for n in parts)
        parts[f"{name}, step {same + 1}" if same else name] = _judged(step)
    for head in derives:
        lines = [s for s in found if _lettered(s.of) == _lettered(head)]
        reached = _reached(lines, head, using[head] if isinstance(using, Mapping) else using, steps)
        parts[head] = reached
        if not reached.ok:  # what is missing weighs no less than what is there
            good = sum(s.good and not _still(s) for s in lines)
            parts |= {f"{head}, step {n}": reached for n in range(2, max(good, steps - good) + 1)}
    shown = "\n".join(f"{_MARKS.get(s.verdict, '✗')} {s.line}: {s.text}" for s in found)
    praise = "on random tensors each line gives the same numbers as the line before it."
    result = combine(parts, f"Your derivation is right: {praise}")
    said = tuple(replace(outcome, part="") for outcome in result.outcomes)  # on whichever line it stands
    return replace(result, block=shown, outcomes=said[:1])


@lru_cache(maxsize=32)
def _steps(text: str, given: str | Equations, distributions: tuple[str, ...], known: str) -> tuple[Step, ...]:
    """Kept, for each wrong answer is held against every named mistake, and they are the same each time."""
    return tuple(Derivation(given, distributions).check(text, known))


def _lettered(head: str) -> str:
    """What is derived, whatever letters its indices have."""
    letters: dict[str, str] = {}
    return re.sub(r"(?<=[\[,])\w+", lambda m: letters.setdefault(m[0], str(len(letters))), head)


def _still(step: Step) -> bool:
    """A line that brings the derivation no further: a definition, the line before, or what is derived itself."""
    return step.verdict in ("definition", "repeated") or (step.good and step.of in step.reads)


def _judged(step: Step) -> Result:
    if step.good:
        return right(step.sentence)
    outcomes = (Outcome(text=step.of, numbers=step.values),) if step.values else ()
    place = f"Line {step.line}: "
    said = step.sentence[:1].upper() + step.sentence[1:] + ("" if step.sentence[-1:] in ".?" else ".")
    own = f"{place}This does not follow from the line before." if step.hidden else place + said
    return wrong(step.kind or step.verdict, own=own, whole=place + said, outcomes=outcomes)


def _reached(steps: Sequence[Step], head: str, using: Sequence[str] | None, fewest: int) -> Result:
    """Whether a chain was begun, and brought to its end step by step."""
    if not steps:
        return wrong("missing", own=f"`{head}` is not derived: begin a line with it.")
    if left := [] if using is None else sorted(steps[-1].reads - set(using)):
        words = " and ".join(f"`{n}`" for n in left)
        own = f"The derivation of `{head}` is not at its end: {words} still stands in it."
        return wrong("unfinished", own=own)
    if (count := sum(not _still(s) for s in steps)) < fewest:
        return wrong("steps", own=f"`{head}` has {count} of at least {fewest} lines: show the steps between.")
    return right(f"`{head}` is derived.")
