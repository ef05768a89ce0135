"""The failures that a user is told in one sentence."""


class Expected(Exception):
    """What went wrong is no defect of the program; the message says what, where, and how to repair it."""
