"""From what was handed in to grades and pages: read, recognise, repair, run, record, show.

Submissions stream through: each is read when its turn comes and forgotten when it is recorded, so that a class
of two thousand takes no more memory than one of twenty. A clerk in a thread reads ahead and records behind,
while the submissions run.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import deque
from collections.abc import Container, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from .assignment import references
from .facts import Assignment, Master, Printed, Problem, StudentCell, Work
from .gradebook.record import Record
from .pages.describe import describe, printed
from .pages.shelf import Shelf
from .run.outcome import Modes, Run, Task, calibrate
from .submissions.collect import Submission, kind_of
from .submissions.recognise import Unreadable, read_notebook, recognise
from .submissions.repair import mend

READ_AHEAD = 4
Read = tuple[str, Master, list[StudentCell]]  # the file's name, which notebook it is, its cells


def ready(work: Work, modes: Modes) -> dict[str, Task]:
    """Repair the work; each of its notebooks as a task."""
    mend(work)
    tasks = {}
    for name, made in work.repaired.items():
        mode = modes.get(name, {})
        cells = tuple(replace(c, **mode[c.id]) if c.id in mode else c for c in made.cells)
        whose = " ".join(map(repr, (*work.key, name, work.digest)))
        tasks[name] = Task(whose, cells, files=work.assignment.files)
    return tasks


def works(
    submissions: Iterable[Submission], assignments: list[Assignment], certain: bool = False,
    best: Container[str] = (),
) -> Iterator[Work | Problem]:  # fmt: skip
    """Read each submission and recognise its notebooks. Of the assignments in `best` every attempt is a work."""
    for submission in submissions:
        try:
            yield from _works(submission, assignments, certain, best)
        except Exception as error:  # noqa: BLE001 - one submission, whatever is in it, never stops a class
            words = f"it could not be read ({type(error).__name__}: {str(error)[:200]})"
            yield Problem(submission.student, submission.origin, words)


def _works(
    submission: Submission, assignments: list[Assignment], certain: bool, best: Container[str]
) -> Iterator[Work | Problem]:
    files, refusals = submission.load()
    yield from refusals
    if not files and not refusals:
        others = [f"{name}, {kind_of(name)}" for name in sorted(submission.others)[:5]]
        other = f" but {'; '.join(others)}: ask for the .ipynb" if others else ""
        yield Problem(submission.student, submission.origin, f"no notebook was handed in{other}")
    found: dict[str, list[Read]] = {}
    digests: dict[str, Any] = {}
    doubts: dict[str, list[str]] = {}
    for name, data in files.items():
        try:
            cells, said = read_notebook(data)
            match = recognise(cells, said, name, assignments, certain)
            if match is None:
                raise Unreadable(
                    "this notebook belongs to no assignment of the course; name one with --assignment"
                )
            assignment, master, doubt = match
            if said and said != assignment.name and doubt:
                other = f"{name} is the notebook of {said!r}, not of {assignment.name!r}"
                raise Unreadable(f"{other}; it was not graded as that")
        except Unreadable as error:
            yield Problem(submission.student, f"{submission.origin} ({name})", str(error))
            continue
        doubts.setdefault(assignment.name, []).extend(filter(None, [doubt]))
        found.setdefault(assignment.name, []).append((name, master, cells))
        digest = digests.setdefault(assignment.name, hashlib.sha256(assignment.digest.encode()))
        digest.update(name.encode("utf-8", "replace") + b"\0" + data)
    for assignment in assignments:
        if assignment.name in found:
            choose = _attempts if assignment.name in best else _latest
            attempts = list(choose(found[assignment.name], submission.rank))
            for notebooks, flags in attempts:
                work = Work(submission.student, assignment, submission.when, submission.origin, notebooks)
                work.flags += flags + doubts[assignment.name]
                _identify(work, digests[assignment.name].copy(), submission, alone=len(attempts) == 1)
                yield work


def _identify(work: Work, digest: Any, submission: Submission, alone: bool) -> None:
    """Give the work its digest; of several attempts each has one, and a time, of its own."""
    if not alone:
        names = [name for name, _, _ in work.notebooks]
        digest.update(repr(names).encode("utf-8", "replace"))
        times = [submission.rank[name][0] for name in names]
        work.when = datetime.datetime.fromtimestamp(max(times), datetime.UTC) if any(times) else work.when
    work.digest = digest.hexdigest()
    if submission.late and submission.when is None:
        work.flags.append("it is marked late, but the download does not say when it came")


def _attempts(
    notebooks: list[Read], rank: dict[str, tuple[float, int]]
) -> Iterator[tuple[list[Read], list[str]]]:
    """Each handing-in by itself, the earliest first, for a policy under which the best of them counts."""
    order = sorted({rank[name] for name, _, _ in notebooks})
    names = ", ".join(name for name, _, _ in notebooks)
    flags = [f"handed in more than once ({names}); the best counts"] if len(order) > 1 else []
    for one in order:
        yield [read for read in notebooks if rank[read[0]] == one], flags


def _latest(
    notebooks: list[Read], rank: dict[str, tuple[float, int]]
) -> Iterator[tuple[list[Read], list[str]]]:
    """Of several that were handed in for one notebook the latest, where the collection knows which that is."""
    kept, flags = [], []
    for master in dict.fromkeys(m.name for _, m, _ in notebooks):
        mine = [one for one in notebooks if one[1].name == master]
        last = max(rank.get(name, (0.0, 0)) for name, _, _ in mine)
        latest = [one for one in mine if rank.get(one[0], (0.0, 0)) == last]
        kept += latest
        if len(mine) > len(latest):
            names, counted = (", ".join(name for name, _, _ in some) for some in (mine, latest))
            flags.append(
                f"{master} was handed in more than once ({names}); the latest, {counted}, was graded"
            )
    yield kept, flags


class Grading:
    """One run over a class. `shelf` is where the pages go."""

    def __init__(self, run: Run, record: Record, again: bool = False, shelf: Shelf | None = None):
        self.run, self.record, self.shelf = run, record, shelf
        self.known = {} if again else record.digests()
        self.done: set[tuple[str, str]] = set()  # student, assignment
        self.problems: list[Problem] = []
        self.modes: dict[str, Modes] = {}  # assignments that were calibrated before, by their digest
        self.under_way: dict[str, tuple[Work, str]] = {}  # task -> whose, and which notebook

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
        if assignment.digest in self.modes:
            return self.modes[assignment.digest]
        modes, failed = calibrate(references(assignment), self.run)
        for _, test in failed:
            words = f"`{test.id}` gives the instructor's own solution {test.score:g} of {test.max:g} points"
            sentence = f"{words}: {test.detail or test.sentence}"
            self.problems.append(Problem("(the instructor)", assignment.name, sentence))
        return modes

    def _grade(self, clerk: ThreadPoolExecutor, ready: Iterator[tuple[Work, dict[str, Task]]]) -> None:
        pending: deque[Future[None]] = deque()
        for outcome in self.run(self._ahead(clerk, ready)):
            work, notebook = self.under_way.pop(outcome.id)
            work.outcomes[notebook] = outcome
            if work.complete:
                pending.append(clerk.submit(self._finish, work))
            while len(pending) > READ_AHEAD:
                pending.popleft().result()
        for future in pending:
            future.result()

    def _ahead(
        self, clerk: ThreadPoolExecutor, ready: Iterator[tuple[Work, dict[str, Task]]]
    ) -> Iterator[Task]:
        """The tasks, each made ready in the clerk's thread before it is asked for."""
        queue = deque(clerk.submit(next, ready, None) for _ in range(READ_AHEAD))
        while (prepared := queue.popleft().result()) is not None:
            queue.append(clerk.submit(next, ready, None))
            work, tasks = prepared
            self.under_way |= {task.id: (work, notebook) for notebook, task in tasks.items()}
            yield from tasks.values()

    def _new(self, found: Iterable[Work | Problem]) -> Iterator[Work]:
        """What was not graded before."""
        for item in found:
            if isinstance(item, Problem):
                self.problems.append(item)
            elif self.known.get(item.key) == item.digest:
                self._show(item)
            else:
                yield item

    def _ready(
        self, first: Work, waiting: Iterator[Work], later: list[Work], modes: Modes
    ) -> Iterator[tuple[Work, dict[str, Task]]]:
        """The works on the first one's assignment, repaired; those on others are put off."""
        for work in chain([first], waiting):
            if work.assignment is not first.assignment:
                later.append(work)
                continue
            try:
                tasks = ready(work, modes)
            except Exception as error:  # noqa: BLE001 - whatever a student handed in, the others are graded
                self._give_up(work, error)
            else:
                yield work, tasks

    def _finish(self, work: Work) -> None:
        shown = printed(work.outcomes)
        entry = describe(work)
        try:
            if self.record.better_stands(entry, work.digest):
                self._show(work)
                return
            # What our own processes did not get to is graded anew by the next run.
            self.record.write(entry, "" if work.lost else work.digest, shown)
        except (SQLAlchemyError, OSError, ValueError) as error:
            self._give_up(work, error)
        else:
            self._show(work, shown)

    def _give_up(self, work: Work, error: Exception) -> None:
        words = str(getattr(error, "orig", None) or error).splitlines() or [""]
        sentence = f"it could not be graded ({type(error).__name__}: {words[0][:200]}); run the command again"
        self.problems.append(Problem(work.student, work.origin, sentence))

    def _show(self, work: Work, shown: Printed | None = None) -> None:
        """The pages of a work: all of what was graded just now; of what was graded before, what is not there."""
        try:
            if self.shelf and shown is not None:
                self.shelf.put(work, self.record.entry(*work.key), shown)
            elif self.shelf and not self.shelf.page(work.assignment.name, work.student).exists():
                before = self.record.printed(*work.key)
                self.shelf.put_page(self.record.entry(*work.key), work.assignment, before)
        except OSError as error:
            sentence = f"graded, but its page was not written: {error}"
            self.problems.append(Problem(work.student, work.origin, sentence))
        self.done.add(work.key)
