"""Where the pages are put: one a student, one for the class, and the graded notebooks for nbgrader's formgrader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ...files import write
from ..facts import Assignment, Entry, Printed, Problem, Work
from ..gradebook.autograded import write_autograded
from .feedback import feedback
from .frame import file_name
from .report import report


@dataclass(frozen=True)
class Shelf:
    folder: Path
    course: Path
    notebooks: Path | None = None  # where autograded/ goes; default: the course's folder

    def page(self, assignment: str, student: str) -> Path:
        return self.folder / assignment / "feedback" / f"{file_name(student)}.html"

    def put(self, work: Work, entry: Entry, printed: Printed) -> None:
        """What was graded just now."""
        write_autograded(self.course, work, entry, self.notebooks)
        self.put_page(entry, work.assignment, printed)

    def put_page(self, entry: Entry, assignment: Assignment, printed: Printed) -> None:
        write(self.page(assignment.name, entry.student), feedback(entry, assignment, printed))

    def put_report(
        self, assignment: Assignment, entries: Sequence[Entry], problems: Sequence[Problem] = (), named: bool = False
    ) -> Path:  # fmt: skip
        found = {entry.student: self.page(assignment.name, entry.student) for entry in entries}
        pages = {student: quote(f"feedback/{page.name}") for student, page in found.items() if page.exists()}
        text = report(assignment, entries, problems, pages, named)
        return write(self.folder / assignment.name / "report.html", text)
