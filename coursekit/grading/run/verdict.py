"""From what a test cell did to points and a sentence."""

import math
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import Any

from ..wire.channel import ChannelError
from .cells import MIMES, PICTURE, CellRun, CellTimeout, told_of, words_of_any
from .handles import NotRemote, is_remote
from .names import literal_messages, names_of, strings_of
from .outcome import Cell, CellOutcome, Output, TestOutcome

DIED = "Your code ended the process that ran it, so this question could not be graded."
FAILED = "A test of this question failed."
SLOW = ("timeout", "Your code took too long here and was stopped.")
LOST = {
    "timeout": SLOW,
    "slow": SLOW,
    "malformed": (
        "died",
        "Your code sent something that is no answer, so this question could not be graded.",
    ),
    "exhausted": ("died", "Your code ended its process again and again, so this question was not graded."),
    "notebook": ("timeout", "The time for the whole notebook was used up before this question."),
}
NOT_PLAIN = (
    "Your answer is an object of your own class where the test needs plain data: a number, a string, a list, a "
    "dictionary, an array or a tensor."
)


def judge(
    cell: Cell, done: CellRun, fault: BaseException | None, refused: dict[str, str], expected: set[str]
) -> TestOutcome:
    """The verdict on a test that ran in the examiner.

    `fault`: what went wrong with the candidate, which counts even if the test went on. `refused`: names that could
    not come over, and why. `expected`: names that the solution cells are there to define.
    """
    outcome = TestOutcome(cell.id, 0.0, cell.points, "failed", seconds=done.seconds)
    outcome.stderr, outcome.outputs = done.stderr, done.outputs
    error = done.error
    if isinstance(fault, ChannelError):
        outcome.status, outcome.sentence = LOST.get(fault.status, ("died", DIED))
        outcome.detail = fault.reason
    elif isinstance(fault, NotRemote):
        outcome.status, outcome.sentence, outcome.detail = "not-plain", NOT_PLAIN, words_of_any(fault, 2000)
    elif error is None:
        outcome.score, outcome.status = credit(done.shown, cell.points)
        if _brings_sentence(done.value):  # part credit that says what the rest was lost for
            outcome.sentence, outcome.kind = done.value.own, str(done.value.kind or "")
            outcome.detail = done.value.sentence
        if outcome.status == "broken":
            outcome.detail = f"the test's value {done.shown} is more than its {cell.points:g} points"
    else:
        told = told_of(error)
        outcome.detail = told["error"]
        outcome.status, outcome.sentence = _reason(cell, error, refused, expected)
        outcome.missing = getattr(error, "missing", "") or (
            told["missing"] if outcome.status == "missing" else ""
        )
        outcome.kind = str(getattr(error, "kind", "") or "") if _brings_sentence(error) else ""
    return outcome


ODD = {
    "empty": "an empty array, list or iterator stood in an answer that earned points",
    "nan": "a value that is not a number stood in an answer that earned points",
    "unseen": "whether it was done by hand could not be seen: its numbers leave torch",
    "traced": "whether it was done by hand could not be seen: a cell uses torch's tracer, which writes a gradient down",
}
LARGEST_LOOK = 1 << 20  # entries that are looked through for one that is not a number


def oddities(value: Any, depth: int = 0) -> set[str]:
    """ "empty" and "nan": what compares as equal, or as not larger, with anything at all."""
    if type(value) in (float, complex):
        return {"nan"} if value != value else set()
    if isinstance(value, (list, tuple, set, frozenset, deque, dict)) and not is_remote(value):
        if not value and not depth:
            return {"empty"}
        items = islice(value.values() if isinstance(value, dict) else value, 1000 if depth < 4 else 0)
        return set().union(*(oddities(item, depth + 1) for item in items))
    shape, kind = getattr(type(value), "shape", None), type(value).__module__.partition(".")[0]
    if shape is None or kind not in ("numpy", "torch") or is_remote(value):
        return set()
    size = value.size if kind == "numpy" else value.numel()
    if not size:
        return {"empty"}
    if size > LARGEST_LOOK or (kind == "numpy" and value.dtype.kind not in "fcmM"):
        return set()
    with suppress(TypeError, RuntimeError):  # a type of number that cannot be compared
        return {"nan"} if bool((value != value).any()) else set()
    return set()


