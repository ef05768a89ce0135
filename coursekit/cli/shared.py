"""What every command shares: the program, the terminal, the options that many of them take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from typer import Argument, Option

if TYPE_CHECKING:
    from ..authoring.course import Course
    from ..grading.command import Graded, Options

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

CourseOption = Annotated[Path, Option("--course", help="The course's folder.", show_default="this one")]
GradebookOption = Annotated[str, Option(help="A database URL.", show_default="gradebook.db of the course")]
OutOption = Annotated[Path | None, Option(help="Folder for pages.", show_default="_build/grades")]
AssignmentArgument = Annotated[str, Argument(help="An assignment.")]
NamesArgument = Annotated[list[str] | None, Argument(help="Assignments.", show_default="all")]
UnsafeOption = Annotated[bool, Option("--unsafe", help="Run without a sandbox, where there is none.")]


def _common(
    *, course: CourseOption = Path("."), gradebook: GradebookOption = "", out: OutOption = None
) -> None:
    """The options of every chore."""


class Later:
    """A module that is imported when something of it is first asked for, so that `--help` is quick."""

    def __init__(self, name: str):
        self.name = name

    def __getattr__(self, key: str) -> Any:
        return getattr(import_module(self.name), key)


def chore(name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command on a term's gradebook: `--course`, `--gradebook` and `--out` come to it as its first, `options`."""

    def make(work: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(work)
        def command(course: Path, gradebook: str, out: Path | None, **words: Any) -> None:
            from ..grading.command import Options

            work(Options(course, gradebook=gradebook, out=out), **words)

        hints = get_type_hints(work, localns={"Options": Any}, include_extras=True)
        own = [p.replace(annotation=hints[p.name]) for p in inspect.signature(work).parameters.values()][1:]
        both = [*own, *inspect.signature(_common, eval_str=True).parameters.values()]
        command.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in both}
        return app.command(name)(command)

    return make


def columns(*titles: str) -> Table:
    """A table without lines; a title that ends in `>` is that of numbers."""
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title.removesuffix(">"), justify="right" if title.endswith(">") else "left")
    return table


def say(words: object, what: object = "", more: str = "") -> None:
    """A sentence; `what` in it stands out."""
    console.print(f"{escape(str(words))}[bold]{escape(str(what))}[/]{escape(more)}", soft_wrap=True)


@contextmanager
def bar(title: str, total: float) -> Iterator[Callable[..., None]]:
    """`with bar("Grading", 40) as advance: advance(advance=1)`; `advance` takes rich's update arguments. A plain line
    where there is no terminal."""
    parts = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*parts, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        if not console.is_terminal:
            console.print(f"{title} …")
        yield lambda **update: progress.update(task, **update)


def released(course: Course, names: list[str] | None = None) -> list[Path]:
    from ..authoring.release import release

    with bar("Releasing the assignments", len(names or course.assignments())) as advance:
        return release(course, names, progress=lambda _: advance(advance=1))


def built(course: Course) -> Path:
    from ..book.build import build

    with bar("Building the book", 100) as advance:
        return build(course.root, progress=lambda share: advance(completed=round(100 * share)))


def graded(submissions: list[Path], options: Options) -> Graded:
    from ..grading.command import run

    with bar("Grading", 1) as advance:
        return run(submissions, options, lambda n: advance(total=n), lambda: advance(advance=1))
