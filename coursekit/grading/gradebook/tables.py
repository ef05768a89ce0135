"""The tables of the gradebook: nbgrader's own, and ours beside them; what people gave, read out of nbgrader's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from nbgrader import api
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    select,
)

from ..facts import ByHand, Key

TABLES = MetaData()
GRADED = Table(
    "coursekit_graded", TABLES,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("record", Text, nullable=False),
    Column("outputs", Text, nullable=False),  # what the cells printed: large, and only feedback needs it
)  # fmt: skip
STUDENT, SUBMITTED = api.Student.__table__, api.SubmittedAssignment.__table__
NOTEBOOK, SUBMITTED_NOTEBOOK = api.Notebook.__table__, api.SubmittedNotebook.__table__
CELL, GRADE, COMMENT = api.BaseCell.__table__, api.Grade.__table__, api.Comment.__table__
ASSIGNMENT = api.Assignment.__table__
# What became of each grade: never changed, only added to. `record` and `outputs` are what stood there before.
HISTORY = Table(
    "coursekit_history", TABLES,
    Column("number", Integer, primary_key=True),
    Column("run", String(40), nullable=False),  # when the command began that did it
    Column("student", String(128), nullable=False),
    Column("assignment", String(128), nullable=False),
    Column("before", Float),
    Column("after", Float),
    Column("why", Text, nullable=False),
    Column("digest", String(64)),
    Column("record", Text),
    Column("outputs", Text),
)  # fmt: skip


def is_of(student: str, assignment: str) -> ColumnElement[bool]:
    return (GRADED.c.student == student) & (GRADED.c.assignment == assignment)


def by_hand(
    engine: Engine, assignment: str, student: str | None = None
) -> Mapping[str, Mapping[Key, ByHand]]:
    """student -> (notebook, cell) -> what a person gave there; of one student, or of all."""
    columns = (SUBMITTED.c.student_id, NOTEBOOK.c.name, CELL.c.name)
    joined = SUBMITTED_NOTEBOOK.join(SUBMITTED, SUBMITTED_NOTEBOOK.c.assignment_id == SUBMITTED.c.id)
    joined = joined.join(NOTEBOOK, SUBMITTED_NOTEBOOK.c.notebook_id == NOTEBOOK.c.id)
    joined = joined.join(ASSIGNMENT, NOTEBOOK.c.assignment_id == ASSIGNMENT.c.id)
    named = ASSIGNMENT.c.name == assignment
    if student is not None:
        named &= SUBMITTED.c.student_id == student
    found: dict[str, dict[Key, list[Any]]] = defaultdict(lambda: defaultdict(lambda: [None, 0.0, ""]))

    def rows(table: Table, *wanted: Column[Any], where: ColumnElement[bool]) -> Any:
        full = joined.join(table, table.c.notebook_id == SUBMITTED_NOTEBOOK.c.id)
        full = full.join(CELL, table.c.cell_id == CELL.c.id)
        return connection.execute(select(*columns, *wanted).select_from(full).where(named & where))

    with engine.connect() as connection:
        given = GRADE.c.manual_score.is_not(None) | GRADE.c.extra_credit.is_not(None)
        for who, notebook, cell, points, extra in rows(
            GRADE, GRADE.c.manual_score, GRADE.c.extra_credit, where=given
        ):
            found[who][notebook, cell][:2] = [points, extra or 0.0]
        written = COMMENT.c.manual_comment.is_not(None)
        for who, notebook, cell, text in rows(COMMENT, COMMENT.c.manual_comment, where=written):
            found[who][notebook, cell][2] = text
    return {s: {where: ByHand(*values) for where, values in cells.items()} for s, cells in found.items()}


def remove(connection: Connection, cells: list[str]) -> None:
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
