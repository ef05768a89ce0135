"""`coursekit …`: the chores of a term, each one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from .shared import (
    AssignmentArgument,
    CourseOption,
    GradebookOption,
    GradedArgument,
    OutOption,
    StudentArgument,
    app,
    console,
    problems,
)

if TYPE_CHECKING:
    from ..grading.command import Options


def _options(course: Path, gradebook: str, out: Path | None = None) -> Options:
    from ..grading.command import Options

    return Options(course, gradebook=gradebook, out=out)


def _left(path: Path, left: list[str]) -> None:
    """Say what was written and what was not; the exit code says it too."""
    console.print(f"Wrote [bold]{path}[/]", soft_wrap=True)
    for line in left:
        problems.print(f"[yellow]not written:[/] {escape(line)}", soft_wrap=True)
    raise SystemExit(1 if left else 0)


@app.command()
def report(
    assignment: GradedArgument,
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
    out: OutOption = None,
) -> None:
    """Write the class's report again, with the points that were given by hand since."""
    from ..grading.term import report_again

    path = report_again(assignment, _options(course, gradebook, out))
    console.print(f"The class: [bold]{path}[/]", soft_wrap=True)


@app.command()
def export(
    assignment: GradedArgument,
    to: Annotated[Path, typer.Argument(help="The file to write (a folder for gradescope).")],
    form: Annotated[
        str, typer.Option("--format", help="csv, canvas, moodle, gradescope or gradescope-zip.")
    ] = "csv",
    into: Annotated[
        Path | None, typer.Option(help="The downloaded Canvas or Moodle file to fill in.")
    ] = None,
    column: Annotated[
        str, typer.Option(help="The column to fill, where it is not named like the assignment.")
    ] = "",
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Write totals in which answers still wait for a person.")
    ] = False,
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Write grades for another system. What is not certain is not written, and listed; exit code 1 then."""
    from ..grading.term import export as export_grades

    options = _options(course, gradebook)
    path, left = export_grades(assignment, to, form, into, options, column, unfinished)
    _left(path, left)


@app.command()
def due(
    assignment: AssignmentArgument,
    when: Annotated[str, typer.Argument(help="A time, as 2026-12-01T18:00+01:00.")] = "",
    late: Annotated[str, typer.Option(help="Late policy, as '10% a day after 1h'.")] = "",
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Set when an assignment is due and what late work loses; penalties follow at once."""
    from ..grading.term import set_due

    console.print(set_due(assignment, when, late, _options(course, gradebook)), soft_wrap=True)


@app.command()
def extend(
    assignment: AssignmentArgument,
    student: StudentArgument,
    until: Annotated[str, typer.Argument(help="A time, or +3d or +12h after the due time.")],
    why: Annotated[str, typer.Option(help="The reason, kept with it.")] = "",
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Give one student more time."""
    from ..grading.term import extend as extend_time

    console.print(extend_time(assignment, student, until, why, _options(course, gradebook)), soft_wrap=True)


@app.command()
def give(
    assignment: AssignmentArgument,
    student: StudentArgument,
    question: Annotated[str, typer.Argument(help="A graded cell, as `test_clip`.")],
    score: Annotated[str, typer.Argument(help="Points; - for a comment alone.")],
    comment: Annotated[str, typer.Argument(help="What the student reads.")] = "",
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Give points or a comment by hand, kept for ever."""
    from ..grading.term import give as give_points

    try:
        number = None if score == "-" else float(score)
    except ValueError:
        raise typer.BadParameter(f"{score!r} is no number of points") from None
    options = _options(course, gradebook)
    console.print(give_points(assignment, student, question, number, comment, options), soft_wrap=True)


@app.command()
def roster(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, help="Canvas's gradebook, Moodle's participants, or a CSV with `id`."
        ),
    ],
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Read the class list; groups stand in its column `group`."""
    from ..grading.term import enrol

    people = enrol(file, _options(course, gradebook))
    groups = {person.group for person in people} - {""}
    console.print(f"{len(people)} in the class" + (f", in {len(groups)} groups" if groups else ""))


@app.command()
def status(
    assignment: Annotated[str | None, typer.Argument(help="An assignment.", show_default="all")] = None,
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Who handed in, who did not, what waits for a person."""
    from ..grading.term import status as standing

    table = Table(box=None, pad_edge=False)
    for title in ("assignment", "due", "graded", "missing", "late", "waiting", "flagged"):
        table.add_column(title, justify="left" if title in ("assignment", "due") else "right")
    found = standing(assignment, _options(course, gradebook))
    for one in found:
        counts = (
            len(one.entries), len(one.missing), sum(e.late_penalty > 0 for e in one.entries),
            sum(e.waiting > 0 for e in one.entries), sum(bool(e.flags) for e in one.entries),
        )  # fmt: skip
        table.add_row(one.assignment, one.due, *map(str, counts))
    console.print(table)
    for one in found if assignment else ():
        for student in one.missing:
            console.print(f"missing: {escape(student)}", soft_wrap=True)
        for entry in one.entries:
            if entry.waiting:
                console.print(f"waiting: {escape(entry.student)}, {entry.waiting} answers", soft_wrap=True)
    for student, words in (found[0].refused if found else {}).items():
        console.print(f"refused: {escape(student)}: {escape(words)}", soft_wrap=True)


@app.command("return")
def give_back(
    assignment: GradedArgument,
    to: Annotated[Path, typer.Argument(help="The zip to write.")],
    canvas: Annotated[Path | None, typer.Option(help="The submissions, as Canvas gave them.")] = None,
    moodle: Annotated[Path | None, typer.Option(help="The submissions, as Moodle gave them.")] = None,
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
) -> None:
    """Put the feedback pages into the zip that Canvas or Moodle takes. Exit code 1: some are not in it."""
    from ..grading.term import give_back as make

    download = canvas or moodle
    if download is None or (canvas and moodle):
        raise typer.BadParameter("name the download that it answers, with --canvas or with --moodle")
    _left(*make(assignment, download, to, "canvas" if canvas else "moodle", _options(course, gradebook)))


@app.command()
def undo(
    assignment: GradedArgument,
    course: CourseOption = Path("."),
    gradebook: GradebookOption = "",
    out: OutOption = None,
) -> None:
    """Take back what the last run changed in grades that were there before; again, and the run before it."""
    from ..grading.term import undo as take_back

    for change in take_back(assignment, _options(course, gradebook, out)):
        console.print(escape(str(change)), soft_wrap=True)


@app.command()
def term(course: CourseOption = Path("."), gradebook: GradebookOption = "", out: OutOption = None) -> None:
    """Write one page over all assignments and students, with the history of each grade."""
    from ..grading.term import whole_term

    console.print(f"The term: [bold]{whole_term(_options(course, gradebook, out))}[/]", soft_wrap=True)
