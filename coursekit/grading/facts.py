"""The facts that pass from room to room: an assignment, a student's work on it, the entry that is kept of it.

The core (`wire`, `confine`, `run`) knows none of them: it takes a `Task` and gives an `Outcome`. Everything else of
the grader stands on this file, and the gradebook keeps an `Entry` as it is, in JSON.
"""

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any

import nbformat

from .run.outcome import Cell, CellOutcome, Outcome, output_from_plain

Key = tuple[str, str]  # notebook, grade_id


def fold(text: str) -> str:
    """A cell's text without white space, for comparing."""
    return "".join(text.split())


# ── the assignment ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class MasterCell:
    """A cell of the instructor's notebook."""

    kind: str  # "code", "markdown", "raw"
    source: str  # the instructor's, with solution and hidden tests
    released: str  # what the student was given
    # "solution", "test", "given", "text"; "manual": an answer that a person grades; "task": work of any form
    # that a person grades, described in this cell
    role: str
    grade_id: str = ""
    points: float = 0.0
    cell_id: str = ""  # the notebook's own id, which Colab moves into the metadata

    @property
    def by_hand(self) -> bool:
        return self.role in ("manual", "task")

    @property
    def answer(self) -> bool:
        """Does a student write here?"""
        return self.role in ("solution", "manual")

    def as_task(self, text: str | None = None) -> Cell:
        """The cell as it is run, an answer with the text of a student or, without one, the instructor's own."""
        source = self.source if text is None else text
        if not self.answer:
            return Cell(source, self.role, self.grade_id or self.cell_id, self.points)
        # Where the cell is as students got it, it says nothing of the instructor's answer.
        own = "" if fold(self.source) == fold(self.released) else self.source
        return Cell(source, "solution", self.grade_id, reference=own)


@dataclass(frozen=True)
class Master:
    """One notebook of an assignment."""

    name: str
    cells: tuple[MasterCell, ...]
    notebook: nbformat.NotebookNode = field(compare=False, repr=False)

    @cached_property
    def by_id(self) -> dict[str, MasterCell]:
        return {cell.grade_id: cell for cell in self.cells if cell.grade_id}

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Each cell's released text without its white space, for comparing."""
        return tuple(fold(cell.released) for cell in self.cells)

    @cached_property
    def questions(self) -> list[tuple[MasterCell | None, list[MasterCell]]]:
        """Each answer cell with the cells that grade it: the tests below it, or itself where a person does."""
        found: list[tuple[MasterCell | None, list[MasterCell]]] = [(None, [])]
        tested = found[0]
        for cell in self.cells:
            if cell.role == "solution" or cell.by_hand:
                found.append((cell, [cell] if cell.by_hand else []))
                tested = found[-1] if cell.kind == "code" else tested  # no test reads an essay
            elif cell.role == "test":
                tested[1].append(cell)
        return found

    @cached_property
    def answer_of(self) -> dict[str, str]:
        """Test -> the answer that it grades."""
        return {t.grade_id: a.grade_id for a, tests in self.questions if a for t in tests if t is not a}


@dataclass(frozen=True)
class Assignment:
    """An assignment: one notebook or several, and the files that lie beside them."""

    name: str
    masters: tuple[Master, ...]
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        """Every cell as its author wrote it, and the text of the files beside it."""
        cells = [cell.source for master in self.masters for cell in master.cells]
        return cells + [
            data.decode(errors="ignore") for name, data in self.files.items() if name.endswith(".py")
        ]

    @cached_property
    def digest(self) -> str:
        """Changes when anything that decides a grade changes."""
        total = hashlib.sha256()
        for master in self.masters:
            for cell in master.cells:
                told = (master.name, cell.grade_id, cell.role, cell.points, cell.source, "")
                total.update("\0".join(map(str, told)).encode())
        for name, data in sorted(self.files.items()):
            total.update(name.encode() + b"\0" + data)
        return total.hexdigest()


# ── a student's work ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Problem:
    """A submission, or a part of one, that could not be graded, and why."""

    student: str
    origin: str
    sentence: str


@dataclass(frozen=True)
class StudentCell:
    """A cell of a submission, with what can still be made out of it."""

    kind: str  # "code", "markdown" or "raw"
    source: str
    grade_id: str = ""
    cell_id: str = ""
    # of a test, as the student's copy has them: for a student's own check, never for a grade
    points: float = 0.0

    @cached_property
    def folded(self) -> str:
        return fold(self.source)


@dataclass
class Repaired:
    """A notebook made whole. `answers` maps a solution's or manual cell's grade_id to the student's text."""

    master: Master
    cells: list[Cell] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    blank: set[str] = field(default_factory=set)  # answers that were left as they were given
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Handed:
    """A file of a submission: its name, which notebook it is, its cells, when it came and the number of its attempt."""

    name: str
    master: Master
    cells: list[StudentCell]
    rank: tuple[float, int] = (0.0, 0)


@dataclass
class Work:
    """One student's work on one assignment: as it came, then repaired, then run; each by notebook."""

    student: str
    assignment: Assignment
    when: datetime.datetime | None
    origin: str
    notebooks: list[Handed]
    digest: str = ""
    flags: list[str] = field(default_factory=list)
    repaired: dict[str, Repaired] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.student, self.assignment.name


# ── what is kept of it ───────────────────────────────────────────────────────────────────────


