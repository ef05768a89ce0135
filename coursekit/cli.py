"""`coursekit …`: the commands. Each imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

try:
    import typer
    from rich.console import Console
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
def book(course: CourseOption = Path(".")) -> None:
    """Build the book into `_build/html`."""
    from .authoring.course import Course
    from .book.build import build
    from .progress import bar

    root = Course.find(course).root
    with bar("Building the book", total=100) as advance:
        page = build(root, progress=lambda share: advance(completed=round(100 * share)))
    console.print(f"The book: [bold]{page / 'index.html'}[/]", soft_wrap=True)


@app.command()
def release(
    names: Annotated[Optional[list[str]], typer.Argument(help="Assignments.", show_default="all")] = None,
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
