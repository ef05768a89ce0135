"""What a student writes as text in the course's language: the sentence for text that cannot be read."""

from collections.abc import Callable
from textwrap import dedent
from typing import TypeVar

from ...notation.errors import NotationError
from ..shown.result import Result, wrong
from .student import Stopped, a_thing, stop, unanswered, upper

Read = TypeVar("Read")


def written(answer: object, read: Callable[[str], Read], what: str) -> Read:
    """`read(answer)`, or Stopped: nothing there, no text, or text that the language cannot read."""
    if unanswered(answer):
        stop("empty", "There is no answer here yet.")
    if not isinstance(answer, str):
        stop("type", f"Write {what} as text, in quotes; this is {a_thing(answer)}.")
    try:
        return read(answer)
    except NotationError as error:
        raise Stopped(unreadable(error)) from None


def unreadable(error: NotationError, kind: str = "notation") -> Result:
    """The language's own message, with the line and its caret as they were written."""
    sentence = upper(error.message.strip())
    shown = str(error).split("\n", 1)
    place = f"Line {error.line}: {sentence}" if "\n" in error.source.strip() and error.line else sentence
    return wrong(
        kind,
        own=place if place[-1:] in ".?" else place + ".",
        block=dedent(shown[1]) if len(shown) == 2 else "",
    )