_fields = cache(fields)  # a class of 300 has a hundred thousand verdicts


def _known(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Of stored data, what this version has a field for."""
    return {one.name: data[one.name] for one in _fields(cls) if one.name in data}


@dataclass(frozen=True)
class Verdict:
    """What one graded cell earned, and why. `sentence` is for the student, `detail` for the instructor."""

    id: str
    notebook: str
    score: float
    max: float
    status: str  # a test's (see `TestOutcome`); else "by hand", "blank", "graded by hand"
    sentence: str = ""
    kind: str = ""  # the mistake's name; "empty": nothing written; "stopped": its cell did not get through
    detail: str = ""
    seconds: float = 0.0
    weaker: bool = False
    # what its test measured, by name: less is better
    measured: dict[str, float] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.notebook, self.id

    @property
    def waiting(self) -> bool:
        """Must a person grade it?"""
        return self.status == "by hand"

    @property
    def empty(self) -> bool:
        """Was nothing written here?"""
        return self.status == "blank" or self.kind == "empty"

    @property
    def short(self) -> bool:
        """Were points lost?"""
        return self.score < self.max


@dataclass(frozen=True)
class ByHand:
    """What a person gave for one cell: points (None: none yet), extra credit, a comment."""

    points: float | None = None
    extra: float = 0.0
    comment: str = ""

    def on(self, verdict: Verdict) -> Verdict:
        if self.points is None:
            return replace(verdict, score=verdict.score + self.extra)
        return replace(verdict, score=self.points + self.extra, status="graded by hand", sentence="")


@dataclass(frozen=True)
class Entry:
    """Everything that is kept of a submission but what its cells printed."""

    student: str
    assignment: str
    questions: tuple[Verdict, ...]
    flags: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    seconds: float = 0.0
    when: datetime.datetime | None = None
    late_penalty: float = 0.0
    answers: dict[str, dict[str, str]] = field(default_factory=dict)  # notebook -> grade_id -> text
    comments: dict[str, dict[str, str]] = field(default_factory=dict)  # a person's, likewise
    sandbox: str = ""  # what confined the student's code: "namespaces", "landlock", "none"
    tests: str = ""  # the digest of the assignment that graded it
    blank: tuple[str, ...] = ()  # answers that were left as they were given

    @property
    def earned(self) -> float:
        return sum(q.score for q in self.questions)

    @property
    def score(self) -> float:
        return max(0.0, self.earned - self.late_penalty)

    @property
    def max_score(self) -> float:
        return sum(q.max for q in self.questions)

    @property
    def status(self) -> str:
        return "flagged" if self.flags else "graded"

    @property
    def waiting(self) -> int:
        """How many answers a person must grade."""
        return sum(q.waiting for q in self.questions)

    def moved(self, other: "Entry") -> list[str]:
        """What each question has in the other that it has not here, as `test_x 2 → 0`."""
        mine, theirs = ({q.id: q.score for q in one.questions} for one in (self, other))
        both = {name: (mine.get(name, 0.0), theirs.get(name, 0.0)) for name in (*mine, *theirs)}
        return [f"{name} {points(old)} → {points(new)}" for name, (old, new) in both.items() if old != new]

    def given(self, hands: Mapping[Key, ByHand]) -> "Entry":
        """The entry with the points and comments that a person has given since."""
        questions = [hands[q.key].on(q) if q.key in hands else q for q in self.questions]
        comments: dict[str, dict[str, str]] = {}
        for (notebook, cell), hand in hands.items():
            if hand.comment:
                comments.setdefault(notebook, {})[cell] = hand.comment
        return replace(self, questions=tuple(questions), comments=comments)

    def plain(self) -> dict[str, Any]:
        """As JSON holds it, with the sums; `--json` gives it too, without the answers."""
        sums = {"score": self.score, "max_score": self.max_score, "status": self.status}
        return {**asdict(self), **sums, "when": self.when.isoformat() if self.when else None}

    @staticmethod
    def from_plain(data: Mapping[str, Any]) -> "Entry":
        made = _known(Entry, data)
        made["questions"] = tuple(Verdict(**_known(Verdict, q)) for q in data["questions"])
        made |= {name: tuple(data.get(name, ())) for name in ("flags", "repairs", "blank")}
        made["when"] = datetime.datetime.fromisoformat(data["when"]) if data.get("when") else None
        return Entry(**made)


Printed = dict[str, list[CellOutcome]]  # by notebook: what became of its cells; pictures in base 64


def printed_from_plain(data: Mapping[str, list[dict[str, Any]]]) -> Printed:
    def cell(kept: dict[str, Any]) -> CellOutcome:
        return CellOutcome(**output_from_plain(_known(CellOutcome, kept)))

    return {name: list(map(cell, cells)) for name, cells in data.items()}


def titles(entries: Iterable[Entry]) -> dict[Key, str]:
    """Each question's name in a table: with the notebook's where two notebooks have it."""
    keys = dict.fromkeys(q.key for entry in entries for q in entry.questions)
    shared = Counter(name for _, name in keys)
    return {(notebook, name): f"{notebook}/{name}" if shared[name] > 1 else name for notebook, name in keys}


def counted(number: int, what: str) -> str:
    """1 answer, 3 answers."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def points(value: float) -> str:
    """12, 7.5, 3.33: as short as it can be."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
