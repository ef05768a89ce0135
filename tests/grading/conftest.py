"""One warm parent for all tests of the grader's core."""

from __future__ import annotations

import os

import pytest

from coursekit.grading import Cell, Limits, Outcome, Task, Warm

SMALL = Limits(
    cell_cpu=1.0, cell_wall=2.0, notebook_wall=30.0, memory=256, processes=16, files=64, disk=16, grace=0.5
)


@pytest.fixture(scope="session")
def warm():
    os.environ["COURSEKIT_TEST_SECRET"] = (
        "a secret of the instructor's"  # the warm parent must not pass this on
    )
    with Warm(jobs=2, limits=SMALL) as running:
        yield running


@pytest.fixture(scope="session")
def grade_cells(warm):
    """Grade cells given as (role, source) or (role, source, {more}); a test is worth one point."""

    def run(*cells: tuple, limits: Limits | None = None, files: dict | None = None) -> Outcome:
        return next(iter(warm.grade([make_task(*cells, limits=limits, files=files)])))

    return run


@pytest.fixture(scope="session")
def task_of():
    return make_task


def make_task(
    *cells: tuple, limits: Limits | None = None, files: dict | None = None, id: str = "one"
) -> Task:
    made = []
    for number, (role, source, *more) in enumerate(cells):
        options = {
            "points": 1.0 if role == "test" else 0.0,
            "id": f"{role}{number}",
            **(more[0] if more else {}),
        }
        made.append(Cell(source, role, **options))
    return Task(id, tuple(made), limits, files=files or {})


@pytest.fixture(scope="session")
def empty_gradebook(tmp_path_factory):
    """A new gradebook, to be copied: nbgrader takes seconds to make one."""
    from coursekit.grading.gradebook.record import Record

    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    with Record(f"sqlite:///{path}"):
        return path
