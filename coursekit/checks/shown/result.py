"""What every check answers: a `Result`, which a notebook shows as a panel and a terminal as text.

    checks.value(answer, digest)              # shows the panel
    checks.value(answer, digest).require()    # in a test cell: raises CheckFailed with the same sentence

A result holds *findings*. A finding says what it says of the student's own answer apart from what it would tell of
the right one; who may hear which is decided where it is printed: all of it in the notebook, on a student's page
only what is their own. A result that is wrong is also false: inside this package, test `is None` and not truth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import panel
from .locked import SLIP, Named, Outcome, kept, unlock

PLAIN = ("other", "property", "case", "holes")  # kinds of findings that do not know the mistake
LATER = " The form is right; whether the answer is, you hear after you have handed in."
NESTED = "\x1f"  # between the name of a part and that of a part of it, in an outcome


@dataclass(frozen=True)
class Finding:
    """One fact about an answer.

    `own` is what it says of the student's own answer, a sentence that may be read anywhere. `whole` is the same with
    what it tells of the right answer, for the notebook alone; without `own` a page says no more than that the
    answer is not right. Where `of` names what they speak of ("the gradient of `H`") both go on after it, and the
    same holds for the parts `also`.
    """

    kind: str
    own: str = ""
    whole: str = ""
    of: str = ""
    also: tuple[str, ...] = ()

    def said(self, own: bool = False) -> str:
        plain = "is not right." if self.of else "This is not right yet."
        words = (self.own if own else self.whole or self.own) or plain
        subject = f"{self.of[:1].upper()}{self.of[1:]} " if self.of else ""
        same = f" The same goes for {panel.listed([f'`{n}`' for n in self.also])}." if self.also else ""
        return f"{subject}{words}{same}"


class CheckFailed(AssertionError):
    """A student's answer is not right yet. Its message is the sentence that the student should read."""

    def __init__(self, result: Result):
        super().__init__(result.sentence)
        self.result = result
        self.sentence, self.own = result.sentence, result.own
        self.kind = result.mistake or result.kind
        self._lines: list[str] | None = None

    def _render_traceback_(self) -> list[str]:
        """IPython shows this instead of a traceback: the student's mistake is not in our code."""
        if self._lines is None:  # IPython asks twice, and one panel is enough
            line = f"{type(self).__name__}: {panel.plain(self.sentence)}"
            self._lines = [line] if panel.show(self.result) else str(self.result).splitlines()
        return self._lines


class Earned(float):
    """Points, and why they are not all: a grader that runs the test itself reads the sentences off it."""

    def __new__(cls, points: float, result: Result) -> Earned:
        earned = super().__new__(cls, points)
        said = (result.sentence, result.own, result.mistake or result.kind)
        earned.sentence, earned.own, earned.kind = ("", "", "") if result.ok else said
        return earned

    sentence: str
    own: str
    kind: str


