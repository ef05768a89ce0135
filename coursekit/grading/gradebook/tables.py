"""The tables of the gradebook: nbgrader's own, and ours beside them; what is read out of nbgrader's and put into them.

nbgrader's API would load every score of the class for each submission, so grades go into its tables directly.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sql
from nbgrader import api
from nbgrader.utils import parse_utc
from sqlalchemy import Column, Connection, Engine, String, Text, select

from ..facts import Assignment, ByHand, Entry, Key

STUDENT, ASSIGNMENT = api.Student.__table__, api.Assignment.__table__
SUBMITTED = api.SubmittedAssignment.__table__
NOTEBOOK, SUBMITTED_NOTEBOOK = api.Notebook.__table__, api.SubmittedNotebook.__table__
CELL, GRADE, COMMENT = api.BaseCell.__table__, api.Grade.__table__, api.Comment.__table__
GIVEN = {"points": GRADE.c.manual_score, "extra": GRADE.c.extra_credit, "comment": COMMENT.c.manual_comment}
TABLES = sql.MetaData()
GRADED = sql.Table(
    "coursekit_graded", TABLES,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("record", Text, nullable=False),
    Column("outputs", Text, nullable=False),  # what the cells printed: large, and only feedback needs it
)  # fmt: skip
# What became of each grade: never changed, only added to. `record` and `outputs` are what stood there before.
HISTORY = sql.Table(
    "coursekit_history", TABLES,
    Column("number", sql.Integer, primary_key=True),
    Column("run", String(40), nullable=False),  # when the command began that did it
    Column("student", String(128), nullable=False),
    Column("assignment", String(128), nullable=False),
    Column("before", sql.Float),
    Column("after", sql.Float),
    Column("why", Text, nullable=False),
    Column("digest", String(64)),
    Column("record", Text),
    Column("outputs", Text),
)  # fmt: skip
# What was decided in a term; a later fact of the same key takes the place of the earlier.
FACTS = sql.Table(
    "coursekit_facts", TABLES,
    Column("kind", String(16), primary_key=True),  # "late", "keep", "extension", "person", "together", "refused"
    Column("assignment", String(128), primary_key=True),  # "" where it is of the whole term
    Column("student", String(128), primary_key=True),  # "" where it is of everybody
    Column("value", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("at", String(40), nullable=False),
)  # fmt: skip


def rows(engine: Engine, query: sql.Select[Any]) -> Sequence[Any]:
    with engine.connect() as connection:
        return connection.execute(query).all()


def is_of(student: str, assignment: str) -> sql.ColumnElement[bool]:
    return (GRADED.c.student == student) & (GRADED.c.assignment == assignment)


def by_hand(
    engine: Engine, assignment: str, student: str | None = None
) -> Mapping[str, Mapping[Key, ByHand]]:
    """student -> (notebook, cell) -> what a person gave there; of one student, or of all."""
    joined = SUBMITTED_NOTEBOOK.join(SUBMITTED, SUBMITTED_NOTEBOOK.c.assignment_id == SUBMITTED.c.id)
    joined = joined.join(NOTEBOOK, SUBMITTED_NOTEBOOK.c.notebook_id == NOTEBOOK.c.id)
    joined = joined.join(ASSIGNMENT, NOTEBOOK.c.assignment_id == ASSIGNMENT.c.id)
    mine = ASSIGNMENT.c.name == assignment
    if student is not None:
        mine &= SUBMITTED.c.student_id == student
    found: dict[str, dict[Key, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for what, column in GIVEN.items():
        full = joined.join(column.table, column.table.c.notebook_id == SUBMITTED_NOTEBOOK.c.id)
        full = full.join(CELL, column.table.c.cell_id == CELL.c.id)
        query = select(SUBMITTED.c.student_id, NOTEBOOK.c.name, CELL.c.name, column).select_from(full)
        for who, notebook, cell, value in rows(engine, query.where(mine & column.is_not(None))):
            found[who][notebook, cell][what] = value
    return {who: {key: ByHand(**hand) for key, hand in cells.items()} for who, cells in found.items()}


class Place:
    """Where an assignment's grades go: the keys of its rows; `graded` and `answered` are notebook -> cell -> key.

    Cells that an earlier release had go, unless a person gave points or a comment for them.
    """

    def __init__(self, connection: Connection, key: str, assignment: Assignment):
        self.key = key
        self.notebooks: dict[str, str] = {}
        self.graded: dict[str, dict[str, str]] = defaultdict(dict)
        self.answered: dict[str, dict[str, str]] = defaultdict(dict)
        roles = {m.name: {c.grade_id: c.role for c in m.cells if c.grade_id} for m in assignment.masters}
        query = select(NOTEBOOK.c.name, NOTEBOOK.c.id, CELL.c.name, CELL.c.id, CELL.c.type)
        query = query.join(CELL, CELL.c.notebook_id == NOTEBOOK.c.id, isouter=True)
        gone: set[str] = set()
        mine = connection.execute(query.where(NOTEBOOK.c.assignment_id == key)).all()
        for notebook, number, cell, cell_key, kind in (row for row in mine if row[0] in roles):
            self.notebooks[notebook] = number
            role = roles[notebook].get(cell)
            if kind in ("GradeCell", "TaskCell") and role in ("test", "manual", "task"):
                self.graded[notebook][cell] = cell_key
            if kind in ("SolutionCell", "TaskCell") and role in ("solution", "manual", "task"):
                self.answered[notebook][cell] = cell_key
            if cell_key and role is None:
                gone.add(cell_key)
        for given in (GRADE.c.manual_score, COMMENT.c.manual_comment):
            of = given.table.c.cell_id
            gone -= set(connection.execute(select(of).where(of.in_(gone), given.is_not(None))).scalars())
        models = (api.GradeCell, api.SolutionCell, api.TaskCell, api.BaseCell)
        for place in (GRADE.c.cell_id, COMMENT.c.cell_id, *(model.__table__.c.id for model in models)):
            connection.execute(sql.delete(place.table).where(place.in_(gone)))

    def put(self, connection: Connection, entry: Entry) -> None:
        """A submission's points; what a person has given stays."""
        wanted = {q.key: None if q.waiting else q.score for q in entry.questions}
        for notebook, key in self._notebooks(connection, self._submission(connection, entry)).items():
            given = (GRADE.c.notebook_id == key) & GRADE.c.manual_score.is_not(None)
            by_person = set(connection.execute(select(GRADE.c.cell_id).where(given)).scalars())
            grades = {}
            for cell, k in self.graded[notebook].items():
                score = wanted.get((notebook, cell), 0.0)
                grades[k] = {"auto_score": score, "needs_manual_grade": score is None or k in by_person}
            answered = self.answered[notebook].items()
            blank = {k: {"auto_comment": "No response." if c in entry.blank else None} for c, k in answered}
            _put(connection, GRADE, key, grades)
            _put(connection, COMMENT, key, blank)

    def _submission(self, connection: Connection, entry: Entry) -> str:
        time = {"timestamp": parse_utc(entry.when)} if entry.when else {}
        where = (SUBMITTED.c.assignment_id == self.key) & (SUBMITTED.c.student_id == entry.student)
        found = connection.execute(select(SUBMITTED.c.id).where(where)).scalar()
        if found is None:
            if connection.execute(select(STUDENT.c.id).where(STUDENT.c.id == entry.student)).scalar() is None:
                connection.execute(sql.insert(STUDENT).values(id=entry.student))
            row = {"id": (found := api.new_uuid()), "assignment_id": self.key, "student_id": entry.student}
            connection.execute(sql.insert(SUBMITTED).values(row | time))
        elif time:
            connection.execute(sql.update(SUBMITTED).where(where).values(time))
        return str(found)

    def _notebooks(self, connection: Connection, submission: str) -> dict[str, str]:
        """The key of each submitted notebook."""
        query = select(SUBMITTED_NOTEBOOK.c.notebook_id, SUBMITTED_NOTEBOOK.c.id)
        found = connection.execute(query.where(SUBMITTED_NOTEBOOK.c.assignment_id == submission))
        keys: dict[str, str] = dict(found.all())
        for number in self.notebooks.values():
            if number not in keys:
                row = {"id": api.new_uuid(), "notebook_id": number, "assignment_id": submission}
                connection.execute(sql.insert(SUBMITTED_NOTEBOOK).values(row))
                keys[number] = row["id"]
        return {name: keys[number] for name, number in self.notebooks.items()}


