"""The failures that a user is told in one sentence: each part of the course raises its own."""

from __future__ import annotations

import sys


def expected_errors() -> tuple[type[BaseException], ...]:
    """Those exception classes whose modules have been imported: no other can be on its way."""
    known = {
        "coursekit.runtime": "MissingTorch",
        "coursekit.authoring.course": "CourseError",
        "coursekit.authoring.source": "SourceError",
        "coursekit.book.vendor": "BuildError",
        "coursekit.grading.errors": "GradingError",
    }
    return tuple(getattr(sys.modules[m], name) for m, name in known.items() if m in sys.modules)
