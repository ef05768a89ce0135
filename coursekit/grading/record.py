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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from nbgrader import api
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from ..runtime import find_own_scripts
from .assignment import Assignment, Master
from .errors import GradingError

_TABLES = MetaData()
GRADED = Table(
    "coursekit_graded", _TABLES,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("record", Text, nullable=False),
    Column("outputs", Text, nullable=False),  # what the cells printed: large, and only feedback needs it
)  # fmt: skip
STUDENT, SUBMITTED = api.Student.__table__, api.SubmittedAssignment.__table__
NOTEBOOK, SUBMITTED_NOTEBOOK = api.Notebook.__table__, api.SubmittedNotebook.__table__
CELL, GRADE, COMMENT = api.BaseCell.__table__, api.Grade.__table__, api.Comment.__table__


@dataclass(frozen=True)
class Score:
    """What goes into one grade cell; `points` is None where a person must grade it."""

    notebook: str
    cell: str
    points: float | None


@dataclass(frozen=True)
class ByHand:
    """What a person gave for one cell: points (None: none yet), extra credit, a comment."""

    points: float | None
    extra: float
    comment: str


@dataclass
class _Place:
    """Where an assignment's grades go: the keys of its rows."""

    key: str
    notebooks: dict[str, str] = field(default_factory=dict)  # notebook -> key
    graded: dict[str, dict[str, str]] = field(
        default_factory=lambda: defaultdict(dict)
    )  # notebook -> cell -> key
    answered: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))


