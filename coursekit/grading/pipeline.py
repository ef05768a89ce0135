"""From what was handed in to recorded grades: read, recognise, repair, run, record.

Submissions stream through: each is read when its turn comes and forgotten when it is recorded, so that a class
of two thousand takes no more memory than one of twenty. A clerk in a thread reads ahead and records behind,
while the submissions run.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from .assignment import Assignment, Master
from .calibrate import Run, calibrate, references
from .collect import Submission
from .describe import describe, outputs
from .late import LatePolicy
from .outcome import Outcome, Task
from .recognise import StudentCell, Unreadable, read_notebook, recognise
from .record import Record, Score
from .repair import Repaired, repair

READ_AHEAD = 4
Modes = dict[str, dict[str, str]]  # notebook -> test -> mode


@dataclass(frozen=True)
class Problem:
    """A submission, or a part of one, that could not be graded, and why."""

    student: str
    origin: str
    sentence: str


@dataclass
class Work:
    """One student's work on one assignment."""

    student: str
    assignment: Assignment
    when: datetime.datetime | None
    origin: str
    notebooks: list[tuple[str, Master, list[StudentCell]]]
    digest: str = ""
    flags: list[str] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.student, self.assignment.name

    @cached_property
    def repaired(self) -> dict[str, Repaired]:
        """A repaired notebook for each of the assignment's."""
        made: dict[str, Repaired] = {}
        for _, master, cells in self.notebooks:
            new, earlier = repair(master, cells), made.get(master.name)
            if earlier is None or len(new.blank) < len(earlier.blank):
                made[master.name] = new
            if earlier is not None:
                self.flags.append(
                    f"{master.name} was handed in more than once; the one with more answers was graded"
                )
        for master in self.assignment.masters:
            if master.name not in made:
                self.flags.append(f"the notebook {master.name} was not handed in")
                made[master.name] = repair(master, [])
        return {master.name: made[master.name] for master in self.assignment.masters}

    def tasks(self, modes: Modes) -> Iterator[Task]:
        for name, made in self.repaired.items():
            mode = modes.get(name, {})
            cells = tuple(replace(c, mode=mode[c.id]) if c.id in mode else c for c in made.cells)
            yield Task("\0".join((*self.key, name)), cells, files=self.assignment.files)

    @property
    def complete(self) -> bool:
        return self.outcomes.keys() == self.repaired.keys()


def works(
    submissions: Iterable[Submission], assignments: list[Assignment], certain: bool = False, more: str = ""
) -> Iterator[Work | Problem]:
    """Read each submission and recognise its notebooks. `more` is what else decides a grade, for the digest."""
    for submission in submissions:
        try:
            yield from _works(submission, assignments, certain, more)
        except Exception as error:  # one submission, whatever is in it, never stops a class
            words = f"it could not be read ({type(error).__name__}: {str(error)[:200]})"
            yield Problem(submission.student, submission.origin, words)


def _works(
    submission: Submission, assignments: list[Assignment], certain: bool, more: str
) -> Iterator[Work | Problem]:
    files, refusals = submission.load()
    for refusal in refusals:
        yield Problem(refusal.student, refusal.origin, refusal.sentence)
    if not files and not refusals:
        yield Problem(submission.student, submission.origin, "no notebook was handed in")
    found: dict[str, list[tuple[str, Master, list[StudentCell]]]] = {}
    digests: dict[str, Any] = {}
    for name, data in files.items():
        try:
            cells, said = read_notebook(data)
        except Unreadable as error:
            yield Problem(submission.student, f"{submission.origin} ({name})", str(error))
            continue
        match = recognise(cells, said, name, assignments, certain)
        if match is None:
            sentence = "this notebook belongs to no assignment of the course; name one with --assignment"
            yield Problem(submission.student, f"{submission.origin} ({name})", sentence)
            continue
        assignment, master = match
        found.setdefault(assignment.name, []).append((name, master, cells))
        digest = digests.setdefault(assignment.name, hashlib.sha256(f"{assignment.digest}{more}".encode()))
        digest.update(name.encode("utf-8", "replace") + b"\0" + data)
    for assignment in assignments:
        if assignment.name in found:
            work = Work(
                submission.student, assignment, submission.when, submission.origin, found[assignment.name]
            )
            work.digest = digests[assignment.name].hexdigest()
            if submission.late and submission.when is None:
                work.flags.append("it is marked late, but the download does not say when it came")
            yield work


