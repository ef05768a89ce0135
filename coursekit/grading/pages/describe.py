"""The record of a submission: what `--json` writes, the report counts and the feedback shows."""

import base64
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from ..facts import Entry, Printed, Repaired, Verdict, Work
from ..run.outcome import CellOutcome, Outcome, Output, TestOutcome

MOST_OUTPUT = 2_000_000  # characters of one submission's outputs that are kept
BY_HAND = "A person will grade this answer."
NOTHING = "There is no answer here yet."


def describe(work: Work) -> Entry:
    """Everything but what the cells printed; no penalty yet."""
    made, outcomes = work.repaired, work.outcomes
    return Entry(
        work.student,
        work.assignment.name,
        tuple(v for name, outcome in outcomes.items() for v in _verdicts(made[name], outcome)),
        (*work.flags, *(flag for name, o in outcomes.items() for flag in (*made[name].flags, *o.flags))),
        tuple(line for one in made.values() for line in one.repairs),
        round(sum(outcome.seconds for outcome in outcomes.values()), 4),
        work.when,
        answers={name: one.answers for name, one in made.items()},
        sandbox=", ".join(sorted({outcome.level for outcome in outcomes.values()} - {""})),
        tests=work.assignment.digest,
        blank=tuple(sorted(b for one in made.values() for b in one.blank)),
    )


def _verdicts(made: Repaired, outcome: Outcome) -> Iterator[Verdict]:
    name, ran = made.master.name, {cell.id: cell for cell in outcome.cells}
    for test in outcome.tests:
        answer = made.master.answer_of.get(test.id, "")
        # Of an answer left as it was given, a test speaks about the stub and not about the student.
        empty = answer in made.blank and test.score == 0
        sentence, kind = (NOTHING, "empty") if empty else (test.sentence, test.kind)
        if not empty and test.missing and answer in ran and ran[answer].status != "ok":
            # That a name is missing is no reason where the cell that defines it did not get through.
            why, kind = stopped(ran[answer]), "stopped"
            sentence = f"Your cell {why}, so `{test.missing}` is not defined."
        yield Verdict(
            test.id, name, test.score, test.max, test.status, sentence, kind, test.detail or test.sentence,
            round(test.seconds, 4), test.weaker, _measured(test),
        )  # fmt: skip
    for cell in made.master.cells:
        if cell.role == "manual" and cell.grade_id in made.blank:
            yield Verdict(cell.grade_id, name, 0.0, cell.points, "blank", NOTHING, "empty")
        elif cell.by_hand:
            yield Verdict(cell.grade_id, name, 0.0, cell.points, "by hand", BY_HAND)


def _measured(test: TestOutcome) -> dict[str, float]:
    """What a test says that it measured, as a line of JSON: `{"measured": {"perplexity": 4.9}}`. A test that ran beside
    the student's code is not believed."""
    printed = "".join(str(o.data) for o in test.outputs if o.kind == "stdout" and not test.weaker)
    for line in printed.splitlines():
        with suppress(ValueError, AttributeError, TypeError):
            told = json.loads(line).get("measured", {}).items()
            return {str(name): float(value) for name, value in told if math.isfinite(value)}
    return {}


def stopped(cell: CellOutcome) -> str:
    """What became of a cell that did not get through, as words that follow "your cell"."""
    if cell.status == "timeout":
        return f"took too long and was stopped{f' (line {cell.line})' if cell.line else ''}"
    if cell.status == "died":
        return "ended the process that ran it"
    return f"was not run: {cell.error}" if cell.status == "skipped" else f"stopped with `{cell.error}`"


def printed(outcomes: Mapping[str, Outcome]) -> Printed:
    """What the cells printed and drew, by notebook, as JSON can hold it: pictures in base 64."""
    shown: Printed = {}
    room = MOST_OUTPUT
    for name, cell in [(name, cell) for name, outcome in outcomes.items() for cell in outcome.cells]:
        outputs = []
        for kind, data in ((one.kind, one.data) for one in cell.outputs):
            text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
            if len(text) <= room:
                room -= len(text)
                outputs.append(Output(kind, text))
        shown.setdefault(name, []).append(replace(cell, outputs=outputs))
    return shown
