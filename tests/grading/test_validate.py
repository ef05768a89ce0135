"""nbgrader's own validation on the course's notebooks: a blank or a wrong copy is no success.

A kernel takes seconds to start, so all assignments stand in one notebook, one below the other.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbgrader.validator import Validator
from traitlets.config import Config

from coursekit.authoring.course import Course
from coursekit.authoring.fences import without_markers
from coursekit.authoring.source import read
from coursekit.authoring.visible import left_to_the_grader
from coursekit.grading.assignment import load
from coursekit.runtime import find_own_scripts

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
KINDS = ("right", "wrong", "blank")


def copies() -> dict[str, nbformat.NotebookNode]:
    """All assignments as a student could hand them in: solved, with a named mistake in each answer, untouched."""
    made = {kind: nbformat.v4.new_notebook() for kind in KINDS}
    for assignment in load(ROOT):
        source = read(COURSE.solutions / assignment.name / f"{assignment.name}.md")
        mistakes = {q.id: q.mistakes[0].answer for q in source.questions if q.tests and q.mistakes}
        (master,) = assignment.masters
        for own, cell in zip(master.cells, master.notebook.cells, strict=True):
            if own.kind != "code":
                continue
            solved = without_markers(own.source)
            for kind in KINDS:
                source_of = {
                    "right": solved,
                    "wrong": mistakes.get(own.grade_id, solved),
                    "blank": own.released,
                }
                copy = nbformat.from_dict(cell)
                copy.source = source_of[kind] if own.role in ("solution", "manual") else own.released
                copy.outputs, copy.execution_count = [], None
                copy["id"] = f"cell-{len(made[kind].cells)}"
                if own.grade_id:
                    copy.metadata["nbgrader"] = {
                        **cell.metadata["nbgrader"],
                        "grade_id": f"{assignment.name}-{own.grade_id}",
                    }
                made[kind].cells.append(copy)
    return made


def failed(notebook: nbformat.NotebookNode, path: Path) -> set[str]:
    """The tests that `nbgrader validate` finds wrong."""
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)
    find_own_scripts()
    config = Config({"Execute": {"timeout": 300}, "Validator": {"ignore_checksums": True}})
    found = Validator(config=config).validate(str(path)).get("failed", [])
    sources = {
        cell.source.strip(): cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in notebook.cells
    }
    return {sources[one["source"].strip()] for one in found}


def left_to_the_graders() -> set[str]:
    cells = ((a.name, cell) for a in load(ROOT) for cell in a.masters[0].cells if cell.role == "test")
    return {f"{name}-{cell.grade_id}" for name, cell in cells if left_to_the_grader(cell.source)}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_validation_passes_a_right_copy_and_fails_a_wrong_and_a_blank_one_of_every_assignment(kind, tmp_path):
    made = copies()[kind]
    marks = [cell.metadata.get("nbgrader", {}) for cell in made.cells]
    every = {one["grade_id"] for one in marks if one.get("grade") and not one.get("solution")}
    found = failed(made, tmp_path / f"{kind}.ipynb")
    if kind == "right":
        assert found == set()
        return
    assert {name.partition("-")[0] for name in every} == {name.partition("-")[0] for name in found}
    if kind == "wrong":  # where few answers are possible, the visible check looks at the form alone
        every -= left_to_the_graders()
    # A second test of a question may well pass with a mistake that the first one is for.
    assert len(every - found) <= len(every) // 10, sorted(every - found)
