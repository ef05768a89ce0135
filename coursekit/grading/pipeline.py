"""From what was handed in to recorded grades: collect, recognise, repair, run, record."""

from __future__ import annotations

import base64
import datetime
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field

from .assignment import Assignment, Master
from .collect import Collection, Submission
from .late import LatePolicy
from .outcome import CellOutcome, Outcome, Task
from .recognise import Unreadable, read_notebook, recognise
from .record import Record, Score
from .repair import Repaired, repair


@dataclass
class Work:
    """One student's work on one assignment: a repaired notebook for each of the assignment's."""

    student: str
    assignment: Assignment
    digest: str
    when: datetime.datetime | None
    origin: str
    repaired: dict[str, Repaired] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def tasks(self) -> Iterator[Task]:
        for name, made in self.repaired.items():
            yield Task(
                f"{self.student}\0{self.assignment.name}\0{name}",
                tuple(made.cells),
                files=self.assignment.files,
            )

    @property
    def complete(self) -> bool:
        return self.outcomes.keys() == self.repaired.keys()


@dataclass
class Prepared:
    """What there is to grade, and what could not be: `problems` are (student, origin, sentence)."""

    works: list[Work] = field(default_factory=list)
    problems: list[tuple[str, str, str]] = field(default_factory=list)


def prepare(collection: Collection, assignments: list[Assignment]) -> Prepared:
    """Recognise each notebook, and repair it."""
    made = Prepared(problems=[(r.student, r.origin, r.sentence) for r in collection.refusals])
    for submission in collection.submissions:
        found: dict[str, list[tuple[str, Master, Repaired, bytes]]] = {}
        if not submission.notebooks:
            made.problems.append((submission.student, submission.origin, "no notebook was handed in"))
        for name, data in submission.notebooks.items():
            try:
                cells, said = read_notebook(data)
            except Unreadable as error:
                made.problems.append((submission.student, f"{submission.origin} ({name})", str(error)))
                continue
            match = recognise(cells, said, name, assignments)
            if match is None:
                sentence = "this notebook belongs to no assignment of the course; name one with --assignment"
                made.problems.append((submission.student, f"{submission.origin} ({name})", sentence))
                continue
            assignment, master = match
            found.setdefault(assignment.name, []).append((name, master, repair(master, cells), data))
        for assignment in assignments:
            if assignment.name in found:
                made.works.append(_work(submission, assignment, found[assignment.name]))
    return made


def _work(submission: Submission, assignment: Assignment, notebooks: list) -> Work:
    digest = hashlib.sha256(assignment.digest.encode())
    work = Work(submission.student, assignment, "", submission.when, submission.origin)
    for name, master, made, data in notebooks:
        digest.update(name.encode() + b"\0" + data)
        earlier = work.repaired.get(master.name)
        if earlier is None or len(made.blank) < len(earlier.blank):
            work.repaired[master.name] = made
        if earlier is not None:
            work.flags.append(
                f"{master.name} was handed in more than once; the one with more answers was graded"
            )
    for master in assignment.masters:
        if master.name not in work.repaired:
            work.flags.append(f"the notebook {master.name} was not handed in")
            work.repaired[master.name] = repair(master, [])
    work.digest = digest.hexdigest()
    return work


def grade(
    works: Iterable[Work],
    run: Callable[[Iterable[Task]], Iterable[Outcome]],
    record: Record,
    late: LatePolicy,
    again: bool = False,
    done: Callable[[Work, dict], None] = lambda work, entry: None,
) -> list[dict]:
    """Grade what was not graded before (or all, with `again`) and record each as soon as it is complete."""
    entries: dict[tuple[str, str], dict] = {}
    waiting: dict[tuple[str, str], Work] = {}
    for work in works:
        key = (work.student, work.assignment.name)
        before = None if again else record.done(*key, work.digest)
        if before is not None:
            entries[key] = before
            done(work, before)
        else:
            waiting[key] = work
    for outcome in run(task for work in waiting.values() for task in work.tasks()):
        student, assignment, notebook = outcome.id.split("\0")
        work = waiting[student, assignment]
        work.outcomes[notebook] = outcome
        if work.complete:
            entries[student, assignment] = entry = _enter(work, record, late)
            done(work, entry)
    return list(entries.values())


def _enter(work: Work, record: Record, late: LatePolicy) -> dict:
    scores = [
        Score(name, test.id, test.score) for name, outcome in work.outcomes.items() for test in outcome.tests
    ]
    blank = frozenset(b for made in work.repaired.values() for b in made.blank)
    for name, made in work.repaired.items():
        for cell in made.master.cells:
            if cell.role == "manual":
                scores.append(Score(name, cell.grade_id, 0.0 if cell.grade_id in blank else None))
    entry = describe(work, blank)
    entry["late_penalty"] = late.penalty(entry["score"], work.when, record.due(work.assignment.name))
    record.write(
        work.student,
        work.assignment.name,
        work.digest,
        scores,
        entry,
        work.when,
        blank,
        entry["late_penalty"],
    )
    return entry


def describe(work: Work, blank: frozenset[str]) -> dict:
    """The record of a submission: what `--json` writes, the report counts and the feedback shows."""
    questions = []
    for name, outcome in work.outcomes.items():
        made = work.repaired[name]
        for test in outcome.tests:
            questions.append(
                {
                    "id": test.id, "notebook": name, "score": test.score, "max": test.max, "status": test.status,
                    "sentence": test.sentence, "kind": test.kind, "seconds": round(test.seconds, 4),
                    "weaker": test.weaker,
                }
            )  # fmt: skip
        for cell in made.master.cells:
            if cell.role == "manual":
                status = "blank" if cell.grade_id in blank else "by hand"
                questions.append(
                    {
                        "id": cell.grade_id, "notebook": name, "score": 0.0, "max": cell.points, "status": status,
                        "sentence": "No answer." if status == "blank" else "A person will grade this answer.",
                        "kind": "", "seconds": 0.0, "weaker": False,
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
        "answers": {k: v for made in work.repaired.values() for k, v in made.answers.items()},
        "cells": {name: [_plain(cell) for cell in outcome.cells] for name, outcome in work.outcomes.items()},
    }


def _plain(cell: CellOutcome) -> dict:
    """What a cell did, as JSON can hold it: pictures in base 64."""
    made = asdict(cell)
    for output in made["outputs"]:
        if isinstance(output["data"], bytes):
            output["data"] = base64.b64encode(output["data"]).decode()
    return made
