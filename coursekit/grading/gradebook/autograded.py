"""The notebook that was graded, with its outputs, where nbgrader's formgrader looks for it."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from ...files import write
from ..facts import Entry, Work
from ..nbgrader_config import settings
from ..text import cleaned, printable

# A picture, such as a badge, that another host would be asked for.
_ELSEWHERE = re.compile(r"!\[([^\]]*)\]\(https?://[^)]*\)")


def write_autograded(course: Path, work: Work, entry: Entry, home: Path | None = None) -> None:
    """`autograded/<student>/<assignment>/<notebook>.ipynb`: the instructor's cells, the student's answers.

    The instructor's browser will show it as a page of its own server, so nothing of a student's may act there.
    """
    folder = _folder(course)
    if "/" in work.student or work.student.startswith("."):
        return  # not a name that nbgrader could have used for a folder
    for name, made in work.repaired.items():
        ran = {cell.id: cell for cell in work.outcomes[name].cells}
        mine = [q for q in entry.questions if q.notebook == name]
        told = {q.id: q.sentence for q in mine if made.master.by_id[q.id].role == "test"}
        notebook = nbformat.from_dict(made.master.notebook)
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
                cell.outputs, cell.execution_count = [], None
                if grade_id in ran:
                    cell.outputs = [_output(o.kind, o.data) for o in ran[grade_id].outputs]
                if told.get(grade_id):
                    text = printable(told[grade_id]) + "\n"
                    cell.outputs = [new_output("stream", name="stdout", text=text)]
        notebook.cells += [new_code_cell(printable(c.source)) for c in made.cells if c.role == "extra"]
        path = (home or course) / folder / work.student / work.assignment.name / f"{name}.ipynb"
        write(path, nbformat.v4.writes(notebook))  # without validation, which takes longer than all the rest


@lru_cache
def _folder(course: Path) -> str:
    found = settings(course / "nbgrader_config.py").CourseDirectory
    return str(found.get("autograded_directory", "autograded"))


def _output(kind: str, data: str | bytes) -> Any:
    if kind in ("stdout", "stderr"):
        return new_output("stream", name=kind, text=printable(str(data)))
    if kind == "image/png":
        raw = data if isinstance(data, bytes) else data.encode()
        return new_output("display_data", data={"image/png": base64.b64encode(raw).decode()})
    # HTML that a student made would run in the instructor's browser: it is kept as text.
    return new_output("display_data", data={"text/plain": printable(str(data))})
