"""Which tests need the student's process: found out with the instructor's own solution.

The student has no say in this: no submission can move its own tests into its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from .assignment import Assignment, Master
from .outcome import Cell, Outcome, Task, TestOutcome

Run = Callable[[Iterable[Task]], Iterable[Outcome]]


def references(assignment: Assignment) -> Iterator[Task]:
    """The instructor's own solution of each notebook, by its name."""
    for master in assignment.masters:
        yield Task(master.name, tuple(_own_cells(master)), files=assignment.files)


def _own_cells(master: Master) -> Iterator[Cell]:
    for own in master.cells:
        if own.role in ("given", "test"):
            yield Cell(own.source, own.role, own.grade_id or own.cell_id, own.points)
        elif own.kind == "code" and own.role in ("solution", "manual"):
            yield Cell(own.source, "solution", own.grade_id, reference=own.source)


def calibrate(
    solved: Iterable[Task], run: Run
) -> tuple[dict[str, dict[str, str]], list[tuple[str, TestOutcome]]]:
    """Task -> test -> mode, for the tests that the solution passes only in its own process; and the tests that it
    fails in either, each with its task."""
    tasks = {task.id: task for task in solved}
    lost = {o.id: [test for test in o.tests if test.score < test.max] for o in run(tasks.values())}
    inside = [replace(t, cells=tuple(map(_inside, t.cells))) for name, t in tasks.items() if lost[name]]
    modes: dict[str, dict[str, str]] = {}
    failed: list[tuple[str, TestOutcome]] = []
    for outcome in run(inside) if inside else ():
        own = {test.id: test for test in outcome.tests}
        better = {test.id for test in lost[outcome.id] if own[test.id].score > test.score}
        modes[outcome.id] = dict.fromkeys(sorted(better), "candidate")
        failed += [(outcome.id, test) for test in lost[outcome.id] if test.id not in better]
    return modes, failed


def _inside(cell: Cell) -> Cell:
    return replace(cell, mode="candidate") if cell.role == "test" else cell
