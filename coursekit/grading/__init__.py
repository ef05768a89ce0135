"""Grading a class: collect, repair, run, record, feedback, report, export.

The core, which runs submissions: `Warm` and `grade` take `Task`s and give `Outcome`s.
"""

import sys

from ..lazy import lazily

# jsonschema, which nbformat loads, would build a grammar of international addresses for more than a second. The
# schema of a notebook has none, and jsonschema does without where this package is not there.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
HOMES = {
    "errors": "CannotGrade GradingError",
    "confine.limits": "Limits",
    "run.outcome": "Cell CellOutcome Outcome Output Task TestOutcome",
    "run.warm": "Warm grade",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES, modules=False)
