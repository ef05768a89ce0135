"""`coursekit …`: the commands. Each imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
except ImportError:  # the student's install has no command line
    sys.exit("the `coursekit` command needs its tools: install them with `pip install coursekit[grade]`")

app = typer.Typer(
    name="coursekit",
    help="Language Models by Hand: build the book, release assignments, check and grade notebooks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
console = Console()
problems = Console(stderr=True)

CourseOption = Annotated[Path, typer.Option("--course", help="The course's folder.", show_default="this one")]


def main() -> None:
    """Run a command; an expected failure is one sentence and exit code 2, never a traceback."""
    from .expected import expected_errors

    try:
        app()
    except expected_errors() as error:
        problems.print(f"[bold red]coursekit:[/] {error}", highlight=False, markup=True, soft_wrap=True)
        raise SystemExit(2) from None


@app.command()
def book(
    pdf: Annotated[bool, typer.Option("--pdf", help="Print the whole book into one PDF too.")] = False,
    course: CourseOption = Path("."),
) -> None:
    """Build the book into `_build/html`."""
    from .authoring.course import Course
    from .book.build import build
    from .book.paper import print_book
    from .bootstrap import find_browser
    from .progress import bar

    root = Course.find(course).root
    with bar("Building the book", total=100) as advance:
        page = build(root, progress=lambda share: advance(completed=round(100 * share)))
    console.print(f"The book: [bold]{page / 'index.html'}[/]", soft_wrap=True)
    if pdf:
        console.print(f"On paper: [bold]{print_book(root, find_browser())}[/]", soft_wrap=True)


@app.command()
def release(
    names: Annotated[list[str] | None, typer.Argument(help="Assignments.", show_default="all")] = None,
    course: CourseOption = Path("."),
) -> None:
    """Turn `solutions/NAME/NAME.md` into `notebooks/NAME/NAME.ipynb`, without its answers."""
    from .authoring.course import Course
    from .authoring.release import release as make
    from .progress import bar

    here = Course.find(course)
    with bar("Releasing", total=len(names or here.assignments())) as advance:
        written = make(here, names, progress=lambda _: advance(advance=1))
    for path in written:
        console.print(f"Released: [bold]{path.relative_to(here.root)}[/]", soft_wrap=True)


@app.command()
def doctor() -> None:
    """Tell what this machine has, and what is missing for what."""
    from .doctor import examine

    findings = examine()
    width = max(len(f.part) for f in findings)
    for finding in findings:
        mark = "[green]✓[/]" if finding.ok else "[yellow]–[/]"
        console.print(f"{mark} {finding.part:<{width}}  {finding.text}", highlight=False, soft_wrap=True)


@app.command()
def demo(course: CourseOption = Path(".")) -> None:
    """Build the book, release, make a sample class, grade it, and say where to look."""
    from .authoring.course import Course
    from .demo import run

    run(Course.find(course), console)


@app.command()
def grade(
    submissions: Annotated[
        list[Path], typer.Argument(help="Notebooks, folders, or a zip from Canvas or Moodle.")
    ],
    course: CourseOption = Path("."),
    assignment: Annotated[
        str | None, typer.Option(help="Only this assignment.", show_default="by content")
    ] = None,
    gradebook: Annotated[
        str, typer.Option(help="A database URL.", show_default="gradebook.db of the course")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for pages.", show_default="_build/grades")] = None,
    jobs: Annotated[int, typer.Option(help="Submissions at a time.", show_default="all cores")] = 0,
    dask: Annotated[str, typer.Option(help="Address of a Dask scheduler, instead of this machine.")] = "",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write one record a submission.")] = None,
    student: Annotated[list[str] | None, typer.Option(help="Only this student (may be repeated).")] = None,
    again: Annotated[bool, typer.Option("--again", help="Grade anew what was graded before.")] = False,
    due: Annotated[str, typer.Option(help="When it was due, as 2026-11-16T23:59+01:00.")] = "",
    late: Annotated[str, typer.Option(help="Late policy, as '10% a day after 1h'.")] = "",
    seconds: Annotated[float, typer.Option(help="Processor time a cell may use.")] = 30,
    memory: Annotated[int, typer.Option(help="Memory a submission may use, in MB.")] = 2048,
    device: Annotated[
        str, typer.Option(help="`cuda` lets the GPU into the sandbox.", show_default="the CPU")
    ] = "",
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Grade without a sandbox, where there is none.")
    ] = False,
) -> None:
    """Grade submissions: every one gets a grade, a page, and a reason.

    Exit code 0: all graded; 1: something for a person to look at; 2: could not run.
    """
    from .grading.command import Options, json_records
    from .grading.command import run as run_grading
    from .grading.late import LatePolicy
    from .grading.limits import Limits
    from .grading.pages import points, write
    from .progress import bar

    options = Options(
        course, assignment, gradebook, out, jobs, dask, again, frozenset(student or ()), LatePolicy.read(late, due),
        Limits(cell_cpu=seconds, cell_wall=2 * seconds, memory=memory), unsafe, device,
    )  # fmt: skip
    with bar("Grading", total=1) as advance:
        graded = run_grading(
            submissions, options, total=lambda n: advance(total=n), step=lambda: advance(advance=1)
        )
    if json_file:
        write(json_file, json_records(graded))
    table = Table(box=None, pad_edge=False)
    for title, side in (("student", "left"), ("assignment", "left"), ("score", "right"), ("", "left")):
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    for entry in graded.entries:
        score = f"{points(entry['score'])}/{points(entry['max_score'])}"
        waiting = sum(question["status"] == "by hand" for question in entry["questions"])
        note = f"{waiting} to grade by hand" if waiting else ""
        note = f"[yellow]{escape(entry['flags'][0])}[/]" if entry["flags"] else note
        table.add_row(escape(entry["student"]), entry["assignment"], score, note)
    for problem in graded.problems:
        table.add_row(escape(problem.student), "", "–", f"[red]{escape(problem.sentence)}[/]")
    console.print(table)
    for path in graded.reports:
        console.print(f"The class: [bold]{path}[/]; feedback pages beside it.", soft_wrap=True)
    raise SystemExit(graded.exit_code)


@app.command()
def report(
    assignment: Annotated[str, typer.Argument(help="An assignment that was graded.")],
    course: CourseOption = Path("."),
    gradebook: Annotated[
        str, typer.Option(help="A database URL.", show_default="gradebook.db of the course")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for pages.", show_default="_build/grades")] = None,
) -> None:
    """Write the class's report again, with the points that were given by hand since."""
    from .grading.command import Options, report_again

    path = report_again(assignment, Options(course, gradebook=gradebook, out=out))
    console.print(f"The class: [bold]{path}[/]", soft_wrap=True)


