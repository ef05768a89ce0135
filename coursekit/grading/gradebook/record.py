"""Write grades into nbgrader's own gradebook: one writer, one transaction a submission.

Beside nbgrader's tables stands one of ours, `coursekit_graded`: which submission (by the digest of its
files and of the assignment) was graded, and the whole record. It is written in the same transaction as
the grades, so a run that is killed at any moment goes on where it was: nothing lost, nothing twice.

An assignment is entered through nbgrader's API. The grades go into the tables of nbgrader's models directly:
its API would load every score of the class for each of them.
"""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

from nbgrader import api
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from ...runtime import find_own_scripts
from ..errors import GradingError
from ..facts import Assignment, Entry, Master, Printed, printed_from_plain
from .history import Change, History
from .late import LatePolicy, aware
from .tables import (
    ASSIGNMENT,
    CELL,
    COMMENT,
    GRADE,
    GRADED,
    NOTEBOOK,
    STUDENT,
    SUBMITTED,
    SUBMITTED_NOTEBOOK,
    TABLES,
    by_hand,
    is_of,
    remove,
)
from .term import FACTS, Lateness, Term, time_of


@dataclass
class _Place:
    """Where an assignment's grades go: the keys of its rows."""

    key: str
    notebooks: dict[str, str] = field(default_factory=dict)  # notebook -> key
    graded: dict[str, dict[str, str]] = field(
        default_factory=lambda: defaultdict(dict)
    )  # notebook -> cell -> key
    answered: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    late: Lateness = field(default_factory=Lateness)