class Grading:
    """One run over a class. `finished` hears each work with its entry, in the clerk's thread."""

    def __init__(
        self, run: Run, record: Record, late: LatePolicy, again: bool = False,
        finished: Callable[[Work, dict], None] = lambda work, entry: None,
    ):  # fmt: skip
        self.run, self.record, self.late, self.finished = run, record, late, finished
        self.known = {} if again else record.digests()
        self.due: dict[str, datetime.datetime | None] = {}
        self.entries: dict[tuple[str, str], dict] = {}
        self.problems: list[Problem] = []
        self.under_way: dict[tuple[str, str], Work] = {}

    def grade(self, found: Iterable[Work | Problem]) -> None:
        """Grade what was not graded before, and record each as soon as it is complete."""
        with ThreadPoolExecutor(1, "clerk") as clerk:
            waiting = self._new(found)
            # One assignment after the other: before its first submission its tests are calibrated.
            while (first := clerk.submit(next, waiting, None).result()) is not None:
                modes = self._calibrate(first.assignment)
                later: list[Work] = []
                self._grade(clerk, self._ready(first, waiting, later, modes))
                waiting = iter(later)

    def _calibrate(self, assignment: Assignment) -> Modes:
        modes, failed = calibrate(references(assignment), self.run)
        for _, test in failed:
            words = f"`{test.id}` gives the instructor's own solution {test.score:g} of {test.max:g} points"
            sentence = f"{words}: {test.detail or test.sentence}"
            self.problems.append(Problem("(the instructor)", assignment.name, sentence))
        return modes

    def _grade(self, clerk: ThreadPoolExecutor, ready: Iterator[tuple[Work, list[Task]]]) -> None:
        pending: deque[Future] = deque()
        for outcome in self.run(self._ahead(clerk, ready)):
            student, assignment, notebook = outcome.id.split("\0")
            work = self.under_way[student, assignment]
            work.outcomes[notebook] = outcome
            if work.complete:
                del self.under_way[work.key]
                pending.append(clerk.submit(self._finish, work))
            while len(pending) > READ_AHEAD:
                pending.popleft().result()
        for future in pending:
            future.result()

    def _ahead(self, clerk: ThreadPoolExecutor, ready: Iterator[tuple[Work, list[Task]]]) -> Iterator[Task]:
        """The tasks, each made ready in the clerk's thread before it is asked for."""
        queue = deque(clerk.submit(next, ready, None) for _ in range(READ_AHEAD))
        while (prepared := queue.popleft().result()) is not None:
            queue.append(clerk.submit(next, ready, None))
            work, tasks = prepared
            self.under_way[work.key] = work
            yield from tasks

    def _new(self, found: Iterable[Work | Problem]) -> Iterator[Work]:
        """What was not graded before."""
        for item in found:
            if isinstance(item, Problem):
                self.problems.append(item)
            elif self.known.get(item.key) == item.digest:
                self._done(item, self.record.entry(*item.key))
            else:
                yield item

    def _ready(
        self, first: Work, waiting: Iterator[Work], later: list[Work], modes: Modes
    ) -> Iterator[tuple[Work, list[Task]]]:
        """The works on the first one's assignment, repaired; those on others are put off."""
        for work in chain([first], waiting):
            if work.assignment is not first.assignment:
                later.append(work)
                continue
            try:
                tasks = list(work.tasks(modes))
            except Exception as error:  # whatever a student handed in, the others are graded
                self._give_up(work, error)
                continue
            yield work, tasks

    def _finish(self, work: Work) -> None:
        try:
            entry = self._enter(work)
        except (SQLAlchemyError, OSError, ValueError) as error:
            self._give_up(work, error)
            return
        self._done(work, entry)

    def _give_up(self, work: Work, error: Exception) -> None:
        words = str(getattr(error, "orig", None) or error).splitlines() or [""]
        sentence = f"it could not be graded ({type(error).__name__}: {words[0][:200]}); run the command again"
        self.problems.append(Problem(work.student, work.origin, sentence))

    def _done(self, work: Work, entry: dict) -> None:
        try:
            self.finished(work, entry)
        except OSError as error:
            self.problems.append(
                Problem(work.student, work.origin, f"graded, but its page was not written: {error}")
            )
        self.entries[work.key] = {k: v for k, v in entry.items() if k != "answers"}

    def _enter(self, work: Work) -> dict:
        blank = frozenset(b for made in work.repaired.values() for b in made.blank)
        scores = [
            Score(name, t.id, t.score) for name, outcome in work.outcomes.items() for t in outcome.tests
        ]
        for name, made in work.repaired.items():
            for cell in made.master.cells:
                if cell.role in ("manual", "task"):
                    empty = cell.role == "manual" and cell.grade_id in blank
                    scores.append(Score(name, cell.grade_id, 0.0 if empty else None))
        name = work.assignment.name
        if name not in self.due:
            self.due[name] = self.record.due(name)
        entry = describe(work, blank)
        penalty = self.late.penalty(entry["score"], work.when, self.due[name])
        entry["late_penalty"] = penalty
        entry["score"] = max(0.0, entry["score"] - penalty)
        # What our own processes did not get to is graded anew by the next run.
        lost = any(test.status == "lost" for outcome in work.outcomes.values() for test in outcome.tests)
        self.record.write(
            *work.key,
            "" if lost else work.digest,
            scores,
            entry,
            outputs(work.outcomes),
            work.when,
            blank,
            penalty,
        )
        return entry
