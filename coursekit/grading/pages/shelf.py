"""Where the pages are put: one a student, one for the class, and the graded notebooks for nbgrader's formgrader."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from ...files import write
from ..facts import Assignment, Entry, Printed, Problem, Work
from ..nbgrader_config import settings
from ..text import cleaned, printable
from .feedback import feedback
from .frame import file_name
from .report import report

# A picture, such as a badge, that another host would be asked for.
_ELSEWHERE = re.compile(r"!\[([^\]]*)\]\(https?://[^)]*\)")


@dataclass(frozen=True)
class Shelf:
    folder: Path
    course: Path
    notebooks: Path | None = None  # where autograded/ goes; default: the course's folder

    @cached_property
    def autograded(self) -> Path:
        names = settings(self.course / "nbgrader_config.py").CourseDirectory
        return (self.notebooks or self.course) / str(names.get("autograded_directory", "autograded"))

    def page(self, assignment: str, student: str) -> Path:
        return self.folder / assignment / "feedback" / f"{file_name(student)}.html"

    def put(self, work: Work, entry: Entry, printed: Printed) -> None:
        """What was graded just now: the page, and where nbgrader looks for them the notebooks with their outputs."""
        if not re.search(r"^\.|/", work.student):  # else nbgrader could have no such folder
            for name in work.repaired:
                path = self.autograded / work.student / work.assignment.name / f"{name}.ipynb"
                # Without validation, which takes longer than all the rest.
                write(path, nbformat.v4.writes(graded_notebook(work, name, entry)))
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


def graded_notebook(work: Work, name: str, entry: Entry) -> nbformat.NotebookNode:
    """The instructor's cells, the student's answers, what the cells printed and the tests said.

    The instructor's browser will show it as a page of its own server, so nothing of a student's may act there.
    """
    made, ran = work.repaired[name], {cell.id: cell for cell in work.outcomes[name].cells}
    told = {q.id: q.sentence for q in entry.questions if q.notebook == name}
    notebook: nbformat.NotebookNode = nbformat.from_dict(made.master.notebook)
    cells, notebook.cells = notebook.cells, []
    for cell in cells:
        notebook.cells.append(cell)
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        own = made.master.by_id.get(grade_id)
        if own and own.role == "manual" and own.source != own.released:
            # What the instructor wrote in the answer's place, with the marks that it gets.
            text = f"```\n{own.source}\n```" if own.kind == "code" else _ELSEWHERE.sub(r"\1", own.source)
            rubric = f"**For whoever grades: the instructor's own answer**\n\n{text}"
            notebook.cells.append(new_markdown_cell(rubric))
        if grade_id in made.answers:
            answer = made.answers[grade_id]
            cell.source = printable(answer) if cell.cell_type == "code" else cleaned(answer)
            cell.cell_type = cell.cell_type if cell.cell_type == "code" else "markdown"
            cell.pop("attachments", None)
        elif cell.cell_type == "markdown":
            cell.source = _ELSEWHERE.sub(r"\1", cell.source)
        if cell.cell_type == "code":
            shown = [_output(o.kind, o.data) for o in ran[grade_id].outputs] if grade_id in ran else []
            if own and own.role == "test" and told.get(grade_id):
                shown = [new_output("stream", name="stdout", text=printable(told[grade_id]) + "\n")]
            cell.outputs, cell.execution_count = shown, None
    notebook.cells += [new_code_cell(printable(c.source)) for c in made.cells if c.role == "extra"]
    return notebook


def _output(kind: str, data: str | bytes) -> Any:
    if kind in ("stdout", "stderr"):
        return new_output("stream", name=kind, text=printable(str(data)))
    if kind == "image/png":
        raw = data if isinstance(data, bytes) else data.encode()
        return new_output("display_data", data={"image/png": base64.b64encode(raw).decode()})
    # HTML that a student made would run in the instructor's browser: it is kept as text.
    return new_output("display_data", data={"text/plain": printable(str(data))})