def hold_to_reference(cell: Cell, outcome: TestOutcome) -> None:
    """Where the instructor's own answer came over as plain data, a student's must too: an object would judge itself."""
    if not outcome.score or "*" in (cell.leans or ()):  # the reference itself
        return
    more = set(outcome.leans) - set(cell.leans or ())
    methods = sorted(word for word in more if word.startswith("."))
    if methods and cell.leans is not None:
        used = ", ".join(methods)
        outcome.detail = f"the test used {used} of an object of the student's, where yours is plain data"
        outcome.score, outcome.status, outcome.sentence, outcome.kind = 0.0, "not-plain", NOT_PLAIN, ""
    elif "judged" in outcome.leans:
        outcome.weaker = True
    outcome.doubts += [ODD[word] for word in sorted(more & ODD.keys())]


def _brings_sentence(value: Any) -> bool:
    """Is this a verdict of coursekit's own checks, made here in the examiner?"""
    ours = type(value).__module__.startswith("coursekit.") and not is_remote(value)
    return ours and isinstance(getattr(value, "own", None), str)


def _reason(cell: Cell, error: BaseException, refused: dict[str, str], expected: set[str]) -> tuple[str, str]:
    raised = getattr(error, "student", None)
    if isinstance(raised, str):
        return "error", f"Your code raised {raised}."
    if isinstance(error, CellTimeout):
        return "timeout", "The test of this question took too long with your code."
    if _brings_sentence(error):
        return "failed", error.own  # type: ignore[attr-defined]
    if isinstance(error, AssertionError):
        said = words_of_any(error, 10_000)
        return "failed", said if said in literal_messages(cell.source) else FAILED
    if isinstance(error, NameError) and error.name:
        if error.name in refused:
            return "not-plain", f"`{error.name}` could not be graded: {refused[error.name]}."
        where = "" if error.name in expected or not expected else " (the test needs it)"
        return "missing", f"`{error.name}` is not defined{where}."
    return "error", f"The test could not work with what your code gave back ({type(error).__name__})."


def credit(shown: str, points: float) -> tuple[float, str]:
    """nbgrader's rule: a number on the last line of a test is its partial credit, anything else full credit."""
    try:
        value = float(shown)
    except ValueError:
        return points, "passed"
    if math.isnan(value) or value < 0:
        return points, "passed"
    if value > points:
        return 0.0, "broken"
    return value, "passed" if value == points else "partial"


def in_candidate_verdict(cell: Cell, reply: Any) -> TestOutcome:
    """The verdict on a test that ran in the student's process, from that process's account of it."""
    account = cell_outcome(cell, reply)
    outcome = TestOutcome(cell.id, 0.0, cell.points, "failed", seconds=account.seconds, weaker=True)
    told = {key: value for key, value in reply.items() if type(value) is str}
    if account.status == "ok":
        outcome.score, outcome.status = credit(told.get("shown", ""), cell.points)
    elif account.status == "timeout":
        outcome.status, outcome.sentence = SLOW
    else:
        outcome.detail, missing = account.error, told.get("missing", "")
        outcome.missing = missing if missing in names_of(cell.source).mentions else ""
        outcome.status = "failed" if account.raised in ("AssertionError", "CheckFailed") else "error"
        message = told.get("message", "")
        written = message if message in literal_messages(cell.source) else ""
        otherwise = FAILED if outcome.status == "failed" else f"Your code raised {account.error}."
        outcome.sentence = told.get("sentence", "")[:1000] or written or otherwise
    return outcome


def silence(cell: Cell, outcome: TestOutcome) -> None:
    """Of what is said once a process has read a test, keep what its author wrote to be read: the rest may quote it."""
    if outcome.status in ("failed", "error", "partial", "missing", "not-plain"):
        # Among all texts of the test, the process itself could choose one that is an answer.
        written = literal_messages(cell.source) if cell.in_candidate else strings_of(cell.source)
        outcome.sentence = outcome.sentence if outcome.sentence in written else FAILED
        outcome.kind = outcome.kind if outcome.kind in written else ""


def cell_outcome(cell: Cell, reply: Any) -> CellOutcome:
    """The candidate's account of a cell, which says what it likes, within bounds."""
    seconds = reply["seconds"] if 0 <= reply["seconds"] < 1e6 else 0.0
    line = reply["line"] if 0 <= reply["line"] < 1_000_000 else 0
    outcome = CellOutcome(cell.id, cell.role, reply["status"], reply["error"][:500], seconds, [], line)
    outcome.raised = reply["type"][:100]
    for item in reply["outputs"][:50]:
        match item:
            case {"kind": str(kind), "data": str(data) | bytes(data)} if kind in ("stdout", "stderr", *MIMES):
                outcome.outputs.append(Output(kind, data[:PICTURE]))
    return outcome
