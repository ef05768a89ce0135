"""What is said of data that cannot be used."""

from __future__ import annotations


class BadData(ValueError):
    """A text, a grammar or an id cannot be used; the message says why, and how to repair it."""
