"""From what a test cell did to points and a sentence."""

from __future__ import annotations

import math
from typing import Any

from .cells import CellRun, CellTimeout, words_of
from .channel import ChannelError
from .handles import NotRemote, is_remote
from .names import literal_messages
from .outcome import Cell, TestOutcome

DIED = "Your code ended the process that ran it, so this question could not be graded."
LOST = {
    "timeout": ("timeout", "Your code took too long here and was stopped."),
    "slow": ("timeout", "Your code took too long here and was stopped."),
    "died": ("died", DIED),
    "malformed": (
        "died",
        "Your code sent something that is not an answer, so this question could not be graded.",
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
        outcome.status, outcome.sentence, outcome.detail = "not-plain", NOT_PLAIN, str(fault)
    elif error is None:
        outcome.score, outcome.status = credit(done.shown, cell.points)
        if _brings_sentence(done.value):  # part credit that says what the rest was lost for
            outcome.sentence, outcome.kind = done.value.sentence, str(done.value.kind or "")
        if outcome.status == "broken":
            outcome.detail = f"the test's value {done.shown} is more than its {cell.points:g} points"
    else:
        outcome.detail = words_of(error)
        outcome.status, outcome.sentence = _reason(cell, error, refused, expected)
        outcome.kind = str(getattr(error, "kind", "") or "") if _brings_sentence(error) else ""
    return outcome


def _brings_sentence(value: Any) -> bool:
    """Is this a verdict of coursekit's own checks, made here in the examiner?"""
    ours = type(value).__module__.startswith("coursekit.") and not is_remote(value)
    return ours and isinstance(getattr(value, "sentence", None), str)


def _reason(cell: Cell, error: BaseException, refused: dict[str, str], expected: set[str]) -> tuple[str, str]:
    raised = getattr(error, "student", None)
    if isinstance(raised, str):
        return "error", f"Your code raised {raised}."
    if isinstance(error, CellTimeout):
        return "timeout", "The test of this question took too long with your code."
    if _brings_sentence(error):
        return "failed", error.sentence  # type: ignore[attr-defined]
    if isinstance(error, AssertionError):
        said = str(error)
        return "failed", said if said in literal_messages(cell.source) else "A test of this question failed."
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
    from .session import cell_outcome

    account = cell_outcome(cell, reply)
    outcome = TestOutcome(cell.id, 0.0, cell.points, "failed", seconds=account.seconds, weaker=True)
    outcome.outputs = account.outputs
    shown, sentence, kind = (reply.get(key) for key in ("shown", "sentence", "kind"))
    if account.status == "ok":
        outcome.score, outcome.status = credit(shown if type(shown) is str else "", cell.points)
    elif account.status == "timeout":
        outcome.status, outcome.sentence = LOST["timeout"]
    else:
        outcome.detail = account.error
        failed = type(reply.get("type")) is str and reply["type"] in ("AssertionError", "CheckFailed")
        outcome.status = "failed" if failed else "error"
        outcome.sentence = "A test of this question failed."
        message = account.error.partition(": ")[2].rpartition(" (line")[0]
        if sentence and type(sentence) is str:
            outcome.sentence, outcome.kind = sentence[:1000], kind[:100] if type(kind) is str else ""
        elif message in literal_messages(cell.source):
            outcome.sentence = message
        elif not failed:
            outcome.sentence = f"Your code raised {account.error}."
    return outcome