class Record:
    """The open gradebook. Only the parent process has one."""

    def __init__(self, url: str):
        find_own_scripts()
        self.places: dict[str, _Place] = {}
        try:
            self.gradebook = Gradebook(url)
            self.engine = self.gradebook.engine
            _TABLES.create_all(self.engine)
        except (SQLAlchemyError, ImportError, ValueError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise GradingError(f"the gradebook {_shown(url)} cannot be opened: {reason}") from error

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *exc) -> None:
        self.gradebook.close()

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

    @contextmanager
    def _one_transaction(self) -> Iterator[Gradebook]:
        """nbgrader's API commits at every step; here its steps only flush, and the end commits once."""
        session = self.gradebook.db()
        commit = session.commit
        session.commit = session.flush  # type: ignore[method-assign]
        try:
            yield self.gradebook
            commit()
        except BaseException:
            session.rollback()
            raise
        finally:
            session.commit = commit  # type: ignore[method-assign]
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
        _remove(connection, stale)
        return place

    def due(self, assignment: str) -> datetime.datetime | None:
        try:
            found = self.gradebook.find_assignment(assignment).duedate
        except MissingEntry:
            found = None
        self.gradebook.db.remove()
        return found

    # ── one submission ───────────────────────────────────────────────────────────────────────

    def write(
        self, student: str, assignment: str, digest: str, scores: Iterable[Score], record: dict, outputs: object = None,
        when: datetime.datetime | None = None, blank: frozenset[str] = frozenset(), penalty: float = 0.0,
    ) -> None:  # fmt: skip
        """Enter a submission's grades, all or none. What a person has given (points, comments) stays."""
        place = self.places[assignment]
        row = {"student": student, "assignment": assignment, "digest": digest}
        row |= {"record": json.dumps(record), "outputs": json.dumps(outputs)}
        wanted = {(s.notebook, s.cell): s.points for s in scores}
        with self.engine.begin() as connection:
            submission = self._submission(connection, place, student, when)
            for notebook, key in self._notebooks(connection, place, submission, penalty).items():
                grades = {k: wanted.get((notebook, cell), 0.0) for cell, k in place.graded[notebook].items()}
                self._grades(connection, key, grades)
                said = {
                    k: "No response." if c in blank else None for c, k in place.answered[notebook].items()
                }
                self._comments(connection, key, said)
            connection.execute(delete(GRADED).where(_is(student, assignment)))
            connection.execute(insert(GRADED).values(row))

    @staticmethod
    def _submission(connection: Connection, place: _Place, student: str, when) -> str:
        # nbgrader keeps times in UTC, without a zone
        time = {"timestamp": when.astimezone(datetime.UTC).replace(tzinfo=None)} if when else {}
        where = (SUBMITTED.c.assignment_id == place.key) & (SUBMITTED.c.student_id == student)
        found = connection.execute(select(SUBMITTED.c.id).where(where)).scalar()
        if found is not None:
            if time:
                connection.execute(update(SUBMITTED).where(where).values(time))
            return found
        if connection.execute(select(STUDENT.c.id).where(STUDENT.c.id == student)).scalar() is None:
            connection.execute(insert(STUDENT).values(id=student))
        key = api.new_uuid()
        connection.execute(
            insert(SUBMITTED).values(id=key, assignment_id=place.key, student_id=student, **time)
        )
        return key

    @staticmethod
    def _notebooks(connection: Connection, place: _Place, submission: str, penalty: float) -> dict[str, str]:
        """The key of each submitted notebook; they share the penalty."""
        query = select(SUBMITTED_NOTEBOOK.c.notebook_id, SUBMITTED_NOTEBOOK.c.id)
        known: dict = dict(
            connection.execute(query.where(SUBMITTED_NOTEBOOK.c.assignment_id == submission)).all()
        )
        share = penalty / max(1, len(place.notebooks)) or None
        new = {n: api.new_uuid() for name, n in place.notebooks.items() if n not in known}
        if known:
            connection.execute(
                update(SUBMITTED_NOTEBOOK)
                .where(SUBMITTED_NOTEBOOK.c.assignment_id == submission)
                .values(late_submission_penalty=share)
            )
        if new:
            rows = [
                {"id": key, "notebook_id": n, "assignment_id": submission, "late_submission_penalty": share}
                for n, key in new.items()
            ]
            connection.execute(insert(SUBMITTED_NOTEBOOK), rows)
        keys = known | new
        return {name: keys[number] for name, number in place.notebooks.items()}

    @staticmethod
    def _grades(connection: Connection, notebook: str, scores: dict[str, float | None]) -> None:
        query = select(GRADE.c.cell_id, GRADE.c.manual_score).where(GRADE.c.notebook_id == notebook)
        given: dict = dict(connection.execute(query).all())
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
        known: dict = dict(connection.execute(query).all())
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

    def entry(self, student: str, assignment: str) -> dict:
        with self.engine.connect() as connection:
            return json.loads(
                connection.execute(select(GRADED.c.record).where(_is(student, assignment))).scalar_one()
            )

    def outputs(self, student: str, assignment: str) -> dict:
        with self.engine.connect() as connection:
            query = select(GRADED.c.outputs).where(_is(student, assignment))
            return json.loads(connection.execute(query).scalar_one()) or {}

    def records(self, assignment: str) -> list[dict]:
        """Every record of an assignment, by student."""
        query = select(GRADED.c.record).where(GRADED.c.assignment == assignment).order_by(GRADED.c.student)
        with self.engine.connect() as connection:
            return [json.loads(text) for text in connection.execute(query).scalars()]

    def assignments(self) -> list[str]:
        with self.engine.connect() as connection:
            query = select(GRADED.c.assignment).distinct().order_by(GRADED.c.assignment)
            return list(connection.execute(query).scalars())

    def by_hand(self, assignment: str) -> dict[str, dict[tuple[str, str], ByHand]]:
        """student -> (notebook, cell) -> what a person gave there."""
        columns = (SUBMITTED.c.student_id, NOTEBOOK.c.name, CELL.c.name)
        joined = SUBMITTED_NOTEBOOK.join(SUBMITTED, SUBMITTED_NOTEBOOK.c.assignment_id == SUBMITTED.c.id)
        joined = joined.join(NOTEBOOK, SUBMITTED_NOTEBOOK.c.notebook_id == NOTEBOOK.c.id)
        joined = joined.join(
            api.Assignment.__table__, NOTEBOOK.c.assignment_id == api.Assignment.__table__.c.id
        )
        named = api.Assignment.__table__.c.name == assignment
        found: dict = defaultdict(lambda: defaultdict(lambda: [None, 0.0, ""]))

        def rows(table: Table, *wanted, where):
            full = joined.join(table, table.c.notebook_id == SUBMITTED_NOTEBOOK.c.id)
            full = full.join(CELL, table.c.cell_id == CELL.c.id)
            return connection.execute(select(*columns, *wanted).select_from(full).where(named & where))

        with self.engine.connect() as connection:
            given = GRADE.c.manual_score.is_not(None) | GRADE.c.extra_credit.is_not(None)
            for student, notebook, cell, points, extra in rows(
                GRADE, GRADE.c.manual_score, GRADE.c.extra_credit, where=given
            ):
                found[student][notebook, cell][:2] = [points, extra or 0.0]
            written = COMMENT.c.manual_comment.is_not(None)
            for student, notebook, cell, text in rows(COMMENT, COMMENT.c.manual_comment, where=written):
                found[student][notebook, cell][2] = text
        return {s: {where: ByHand(*values) for where, values in cells.items()} for s, cells in found.items()}

    def totals(self, assignment: str) -> dict[str, float]:
        """Each student's score as the gradebook has it, points given by hand included."""
        try:
            submissions = self.gradebook.assignment_submissions(assignment)
        except MissingEntry:
            return {}
        found = {s.student_id: max(0.0, s.score - (s.late_submission_penalty or 0)) for s in submissions}
        self.gradebook.db.remove()
        return found


def _is(student: str, assignment: str):
    return (GRADED.c.student == student) & (GRADED.c.assignment == assignment)


def _shown(url: str) -> str:
    """A database URL without its password."""
    head, at, rest = url.rpartition("@")
    return f"{head.rpartition(':')[0]}:…@{rest}" if at and head.count(":") > 1 else url


def _remove(connection: Connection, cells: list[str]) -> None:
    """Forget cells that the assignment no longer has, where no person's work is lost with them."""
    if not cells:
        return
    kept = set(
        connection.execute(
            select(GRADE.c.cell_id).where(GRADE.c.cell_id.in_(cells), GRADE.c.manual_score.is_not(None))
        ).scalars()
    ) | set(
        connection.execute(
            select(COMMENT.c.cell_id).where(
                COMMENT.c.cell_id.in_(cells), COMMENT.c.manual_comment.is_not(None)
            )
        ).scalars()
    )
    gone = [cell for cell in cells if cell not in kept]
    for table in (GRADE, COMMENT):
        connection.execute(delete(table).where(table.c.cell_id.in_(gone)))
    for model in (api.GradeCell, api.SolutionCell, api.TaskCell):
        connection.execute(delete(model.__table__).where(model.__table__.c.id.in_(gone)))
    connection.execute(delete(CELL).where(CELL.c.id.in_(gone)))
