"""What goes into the grader's core and what comes out of it: plain data, both.

A `Task` is one submission, already repaired: its cells in order, each with a role.

    given     the instructor's own cell; the examiner trusts it
    solution  the student's answer
    extra     a cell of the student's own
    test      an autograded test with points; only the examiner ever sees its source

An `Outcome` has one `TestOutcome` a test cell, whatever happened, and one `CellOutcome` for every other code cell.

A test normally runs in the examiner ("remote"). A cell with the line `# coursekit: in-candidate` runs in the student's
process instead, and so does a test whose `mode` is "candidate" (see `calibrate`). Such a verdict could be forged in
principle: its `weaker` is true and the grade is flagged; and since that process has seen the test, nothing that it says
afterwards is shown to the student. With the mode "own" a student runs the tests of their own notebook.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..confine.limits import Limits

LOST = "This question was not graded: the grader's own process stopped before it."
IN_CANDIDATE = re.compile(r"^\s*#\s*coursekit:\s*in-candidate\b", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One code cell.

    `reference`: for a solution cell, the instructor's own version of it. Only the examiner sees it, and never
    runs more of it than its import statements. Names that it binds (and no others) may come from the student
    even where a trusted cell or Python itself defines them; names that it imports never come from the student.
    """

    source: str
    role: str  # "given", "solution", "extra", "test"
    id: str = ""  # grade_id, or any other key of the cell
    points: float = 0.0  # of a test
    mode: str = "remote"  # of a test: "remote", "candidate" or "own"
    reference: str = ""
    # Of a test: what the reference leaned on (see TestOutcome); "*": anything.
    leans: tuple[str, ...] | None = None

    @property
    def in_candidate(self) -> bool:
        return self.mode in ("candidate", "own") or bool(IN_CANDIDATE.search(self.source))


@dataclass(frozen=True)
class Task:
    """One submission. `files` (name -> bytes) are put into the working directory of both processes."""

    id: str
    cells: tuple[Cell, ...]
    limits: Limits | None = None  # None: those of the Warm
    seed: int = 0
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Output:
    """One captured output: `kind` is "text/plain", "text/html", "image/png", "stdout" or "stderr"."""

    kind: str
    data: str | bytes


@dataclass
class CellOutcome:
    """What a given, solution or extra cell did in the student's process."""

    id: str
    role: str
    status: str  # "ok", "error", "timeout", "died", "skipped"
    error: str = ""  # "ZeroDivisionError: division by zero"; the student's own words, never ours
    seconds: float = 0.0
    outputs: list[Output] = field(default_factory=list)
    line: int = 0  # of the cell, where it stopped; 0: not known
    raised: str = ""  # the exception's class


@dataclass
class TestOutcome:
    """The verdict on one test cell.

    `status`: "passed", "partial", "failed" (an assertion or a check), "error" (the student's code raised),
    "missing" (a name that the test needs is not there), "timeout", "died", "not-plain" (an object of the
    student's own class stood where plain data was needed; worth a person's look), "broken" (the test itself
    could not run), "lost" (the grader stopped before this test).
    `sentence` is for the student: of a check's findings only what they say of the student's own answer. `detail` is
    for the instructor only.
    """

    id: str
    score: float
    max: float
    status: str
    sentence: str = ""
    kind: str = ""  # the name of the mistake, where a check recognised one
    detail: str = ""
    seconds: float = 0.0
    weaker: bool = False
    # What the verdict leaned on beside plain data: ".name", an attribute of an object that stayed in the student's
    # process; "judged", a truth value out of its own method; "changed", an argument of a call that returned
    # a value; "empty", "nan", an answer that compares with anything; "unseen", "traced", a way by hand that nobody saw.
    leans: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)  # for a person to look at
    stderr: str = ""  # what the test cell wrote to stderr: stock nbgrader gives 0 for it
    outputs: list[Output] = field(default_factory=list)
    missing: str = ""  # the name that was not defined, where that is what went wrong
    __test__ = False  # pytest: this is no test class


@dataclass
class Outcome:
    """Everything about one graded task. `flags` are reasons for a person to look at it."""

    id: str
    status: str = "graded"  # or "stopped": the notebook's time was up, or a process of ours was lost
    tests: list[TestOutcome] = field(default_factory=list)
    cells: list[CellOutcome] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    seconds: float = 0.0
    restarts: int = 0
    sandbox: float = 0.0  # seconds that it took to confine one process
    level: str = ""  # of the sandbox: "namespaces", "landlock", "none"

    @property
    def score(self) -> float:
        return sum(test.score for test in self.tests)

    @property
    def max(self) -> float:
        return sum(test.max for test in self.tests)

    def fill(self, task: Task) -> None:
        """The tests that were not reached, as lost."""
        for cell in [cell for cell in task.cells if cell.role == "test"][len(self.tests) :]:
            self.status = "stopped"
            self.tests.append(TestOutcome(cell.id, 0.0, cell.points, "lost", LOST, weaker=cell.in_candidate))

    @staticmethod
    def lost(task: Task, flags: list[str]) -> "Outcome":
        outcome = Outcome(task.id, "stopped", flags=flags)
        outcome.fill(task)
        return outcome


def output_from_plain(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "outputs": [Output(**output) for output in data["outputs"]]}


Run = Callable[[Iterable[Task]], Iterable[Outcome]]
Modes = dict[str, dict[str, dict[str, Any]]]  # task -> test -> what its Cell is to say


def calibrate(solved: Iterable[Task], run: Run) -> tuple[Modes, list[tuple[str, TestOutcome]]]:
    """What each test's cell is to say: what the solution's own verdict leaned on, and the student's process where
    the solution passes only there; and the tests that it fails in either, each with its task. The student has no say
    in this: no submission can move its own tests into its own process."""
    tasks = {task.id: task for task in solved}
    modes: Modes = {}
    lost: dict[str, list[TestOutcome]] = {}
    for outcome in run(_every_test(task, leans=("*",)) for task in tasks.values()):
        modes[outcome.id] = {test.id: {"leans": tuple(test.leans)} for test in outcome.tests}
        lost[outcome.id] = [test for test in outcome.tests if test.score < test.max]
    inside = [_every_test(task, mode="candidate") for name, task in tasks.items() if lost[name]]
    failed: list[tuple[str, TestOutcome]] = []
    for outcome in run(inside) if inside else ():
        own = {test.id: test for test in outcome.tests}
        for test in lost[outcome.id]:
            if own[test.id].score > test.score:
                modes[outcome.id][test.id] = {"mode": "candidate"}
            else:
                failed.append((outcome.id, test))
    return modes, failed


def _every_test(task: Task, **change: Any) -> Task:
    return replace(task, cells=tuple(replace(c, **change) if c.role == "test" else c for c in task.cells))
