"""Running a student's code, or reading their text: whatever it does, the check goes on and can say in one sentence what
happened."""

import contextlib
import copy
import functools
import inspect
import io
import linecache
import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any, NoReturn, TypeVar

from ...notation.errors import NotationError
from ..shown.locked import Outcome
from ..shown.panel import listed as listed
from ..shown.panel import shorten
from ..shown.result import Result, wrong
from .outcome import Mistake, recognised

Read = TypeVar("Read")
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_INSTALLED = (f"site-packages{os.sep}", f"lib{os.sep}python")
_under_way: list[Callable[..., Result]] = []  # a check may be made of others


class Stopped(Exception):
    """The student's code did not give an answer; `result` says why."""

    def __init__(self, result: Result):
        super().__init__(result.sentence)
        self.result = result


def stop(kind: str, own: str) -> NoReturn:
    """End the check with a sentence about the student's own answer."""
    raise Stopped(wrong(kind, own=own))


def stopped(judge: Callable[..., Result], *args: object, **kwargs: object) -> Result:
    """What a check answers, also where it was ended."""
    try:
        return judge(*args, **kwargs)
    except Stopped as stop:
        return stop.result


def check(function: Callable[..., Result]) -> Callable[..., Result]:
    """What is common to all checks: no warning and no stderr leaves them, and an answer that
    stops them is a result like any other. `nbgrader validate` shows no panel: there a wrong one raises.

    mistakes  named mistakes (hidden tests only); each `wrong` is an answer as the student's
    hint      what the panel shows on request beside a wrong answer, the vaguest first
    """
    takes = list(inspect.signature(function).parameters)
    place = takes.index("answer") if "answer" in takes else 0

    @functools.wraps(function)
    def checked(
        *args: object, mistakes: Sequence[Mistake] = (), hint: str | Sequence[str] = "", **kwargs: object
    ) -> Result:
        def asked(answer: object, **more: object) -> Result:
            with quiet():
                return stopped(function, *args[:place], answer, *args[place + 1 :], **kwargs, **more)

        _under_way.append(function)
        try:
            if len(args) <= place:  # nothing is answered here
                return function(*args, **kwargs)
            more = {"mistakes": mistakes} if "mistakes" in takes else {}
            result = recognised(asked(args[place], **more), mistakes, asked).hinted(hint)
        finally:
            _under_way.pop()
        if not _under_way and os.environ.get("NBGRADER_EXECUTION") == "validate":
            result.require()
        return result

    return checked


def name_of(function: object, default: str = "your function") -> str:
    name = getattr(function, "__name__", "")
    return f"`{name}`" if isinstance(name, str) and name.isidentifier() else default


def upper(noun: str) -> str:
    """A noun that begins a sentence."""
    return noun[:1].upper() + noun[1:]


def unanswered(answer: object) -> bool:
    """The stub that the student was given is still there: nothing, or nothing in any of its places."""
    if isinstance(answer, (list, tuple, Mapping)) and len(answer):
        return all(map(unanswered, answer.values() if isinstance(answer, Mapping) else answer))
    return answer is None or answer is Ellipsis or (isinstance(answer, str) and not answer.strip())


