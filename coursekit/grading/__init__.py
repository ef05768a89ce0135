"""Grading a class: collect, repair, run, record, feedback, report, export.

The core, which runs submissions: `Warm` and `grade` take `Task`s and give `Outcome`s.
"""

from __future__ import annotations

from .confine.limits import Limits
from .errors import CannotGrade, GradingError
from .run.outcome import Cell, CellOutcome, Outcome, Output, Task, TestOutcome
from .run.warm import Warm, grade

__all__ = [
    "CannotGrade",
    "Cell",
    "CellOutcome",
    "GradingError",
    "Limits",
    "Outcome",
    "Output",
    "Task",
    "TestOutcome",
    "Warm",
    "grade",
]