@dataclass(frozen=True)
class Result:
    """The answer of a check.

    `findings` are its facts, the first its main one. Where a named mistake of the question was recognised, `mistake`
    is its name. `reading` is the student's answer as it was read, as HTML that this package made. `columns` and `rows`
    are the numbers, `block` is text that keeps its lines (an equation with its caret). `parts` has a result for each
    part that can earn its own points: `result.part("H").require()`. `outcomes` is what a wrong answer came to, the
    keys of locked sentences. `look` finds a better sentence; it takes its time, so it is asked only when one is needed.
    """

    ok: bool
    findings: tuple[Finding, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    block: str = ""
    hints: tuple[str, ...] = ()
    mistake: str = ""
    parts: Mapping[str, Result] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = field(default=(), compare=False)
    reading: str = field(default="", compare=False)
    slips: tuple[Named, ...] = field(default=(), compare=False)
    look: Callable[[], Finding | None] | None = field(default=None, compare=False)

    @property
    def sentence(self) -> str:
        """All that was found, for the notebook."""
        return " ".join(finding.said() for finding in self.findings)

    @property
    def own(self) -> str:
        """What of it is about the student's own answer, for their page."""
        return " ".join(dict.fromkeys(finding.said(own=True) for finding in self.findings))

    @property
    def kind(self) -> str:
        """One word for the class report: "sign", "shape", "error", "empty", …"""
        return self.findings[0].kind if self.findings else ""

    def looked(self) -> Result:
        """This result with what a longer look finds; where that is nothing, with the slip that it was known by."""
        if self.mistake:
            return self
        if self.look is not None and (found := self.look()) is not None:
            return replace(self, findings=(found,), look=None)
        parts = {name: part.looked() for name, part in self.parts.items()}
        told = self
        if any(part is not self.parts[name] for name, part in parts.items()):
            told = replace(self, parts=parts, findings=combine(parts, "").findings)
        return told.telling(self.slips) if told.kind in PLAIN else told

    def named(self, boxes: str) -> Result:
        """This result with the sentence of the named mistake that the answer makes, where it makes one; `boxes` are the
        question's locked sentences (see `locked`), or "assignment/question" for those that the package keeps."""
        boxes = boxes if "$" in boxes else kept(boxes)
        found = [] if not boxes or self.ok or self.mistake else unlock(boxes, self.outcomes)
        slips = tuple(one for one in found if one.name.startswith(SLIP))
        return replace(self, slips=slips) if slips else self.telling(found)

    def telling(self, found: Sequence[Named]) -> Result:
        """This result with the sentences of the mistakes that were found in it."""
        if not found:
            return self
        explained = {part.partition(NESTED)[0]: mistake for mistake in found for part in mistake.parts}
        failed = [name for name, part in self.parts.items() if not part.ok]
        whole = "" in explained or (len(found) == 1 and explained.keys() >= set(failed))
        told = {name: self.parts[name]._saying([explained[name]]) for name in failed if name in explained}
        mine = self._saying(found, parts={**self.parts, **told})
        return mine if whole or not self.parts else replace(mine, findings=combine(mine.parts, "").findings)

    def _saying(self, found: Sequence[Named], **more: Any) -> Result:
        findings = tuple(Finding("mistake", mistake.sentence) for mistake in found)
        if found[0].name.startswith(SLIP):
            findings = (*findings, *self.findings) if self.kind == "property" else findings
            return replace(self, findings=findings, look=None, **more)  # a slip is no mistake with a name
        return replace(self, findings=findings, mistake=found[0].name, look=None, **more)

    def require(self) -> Result:
        """This result, or CheckFailed with its sentence."""
        if not self.ok:
            raise CheckFailed(self.looked())
        return self

    def score(self, points: float | Mapping[str, float], *, whole: bool = False) -> float:
        """The points earned, for the last line of a test cell: nbgrader takes a number there as part credit.

        `points` is shared equally by the parts, or says what each is worth; with `whole` it is all of them or
        nothing. With nothing right it raises like `require`; with some right it prints what is wrong with the
        others.
        """
        parts = {"": self} if whole or not self.parts else self.parts
        worth = points if isinstance(points, Mapping) else dict.fromkeys(parts, points / len(parts))
        earned = round(float(sum(worth[name] for name, part in parts.items() if part.ok)), 9)
        if not earned:
            self.require()
        told = self.looked()
        if not told.ok:
            print(told)
        return Earned(earned, told)

    def hinted(self, hints: str | Sequence[str]) -> Result:
        """This result with hints, the vaguest first, where it is not right."""
        given = (hints,) if isinstance(hints, str) else tuple(hints)
        return replace(self, hints=given) if any(given) and not self.ok else self

    def part(self, name: str) -> Result:
        """The result of one part; where the check stopped before it looked at parts, that reason."""
        if name in self.parts:
            return self.parts[name]
        if self.parts:
            raise KeyError(f"this check has no part {name!r}; its parts are {', '.join(self.parts)}")
        return self

    def __bool__(self) -> bool:
        """So that `assert checks.value(…)` means what it says."""
        return self.ok

    def __str__(self) -> str:
        return panel.text(self.looked())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.ok and os.environ.get("NBGRADER_EXECUTION") == "autograde":
            raise CheckFailed(self)  # a verdict that is only shown: there nobody would see it
        return panel.html(self.looked())


def right(sentence: str, **more: Any) -> Result:
    return Result(True, (Finding("right", sentence),), **more)


def wrong(kind: str, *, own: str = "", whole: str = "", of: str = "", **more: Any) -> Result:
    """A result that is not right: see `Finding` for `own`, `whole` and `of`. Nothing is `own` by default."""
    return Result(False, (Finding(kind, own, whole, of),), **more)


def formed(read: str, **more: Any) -> Result:
    """An answer of the right form to a question whose few answers could all be tried: it is judged after hand-in."""
    return Result(True, (Finding("form", read + LATER),), **more)


def mistaken(name: str, sentence: str, **more: Any) -> Result:
    """A named mistake of the question: its author wrote the sentence for the student."""
    return wrong("mistake", own=sentence, mistake=name, **more)


def combine(parts: Mapping[str, Result], praise: str) -> Result:
    """One result of several: right if all are, else with the findings of the parts that are not, alike ones as one."""
    failed = {name: part for name, part in parts.items() if not part.ok}
    if not failed:
        if any(part.kind == "form" for part in parts.values()):
            return formed(" ".join(part.sentence.removesuffix(LATER) for part in parts.values()))
        return right(praise, parts=dict(parts))
    first = next(iter(failed.values()))
    groups: dict[Finding, list[tuple[str, Finding]]] = {}
    for name, part in failed.items():
        for finding in part.findings:
            groups.setdefault(replace(finding, of=""), []).append((name, finding))
    findings = [
        replace(alike[0][1], also=tuple(name for name, finding in alike[1:] if finding.of))
        for alike in groups.values()
    ]
    return Result(
        False, tuple(findings), first.columns,
        tuple(row for part in failed.values() for row in part.rows if part.columns == first.columns),
        "\n".join(dict.fromkeys(part.block for part in failed.values() if part.block)),
        first.hints, first.mistake, dict(parts),
        tuple(
            replace(outcome, part=f"{name}{NESTED}{outcome.part}" if outcome.part else name)
            for name, part in failed.items() for outcome in part.outcomes
        ),
    )  # fmt: skip
