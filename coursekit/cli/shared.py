"""What every command shares: the program, the terminal, the options that many of them take."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Option

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


def _common(
    *, course: CourseOption = Path("."), gradebook: GradebookOption = "", out: OutOption = None
) -> None:
    """The options of every chore."""


def chore(name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command on a term's gradebook: `--course`, `--gradebook` and `--out` come to it as its first, `options`."""

    def make(work: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(work)
        def command(course: Path, gradebook: str, out: Path | None, **words: Any) -> None:
            from ..grading.command import Options

            work(Options(course, gradebook=gradebook, out=out), **words)

        own = [*inspect.signature(work).parameters.values()][1:]
        both = [*own, *inspect.signature(_common).parameters.values()]
        command.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in both}
        return app.command(name, rich_help_panel="Chores of a term")(command)

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