@app.command()
def export(
    assignment: Annotated[str, typer.Argument(help="An assignment that was graded.")],
    to: Annotated[Path, typer.Argument(help="The file to write (a folder for gradescope).")],
    form: Annotated[
        str, typer.Option("--format", help="csv, canvas, moodle, gradescope or gradescope-zip.")
    ] = "csv",
    into: Annotated[
        Path | None, typer.Option(help="The downloaded Canvas or Moodle file to fill in.")
    ] = None,
    course: CourseOption = Path("."),
    gradebook: Annotated[
        str, typer.Option(help="A database URL.", show_default="gradebook.db of the course")
    ] = "",
) -> None:
    """Write grades for another system."""
    from .grading.command import Options
    from .grading.command import export as export_grades

    path = export_grades(assignment, to, form, into, Options(course, gradebook=gradebook))
    console.print(f"Wrote [bold]{path}[/]", soft_wrap=True)


@app.command()
def check(
    notebook: Annotated[Path, typer.Argument(help="A notebook, as a student has it.")],
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Run without a sandbox, where there is none.")
    ] = False,
) -> None:
    """Run a notebook's visible checks from top to bottom, as a student would."""
    from .grading.self_check import self_check

    passed = []
    for verdict in self_check(notebook, unsafe):
        mark = "[green]✓[/]" if verdict.ok else "[red]✗[/]"
        passed.append(verdict.ok)
        console.print(
            f"{mark} {escape(verdict.id)}  {escape(verdict.sentence)}", highlight=False, soft_wrap=True
        )
    console.print(f"{sum(passed)} of {len(passed)} pass.")
    raise SystemExit(0 if all(passed) else 1)


@app.command()
def prove(
    names: Annotated[list[str] | None, typer.Argument(help="Assignments.", show_default="all")] = None,
    course: CourseOption = Path("."),
    jobs: Annotated[int, typer.Option(help="Answers at a time.", show_default="all cores")] = 0,
    results: Annotated[Path | None, typer.Option("--json", help="Keep the results in this file.")] = None,
) -> None:
    """Prove every question: solution, stub, named mistakes, other right forms."""
    import os

    from .authoring.course import Course
    from .grading.limits import Limits
    from .grading.pages import points
    from .grading.prove import prove as prove_questions
    from .grading.prove import write_results
    from .grading.warm import Warm

    here = Course.find(course)
    table = Table(box=None, pad_edge=False)
    for title in (
        "question", "points", "stub", "mistakes caught", "named rightly", "seen by the visible check",
        "right forms accepted",
    ):  # fmt: skip
        # A name is never cut: what cannot be read cannot be mended.
        if title == "question":
            table.add_column(title, no_wrap=True, overflow="fold")
        else:
            table.add_column(title, justify="right")
    proofs, failed = [], []
    with Warm(jobs=jobs or os.cpu_count() or 1, limits=Limits(cell_cpu=60, cell_wall=240)) as warm:
        for proof in prove_questions(here, names or here.assignments(), warm):
            q = proof.question
            table.add_row(
                f"{proof.assignment}/{q.id}", f"{points(proof.solved)}/{points(q.points)}", points(proof.blank),
                f"{proof.caught}/{len(q.mistakes)}", f"{proof.named}/{len(q.mistakes)}",
                f"{proof.seen}/{len(q.mistakes)}", f"{proof.accepted}/{len(q.right)}",
            )  # fmt: skip
            proofs.append(proof)
            failed += [f"{proof.assignment}/{q.id}: {complaint}" for complaint in proof.complaints]
    console.print(table)
    if results is not None:
        write_results(results, proofs, here)
    for line in failed:
        problems.print(f"[red]✗[/] {escape(line)}", soft_wrap=True)
    raise SystemExit(1 if failed else 0)