def _put(connection: Connection, table: sql.Table, notebook: str, rows: Mapping[str, dict[str, Any]]) -> None:
    """What each cell's row of a submitted notebook holds from now on; a row that is not there yet is made."""
    mine = table.c.notebook_id == notebook
    known = set(connection.execute(select(table.c.cell_id).where(mine)).scalars())
    new = [{"cell_id": c, "notebook_id": notebook, **row} for c, row in rows.items() if c not in known]
    old = [{"of": cell, **row} for cell, row in rows.items() if cell in known]
    if new:
        connection.execute(sql.insert(table), new)
    if old:
        connection.execute(sql.update(table).where(mine & (table.c.cell_id == sql.bindparam("of"))), old)


def tell_penalties(engine: Engine, entries: Iterable[Entry]) -> None:
    """Give nbgrader's own tables the penalties as they are now: its formgrader shows its own sums."""
    with engine.begin() as connection:
        for entry in entries:
            submission = select(SUBMITTED.c.id).join(ASSIGNMENT, SUBMITTED.c.assignment_id == ASSIGNMENT.c.id)
            own = (SUBMITTED.c.student_id == entry.student) & (ASSIGNMENT.c.name == entry.assignment)
            mine = SUBMITTED_NOTEBOOK.c.assignment_id.in_(submission.where(own))
            count = len(connection.execute(select(SUBMITTED_NOTEBOOK.c.id).where(mine)).all())
            share = {"late_submission_penalty": entry.late_penalty / max(1, count) or None}
            connection.execute(sql.update(SUBMITTED_NOTEBOOK).where(mine).values(share))
