"""Grading a class: collect, repair, run, record, feedback, report, export.

The core, which runs submissions: `Warm` and `grade` take `Task`s and give `Outcome`s.
"""

from __future__ import annotations

from ..lazy import lazily

HOMES = {
    "errors": "CannotGrade GradingError",
    "confine.limits": "Limits",
    "run.outcome": "Cell CellOutcome Outcome Output Task TestOutcome",
    "run.warm": "Warm grade",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES, modules=False)
