"""The notebook that was graded, with its outputs, where nbgrader's formgrader looks for it."""

from __future__ import annotations

import base64
from functools import lru_cache
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_output

from .nbgrader_config import settings
from .pages import write
from .pipeline import Work
from .telling import told


def write_autograded(course: Path, work: Work, home: Path | None = None) -> None:
    """`autograded/<student>/<assignment>/<notebook>.ipynb`: the instructor's cells, the student's answers."""
    folder = _folder(course)
    if "/" in work.student or work.student.startswith("."):
        return  # not a name that nbgrader could have used for a folder
    for name, made in work.repaired.items():
        outcome = work.outcomes[name]
        ran = {cell.id: cell for cell in outcome.cells}
        verdicts = {test.id: test for test in outcome.tests}
        notebook = nbformat.from_dict(made.master.notebook)
        for cell in notebook.cells:
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
            if grade_id in made.answers:
                cell.source = made.answers[grade_id]
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
                if grade_id in ran:
                    cell.outputs = [_output(o.kind, o.data) for o in ran[grade_id].outputs]
                if grade_id in verdicts and verdicts[grade_id].sentence:
                    text = told(verdicts[grade_id].sentence) + "\n"
                    cell.outputs = [new_output("stream", name="stdout", text=text)]
        extras = [new_code_cell(c.source) for c in made.cells if c.role == "extra"]
        notebook.cells += extras
        write(
            (home or course) / folder / work.student / work.assignment.name / f"{name}.ipynb",
            nbformat.v4.writes(notebook),  # without validation, which takes longer than all the rest
        )


@lru_cache
def _folder(course: Path) -> str:
    return settings(course / "nbgrader_config.py").CourseDirectory.get("autograded_directory", "autograded")


def _output(kind: str, data: str | bytes) -> nbformat.NotebookNode:
    if kind in ("stdout", "stderr"):
        return new_output("stream", name=kind, text=data)
    if kind == "image/png":
        raw = data if isinstance(data, bytes) else data.encode()
        return new_output("display_data", data={"image/png": base64.b64encode(raw).decode()})
    # HTML that a student made would run in the instructor's browser: it is kept as text.
    return new_output("display_data", data={"text/plain": data})
