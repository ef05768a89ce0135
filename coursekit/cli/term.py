"""`coursekit …`: the chores of a term, each one command. Each imports what it needs when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.markup import escape
from typer import Argument, Option

from ..expected import Expected
from .shared import chore, columns, console, problems, say

if TYPE_CHECKING:
    from ..grading.command import Options

AssignmentArgument = Annotated[str, Argument(help="An assignment.")]


def _left(path: Path, left: list[str]) -> None:
    """Say what was written and what was not; the exit code says it too."""
    say("Wrote ", path)
    for line in left:
        problems.print(f"[yellow]not written:[/] {escape(line)}", soft_wrap=True)
    raise SystemExit(1 if left else 0)


@chore()
def report(
    options: "Options",
    assignment: AssignmentArgument,
    names: Annotated[bool, Option("--names", help="Name the students on its leaderboard.")] = False,
) -> None:
    """Write the class's report again, with the points that were given by hand since."""
    from ..grading.command import report_again

    say("The class: ", report_again(assignment, options, names))


@chore()
def export(
    options: "Options",
    assignment: AssignmentArgument,
    to: Annotated[Path, Argument(help="The file to write (a folder for gradescope).")],
    form: Annotated[str, Option("--format", help="csv, canvas, moodle, gradescope, gradescope-zip.")] = "csv",
    into: Annotated[Path | None, Option(help="The downloaded Canvas or Moodle file to fill in.")] = None,
    column: Annotated[str, Option(help="The column to fill, if not named like the assignment.")] = "",
    unfinished: Annotated[bool, Option("--unfinished", help="Also totals that wait for a person.")] = False,
) -> None:
    """Write grades for another system. What is not certain is not written, and listed; exit code 1 then."""
    from ..grading.command import export as write

    _left(*write(assignment, to, form, into, options, column, unfinished))


@chore()
def due(
    options: "Options",
    assignment: AssignmentArgument,
    when: Annotated[str, Argument(help="A time, as 2026-12-01T18:00+01:00.")] = "",
    late: Annotated[str, Option(help="Late policy, as '10% a day after 1h'.")] = "",
    keep: Annotated[str, Option(help="Of several submissions: latest, or best.")] = "",
) -> None:
    """Set when an assignment is due and what late work loses; penalties follow at once."""
    with options.record(assignment, new=True) as record:
        say(record.decide(assignment, when, late, keep))


@chore()
def extend(
    options: "Options",
    assignment: AssignmentArgument,
    student: Annotated[str, Argument(help="A student's id.")],
    until: Annotated[str, Argument(help="A time, or +3d or +12h after the due time.")],
    why: Annotated[str, Option(help="The reason, kept with it.")] = "",
) -> None:
    """Give one student more time."""
    with options.record(assignment, new=True) as record:
        say(record.extend(assignment, student, until, why))


@chore()
def give(
    options: "Options",
    assignment: AssignmentArgument,
    student: Annotated[str, Argument(help="A student's id.")],
    question: Annotated[str, Argument(help="A graded cell, as `test_clip`.")],
    score: Annotated[str, Argument(help="Points; - for a comment alone.")],
    comment: Annotated[str, Argument(help="What the student reads.")] = "",
) -> None:
    """Give points or a comment by hand, kept for ever."""
    from ..grading.facts import points

    try:
        number = None if score == "-" else float(score)
    except ValueError:
        words = f"{score!r} is no number of points: write it as 2.5, or - for a comment alone"
        raise Expected(words) from None
    with options.record() as record:
        entry = record.give(assignment, student, question, number, comment)
    say(f"{student} has {points(entry.score)} of {points(entry.max_score)} for {assignment}")


@chore()
def roster(
    options: "Options",
    file: Annotated[Path, Argument(help="Canvas's gradebook, Moodle's participants, or a CSV with `id`.")],
) -> None:
    """Read the class list; groups stand in its column `group`."""
    from ..grading.gradebook.export import read_sheet
    from ..grading.gradebook.term import read_roster

    people = read_roster(read_sheet(file))
    with options.record(new=True) as record:
        record.term.enrol(people)
    groups = {group for person in people for group in person.groups}
    say(f"{len(people)} in the class" + (f", in {len(groups)} groups" if groups else ""))


@chore()
def status(
    options: "Options",
    assignment: Annotated[str | None, Argument(help="An assignment.", show_default="all")] = None,
) -> None:
    """Who handed in, who did not, what waits for a person."""
    from ..grading.command import status as standing
    from ..grading.facts import counted

    table = columns("assignment", "due", "graded>", "missing>", "late>", "waiting>", "flagged>")
    found = standing(assignment, options)
    for one in found:
        missing = "–" if one.missing is None else len(one.missing)
        late = sum(e.late_penalty > 0 for e in one.entries)
        rest = sum(e.waiting > 0 for e in one.entries), sum(bool(e.flags) for e in one.entries)
        table.add_row(one.assignment, one.due, *map(str, (len(one.entries), missing, late, *rest)))
    console.print(table)
    for one in found if assignment else ():
        lines = [f"missing: {student}" for student in one.missing or ()]
        lines += [f"not in the class list: {student}" for student in one.strangers]
        if one.due and (untimed := sum(not entry.when for entry in one.entries)):
            lines.append(f"without a time that can be trusted, so never late: {counted(untimed, 'work')}")
        lines += [f"flagged: {entry.student}: {flag}" for entry in one.entries for flag in entry.flags]
        lines += [f"waiting: {e.student}, {counted(e.waiting, 'answer')}" for e in one.entries if e.waiting]
        for line in lines:
            say(line)
    for student, words in (found[0].refused if found else {}).items():
        say(f"refused: {student}: {words}")


@chore("return")
def give_back(
    options: "Options",
    assignment: AssignmentArgument,
    to: Annotated[Path, Argument(help="The zip to write.")],
    canvas: Annotated[Path | None, Option(help="The submissions, as Canvas gave them.")] = None,
    moodle: Annotated[Path | None, Option(help="The submissions, as Moodle gave them.")] = None,
) -> None:
    """Put the feedback pages into the zip that Canvas or Moodle takes. Exit code 1: some are not in it."""
    download = canvas or moodle
    if download is None or (canvas and moodle):
        raise Expected("name the download that the pages answer, with --canvas FILE or with --moodle FILE")
    from ..grading.command import give_back as pack

    _left(*pack(assignment, download, to, "canvas" if canvas else "moodle", options))


@chore()
def undo(options: "Options", assignment: AssignmentArgument) -> None:
    """Take back what the last run changed in grades that were there before; again, and the run before it."""
    from ..grading.command import undo as take_back

    for change in take_back(assignment, options):
        say(change)


@chore()
def term(options: "Options") -> None:
    """Write one page over all assignments and students, with the history of each grade."""
    from ..grading.command import whole_term

    say("The term: ", whole_term(options))
