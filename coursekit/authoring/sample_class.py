"""A class to try the grader on: honest, partly wrong, blank, damaged and misbehaving submissions."""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat

from ..files import write_new
from .course import Course
from .fences import without_markers
from .source import Source, read

NAMES = "ada grace alan emmy kurt sofia srinivasa hypatia george carl mary blaise"


def make(course: Course, assignment: str, folder: Path) -> list[Path]:
    """Write the class into `folder`, one file a student, with names as downloads have them."""
    made = _class(read(course.source(assignment)), course.released(assignment))
    return [write_new(folder / name, text) for name, text in made]


def _class(source: Source, released: Path) -> Iterator[tuple[str, str]]:
    right = solutions(source)
    chance = random.Random(0)
    names = iter(NAMES.split(" "))

    def file(more: Mapping[str, str]) -> str:
        return f"{nbformat.writes(answered(released, {**right, **more}))}\n"

    yield f"{next(names)}.ipynb", file({})
    yield f"Copy of {next(names)}.ipynb", as_colab_saves(answered(released, right))
    other = {q.id: chance.choice(q.right).answer for q in source.questions if q.right}
    yield f"{next(names)}.ipynb", file(other)
    for count in (1, 2, 3, 5):
        asked = chance.sample([q for q in source.questions if q.mistakes], count)
        yield f"{next(names)}.ipynb", file({q.id: chance.choice(q.mistakes).answer for q in asked})
    yield f"{next(names)}.ipynb", released.read_text(encoding="utf-8")  # blank
    yield f"{next(names)}.ipynb", _without_marks(answered(released, right))
    yield f"{next(names)} (1).ipynb", _with_lost_cells(answered(released, right))
    first, second, third = (q.id for q in source.questions[:3])
    misbehaving = {  # answers that loop, die and reach for what is not theirs
        first: f"def {first}(*args, **kwargs):\n    while True:\n        pass",
        second: f"import os\ndef {second}(*args, **kwargs):\n    os._exit(0)",
        third: f"def {third}(*args, **kwargs):\n    return open('/etc/shadow').read()",
    }
    yield f"{next(names)}.ipynb", file(misbehaving)
    yield f"{next(names)}.ipynb", file({})[:5000]  # the upload broke off


def _without_marks(notebook: nbformat.NotebookNode) -> str:
    raw = json.loads(nbformat.writes(notebook)) | {"nbformat_minor": 4}
    for cell in raw["cells"]:
        del cell["id"]
        cell["metadata"] = {}
    return json.dumps(raw)


def _with_lost_cells(notebook: nbformat.NotebookNode) -> str:
    """Every second test deleted, the last answer deleted, the first two answers in one cell."""
    cells = notebook.cells
    tests = [c for c in cells if c.metadata.get("nbgrader", {}).get("grade")]
    answers = [c for c in cells if c.metadata.get("nbgrader", {}).get("solution")]
    answers[0].source += "\n\n" + answers[1].source
    lost = [*tests[::2], answers[1], answers[-1]]
    notebook.cells = [c for c in cells if not any(c is gone for gone in lost)]
    return str(nbformat.writes(notebook))


def answered(released: Path | str, answers: Mapping[str, str]) -> nbformat.NotebookNode:
    """The released notebook (a path, or its text) with each answer, by grade_id, in its cell."""
    text = released.read_text(encoding="utf-8") if isinstance(released, Path) else released
    notebook: nbformat.NotebookNode = nbformat.reads(text, as_version=4)
    left = dict(answers)
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in left:
            cell.source = without_markers(left.pop(grade_id))
    if left:
        raise KeyError(f"the notebook has no cell {', '.join(left)}")
    return notebook


def solutions(source: Source) -> dict[str, str]:
    """Every right answer, as the author wrote it."""
    return {q.id: q.solution for q in source.questions}


def as_colab_saves(notebook: nbformat.NotebookNode) -> str:
    """The same notebook as Colab writes it back: nbformat 4.0, ids moved into the metadata, its own extras."""
    raw = json.loads(nbformat.writes(notebook))
    raw["nbformat_minor"] = 0
    raw["metadata"]["accelerator"] = "GPU"
    raw["metadata"]["kernelspec"] = {"display_name": "Python 3", "name": "python3"}
    for cell in raw["cells"]:
        cell["metadata"]["id"] = cell.pop("id")
        if cell["cell_type"] == "code":
            cell["metadata"]["outputId"] = "0b0a1d2e-5f2b-4b0e-9c3e-aaaaaaaaaaaa"
            cell["metadata"]["colab"] = {"base_uri": "https://localhost:8080/"}
            cell["execution_count"] = None
    return json.dumps(raw, indent=2)
