"""`coursekit check FILE`: a student's own notebook from top to bottom, with the checks that it shows."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import GradingError
from .pages.describe import NOTHING, stopped
from .run.outcome import Cell, Task
from .run.warm import grade
from .submissions.recognise import Unreadable, read_notebook

REQUIRE = "lambda result: result.require() if hasattr(result, 'require') else result"


@dataclass(frozen=True)
class Checked:
    id: str
    ok: bool
    sentence: str


def self_check(path: Path, unsafe: bool = False) -> Iterator[Checked]:
    """Each test cell of the notebook, run after all that stands above it."""
    try:
        cells, _ = read_notebook(path.read_bytes())
    except OSError as error:
        raise GradingError(f"{path} cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise GradingError(f"{path}: {error}") from None
    code = [c for c in cells if c.kind == "code" and c.source.strip()]
    if not any(c.points for c in code):
        raise GradingError(f"{path} has no tests that can be told from the rest: is it the course's?")
    # A student checks their own work: the tests run where the answers run, as they do in the notebook.
    run = [
        Cell(_strict(c.source), "test", c.grade_id, c.points, mode="own")
        if c.points
        else Cell(c.source, "extra", c.grade_id or f"cell {number}")
        for number, c in enumerate(code, 1)
    ]
    outcome = grade(Task(path.stem, tuple(run)), unsafe=unsafe)
    # In the order of the notebook: a cell that did not get through stands before the tests that miss it.
    tests, others = iter(outcome.tests), iter(outcome.cells)
    for cell in run:
        if cell.role == "test":
            test = next(tests)
            yield Checked(test.id, test.status == "passed", test.sentence)
        elif (fate := next(others, None)) and fate.status != "ok":
            stub = fate.raised == "NotImplementedError"
            yield Checked(fate.id, False, NOTHING if stub else f"This cell {stopped(fate)}.")


def _strict(source: str) -> str:
    """The test with a verdict where the notebook only shows one: a check's result that is not right raises."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    for statement in tree.body:
        if isinstance(statement, ast.Expr):
            require = ast.parse(REQUIRE, mode="eval").body
            statement.value = ast.Call(require, [statement.value], [])
    return ast.unparse(ast.fix_missing_locations(tree))