class Record:
    """The open gradebook. Only the parent process has one."""

    def __init__(self, url: str):
        find_own_scripts()
        self.url = url
        self.places: dict[str, _Place] = {}
        file = Path(url.removeprefix("sqlite:///"))
        new = url.startswith("sqlite:///") and not file.exists()
        try:
            self.gradebook = Gradebook(url)
            self.engine = self.gradebook.engine
            TABLES.create_all(self.engine)
            self.term, self.history = Term(self.engine), History(self.engine)
        except (SQLAlchemyError, ImportError, ValueError, OSError, SubprocessError) as error:
            if new:
                file.unlink(missing_ok=True)  # a gradebook that is half made would be taken for a whole one
            raise GradingError(f"the gradebook {_shown(url)} cannot be opened: {_reason(error)}") from error

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.gradebook.close()
        if isinstance(error, SQLAlchemyError):
            raise GradingError(
                f"the gradebook {_shown(self.url)} failed: {_reason(error)}; nothing is half-written"
            )

    # ── the assignment ───────────────────────────────────────────────────────────────────────

    def enter(self, assignment: Assignment) -> None:
        """Make the assignment known to the gradebook, as `nbgrader generate_assignment` does."""
        with self._one_transaction() as gradebook:
            known = gradebook.update_or_create_assignment(assignment.name)
            for master in assignment.masters:
                kernel = json.dumps(master.notebook.metadata.get("kernelspec", {}))
                gradebook.update_or_create_notebook(master.name, assignment.name, kernelspec=kernel)
                self._enter_cells(gradebook, assignment.name, master)
            key = known.id
        with self.engine.begin() as connection:
            self.places[assignment.name] = self._find_place(connection, key, assignment)
        self.places[assignment.name].late = self.lateness(assignment.name)

    @contextmanager
    def _one_transaction(self) -> Iterator[Gradebook]:
        """nbgrader's API commits at every step; here its steps only flush, and the end commits once."""
        session = self.gradebook.db()
        commit = session.commit
        session.commit = session.flush
        try:
            yield self.gradebook
            commit()
        except BaseException:
            session.rollback()
            raise
        finally:
            session.commit = commit
            self.gradebook.db.remove()

    @staticmethod
    def _enter_cells(gradebook: Gradebook, assignment: str, master: Master) -> None:
        for cell in master.cells:
            where = (cell.grade_id, master.name, assignment)
            if cell.role in ("test", "manual"):
                gradebook.update_or_create_grade_cell(*where, max_score=cell.points, cell_type=cell.kind)
            if cell.role in ("solution", "manual"):
                gradebook.update_or_create_solution_cell(*where)
            if cell.role == "task":
                gradebook.update_or_create_task_cell(*where, max_score=cell.points, cell_type=cell.kind)
            if cell.grade_id:
                locked = cell.role in ("test", "given", "task")
                gradebook.update_or_create_source_cell(
                    *where, cell_type=cell.kind, source=cell.source, locked=locked
                )

    @staticmethod
    def _find_place(connection: Connection, key: str, assignment: Assignment) -> _Place:
        """The rows' keys; cells that an earlier release had go, unless a person gave points for them."""
        place = _Place(key)
        roles = {m.name: {c.grade_id: c.role for c in m.cells if c.grade_id} for m in assignment.masters}
        query = (
            select(NOTEBOOK.c.name, NOTEBOOK.c.id, CELL.c.name, CELL.c.id, CELL.c.type)
            .join(CELL, CELL.c.notebook_id == NOTEBOOK.c.id, isouter=True)
            .where(NOTEBOOK.c.assignment_id == key)
        )
        stale = []
        for notebook, number, cell, cell_key, kind in connection.execute(query):
            if notebook not in roles:
                continue
            place.notebooks[notebook] = number
            role = roles[notebook].get(cell)
            if kind in ("GradeCell", "TaskCell") and role in ("test", "manual", "task"):
                place.graded[notebook][cell] = cell_key
            if kind in ("SolutionCell", "TaskCell") and role in ("solution", "manual", "task"):
                place.answered[notebook][cell] = cell_key
            if cell_key and role is None:
                stale.append(cell_key)
        remove(connection, stale)
        return place

    def lateness(self, assignment: str) -> Lateness:
        """What decides how late a work is, as it stands now."""
        try:
            due: datetime.datetime | None = self.gradebook.find_assignment(assignment).duedate
        except MissingEntry:
            due = None
        self.gradebook.db.remove()
        return self.term.lateness(assignment, due)

    def set_due(self, assignment: str, due: datetime.datetime) -> None:
        with self._one_transaction() as gradebook:  # nbgrader keeps times in UTC, without a zone
            when = aware(due).astimezone(datetime.UTC).replace(tzinfo=None)
            gradebook.update_or_create_assignment(assignment, duedate=when)

    def decide(self, assignment: str, due: str, late: str) -> str:
        """Set the due time, or the late policy, or both; a sentence that says how it stands."""
        LatePolicy.read(late)
        when = time_of(due) if due else None
        if when:
            self.set_due(assignment, when)
        if late:
            self.term.say("late", assignment, "", late)
        self.places[assignment].late = stands = self.lateness(assignment)
        self.refresh(assignment)
        policy, _ = self.term.told("late", assignment).get((assignment, ""), ("", ""))
        shown = stands.due.isoformat(sep=" ", timespec="minutes") + " UTC" if stands.due else "at no set time"
        return f"{assignment} is due {shown}; late work loses {policy or 'nothing'}"

    def give(self, assignment: str, student: str, cell: str, score: float | None, comment: str) -> None:
        """Points or a comment by hand, where nbgrader keeps them: no later run changes them."""
        names = [q.notebook for q in self.entry(student, assignment).questions if q.id == cell]
        if len(names) != 1:
            known = ", ".join(q.id for q in self.entry(student, assignment).questions)
            raise GradingError(f"{assignment} has {len(names)} questions named {cell!r}; it has {known}")
        before = self.entry(student, assignment).score
        with self._one_transaction() as gradebook:
            try:
                if score is not None:
                    grade = gradebook.find_grade(cell, names[0], assignment, student)
                    grade.manual_score, grade.needs_manual_grade = score, False
                if comment:
                    answer = self._answer_of(gradebook, assignment, names[0], cell)
                    gradebook.find_comment(answer, names[0], assignment, student).manual_comment = comment
            except MissingEntry as error:
                raise GradingError(f"the gradebook has no place for it: {error}") from error
        self.refresh(assignment)
        after = self.entry(student, assignment).score
        self.history.note(
            assignment, student, before, after, f"{cell} by hand{f': {comment}' if comment else ''}"
        )

    @staticmethod
    def _answer_of(gradebook: Gradebook, assignment: str, notebook: str, cell: str) -> str:
        """Where nbgrader keeps the comment on a test: at the answer above it."""
        cells = gradebook.find_notebook(notebook, assignment).source_cells
        solutions = {c.name for c in gradebook.find_notebook(notebook, assignment).solution_cells}
        order = [c.name for c in cells]
        before = order[: order.index(cell) + 1] if cell in order else order
        return next((name for name in reversed(before) if name in solutions), cell)

    def refresh(self, assignment: str) -> None:
        """Tell nbgrader's own tables the penalties as they are now: its formgrader shows its own sums."""
        for entry in self.entries(assignment):
            self._tell_penalty(entry)

    def _tell_penalty(self, entry: Entry) -> None:
        submission = select(SUBMITTED.c.id).join(ASSIGNMENT, SUBMITTED.c.assignment_id == ASSIGNMENT.c.id)
        submission = submission.where(
            SUBMITTED.c.student_id == entry.student, ASSIGNMENT.c.name == entry.assignment
        )
        mine = SUBMITTED_NOTEBOOK.c.assignment_id.in_(submission)
        with self.engine.begin() as connection:
            count = len(connection.execute(select(SUBMITTED_NOTEBOOK.c.id).where(mine)).all())
            share = entry.late_penalty / max(1, count) or None
            connection.execute(update(SUBMITTED_NOTEBOOK).where(mine).values(late_submission_penalty=share))

    # ── one submission ───────────────────────────────────────────────────────────────────────

    def write(self, entry: Entry, digest: str, printed: Printed | None = None, why: str = "") -> None:
        """Enter a submission's grades, all or none. What a person has given (points, comments) stays."""
        place = self.places[entry.assignment]
        shown = {name: [asdict(cell) for cell in cells] for name, cells in (printed or {}).items()}
        row = {"student": entry.student, "assignment": entry.assignment, "digest": digest}
        row |= {"record": json.dumps(entry.plain()), "outputs": json.dumps(shown)}
        wanted = {q.key: None if q.waiting else q.score for q in entry.questions}
        with self.engine.begin() as connection:
            submission = self._submission(connection, place, entry)
            for notebook, key in self._notebooks(connection, place, submission).items():
                grades = {k: wanted.get((notebook, cell), 0.0) for cell, k in place.graded[notebook].items()}
                self._grades(connection, key, grades)
                said = {
                    k: "No response." if c in entry.blank else None
                    for c, k in place.answered[notebook].items()
                }
                self._comments(connection, key, said)
            self.history.remember(connection, entry, digest, why)
            connection.execute(delete(GRADED).where(is_of(entry.student, entry.assignment)))
            connection.execute(insert(GRADED).values(row))
            connection.execute(delete(FACTS).filter_by(kind="refused", student=entry.student))
        if place.late.policy.percent:
            self._tell_penalty(self.entry(entry.student, entry.assignment))

    def undo(self, assignment: str) -> list[Change]:
        """Put back what the last run that changed grades of this assignment found there."""
        rows = self.history.last(assignment)
        for row in rows:
            printed = printed_from_plain(json.loads(row["outputs"]))
            self.write(Entry.from_plain(json.loads(row["record"])), row["digest"], printed, "undone")
            self.history.taken_back(row)
        return [
            Change(r["run"], r["student"], assignment, r["after"], r["before"], f"not {r['why']}")
            for r in rows
        ]

    @staticmethod
    def _submission(connection: Connection, place: _Place, entry: Entry) -> str:
        student, when = entry.student, entry.when
        # nbgrader keeps times in UTC, without a zone
        time = {"timestamp": when.astimezone(datetime.UTC).replace(tzinfo=None)} if when else {}
        where = (SUBMITTED.c.assignment_id == place.key) & (SUBMITTED.c.student_id == student)
        found = connection.execute(select(SUBMITTED.c.id).where(where)).scalar()
        if found is not None:
            if time:
                connection.execute(update(SUBMITTED).where(where).values(time))
            return str(found)
        if connection.execute(select(STUDENT.c.id).where(STUDENT.c.id == student)).scalar() is None:
            connection.execute(insert(STUDENT).values(id=student))
        key: str = api.new_uuid()
        connection.execute(
            insert(SUBMITTED).values(id=key, assignment_id=place.key, student_id=student, **time)
        )
        return key

    @staticmethod
    def _notebooks(connection: Connection, place: _Place, submission: str) -> dict[str, str]:
        """The key of each submitted notebook."""
        query = select(SUBMITTED_NOTEBOOK.c.notebook_id, SUBMITTED_NOTEBOOK.c.id)
        known: dict[str, Any] = dict(
            connection.execute(query.where(SUBMITTED_NOTEBOOK.c.assignment_id == submission)).all()
        )
        new = {n: api.new_uuid() for name, n in place.notebooks.items() if n not in known}
        if new:
            rows = [{"id": key, "notebook_id": n, "assignment_id": submission} for n, key in new.items()]
            connection.execute(insert(SUBMITTED_NOTEBOOK), rows)
        keys = known | new
        return {name: keys[number] for name, number in place.notebooks.items()}

    @staticmethod
    def _grades(connection: Connection, notebook: str, scores: dict[str, float | None]) -> None:
        query = select(GRADE.c.cell_id, GRADE.c.manual_score).where(GRADE.c.notebook_id == notebook)
        given: dict[str, float | None] = dict(connection.execute(query).all())
        rows = [
            {
                "of": cell,
                "auto_score": score,
                "needs_manual_grade": score is None or given.get(cell) is not None,
            }
            for cell, score in scores.items()
        ]
        new = [row for row in rows if row["of"] not in given]
        old = [row for row in rows if row["of"] in given]
        if new:
            made = [
                {"cell_id": r["of"], "notebook_id": notebook, **{k: v for k, v in r.items() if k != "of"}}
                for r in new
            ]
            connection.execute(insert(GRADE), made)
        if old:
            where = (GRADE.c.notebook_id == notebook) & (GRADE.c.cell_id == bindparam("of"))
            connection.execute(
                update(GRADE)
                .where(where)
                .values(
                    auto_score=bindparam("auto_score"), needs_manual_grade=bindparam("needs_manual_grade")
                ),
                old,
            )

    @staticmethod
    def _comments(connection: Connection, notebook: str, said: dict[str, str | None]) -> None:
        query = select(COMMENT.c.cell_id, COMMENT.c.auto_comment).where(COMMENT.c.notebook_id == notebook)
        known: dict[str, Any] = dict(connection.execute(query).all())
        new = [
            {"cell_id": c, "notebook_id": notebook, "auto_comment": t}
            for c, t in said.items()
            if c not in known
        ]
        if new:
            connection.execute(insert(COMMENT), new)
        for cell, text in said.items():
            if cell in known and known[cell] != text:
                where = (COMMENT.c.notebook_id == notebook) & (COMMENT.c.cell_id == cell)
                connection.execute(update(COMMENT).where(where).values(auto_comment=text))

    # ── what is there ────────────────────────────────────────────────────────────────────────

    def digests(self) -> dict[tuple[str, str], str]:
        """(student, assignment) -> the digest of what was graded."""
        query = select(GRADED.c.student, GRADED.c.assignment, GRADED.c.digest)
        with self.engine.connect() as connection:
            return {(s, a): d for s, a, d in connection.execute(query)}

    def entry(self, student: str, assignment: str) -> Entry:
        """A submission's entry as it is now, with what a person gave."""
        return self._entries(assignment, student)[0]

    def entries(self, assignment: str) -> list[Entry]:
        """Every entry of an assignment as it is now, by student."""
        return self._entries(assignment)

    def _entries(self, assignment: str, student: str | None = None) -> list[Entry]:
        wanted = GRADED.c.assignment == assignment if student is None else is_of(student, assignment)
        query = select(GRADED.c.record).where(wanted).order_by(GRADED.c.student)
        with self.engine.connect() as connection:
            found = [Entry.from_plain(json.loads(text)) for text in connection.execute(query).scalars()]
        hands = by_hand(self.engine, assignment, student) if found else {}
        late = self.lateness(assignment)
        return [_with_penalty(entry.given(hands.get(entry.student, {})), late) for entry in found]

    def printed(self, student: str, assignment: str) -> Printed:
        with self.engine.connect() as connection:
            query = select(GRADED.c.outputs).where(is_of(student, assignment))
            return printed_from_plain(json.loads(connection.execute(query).scalar_one()))

    def assignments(self) -> list[str]:
        with self.engine.connect() as connection:
            query = select(GRADED.c.assignment).distinct().order_by(GRADED.c.assignment)
            return list(connection.execute(query).scalars())


def _with_penalty(entry: Entry, late: Lateness) -> Entry:
    if not late.policy.percent:  # version 0.1 kept the penalty with the entry, and no policy
        return entry
    score = sum(q.score for q in entry.questions)
    return replace(entry, late_penalty=late.penalty(entry.student, score, entry.when))


def _reason(error: Exception) -> str:
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]


def _shown(url: str) -> str:
    """A database URL without its password."""
    head, at, rest = url.rpartition("@")
    return f"{head.rpartition(':')[0]}:…@{rest}" if at and head.count(":") > 1 else url
