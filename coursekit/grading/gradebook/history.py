"""The history of each grade: what changed, when, why, and what stood there before."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, insert, select, update

from ..facts import Entry, points
from .tables import GRADED, HISTORY, is_of


@dataclass(frozen=True)
class Change:
    """One line of a grade's history."""

    run: str
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


class History:
    """`began` is when this command began: all that it changes is one run, and is taken back as one."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.began = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")

    def remember(self, connection: Connection, entry: Entry, digest: str, why: str = "") -> None:
        """Add what this entry changes, and why; keep what stood there before."""
        row: dict[str, Any] = {"student": entry.student, "assignment": entry.assignment, "run": self.began}
        query = select(GRADED).where(is_of(entry.student, entry.assignment))
        old = connection.execute(query).mappings().first()
        if old is not None:
            before = Entry.from_plain(json.loads(old["record"]))
            moved = before.moved(entry)
            if not moved:
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
        row = {"student": student, "assignment": assignment, "run": self.began}
        with self.engine.begin() as connection:
            connection.execute(insert(HISTORY).values(**row, before=before, after=after, why=why))

    def changes(self, run: str | None = None) -> list[Change]:
        """The earliest first; of one run, or all."""
        query = select(*(HISTORY.c[one.name] for one in fields(Change))).order_by(HISTORY.c.number)
        with self.engine.connect() as connection:
            found = connection.execute(query if run is None else query.where(HISTORY.c.run == run)).all()
        return [Change(*row) for row in found]

    def last(self, assignment: str) -> Sequence[RowMapping]:
        """What the last run that changed this assignment's grades found there, and has not been put back."""
        mine = (HISTORY.c.assignment == assignment) & HISTORY.c.record.is_not(None)
        query = select(HISTORY).where(mine).order_by(HISTORY.c.number.desc())
        with self.engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [row for row in rows if row["run"] == rows[0]["run"]]

    def taken_back(self, row: RowMapping) -> None:
        """The next undo goes further back, and does not undo this one."""
        mine = (HISTORY.c.run == self.began) & (HISTORY.c.student == row["student"])
        done = (HISTORY.c.number == row["number"]) | (mine & (HISTORY.c.assignment == row["assignment"]))
        with self.engine.begin() as connection:
            connection.execute(update(HISTORY).where(done).values(record=None, outputs=None))
