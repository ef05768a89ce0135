"""Write grades into nbgrader's own gradebook: one writer, one transaction a submission.

Which submission was graded (by a digest of its files and of the assignment) is written in the same transaction, into a
table of ours: a run that is killed at any moment goes on where it was, nothing lost, nothing twice. Another has the
history of each grade: what changed, when, why, and what stood there before.
"""

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, Self

from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from ...runtime import find_own_scripts
from ..errors import GradingError
from ..facts import Assignment, Entry, Printed, points, printed_from_plain
from .tables import ASSIGNMENT, FACTS, GRADED, HISTORY, TABLES, Place, by_hand, is_of, rows, tell_penalties
from .term import Lateness, Term, in_utc, later, time_of

REPAIR = "see that it is there, whole, writable and not held by another program, or name one with --gradebook"


@dataclass(frozen=True)
class Change:
    """One line of a grade's history."""

    run: str  # when the command began that did it
    student: str
    assignment: str
    before: float | None
    after: float | None
    why: str

    @property
    def moved(self) -> str:
        return " → ".join(points(value) for value in (self.before, self.after) if value is not None)

    def __str__(self) -> str:
        return f"{self.student}, {self.assignment}: {self.moved} ({self.why})"


class Record:
    """The open gradebook. Only the parent process has one. `began` is when this command began: all that it changes is
    one run, and is taken back as one."""

    def __init__(self, url: str, must_exist: bool = False):
        find_own_scripts()
        self.url = url
        self.began = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        self.places: dict[str, Place] = {}
        file = Path(url.removeprefix("sqlite:///"))
        new = url.startswith("sqlite:///") and not file.exists()
        if new and must_exist:
            name = "name the course with --course or the gradebook with --gradebook"
            raise GradingError(f"there is no gradebook {file}: grade something first, or {name}")
        try:
            self.gradebook = Gradebook(url)
            self.engine = self.gradebook.engine
            TABLES.create_all(self.engine)
            self.term = Term(self.engine)
        except (SQLAlchemyError, ImportError, ValueError, OSError, SubprocessError) as error:
            if new:
                file.unlink(missing_ok=True)  # a gradebook that is half made would be taken for a whole one
            words = f"the gradebook {_shown(url)} cannot be opened: {_reason(error)}; {REPAIR}"
            raise GradingError(words) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.gradebook.close()
        if isinstance(error, (SQLAlchemyError, InvalidEntry, json.JSONDecodeError)):
            words = f"the gradebook {_shown(self.url)} failed: {_reason(error)}; nothing is half-written; {REPAIR}"
            raise GradingError(words) from error

    def enter(self, assignment: Assignment) -> None:
        """Make the assignment known to the gradebook, as `nbgrader generate_assignment` does."""
        with self._one_transaction() as gradebook:
            key = gradebook.update_or_create_assignment(assignment.name).id
            for master in assignment.masters:
                kernel = json.dumps(master.notebook.metadata.get("kernelspec", {}))
                gradebook.update_or_create_notebook(master.name, assignment.name, kernelspec=kernel)
                for cell in master.cells:
                    where = (cell.grade_id, master.name, assignment.name)
                    graded = {"max_score": cell.points, "cell_type": cell.kind}
                    if cell.role in ("test", "manual"):
                        gradebook.update_or_create_grade_cell(*where, **graded)
                    if cell.answer:
                        gradebook.update_or_create_solution_cell(*where)
                    if cell.role == "task":
                        gradebook.update_or_create_task_cell(*where, **graded)
                    if cell.grade_id:
                        own = {"source": cell.source, "locked": not cell.answer and cell.role != "text"}
                        gradebook.update_or_create_source_cell(*where, cell_type=cell.kind, **own)
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

    def decide(self, assignment: str, due: str = "", late: str = "", keep: str = "") -> str:
        """Set the due time, the late policy, which submission counts; a sentence that says how it stands."""
        Lateness.read(late)
        if keep not in ("", "latest", "best"):
            words = "of several submissions the `latest` counts, or the `best`"
            raise GradingError(f"--keep {keep!r} is unknown: {words}")
        if due:
            when = time_of(due)
            with self._one_transaction() as gradebook:
                gradebook.update_or_create_assignment(assignment, duedate=when)
        for kind, value in (("late", late), ("keep", keep)):
            if value:
                self.term.say(kind, assignment, "", value)
        self.refresh(assignment)
        stands = self.term.lateness(assignment).due
        shown = f"is due {in_utc(stands)}" if stands else "has no due time"
        policy = self.term.rule("late", assignment) or "nothing"
        best = "; of several submissions the best counts" if self.keeps_best(assignment) else ""
        return f"{assignment} {shown}; late work loses {policy}{best}"

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

    def extend(self, assignment: str, student: str, until: str, why: str = "") -> str:
        """Give one student a due time of their own; a sentence that says which."""
        listed = {person.student for person in self.term.people()}
        known = student in listed | {entry.student for entry in self.entries(assignment)}
        if listed and not known:
            words = f"{student!r} is neither in the class list nor graded for {assignment}"
            raise GradingError(f"{words}: is it the id?")
        when = later(until, self.term.lateness(assignment).due)
        self.term.say("extension", assignment, student, when.isoformat(), why)
        self.refresh(assignment)
        self.note(assignment, student, f"more time, until {in_utc(when)}{f': {why}' if why else ''}")
        unseen = "" if known else "; nothing of theirs was graded yet: is it the id?"
        return f"{student} has until {in_utc(when)} for {assignment}{unseen}"

    def give(self, assignment: str, student: str, cell: str, score: float | None, comment: str) -> Entry:
        """Points or a comment by hand, where nbgrader keeps them: no later run changes them."""
        graded = {entry.student: entry for entry in self.graded(assignment)}
        if student not in graded:
            near = ", ".join(get_close_matches(student, graded, 5, 0)) + (" …" if len(graded) > 5 else "")
            raise GradingError(f"{student!r} has no grade for {assignment}; the gradebook has {near}")
        before = graded[student]
        found = [q for q in before.questions if q.id == cell]
        if len(found) != 1:
            known = ", ".join(q.id for q in before.questions)
            raise GradingError(f"{assignment} has {len(found)} questions named {cell!r}; it has {known}")
        name, most = found[0].notebook, found[0].max
        if score is not None and most and not 0 <= score <= most:
            words = f"{cell} is worth {points(most)}, so {score:g} cannot be given: give 0 to {points(most)}"
            raise GradingError(f"{words}, and extra credit in nbgrader's formgrader")
        with self._one_transaction() as gradebook:
            try:
                if score is not None:
                    grade = gradebook.find_grade(cell, name, assignment, student)
                    grade.manual_score, grade.needs_manual_grade = score, False
                if comment:
                    # nbgrader keeps the comment on a test at the answer above it.
                    book = gradebook.find_notebook(name, assignment)
                    order = [c.name for c in book.source_cells]
                    answers = {c.name for c in book.solution_cells}
                    above = order[order.index(cell) :: -1] if cell in order else []
                    answer = next((one for one in above if one in answers), cell)
                    gradebook.find_comment(answer, name, assignment, student).manual_comment = comment
            except MissingEntry as error:
                raise GradingError(f"the gradebook has no place for it: {error}") from error
        self.refresh(assignment)
        after = self.entry(student, assignment)
        why = f"{cell} by hand{f': {comment}' if comment else ''}"
        self.note(assignment, student, why, before.score, after.score)
        return after

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
            self._remember(connection, entry, digest, why)
            connection.execute(delete(GRADED).where(is_of(entry.student, entry.assignment)))
            connection.execute(insert(GRADED).values(row))
            connection.execute(delete(FACTS).filter_by(kind="refused", student=entry.student))
        if self.term.rule("late", entry.assignment):
            self.refresh(entry.assignment, entry.student)

    # ── the history of each grade ──

    def _remember(self, connection: Connection, entry: Entry, digest: str, why: str) -> None:
        """Add what this entry changes, and why; keep what stood there before."""
        row: dict[str, Any] = {"student": entry.student, "assignment": entry.assignment, "run": self.began}
        query = select(GRADED).where(is_of(entry.student, entry.assignment))
        if old := connection.execute(query).mappings().first():
            before = Entry.from_plain(json.loads(old["record"]))
            if not (moved := before.moved(entry)):
                return
            row |= {name: old[name] for name in ("digest", "record", "outputs")} | {"before": before.score}
            if not why and before.tests != entry.tests:
                why = "the tests changed"
            why = why or ("graded again" if digest == old["digest"] else "handed in again")
            why = f"{why}: {', '.join(moved)}"
        connection.execute(insert(HISTORY).values(**row, after=entry.score, why=why or "graded"))

    def note(
        self, assignment: str, student: str, why: str, before: float | None = None, after: float | None = None
    ) -> None:
        """What a person did, which no run takes back."""
        row = asdict(Change(self.began, student, assignment, before, after, why))
        with self.engine.begin() as connection:
            connection.execute(insert(HISTORY).values(row))

    def changes(self, run: str | None = None) -> list[Change]:
        """The earliest first; of one run, or all."""
        query = select(*(HISTORY.c[one.name] for one in fields(Change))).order_by(HISTORY.c.number)
        return [Change(*row) for row in rows(self.engine, query if run is None else query.filter_by(run=run))]

    def undo(self, assignment: str) -> list[Change]:
        """Put back what the last run that changed grades of this assignment found there."""
        kept = (HISTORY.c.assignment == assignment) & HISTORY.c.record.is_not(None)
        found = rows(self.engine, select(HISTORY).where(kept).order_by(HISTORY.c.number.desc()))
        changes = []
        for row in (one for one in found if one.run == found[0].run):
            printed = printed_from_plain(json.loads(row.outputs))
            self.write(Entry.from_plain(json.loads(row.record)), row.digest, printed, "undone")
            # The next undo goes further back, and does not undo this one.
            own = (HISTORY.c.run == self.began) & (HISTORY.c.student == row.student)
            done = (HISTORY.c.number == row.number) | (own & (HISTORY.c.assignment == assignment))
            with self.engine.begin() as connection:
                connection.execute(update(HISTORY).where(done).values(record=None, outputs=None))
            whose, why = (row.run, row.student, assignment), f"undone: {row.why}"
            changes.append(Change(*whose, row.after, row.before, why))
        return changes

    # ── what is read ──

    def digests(self) -> dict[tuple[str, str], str]:
        """(student, assignment) -> the digest of what was graded."""
        query = select(GRADED.c.student, GRADED.c.assignment, GRADED.c.digest)
        return {(student, name): digest for student, name, digest in rows(self.engine, query)}

    def entry(self, student: str, assignment: str) -> Entry:
        return self.entries(assignment, student)[0]

    def entries(self, assignment: str, student: str | None = None) -> list[Entry]:
        """Every entry of an assignment (or one student's) as it is now, with what a person gave, by student."""
        wanted = GRADED.c.assignment == assignment if student is None else is_of(student, assignment)
        query = select(GRADED.c.record).where(wanted).order_by(GRADED.c.student)
        found = [Entry.from_plain(json.loads(text)) for (text,) in rows(self.engine, query)]
        hands = by_hand(self.engine, assignment, student) if found else {}
        return self.penalised([entry.given(hands.get(entry.student, {})) for entry in found])

    def graded(self, assignment: str) -> list[Entry]:
        """Its entries; that there are none is a mistake in the command."""
        if found := self.entries(assignment):
            return found
        known = ", ".join(self.assignments()) or "none"
        raise GradingError(f"nothing was graded for {assignment!r} in this gradebook (graded: {known})")

    def penalised(self, given: list[Entry]) -> list[Entry]:
        """Entries of one assignment with the penalties as they are now."""
        late = self.term.lateness(given[0].assignment) if given else Lateness()
        if not late.percent:  # version 0.1 kept the penalty with the entry, and no policy
            return given
        return [replace(e, late_penalty=late.penalty(e.student, e.earned, e.when)) for e in given]

    def printed(self, student: str, assignment: str) -> Printed:
        ((text,),) = rows(self.engine, select(GRADED.c.outputs).where(is_of(student, assignment)))
        return printed_from_plain(json.loads(text))

    def assignments(self, ungraded: bool = False) -> list[str]:
        """Those of which something was graded, or also those that are only known."""
        queries = [select(GRADED.c.assignment).distinct(), *[select(ASSIGNMENT.c.name)] * ungraded]
        return sorted({name for query in queries for (name,) in rows(self.engine, query)})


def _reason(error: Exception) -> str:
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]


def _shown(url: str) -> str:
    """A database URL without its password."""
    head, at, rest = url.rpartition("@")
    return f"{head.rpartition(':')[0]}:…@{rest}" if at and head.count(":") > 1 else url
