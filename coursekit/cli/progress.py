"""The long steps, each under a progress bar: drawn on a terminal, a plain line elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .shared import console

if TYPE_CHECKING:
    from ..authoring.course import Course
    from ..grading.command import Graded, Options


@contextmanager
def bar(title: str, total: float) -> Iterator[Callable[..., None]]:
    """`with bar("Grading", 40) as advance: advance(advance=1)`; `advance` takes rich's update arguments."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=quiet) as progress:
        task = progress.add_task(title, total=total)
        if quiet:
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
