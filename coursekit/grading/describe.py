"""The record of a submission: what `--json` writes, the report counts and the feedback shows."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from .assignment import Master
from .outcome import CellOutcome, Outcome, TestOutcome
from .record import ByHand
from .telling import told

if TYPE_CHECKING:
    from .pipeline import Work

MOST_OUTPUT = 2_000_000  # characters of one submission's outputs that are kept
BY_HAND = "A person will grade this answer."
NOTHING = "There is no answer here yet."
_UNDEFINED = re.compile(r"(?:^`|NameError: name ')(\w+)['`] is not defined")
_LINE = re.compile(r" \(line \d+\)$")


def describe(work: Work, blank: frozenset[str]) -> dict:
    """Everything but the outputs of the cells."""
    questions = []
    for name, outcome in work.outcomes.items():
        answers = _answers(work.repaired[name].master)
        ran = {cell.id: cell for cell in outcome.cells}
        for test in outcome.tests:
            answer = answers.get(test.id, "")
            # Of an answer left as it was given, a test speaks about the stub and not about the student.
            empty = answer in blank and test.score == 0
            sentence, kind = (NOTHING, "empty") if empty else _reason(test, ran.get(answer))
            questions.append(
                {
                    "id": test.id, "notebook": name, "score": test.score, "max": test.max, "status": test.status,
                    "sentence": sentence, "kind": kind, "detail": test.detail or test.sentence,
                    "seconds": round(test.seconds, 4), "weaker": test.weaker,
                }
            )  # fmt: skip
        for cell in work.repaired[name].master.cells:
            if cell.role in ("manual", "task"):
                empty = cell.role == "manual" and cell.grade_id in blank
                questions.append(
                    {
                        "id": cell.grade_id, "notebook": name, "score": 0.0, "max": cell.points,
                        "status": "blank" if empty else "by hand", "sentence": NOTHING if empty else BY_HAND,
                        "kind": "empty" if empty else "", "detail": "", "seconds": 0.0, "weaker": False,
                    }
                )  # fmt: skip
    flags = [*work.flags]
    for name, outcome in work.outcomes.items():
        flags += work.repaired[name].flags + outcome.flags
    return {
        "student": work.student,
        "assignment": work.assignment.name,
        "score": sum(q["score"] for q in questions),
        "max_score": sum(q["max"] for q in questions),
        "status": "flagged" if flags else "graded",
        "flags": flags,
        "repairs": [line for made in work.repaired.values() for line in made.repairs],
        "questions": questions,
        "seconds": round(sum(o.seconds for o in work.outcomes.values()), 4),
        "when": work.when.isoformat() if work.when else None,
        "late_penalty": 0.0,
        "answers": {name: made.answers for name, made in work.repaired.items()},
    }


def _answers(master: Master) -> dict[str, str]:
    """Test -> the answer cell that stands before it."""
    found, answer = {}, ""
    for cell in master.cells:
        if cell.role == "solution":
            answer = cell.grade_id
        elif cell.role == "test":
            found[cell.grade_id] = answer
    return found


def _reason(test: TestOutcome, answer: CellOutcome | None) -> tuple[str, str]:
    """The sentence and the kind. That a name is missing is no reason where the cell that defines it did not get
    through: then that is the reason."""
    missing = _UNDEFINED.search(test.sentence)
    if missing and answer is not None and answer.status != "ok":
        fate = stopped(answer.status, answer.error)
        return f"Your cell {fate}, so `{missing[1]}` is not defined.", "stopped"
    return told(test.sentence), test.kind


def stopped(status: str, error: str) -> str:
    """What became of a cell that did not get through, as words that follow "your cell"."""
    if status == "timeout":
        line = _LINE.search(error)
        return f"took too long and was stopped{line[0] if line else ''}"
    if status == "died":
        return "ended the process that ran it"
    return f"was not run: {error}" if status == "skipped" else f"stopped with `{error}`"


def titles(records: list[dict]) -> dict[tuple[str, str], str]:
    """(notebook, question) -> its name in a table: with the notebook's where two notebooks have it."""
    keys = dict.fromkeys((q["notebook"], q["id"]) for r in records for q in r["questions"])
    shared = Counter(name for _, name in keys)
    return {(notebook, name): f"{notebook}/{name}" if shared[name] > 1 else name for notebook, name in keys}


def outputs(outcomes: Mapping[str, Outcome]) -> dict[str, list[dict]]:
    """What the cells printed and drew, by notebook, as JSON can hold it: pictures in base 64."""
    room = MOST_OUTPUT
    found: dict[str, list[dict]] = {}
    for name, outcome in outcomes.items():
        found[name] = []
        for cell in outcome.cells:
            made, room = _plain(cell, room)
            found[name].append(made)
    return found


def _plain(cell: CellOutcome, room: int) -> tuple[dict, int]:
    made, kept = asdict(cell), []
    for output in made["outputs"]:
        data = output["data"]
        data = base64.b64encode(data).decode() if isinstance(data, bytes) else data
        if len(data) <= room:
            room -= len(data)
            kept.append({"kind": output["kind"], "data": data})
    return {**made, "outputs": kept}, room


def with_points_by_hand(entry: dict, given: Mapping[tuple[str, str], ByHand]) -> dict:
    """The record with the points and comments that a person has given since."""
    if not given:
        return entry
    questions = []
    for question in entry["questions"]:
        hand = given.get((question["notebook"], question["id"]))
        if hand is not None:
            question = {**question, "score": question["score"] + hand.extra}
            if hand.points is not None:
                question |= {"score": hand.points + hand.extra, "status": "graded by hand", "sentence": ""}
        questions.append(question)
    score = sum(q["score"] for q in questions) - entry["late_penalty"]
    comments: dict[str, dict[str, str]] = {}
    for (notebook, cell), hand in given.items():
        if hand.comment:
            comments.setdefault(notebook, {})[cell] = hand.comment
    return {**entry, "questions": questions, "score": max(0.0, score), "comments": comments}
