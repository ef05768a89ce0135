"""One progress bar for every long step: drawn on a terminal, a plain line elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Rate(ProgressColumn):
    """How many are done in a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "", style="progress.data.speed")


@contextmanager
def bar(title: str, total: float, console: Console | None = None) -> Iterator[Callable[..., None]]:
    """`with bar("Grading", 40) as advance: advance(advance=1)`; `advance` takes rich's update arguments."""
    console = console or Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, _Rate(), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(title, total=total)
        if not console.is_terminal:
            console.print(f"{title} …")
        yield lambda **update: progress.update(task, **update)
