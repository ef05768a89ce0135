"""Which tests need the student's process, and what else a verdict may lean on: found out with the instructor's own
solution.

The student has no say in this: no submission can move its own tests into its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from .outcome import Outcome, Task, TestOutcome

Run = Callable[[Iterable[Task]], Iterable[Outcome]]
Modes = dict[str, dict[str, dict[str, Any]]]  # task -> test -> what its Cell is to say


def calibrate(solved: Iterable[Task], run: Run) -> tuple[Modes, list[tuple[str, TestOutcome]]]:
    """What each test's cell is to say: what the solution's own verdict leaned on, and the student's process where
    the solution passes only there; and the tests that it fails in either, each with its task."""
    tasks = {task.id: task for task in solved}
    modes: Modes = {}
    lost: dict[str, list[TestOutcome]] = {}
    for outcome in run(_every_test(task, leans=("*",)) for task in tasks.values()):
        modes[outcome.id] = {test.id: {"leans": tuple(test.leans)} for test in outcome.tests}
        lost[outcome.id] = [test for test in outcome.tests if test.score < test.max]
    inside = [_every_test(task, mode="candidate") for name, task in tasks.items() if lost[name]]
    failed: list[tuple[str, TestOutcome]] = []
    for outcome in run(inside) if inside else ():
        own = {test.id: test for test in outcome.tests}
        for test in lost[outcome.id]:
            if own[test.id].score > test.score:
                modes[outcome.id][test.id] = {"mode": "candidate"}
            else:
                failed.append((outcome.id, test))
    return modes, failed


def _every_test(task: Task, **change: Any) -> Task:
    return replace(task, cells=tuple(replace(c, **change) if c.role == "test" else c for c in task.cells))
