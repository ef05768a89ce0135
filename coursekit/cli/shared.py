"""What every command shares: the program, the terminal, the options that many of them take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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
GradebookOption = Annotated[
    str, typer.Option(help="A database URL.", show_default="gradebook.db of the course")
]
OutOption = Annotated[Path | None, typer.Option(help="Folder for pages.", show_default="_build/grades")]
AssignmentArgument = Annotated[str, typer.Argument(help="An assignment.")]
GradedArgument = Annotated[str, typer.Argument(help="An assignment that was graded.")]
StudentArgument = Annotated[str, typer.Argument(help="A student's id.")]
NamesArgument = Annotated[list[str] | None, typer.Argument(help="Assignments.", show_default="all")]
UnsafeOption = Annotated[bool, typer.Option("--unsafe", help="Run without a sandbox, where there is none.")]
