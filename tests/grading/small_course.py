"""Small nbgrader courses for the tests: quick to grade, with every kind of cell."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


def code(source: str, grade_id: str = "", **marks) -> nbformat.NotebookNode:
    return _marked(new_code_cell(source), grade_id, marks)


def text(source: str, grade_id: str = "", **marks) -> nbformat.NotebookNode:
    return _marked(new_markdown_cell(source), grade_id, marks)


def _marked(cell, grade_id: str, marks: dict):
    if grade_id:
        plain = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
        cell.metadata["nbgrader"] = {**plain, "grade_id": grade_id, **marks}
        cell["id"] = grade_id.replace("_", "-")
    else:
        cell["id"] = f"own-{abs(hash(cell.source)) % 10**8}"
    return cell


def answer(grade_id: str, stub: str, solution: str) -> nbformat.NotebookNode:
    source = f"{stub}\n    ### BEGIN SOLUTION\n    {solution}\n    ### END SOLUTION"
    return code(source, grade_id, solution=True)


def check(grade_id: str, points: float, visible: str, hidden: str = "") -> nbformat.NotebookNode:
    source = visible + (f"\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS" if hidden else "")
    return code(source, grade_id, grade=True, locked=True, points=points)


def sums() -> nbformat.NotebookNode:
    """Three questions of 1, 2 and 3 points, a written one of 4."""
    return notebook(
        text("# Sums\nAdd things up, three times over."),
        code("import math\nSCALE = 10\n\n\ndef scaled(x):\n    return SCALE * x", "given", locked=True),
        text("**Problem 1.** Write `total(xs)`, the sum of a list."),
        answer("total", "def total(xs):", "return sum(xs)"),
        check("test_total", 1, "assert total([1, 2]) == 3", "assert total([41, 1]) == 42"),
        text("**Problem 2.** Write `mean(xs)`; that of an empty list is 0."),
        answer("mean", "def mean(xs):", "return total(xs) / len(xs) if xs else 0"),
        check(
            "test_mean", 2, "assert mean([1, 3]) == 2", "assert mean([]) == 0, 'The mean of nothing is 0.'"
        ),
        text("**Problem 3.** Write `norm(xs)`, the length of a vector."),
        answer("norm", "def norm(xs):", "return math.sqrt(sum(x * x for x in xs))"),
        check("test_norm", 3, "assert norm([3, 4]) == 5", "assert scaled(norm([6, 8])) == 100"),
        text("**Problem 4.** Why is a mean not a median?"),
        text("Because it moves with every number.", "why", grade=True, solution=True, points=4),
    )


def notebook(*cells) -> nbformat.NotebookNode:
    made = new_notebook(cells=list(cells))
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def write_course(root: Path, assignments: dict[str, dict[str, nbformat.NotebookNode]], files=None) -> Path:
    """An nbgrader course directory: `source/<assignment>/<notebook>.ipynb`."""
    for name, notebooks in assignments.items():
        folder = root / "source" / name
        folder.mkdir(parents=True)
        for title, made in notebooks.items():
            nbformat.write(made, folder / f"{title}.ipynb")
        for path, data in (files or {}).get(name, {}).items():
            (folder / path).write_bytes(data)
    (root / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'small'\n")
    return root


def released(master: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """What students get, by nbgrader's own steps."""
    from traitlets.config import Config

    from coursekit.grading.assignment import _released

    return _released("released", copy.deepcopy(master), Config())


def solved(master: nbformat.NotebookNode, **answers: str) -> nbformat.NotebookNode:
    """The release with the instructor's answers in it, or those given."""
    made = released(master)
    for given, own in zip(made.cells, master.cells, strict=True):
        marks = own.metadata.get("nbgrader", {})
        if marks.get("solution"):
            own_words = "\n".join(line for line in own.source.splitlines() if "###" not in line)
            given.source = answers.get(marks["grade_id"], own_words)
    return made


def cell_of(made: nbformat.NotebookNode, grade_id: str) -> nbformat.NotebookNode:
    return next(c for c in made.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def saved(made: nbformat.NotebookNode) -> bytes:
    return json.dumps(made).encode()


def totals(record, assignment: str) -> dict[str, float]:
    """Each student's score as nbgrader itself adds it up, from its own tables."""
    found = {}
    for one in record.gradebook.assignment_submissions(assignment):
        found[one.student_id] = max(0.0, one.score - (one.late_submission_penalty or 0.0))
    record.gradebook.db.remove()
    return found
