"""`coursekit …`: the commands. Each imports what it needs when it runs, so that `--help` is quick."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from typer import Argument, Option

from ..expected import Expected
from ..files import write
from . import term  # noqa: F401 - its commands
from .shared import CourseOption, GradebookOption, OutOption, app, columns, console, problems, say

if TYPE_CHECKING:
    from ..authoring.course import Course
    from ..grading.command import Graded, Options

NamesArgument = Annotated[list[str] | None, Argument(help="Assignments.", show_default="all")]
UnsafeOption = Annotated[bool, Option("--unsafe", help="Run without a sandbox, where there is none.")]

MARKS = {True: "[green]✓[/]", False: "[red]✗[/]"}


def main() -> None:
    """Run a command; an expected failure is one sentence and exit code 2, never a traceback."""
    try:
        app()
    except Expected as error:
        problems.print(f"[bold red]coursekit:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None


@contextmanager
def bar(title: str, total: float) -> Iterator[Callable[..., None]]:
    """`with bar("Grading", 40) as advance: advance(advance=1)`; `advance` takes rich's update arguments. A plain line
    where there is no terminal."""
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    parts = ("{task.description}", BarColumn(), MofNCompleteColumn(), *times)
    with Progress(*parts, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        if not console.is_terminal:
            console.print(f"{title} …")
        yield lambda **update: progress.update(task, **update)


def released(course: "Course", names: list[str] | None = None) -> list[Path]:
    from ..authoring.release import release

    with bar("Releasing the assignments", len(names or course.assignments())) as advance:
        return release(course, names, progress=lambda _: advance(advance=1))


def built(course: "Course") -> Path:
    from ..book.build import build

    with bar("Building the book", 100) as advance:
        return build(course.root, progress=lambda share: advance(completed=round(100 * share)))


def graded(submissions: list[Path], options: "Options") -> "Graded":
    from ..grading.command import run

    with bar("Grading", 1) as advance:
        return run(submissions, options, lambda n: advance(total=n), lambda: advance(advance=1))


@app.command()
def book(
    pdf: Annotated[bool, Option("--pdf", help="Print the whole book into one PDF too.")] = False,
    serve: Annotated[bool, Option("--serve", help="Serve it here, where its equations answer.")] = False,
    port: Annotated[int, Option(help="The port of --serve; 0 is any that is free.")] = 8000,
    course: CourseOption = Path("."),
) -> None:
    """Build the book into `_build/html`."""
    from ..authoring.course import Course
    from ..book.build import address, server
    from ..book.paper import print_book
    from .bootstrap import find_browser

    here = Course.find(course)
    page = built(here)
    say("The book: ", page / "index.html")
    if pdf:
        say("On paper: ", print_book(here.root, find_browser()))
    if not serve:
        return
    try:
        served = server(page, port)
    except OSError as error:
        words = f"port {port} cannot be used ({error.strerror}); choose another with --port, or --port 0"
        raise Expected(words) from error
    say("Served at ", f"{address(served)}/", ", on this machine alone; stop it with Ctrl+C.")
    try:
        served.serve_forever()
    except KeyboardInterrupt:
        console.print("Stopped.")


@app.command()
def new(folder: Annotated[Path, Argument(help="The course's folder, empty or not there yet.")]) -> None:
    """Begin a course of your own: one chapter, one assignment with a question of each kind, tests."""
    from ..authoring.course import new as make

    home = make(folder)
    say("A course: ", home, ". Next, in that folder: `coursekit release`, `prove`, `book`.")


@app.command()
def release(names: NamesArgument = None, course: CourseOption = Path(".")) -> None:
    """Turn `solutions/NAME/NAME.md` into `notebooks/NAME/NAME.ipynb`, without its answers."""
    from ..authoring.course import Course

    here = Course.find(course)
    for path in released(here, names):
        say("Released: ", path.relative_to(here.root))


@app.command()
def publish(
    to: Annotated[Path, Argument(help="The folder to write; an empty one, or what `publish` made before.")],
    pages: Annotated[bool, Option("--pages", help="Commit it too, to GitHub Pages' branch.")] = False,
    course: CourseOption = Path("."),
) -> None:
    """Write all that may be public (book, notebooks, wheel) into a folder, without a single answer."""
    from ..authoring.course import Course
    from ..authoring.publish import commit
    from ..authoring.publish import publish as make

    here = Course.find(course)
    public = here.public  # what is missing is said before the book is built
    released(here)
    tree = make(here, built(here), to)
    say("Published: ", tree, f", to be found at {public.site}/")
    if pages:
        branch = commit(here, tree)
        say(f"Committed to {branch}; `git push origin {branch}` makes it public.")


@app.command()
def doctor(
    device: Annotated[bool, Option("--device", help="Prove that work for a GPU is graded here.")] = False,
    course: CourseOption = Path("."),
) -> None:
    """Tell what this machine has, and what is missing for what."""
    from .doctor import examine, examine_device

    findings = list(examine_device() if device else examine(course))
    width = max(len(f.part) for f in findings)
    for finding in findings:
        mark = MARKS[True] if finding.ok else "[yellow]–[/]"
        console.print(f"{mark} {finding.part:<{width}}  {finding.text}", highlight=False, soft_wrap=True)


@app.command()
def demo(course: CourseOption = Path(".")) -> None:
    """Build the book, release, make a sample class, grade it, and say where to look."""
    from ..authoring.course import Course
    from ..authoring.sample_class import make
    from ..grading.command import Options
    from ..grading.confine.limits import Limits

    here = Course.find(course)
    released(here)
    rows = [("the book", built(here) / "index.html")]
    home = here.build / "demo"
    say("Making a sample class …")
    submissions = [p for name in here.assignments() for p in make(here, name, home / "handed in" / name)]
    options = Options(
        course=here.root, gradebook=f"sqlite:///{home / 'gradebook.db'}", out=home / "grades",
        limits=Limits(cell_cpu=3, cell_wall=10),
    )  # fmt: skip
    for report in graded(submissions, options).reports:
        rows.append((f"the class, {report.parent.name}", report))
        rows.append(("  a student's feedback", min(report.parent.glob("feedback/*.html"))))
    rows.append(("the students' notebooks", here.notebooks))
    say("\n", "Open these in a browser:")
    for what, path in rows:
        say(f"  {what:<28} {path.relative_to(here.root)}")


@app.command()
def grade(
    submissions: Annotated[list[Path], Argument(help="Notebooks, folders, or a zip from Canvas or Moodle.")],
    course: CourseOption = Path("."),
    assignment: Annotated[str | None, Option(help="Only this assignment.", show_default="by content")] = None,
    gradebook: GradebookOption = "",
    out: OutOption = None,
    jobs: Annotated[int, Option(help="Submissions at a time.", show_default="all cores")] = 0,
    dask: Annotated[str, Option(help="Address of a Dask scheduler, instead of this machine.")] = "",
    json_file: Annotated[Path | None, Option("--json", help="Write one record per submission.")] = None,
    student: Annotated[list[str] | None, Option(help="Only this student (may be repeated).")] = None,
    again: Annotated[bool, Option("--again", help="Grade anew what was graded before.")] = False,
    due: Annotated[str, Option(help="When it was due, as 2026-11-16T23:59+01:00; kept, as by `due`.")] = "",
    late: Annotated[str, Option(help="Late policy, as '10% a day after 1h'; kept, as by `due`.")] = "",
    seconds: Annotated[float, Option(help="Processor time a cell may use.")] = 30,
    memory: Annotated[int, Option(help="Memory a submission may use, in MB.")] = 2048,
    device: Annotated[str, Option(help="`cuda` lets the GPU into the sandbox.", show_default="the CPU")] = "",
    unsafe: UnsafeOption = False,
) -> None:
    """Grade submissions: every one gets a grade, a page, and a reason.

    Exit code 0: all graded; 1: something for a person to look at; 2: could not run.
    """
    from ..grading.command import Options, json_records
    from ..grading.confine.limits import Limits
    from ..grading.facts import points

    options = Options(
        course, assignment, gradebook, out, jobs, dask, again, frozenset(student or ()), due, late,
        Limits(cell_cpu=seconds, cell_wall=2 * seconds, memory=memory), unsafe, device,
    )  # fmt: skip
    result = graded(submissions, options)
    if json_file:
        write(json_file, json_records(result))
    table = columns("student", "assignment", "score>", "")
    for entry in result.entries:
        score = f"{points(entry.score)}/{points(entry.max_score)}"
        note = f"{entry.waiting} to grade by hand" if entry.waiting else ""
        note = f"[yellow]{escape(entry.flags[0])}[/]" if entry.flags else note
        table.add_row(escape(entry.student), entry.assignment, score, note)
    for problem in result.problems:
        table.add_row(escape(problem.student), "", "–", f"[red]{escape(problem.sentence)}[/]")
    console.print(table)
    for change in result.changes:
        say(f"changed: {change}")
    if result.changes:
        say("Nothing of it has left this machine; `coursekit undo NAME` takes it back.")
    for path in result.reports:
        say("The class: ", path, "; feedback pages beside it.")
    raise SystemExit(result.exit_code)


@app.command()
def check(
    notebook: Annotated[Path, Argument(help="A notebook, as a student has it.")],
    unsafe: UnsafeOption = False,
) -> None:
    """Run a notebook's visible checks from top to bottom, as a student would."""
    from ..grading.self_check import self_check

    passed = []
    for verdict in self_check(notebook, unsafe):
        passed.append(verdict.ok)
        words = f"{MARKS[verdict.ok]} {escape(verdict.id)}  {escape(verdict.sentence)}"
        console.print(words, highlight=False, soft_wrap=True)
    console.print(f"{sum(passed)} of {len(passed)} pass.")
    raise SystemExit(0 if all(passed) else 1)


@app.command()
def prove(
    names: NamesArgument = None,
    course: CourseOption = Path("."),
    jobs: Annotated[int, Option(help="Answers at a time.", show_default="all cores")] = 0,
    results: Annotated[Path | None, Option("--json", help="Keep the results in this file.")] = None,
) -> None:
    """Prove every question: solution, stub, named mistakes, other right forms."""
    import os

    from ..authoring.course import Course
    from ..grading.confine.limits import Limits
    from ..grading.facts import points
    from ..grading.prove import prove as prove_questions
    from ..grading.prove import write_results
    from ..grading.run.warm import Warm

    here = Course.find(course)
    told = ("mistakes caught>", "named rightly>", "seen by the visible check>", "right forms accepted>")
    table = columns("question", "points>", "stub>", *told)
    table.columns[0].no_wrap, table.columns[0].overflow = True, "fold"  # what cannot be read cannot be mended
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
