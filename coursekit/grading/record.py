"""Write grades into nbgrader's own gradebook: one writer, one transaction a submission.

Beside nbgrader's tables stands one of ours, `coursekit_run`: which submission (by the digest of its
files and of the assignment) was graded, and the whole record. It is written in the same transaction as
the grades, so a run that is killed at any moment goes on where it was: nothing lost, nothing twice.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import Column, MetaData, String, Table, Text, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from ..runtime import find_own_scripts
from .assignment import Assignment, Master
from .errors import GradingError

_TABLES = MetaData()
RUN = Table(
    "coursekit_run", _TABLES,
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("record", Text, nullable=False),
)  # fmt: skip


@dataclass(frozen=True)
class Score:
    """What goes into one grade cell; `points` is None where a person must grade it."""

    notebook: str
    cell: str
    points: float | None


class Record:
    """The open gradebook. Only the parent process has one."""

    def __init__(self, url: str):
        find_own_scripts()
        try:
            self.gradebook = Gradebook(url)
            _TABLES.create_all(self.gradebook.engine)
        except (SQLAlchemyError, ImportError, ValueError) as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise GradingError(f"the gradebook {url} cannot be opened: {reason}") from error

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *exc) -> None:
        self.gradebook.close()

    @contextmanager
    def _transaction(self) -> Iterator[Gradebook]:
        """nbgrader's API commits at every step; here its steps only flush, and the end commits once."""
        session = self.gradebook.db()
        session.commit_all, session.commit = session.commit, session.flush
        try:
            yield self.gradebook
            session.commit_all()
        except BaseException:
            session.rollback()
            raise
        finally:
            session.commit = session.commit_all

    def enter(self, assignment: Assignment) -> None:
        """Make the assignment known to the gradebook, as `nbgrader generate_assignment` does."""
        with self._transaction() as gradebook:
            gradebook.update_or_create_assignment(assignment.name)
            for master in assignment.masters:
                gradebook.update_or_create_notebook(
                    master.name,
                    assignment.name,
                    kernelspec=json.dumps(master.notebook.metadata.get("kernelspec", {})),
                )
                self._enter_cells(gradebook, assignment.name, master)

    @staticmethod
    def _enter_cells(gradebook: Gradebook, assignment: str, master: Master) -> None:
        for cell in master.cells:
            where = (cell.grade_id, master.name, assignment)
            if cell.role in ("test", "manual"):
                gradebook.update_or_create_grade_cell(*where, max_score=cell.points, cell_type=cell.kind)
            if cell.role in ("solution", "manual"):
                gradebook.update_or_create_solution_cell(*where)
            if cell.grade_id:
                gradebook.update_or_create_source_cell(
                    *where, cell_type=cell.kind, source=cell.source, locked=cell.role in ("test", "given")
                )

    def done(self, student: str, assignment: str, digest: str) -> dict | None:
        """The record of this very submission, if it was graded before."""
        row = self._row(student, assignment)
        return json.loads(row.record) if row is not None and row.digest == digest else None

    def _row(self, student: str, assignment: str):
        where = (RUN.c.student == student) & (RUN.c.assignment == assignment)
        with self.gradebook.engine.connect() as connection:
            return connection.execute(select(RUN).where(where)).first()

    def records(self, assignment: str) -> list[dict]:
        """Every record of an assignment, by student."""
        query = select(RUN.c.record).where(RUN.c.assignment == assignment).order_by(RUN.c.student)
        with self.gradebook.engine.connect() as connection:
            return [json.loads(row.record) for row in connection.execute(query)]

    def assignments(self) -> list[str]:
        with self.gradebook.engine.connect() as connection:
            return list(
                connection.execute(select(RUN.c.assignment).distinct().order_by(RUN.c.assignment)).scalars()
            )

    def write(
        self, student: str, assignment: str, digest: str, scores: list[Score], record: dict,
        when: datetime.datetime | None = None, blank: frozenset[str] = frozenset(), penalty: float = 0.0,
    ) -> None:  # fmt: skip
        """Enter a submission's grades, all or none. What a person has given (points, comments) stays."""
        with self._transaction() as gradebook:
            gradebook.update_or_create_student(student)
            more = {"timestamp": when.isoformat()} if when else {}
            submission = gradebook.update_or_create_submission(assignment, student, **more)
            wanted = {(s.notebook, s.cell): s.points for s in scores}
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    grade.auto_score = wanted.get((notebook.name, grade.name), 0.0)
                    by_hand = grade.manual_score is not None or grade.auto_score is None
                    grade.needs_manual_grade = by_hand
                for comment in notebook.comments:
                    comment.auto_comment = "No response." if comment.name in blank else None
                gradebook.db.flush()
                notebook.late_submission_penalty = penalty / max(1, len(submission.notebooks)) or None
            session = gradebook.db
            session.execute(delete(RUN).where(RUN.c.student == student, RUN.c.assignment == assignment))
            session.execute(
                insert(RUN).values(
                    student=student, assignment=assignment, digest=digest, record=json.dumps(record)
                )
            )

    def totals(self, assignment: str) -> dict[str, float]:
        """Each student's score as the gradebook has it, points given by hand included."""
        try:
            submissions = self.gradebook.assignment_submissions(assignment)
        except MissingEntry:
            return {}
        return {s.student.id: max(0.0, s.score - (s.late_submission_penalty or 0)) for s in submissions}

    def due(self, assignment: str) -> datetime.datetime | None:
        try:
            return self.gradebook.find_assignment(assignment).duedate
        except MissingEntry:
            return None