def run(function: object, /, *args: object, **kwargs: object) -> object:
    """`function(*args)` on copies of the arguments, or Stopped with a sentence about the student's own line.

    What the function prints to stderr or warns about does not leave this call: nbgrader takes a
    cell with anything on stderr for failed.
    """
    name = name_of(function)
    empty = f"There is no answer here yet: {name} is still empty."
    if unanswered(function):
        stop("empty", empty)
    if not callable(function):
        stop("type", f"A function is needed here, and this is {a_thing(function)}.")
    given: dict[Any, object] = {**dict(enumerate(args)), **kwargs}
    mine = _copy(given)
    try:
        with quiet():
            try:
                value = function(*(mine[n] for n in range(len(args))), **{key: mine[key] for key in kwargs})
            except TypeError as error:
                if not kwargs or "unexpected keyword argument" not in str(error):
                    raise
                value = function(*mine.values())  # its parameters have names of the student's own
    except (Exception, SystemExit) as error:
        raise Stopped(_failure(name, error)) from None
    # A function in another process works on copies of its own, and its handle tells which of them it changed.
    told = getattr(function, "__changed__", ())
    for place, key in enumerate(given):
        if key in told or place in told or not _same(given[key], mine[key]):
            which = f"argument `{key}`" if isinstance(key, str) else f"argument number {key + 1}"
            said = f"{upper(name)} changes its {which} in place"
            stop("changed", f"{said}: what a function is given must stay as it was, so work on a copy.")
    if unanswered(value):
        code = getattr(function, "__code__", None)  # a body of `...` names nothing and does nothing
        unwritten = code is not None and not code.co_names and len(code.co_code) <= 8
        stop("empty", empty if unwritten else f"{upper(name)} returns nothing: does it end with `return`?")
    return value


def _same(before: Any, after: Any) -> bool:
    """Whether a call left an argument as it was."""
    if hasattr(before, "shape"):
        equal = (before == after) | ((before != before) & (after != after))  # as NaN does
        return bool(before.shape == after.shape and equal.all())
    if isinstance(before, Mapping):
        return before.keys() == after.keys() and all(_same(before[key], after[key]) for key in before)
    if isinstance(before, (list, tuple)):
        return len(before) == len(after) and all(map(_same, before, after))
    plain = isinstance(before, (bool, int, float, str, set, bytearray))
    return not plain or bool(before == after or before != before)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _copy(value: Any) -> Any:
    """A copy that the student's code may change in place without harm to the next case."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_copy(item) for item in value)
    if hasattr(value, "detach"):
        return value.detach().clone()
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _failure(name: str, error: BaseException) -> Result:
    if isinstance(error, NotImplementedError):
        return wrong("empty", own=f"{upper(name)} is not written yet.")
    where, line = _place(error)
    said = describe(error)  # with sizes in it, the very error that a named mistake leads to
    outcomes = (Outcome(text=said),) if any(c.isdigit() for c in said) else ()
    block = f"{where}\n    {line}" if line else ""
    return wrong("error", own=f"{upper(name)} stopped with {said}", outcomes=outcomes, block=block)


def describe(error: BaseException) -> str:
    """An exception as the end of a sentence: its type and the first line of its message."""
    message = shorten(str(error).strip().split("\n")[0], 200)
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return said if said[-1] in ".!?" else said + "."


def _place(error: BaseException) -> tuple[str, str]:
    """The last line of the student's own code that the error passed through.

    An error that crossed a process brings its place with it, as `error.place = (where, line)`.
    """
    brought = getattr(error, "place", None)
    if isinstance(brought, Sequence) and len(brought) == 2:
        return str(brought[0]), str(brought[1])
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = os.path.abspath(frame.filename)
        if not path.startswith(_OURS) and not any(f"{os.sep}{at}" in path for at in _INSTALLED):
            line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
            return f"line {frame.lineno} of {frame.name}", line
    return "", ""


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
    own = place if place[-1:] in ".?" else place + "."
    return wrong(kind, own=own, block=dedent(shown[1]) if len(shown) == 2 else "")


def a_thing(value: object) -> str:
    """What a value is, for a sentence: "the number 3", "text", "a list of 4"."""
    if value is None:
        return "nothing (None)"
    if isinstance(value, bool):
        return f"the truth value {value}"
    if isinstance(value, (int, float)):
        return f"the number {value:.6g}"
    if isinstance(value, str):
        return f"the text “{shorten(value, 40)}”"
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    shape = getattr(value, "shape", None)
    if shape is not None:
        with contextlib.suppress(Exception):
            return f"an array of shape {tuple(int(n) for n in shape)}"
    if callable(value):
        return "a function"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"
