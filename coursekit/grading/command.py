"""What `coursekit grade`, `report` and `export` do, apart from their words on the command line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .assignment import load
from .confine.limits import Limits
from .errors import GradingError
from .facts import Assignment, Entry, Problem
from .gradebook.history import Change
from .gradebook.record import Record
from .pages.shelf import Shelf
from .pipeline import Grading, works
from .run.outcome import Modes
from .run.warm import Warm
from .submissions.collect import Collection, Submission, collect

if TYPE_CHECKING:
    from .run.cluster import Cluster

PRIVATE = ("solutions", "source", "release", "submitted", "autograded", "feedback", "_build")


@dataclass(frozen=True)
class Options:
    course: Path = Path(".")
    assignment: str | None = None
    gradebook: str = ""
    out: Path | None = None
    jobs: int = 0
    dask: str = ""
    again: bool = False
    students: frozenset[str] = frozenset()
    due: str = ""  # with `late`: facts that the gradebook keeps from then on
    late: str = ""
    limits: Limits = field(default_factory=Limits)
    unsafe: bool = False
    device: str = ""
    modes: dict[str, Modes] = field(default_factory=dict)  # found out before, by the assignment's digest

    @property
    def gradebook_url(self) -> str:
        return self.gradebook or f"sqlite:///{(self.course / 'gradebook.db').resolve()}"

    @property
    def folder(self) -> Path:
        return self.out or self.course / "_build" / "grades"

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.folder, self.course, self.out)


@dataclass
class Graded:
    """The result of a run."""

    entries: list[Entry]
    problems: list[Problem]
    assignments: list[Assignment]
    reports: list[Path]
    changes: list[Change]  # grades that were there before, and are others now

    @property
    def exit_code(self) -> int:
        """0 all graded, 1 something for a person to look at."""
        return int(bool(self.problems) or any(e.flags for e in self.entries))


def run(
    paths: list[Path], options: Options, total: Callable[[int], None] = lambda n: None,
    step: Callable[[], None] = lambda: None,
) -> Graded:  # fmt: skip
    """Grade everything below the paths. `total` hears how many there are, `step` each one that is done."""
    broken: list[Problem] = []
    assignments = load(options.course, options.assignment, broken)
    _sensible(options)
    with collect(paths) as found, ExitStack() as opened:
        submissions = _chosen(found, paths, options.students)
        record = opened.enter_context(Record(options.gradebook_url))

        @cache
        def runner() -> Warm | Cluster:
            """Started when there is work for it."""
            if options.dask:
                from .run.cluster import Cluster

                return opened.enter_context(
                    Cluster(options.dask, options.limits, options.unsafe, options.device)
                )
            jobs, hidden = options.jobs or len(os.sched_getaffinity(0)), private_folders(options.course)
            warm = Warm(
                jobs=jobs, limits=options.limits, unsafe=options.unsafe, device=options.device, hidden=hidden
            )
            return opened.enter_context(warm)

        def one_by_one() -> Iterator[Submission]:
            total(len(submissions))
            for submission in submissions:
                yield submission
                step()

        for assignment in assignments:
            record.enter(assignment)
        if options.due or options.late:
            if options.assignment is None:
                raise GradingError(
                    "--due and --late are of one assignment: say which, with --assignment NAME"
                )
            record.decide(options.assignment, options.due, options.late)
        grading = Grading(lambda tasks: runner().grade(tasks), record, options.again, options.shelf)
        grading.modes = options.modes
        grading.problems += broken + found.refusals
        best = {a.name for a in assignments if record.keeps_best(a.name)}
        grading.grade(works(one_by_one(), assignments, bool(options.assignment), best))
        record.term.refuse(
            options.assignment or "", grading.problems, {student for student, _ in grading.done}
        )
        record.term.share(found.together, grading.done)
        mine = record.history.changes(record.history.began)
        used = [a for a in assignments if any(name == a.name for _, name in grading.done)]
        graded = Graded(
            [], grading.problems, used, [], [change for change in mine if change.before is not None]
        )
        for assignment in used:
            everyone = record.entries(assignment.name)
            done = [e for e in everyone if (e.student, e.assignment) in grading.done]
            graded.entries += [replace(e, answers={}) for e in done]
            try:
                graded.reports.append(options.shelf.put_report(assignment, everyone, graded.problems))
            except OSError as error:  # a full disk: the grades are kept, and their table is still shown
                graded.problems.append(
                    Problem("(the class)", assignment.name, f"there is no report: {error}")
                )
    return graded


def _sensible(options: Options) -> None:
    """What would spoil every grade is refused before the first."""
    if options.jobs < 0:
        raise GradingError(f"--jobs {options.jobs}: the number of submissions at a time cannot be negative")
    if options.limits.cell_cpu <= 0 or options.limits.memory <= 0:
        raise GradingError("--seconds and --memory must be more than 0: with less, nothing can run")
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=options.folder).close()
    except OSError as error:
        sentence = f"{options.folder} cannot be written: {error.strerror}; name another folder with --out"
        raise GradingError(sentence) from error


def _chosen(found: Collection, paths: list[Path], students: frozenset[str]) -> list[Submission]:
    """The submissions of these students, or all; none at all is a mistake in the command."""
    if not found.submissions and not found.refusals:
        where = ", ".join(map(str, paths))
        raise GradingError(f"there is no notebook in {where}: name a notebook, a folder or a downloaded zip")
    if absent := ", ".join(map(repr, sorted(students - set(found.found)))):
        names = ", ".join(sorted(found.found)[:20]) + (" …" if len(found.found) > 20 else "")
        raise GradingError(f"nothing was handed in by {absent}; there is work of {names}")
    return [s for s in found.submissions if not students or s.student in students]


def private_folders(course: Path) -> list[Path]:
    """What no submission may see, even of a course that lies inside the system's or Python's own folders."""
    root = course.resolve()
    shown = (Path(path).resolve() for path in (__file__, sys.prefix, sys.base_prefix))
    if any(path.is_relative_to(root) for path in shown):  # a course with its own Python in it
        return [root / name for name in PRIVATE if (root / name).is_dir()]
    return [root]


def json_records(graded: Graded) -> str:
    """One record a submission, as `--json` promises them: no answers, no outputs."""
    done = [{k: v for k, v in e.plain().items() if k != "answers"} for e in graded.entries]
    empty: dict[str, object] = {"assignment": None, "score": 0.0, "max_score": 0.0, "status": "refused"}
    empty |= {"repairs": [], "questions": []}
    refused = [
        {"student": p.student, **empty, "flags": [f"{p.origin}: {p.sentence}"]} for p in graded.problems
    ]
    return json.dumps([*done, *refused], indent=1, ensure_ascii=False) + "\n"
