"""What grading can refuse, each in one sentence for the person who runs it."""

from ..expected import Expected


class GradingError(Expected):
    """Grading cannot go on, or cannot start; the message says what, where, and how to repair it."""


class CannotGrade(GradingError):
    """The processes that run submissions could not be started."""
