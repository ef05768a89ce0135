"""`coursekit check FILE`: a student's own notebook from top to bottom, with the checks that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import GradingError
from .outcome import Cell, Task
from .recognise import Unreadable, read_notebook
from .warm import CannotGrade, grade


@dataclass(frozen=True)
class Checked:
    id: str
    ok: bool
    sentence: str


def self_check(path: Path, unsafe: bool = False) -> Iterator[Checked]:
    """Each test cell of the notebook, run after all that stands above it."""
    try:
        cells, _ = read_notebook(path.read_bytes())
    except FileNotFoundError:
        raise GradingError(f"{path} does not exist") from None
    except Unreadable as error:
        raise GradingError(f"{path}: {error}") from None
    code = [c for c in cells if c.kind == "code" and c.source.strip()]
    # In a student's copy a test cell is known by its name; its points are the instructor's business.
    tests = {id(c) for c in code if c.grade_id.startswith("test")}
    task = Task(
        path.stem,
        tuple(
            Cell(c.source, "test" if id(c) in tests else "extra", c.grade_id or f"cell {n}", points=1.0)
            for n, c in enumerate(code, 1)
        ),
    )
    try:
        outcome = grade(task, unsafe=unsafe)
    except CannotGrade as error:
        raise GradingError(str(error)) from error
    for cell in outcome.cells:
        if cell.error:
            yield Checked(cell.id, False, cell.error)
    for test in outcome.tests:
        yield Checked(test.id, test.status == "passed", test.sentence)
