"""Write grades into nbgrader's own gradebook: one writer, one transaction a submission.

Which submission was graded (by a digest of its files and of the assignment) is written in the same transaction, into a
table of ours: a run that is killed at any moment goes on where it was, nothing lost, nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from subprocess import SubprocessError

from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from ...runtime import find_own_scripts
from ..errors import GradingError
from ..facts import Assignment, Entry, Master, Printed, printed_from_plain
from .history import Change, History
from .tables import ASSIGNMENT, FACTS, GRADED, TABLES, Place, by_hand, is_of, tell_penalties, utc
from .term import Lateness, Term, in_utc, time_of

REPAIR = (
    "see that it is there, whole, writable and not held by another program, or name another with --gradebook"
)


class Record:
    """The open gradebook. Only the parent process has one."""

    def __init__(self, url: str, must_exist: bool = False):
        find_own_scripts()
        self.url = url
        self.places: dict[str, Place] = {}
        file = Path(url.removeprefix("sqlite:///"))
        new = url.startswith("sqlite:///") and not file.exists()
        if new and must_exist:
            raise GradingError(
                f"there is no gradebook {file}: grade something first, or name the course with --course or the "
                "gradebook with --gradebook"
            )
        try:
            self.gradebook = Gradebook(url)
            self.engine = self.gradebook.engine
            TABLES.create_all(self.engine)
            self.term, self.history = Term(self.engine), History(self.engine)
        except (SQLAlchemyError, ImportError, ValueError, OSError, SubprocessError) as error:
            if new:
                file.unlink(missing_ok=True)  # a gradebook that is half made would be taken for a whole one
            words = f"the gradebook {_shown(url)} cannot be opened: {_reason(error)}; {REPAIR}"
            raise GradingError(words) from error

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.gradebook.close()
        if isinstance(error, (SQLAlchemyError, InvalidEntry, json.JSONDecodeError)):
            words = f"the gradebook {_shown(self.url)} failed: {_reason(error)}; nothing is half-written; {REPAIR}"
            raise GradingError(words) from error

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
            self.places[assignment.name] = Place(connection, key, assignment)

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

    def decide(self, assignment: str, due: str = "", late: str = "", keep: str = "") -> str:
        """Set the due time, the late policy, which submission counts; a sentence that says how it stands."""
        Lateness.read(late)
        if keep not in ("", "latest", "best"):
            words = "of several submissions the `latest` counts, or the `best`"
            raise GradingError(f"--keep {keep!r} is unknown: {words}")
        if due:
            when = utc(time_of(due))
            with self._one_transaction() as gradebook:
                gradebook.update_or_create_assignment(assignment, duedate=when)
        for kind, value in (("late", late), ("keep", keep)):
            if value:
                self.term.say(kind, assignment, "", value)
        self.refresh(assignment)
        stands = self.term.lateness(assignment).due
        shown, policy = in_utc(stands) if stands else "at no set time", self.term.rule("late", assignment)
        best = "; of several submissions the best counts" if self.keeps_best(assignment) else ""
        return f"{assignment} is due {shown}; late work loses {policy or 'nothing'}{best}"

    def keeps_best(self, assignment: str) -> bool:
        return self.term.rule("keep", assignment) == "best"

    def better_stands(self, entry: Entry, digest: str) -> bool:
        """Is the grade that the same tests gave to another submission of this student's the one that counts?"""
        if not self.keeps_best(entry.assignment):
            return False
        if self.digests().get((entry.student, entry.assignment)) in (None, digest):
            return False
        stands = self.entry(entry.student, entry.assignment)
        hands = by_hand(self.engine, entry.assignment, entry.student).get(entry.student, {})
        (now,) = self.penalised([entry.given(hands)])
        return stands.tests == entry.tests and stands.score > now.score

    def give(self, assignment: str, student: str, cell: str, score: float | None, comment: str) -> None:
        """Points or a comment by hand, where nbgrader keeps them: no later run changes them."""
        before = self.entry(student, assignment)
        found = [q for q in before.questions if q.id == cell]
        if len(found) != 1:
            known = ", ".join(q.id for q in before.questions)
            raise GradingError(f"{assignment} has {len(found)} questions named {cell!r}; it has {known}")
        name = found[0].notebook
        with self._one_transaction() as gradebook:
            try:
                if score is not None:
                    grade = gradebook.find_grade(cell, name, assignment, student)
                    grade.manual_score, grade.needs_manual_grade = score, False
                if comment:
                    # nbgrader keeps the comment on a test at the answer above it.
                    known = gradebook.find_notebook(name, assignment)
                    answers, order = (
                        {c.name for c in known.solution_cells},
                        [c.name for c in known.source_cells],
                    )
                    above = order[order.index(cell) :: -1] if cell in order else []
                    answer = next((one for one in above if one in answers), cell)
                    gradebook.find_comment(answer, name, assignment, student).manual_comment = comment
            except MissingEntry as error:
                raise GradingError(f"the gradebook has no place for it: {error}") from error
        self.refresh(assignment)
        after = self.entry(student, assignment).score
        why = f"{cell} by hand{f': {comment}' if comment else ''}"
        self.history.note(assignment, student, why, before.score, after)

    def refresh(self, assignment: str, student: str | None = None) -> None:
        """Tell nbgrader's own tables the penalties as they are now."""
        tell_penalties(self.engine, self.entries(assignment, student))

    def write(self, entry: Entry, digest: str, printed: Printed | None = None, why: str = "") -> None:
        """Enter a submission's grades, all or none. What a person has given (points, comments) stays."""
        shown = {name: [asdict(cell) for cell in cells] for name, cells in (printed or {}).items()}
        row = {"student": entry.student, "assignment": entry.assignment, "digest": digest}
        row |= {"record": json.dumps(entry.plain()), "outputs": json.dumps(shown)}
        with self.engine.begin() as connection:
            self.places[entry.assignment].put(connection, entry)
            self.history.remember(connection, entry, digest, why)
            connection.execute(delete(GRADED).where(is_of(entry.student, entry.assignment)))
            connection.execute(insert(GRADED).values(row))
            connection.execute(delete(FACTS).filter_by(kind="refused", student=entry.student))
        if self.term.rule("late", entry.assignment):
            self.refresh(entry.assignment, entry.student)

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

    def digests(self) -> dict[tuple[str, str], str]:
        """(student, assignment) -> the digest of what was graded."""
        query = select(GRADED.c.student, GRADED.c.assignment, GRADED.c.digest)
        with self.engine.connect() as connection:
            return {(s, a): d for s, a, d in connection.execute(query)}

    def entry(self, student: str, assignment: str) -> Entry:
        return self.entries(assignment, student)[0]

    def entries(self, assignment: str, student: str | None = None) -> list[Entry]:
        """Every entry of an assignment (or one student's) as it is now, with what a person gave, by student."""
        wanted = GRADED.c.assignment == assignment if student is None else is_of(student, assignment)
        query = select(GRADED.c.record).where(wanted).order_by(GRADED.c.student)
        with self.engine.connect() as connection:
            found = [Entry.from_plain(json.loads(text)) for text in connection.execute(query).scalars()]
        hands = by_hand(self.engine, assignment, student) if found else {}
        return self.penalised([entry.given(hands.get(entry.student, {})) for entry in found])

    def penalised(self, given: list[Entry]) -> list[Entry]:
        """Entries of one assignment with the penalties as they are now."""
        late = self.term.lateness(given[0].assignment) if given else Lateness()
        if not late.percent:  # version 0.1 kept the penalty with the entry, and no policy
            return given
        return [replace(e, late_penalty=late.penalty(e.student, e.earned, e.when)) for e in given]

    def printed(self, student: str, assignment: str) -> Printed:
        with self.engine.connect() as connection:
            query = select(GRADED.c.outputs).where(is_of(student, assignment))
            return printed_from_plain(json.loads(connection.execute(query).scalar_one()))

    def assignments(self, ungraded: bool = False) -> list[str]:
        """Those of which something was graded, or also those that are only known."""
        with self.engine.connect() as connection:
            found = {*connection.execute(select(GRADED.c.assignment).distinct()).scalars()}
            if ungraded:
                found.update(connection.execute(select(ASSIGNMENT.c.name)).scalars())
        return sorted(found)


def _reason(error: Exception) -> str:
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]


def _shown(url: str) -> str:
    """A database URL without its password."""
    head, at, rest = url.rpartition("@")
    return f"{head.rpartition(':')[0]}:…@{rest}" if at and head.count(":") > 1 else url
