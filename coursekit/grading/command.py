"""What `coursekit grade` does, apart from its options: run the pipeline, write pages, sum up."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from . import export as exports
from .assignment import Assignment, load
from .autograded import write_autograded
from .collect import Collection, Submission, collect
from .describe import outputs, with_points_by_hand
from .errors import GradingError
from .feedback import feedback
from .gradescope import autograder_zip
from .late import LatePolicy
from .limits import Limits
from .outcome import Outcome, Task
from .pages import file_name, write
from .pipeline import Grading, Problem, Work, works
from .record import Record
from .report import report
from .warm import Warm

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
    late: LatePolicy = field(default_factory=LatePolicy)
    limits: Limits = field(default_factory=Limits)
    unsafe: bool = False
    device: str = ""
    keep_notebooks: Path | None = None  # where autograded/ goes; default: the course's folder

    @property
    def gradebook_url(self) -> str:
        return self.gradebook or f"sqlite:///{(self.course / 'gradebook.db').resolve()}"

    @property
    def folder(self) -> Path:
        return self.out or self.course / "_build" / "grades"

    def page(self, assignment: str, student: str) -> Path:
        """A student's feedback."""
        return self.folder / assignment / "feedback" / f"{file_name(student)}.html"


@dataclass
class Graded:
    """The result of a run."""

    entries: list[dict]
    problems: list[Problem]
    assignments: list[Assignment]
    folder: Path
    reports: list[Path] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 all graded, 1 something for a person to look at."""
        return int(bool(self.problems) or any(e["flags"] for e in self.entries))


def run(
    paths: list[Path],
    options: Options,
    total: Callable[[int], None] = lambda n: None,
    step: Callable[[], None] = lambda: None,
) -> Graded:
    """Grade everything below the paths. `total` hears how many there are, `step` each one that is done."""
    assignments = load(options.course, options.assignment)
    _sensible(options)
    with collect(paths) as found, ExitStack() as opened:
        submissions = _chosen(found, paths, options.students)
        record = opened.enter_context(Record(options.gradebook_url))
        runner = opened.enter_context(_Runner(options))
        progress = _Progress(len(submissions), total)
        for assignment in assignments:
            record.enter(assignment)
        given = {assignment.name: record.by_hand(assignment.name) for assignment in assignments}

        def finished(work: Work, entry: dict) -> None:
            page = options.page(work.assignment.name, work.student)
            entry = with_points_by_hand(entry, given[work.assignment.name].get(work.student, {}))
            if work.outcomes:
                write_autograded(options.course, work, options.keep_notebooks)
                write(page, feedback(entry, work.assignment, outputs(work.outcomes)))
            elif not page.exists():
                write(page, feedback(entry, work.assignment, record.outputs(*work.key)))
            step()

        grading = Grading(runner.grade, record, options.late, options.again, finished)
        grading.problems += [Problem(r.student, r.origin, r.sentence) for r in found.refusals]
        read = works(submissions, assignments, bool(options.assignment), repr(options.late))
        grading.grade(progress.watch(read))
        for _ in range(progress.refused):
            step()
        used = [a for a in assignments if any(name == a.name for _, name in grading.entries)]
        graded = Graded([], grading.problems, used, options.folder)
        for assignment in used:
            now = record.by_hand(assignment.name)  # somebody may have graded meanwhile
            mine = [e for (_, name), e in sorted(grading.entries.items()) if name == assignment.name]
            graded.entries += [with_points_by_hand(e, now.get(e["student"], {})) for e in mine]
            graded.reports.append(_report(assignment, record, graded.problems, options))
    return graded


class _Progress:
    """How much there is to do: a student may hand in several assignments, or nothing that can be read."""

    def __init__(self, students: int, total: Callable[[int], None]):
        self.students, self.total = students, total
        self.works: Counter[str] = Counter()
        total(students)

    def watch(self, found: Iterable[Work | Problem]) -> Iterator[Work | Problem]:
        for one in found:
            if isinstance(one, Work):
                self.works[one.student] += 1
                if self.works[one.student] > 1:
                    self.total(self.refused + self.works.total())
            yield one

    @property
    def refused(self) -> int:
        """Students without a work; while they are being read, also those who come later."""
        return self.students - len(self.works)


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
        raise GradingError(
            f"{options.folder} cannot be written: {error.strerror}; name another folder with --out"
        ) from error


def _chosen(found: Collection, paths: list[Path], students: frozenset[str]) -> list[Submission]:
    """The submissions of these students, or all; none at all is a mistake in the command."""
    if not found.submissions and not found.refusals:
        raise GradingError(
            f"there is no notebook in {', '.join(map(str, paths))}: name a notebook, a folder or a downloaded zip"
        )
    absent = students - set(found.found)
    if absent:
        names = ", ".join(sorted(found.found)[:20]) + (" …" if len(found.found) > 20 else "")
        raise GradingError(
            f"nothing was handed in by {', '.join(map(repr, sorted(absent)))}; there is work of {names}"
        )
    return [s for s in found.submissions if not students or s.student in students]


def _report(assignment: Assignment, record: Record, problems: list[Problem], options: Options) -> Path:
    given = record.by_hand(assignment.name)
    everyone = [with_points_by_hand(e, given.get(e["student"], {})) for e in record.records(assignment.name)]
    found = {e["student"]: options.page(assignment.name, e["student"]) for e in everyone}
    pages = {student: quote(f"feedback/{page.name}") for student, page in found.items() if page.exists()}
    return write(
        options.folder / assignment.name / "report.html", report(assignment, everyone, problems, pages)
    )


class _Runner:
    """What runs tasks, started when there are any: a warm parent here, or a Dask cluster."""

    def __init__(self, options: Options):
        self.options = options
        self.runner: Any = None

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *exc) -> None:
        if self.runner is not None:
            self.runner.__exit__(*exc)

    def grade(self, tasks: Iterable[Task]) -> Iterable[Outcome]:
        if self.runner is None:
            self.runner = self._make().__enter__()
        return self.runner.grade(tasks)

    def _make(self) -> Any:
        options = self.options
        if options.dask:
            from .cluster import Cluster

            return Cluster(options.dask, options.limits, options.unsafe, options.device)
        return Warm(
            jobs=options.jobs or len(os.sched_getaffinity(0)), limits=options.limits, unsafe=options.unsafe,
            device=options.device, hidden=private_folders(options.course),
        )  # fmt: skip


def private_folders(course: Path) -> list[Path]:
    """What no submission may see, even of a course that lies inside the system's or Python's own folders."""
    root = course.resolve()
    shown = [Path(__file__), *map(Path, (sys.prefix, sys.base_prefix))]
    if any(path.resolve().is_relative_to(root) for path in shown):  # a course with its own Python in it
        return [root / name for name in PRIVATE if (root / name).is_dir()]
    return [root]


def json_records(graded: Graded) -> str:
    """One record a submission, as `--json` promises them: no answers, no outputs."""
    public = [
        *graded.entries,
        *(
            {
                "student": p.student, "assignment": None, "score": 0.0, "max_score": 0.0, "status": "refused",
                "flags": [f"{p.origin}: {p.sentence}"], "repairs": [], "questions": [],
            }
            for p in graded.problems
        ),
    ]  # fmt: skip
    return json.dumps(public, indent=1, ensure_ascii=False) + "\n"


def report_again(name: str, options: Options) -> Path:
    """The report and the feedback pages from the gradebook as it is now, with what was given by hand since."""
    (assignment,) = load(options.course, name)
    with Record(options.gradebook_url) as record:
        records, given = _graded(record, name), record.by_hand(name)
        for entry in records:
            student = entry["student"]
            whole = with_points_by_hand(entry, given.get(student, {}))
            write(options.page(name, student), feedback(whole, assignment, record.outputs(student, name)))
        return _report(assignment, record, [], options)


def export(name: str, to: Path, form: str, into: Path | None, options: Options) -> Path:
    """Write an assignment's grades as another system wants them, or the autograder that gives them there."""
    if form == "gradescope-zip":
        return write(to, autograder_zip(options.course, name, options.unsafe))
    with Record(options.gradebook_url) as record:
        given, totals = record.by_hand(name), record.totals(name)
        records = [with_points_by_hand(e, given.get(e["student"], {})) for e in _graded(record, name)]
    if form == "gradescope":
        for entry in records:
            write(to / file_name(entry["student"]) / "results.json", exports.gradescope(entry))
        return to
    if form == "csv":
        return write(to, exports.as_csv(records, totals))
    if form not in ("canvas", "moodle"):
        raise GradingError(f"--format {form!r} is unknown: csv, canvas, moodle, gradescope or gradescope-zip")
    if into is None or not into.is_file():
        raise GradingError(f"--format {form} fills in a file that you downloaded: name it with --into FILE")
    text = into.read_text(encoding="utf-8-sig")
    if form == "canvas":
        return write(to, exports.fill_canvas(text, name, totals))
    return write(to, exports.fill_moodle(text, totals, records[0]["max_score"]))


def _graded(record: Record, name: str) -> list[dict]:
    found = record.records(name)
    if not found:
        known = ", ".join(record.assignments()) or "none"
        raise GradingError(f"nothing was graded for {name!r} in this gradebook (graded: {known})")
    return found
