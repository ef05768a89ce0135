"""From what was handed in to grades and pages: read, recognise, repair, run, record, show.

Submissions stream through: each is read when its turn comes and forgotten when it is recorded, so that a class
of two thousand takes no more memory than one of twenty. A clerk in a thread reads ahead and records behind,
while the submissions run.
"""

import datetime
import hashlib
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from .assignment import references
from .facts import Assignment, Handed, Master, Printed, Problem, StudentCell, Work
from .gradebook.record import Record
from .pages.describe import describe, printed
from .pages.shelf import Shelf
from .run.outcome import Modes, Run, Task, calibrate
from .submissions.collect import Submission, kind_of
from .submissions.recognise import Unreadable, read_notebook, recognise
from .submissions.repair import mend

READ_AHEAD = 4


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
    found: dict[str, list[Handed]] = defaultdict(list)
    digests: dict[str, Any] = {}
    doubts: dict[str, list[str]] = defaultdict(list)
    for name, data in files.items():
        try:
            assignment, master, cells, doubt = _read(name, data, assignments, certain)
        except Unreadable as error:
            yield Problem(submission.student, f"{submission.origin} ({name})", str(error))
            continue
        doubts[assignment.name] += [doubt] if doubt else []
        found[assignment.name].append(Handed(name, master, cells, submission.rank[name]))
        digest = digests.setdefault(assignment.name, hashlib.sha256(assignment.digest.encode()))
        digest.update(name.encode("utf-8", "replace") + b"\0" + data)
    for assignment in (one for one in assignments if one.name in found):
        mine, flags, whose = found[assignment.name], doubts[assignment.name], (submission.student, assignment)
        if submission.late and submission.when is None:
            flags.append("it is marked late, but the download does not say when it came")
        # Under a policy by which the best counts each handing-in is a work by itself, the earliest first.
        ranks = sorted({handed.rank for handed in mine}) if assignment.name in best else []
        if len(ranks) < 2:
            digest = digests[assignment.name].hexdigest()
            yield Work(*whose, submission.when, submission.origin, mine, digest, flags)
            continue
        names = ", ".join(handed.name for handed in mine)
        flags.append(f"handed in more than once ({names}); the best counts")
        for rank in ranks:
            own, digest = [handed for handed in mine if handed.rank == rank], digests[assignment.name].copy()
            digest.update(repr([handed.name for handed in own]).encode("utf-8", "replace"))
            when = datetime.datetime.fromtimestamp(rank[0], datetime.UTC) if rank[0] else submission.when
            yield Work(*whose, when, submission.origin, own, digest.hexdigest(), [*flags])


def _read(
    name: str, data: bytes, assignments: list[Assignment], certain: bool
) -> tuple[Assignment, Master, list[StudentCell], str]:
    """Which assignment's a file is, and which notebook of it, its cells, and what is doubtful about that."""
    cells, said = read_notebook(data)
    match = recognise(cells, said, name, assignments, certain)
    if match is None:
        raise Unreadable("this notebook belongs to no assignment of the course; name one with --assignment")
    assignment, master, doubt = match
    if said and said != assignment.name and doubt:
        other = f"{name} is the notebook of {said!r}, not of {assignment.name!r}"
        raise Unreadable(f"{other}; it was not graded as that")
    return assignment, master, cells, doubt


class Grading:
    """One run over a class. `shelf` is where the pages go."""

    def __init__(self, run: Run, record: Record, again: bool = False, shelf: Shelf | None = None):
        self.run, self.record, self.shelf = run, record, shelf
        self.known = {} if again else record.digests()
        self.done: set[tuple[str, str]] = set()  # student, assignment
        self.problems: list[Problem] = []
        self.under_way: dict[str, tuple[Work, str]] = {}  # task -> whose, and which notebook

    def grade(self, found: Iterable[Work | Problem]) -> None:
        """Grade what was not graded before, and record each as soon as it is complete."""
        with ThreadPoolExecutor(1, "clerk") as clerk:
            waiting = self._new(found)
            # One assignment after the other: before its first submission its tests are calibrated.
            while (first := clerk.submit(next, waiting, None).result()) is not None:
                modes, failed = calibrate(references(first.assignment), self.run)
                for _, test in failed:
                    words = f"`{test.id}` gives the instructor's own solution {test.score:g} of {test.max:g} points"
                    sentence = f"{words}: {test.detail or test.sentence}"
                    self.problems.append(Problem("(the instructor)", first.assignment.name, sentence))
                later: list[Work] = []
                mine = self._ready(first, waiting, later, modes)
                pending: deque[Future[None]] = deque()
                for outcome in self.run(self._ahead(clerk, mine)):
                    work, notebook = self.under_way.pop(outcome.id)
                    work.outcomes[notebook] = outcome
                    if work.outcomes.keys() == work.repaired.keys():
                        pending.append(clerk.submit(self._finish, work))
                    while len(pending) > READ_AHEAD:
                        pending.popleft().result()
                for future in pending:
                    future.result()
                waiting = iter(later)

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
            lost = any(test.status == "lost" for done in work.outcomes.values() for test in done.tests)
            self.record.write(entry, "" if lost else work.digest, shown)
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
