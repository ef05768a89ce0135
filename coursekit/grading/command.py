"""What `coursekit grade` does, apart from its options: run the pipeline, write pages, sum up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from . import export as exports
from .assignment import Assignment, load
from .autograded import write_autograded
from .collect import collect
from .errors import GradingError
from .feedback import feedback
from .late import LatePolicy
from .limits import Limits
from .outcome import Outcome, Task
from .pages import file_name, write
from .pipeline import Work, grade, prepare
from .record import Record
from .report import report
from .warm import CannotGrade, Warm


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


@dataclass
class Graded:
    """The result of a run. `problems` are (student, where, sentence)."""

    entries: list[dict]
    problems: list[tuple[str, str, str]]
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
    prepared = prepare(collect(paths), assignments)
    works = [w for w in prepared.works if not options.students or w.student in options.students]
    total(len(works))
    used = [a for a in assignments if any(w.assignment is a for w in works)]

    with Record(options.gradebook_url) as record:
        for assignment in used:
            record.enter(assignment)

        def done(work: Work, entry: dict) -> None:
            if work.outcomes:
                write_autograded(options.course, work, options.keep_notebooks)
            name = f"{file_name(work.student)}.html"
            write(options.folder / work.assignment.name / "feedback" / name, feedback(entry, work.assignment))
            step()

        with _runner(options) as runner:
            entries = grade(works, runner, record, options.late, options.again, done)
        graded = Graded(entries, prepared.problems, used, options.folder)
        for assignment in used:
            everyone = record.records(assignment.name)
            text = report(assignment, everyone, prepared.problems, record.totals(assignment.name))
            graded.reports.append(write(options.folder / assignment.name / "report.html", text))
    return graded


class _runner:
    """What runs tasks: a warm parent here, or a Dask cluster."""

    def __init__(self, options: Options):
        self.options = options

    def __enter__(self) -> Callable[[Iterable[Task]], Iterable[Outcome]]:
        options = self.options
        if options.dask:
            from .cluster import Cluster

            self.runner: Cluster | Warm = Cluster(
                options.dask, options.limits, options.unsafe, options.device
            )
        else:
            jobs = options.jobs or os.cpu_count() or 1
            self.runner = Warm(jobs=jobs, limits=options.limits, unsafe=options.unsafe, device=options.device)
        try:
            return self.runner.__enter__().grade
        except CannotGrade as error:
            raise GradingError(str(error)) from error

    def __exit__(self, *exc) -> None:
        self.runner.__exit__(*exc)


def json_records(graded: Graded) -> str:
    """One record a submission, as `--json` promises them: no answers, no outputs."""
    public = [{k: v for k, v in e.items() if k not in ("answers", "cells")} for e in graded.entries]
    public += [
        {
            "student": student, "assignment": None, "score": 0.0, "max_score": 0.0, "status": "refused",
            "flags": [f"{where}: {sentence}"], "repairs": [], "questions": [],
        }
        for student, where, sentence in graded.problems
    ]  # fmt: skip
    return json.dumps(public, indent=1, ensure_ascii=False) + "\n"


def report_again(name: str, options: Options) -> Path:
    """The report from the gradebook as it is now."""
    (assignment,) = load(options.course, name)
    with Record(options.gradebook_url) as record:
        text = report(assignment, _graded(record, name), [], record.totals(name))
    return write(options.folder / name / "report.html", text)


def export(name: str, to: Path, form: str, into: Path | None, options: Options) -> Path:
    """Write an assignment's grades as another system wants them."""
    with Record(options.gradebook_url) as record:
        records, totals = _graded(record, name), record.totals(name)
    if form == "gradescope":
        for entry in records:
            write(to / file_name(entry["student"]) / "results.json", exports.gradescope(entry))
        return to
    if form == "csv":
        return write(to, exports.as_csv(records, totals))
    if form not in ("canvas", "moodle"):
        raise GradingError(f"--format {form!r} is unknown: csv, canvas, moodle or gradescope")
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
