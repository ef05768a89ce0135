"""Student notebooks made to order: the released notebook with given answers in it."""

import json
from collections.abc import Mapping
from pathlib import Path

import nbformat

from .fences import without_markers
from .source import Source


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
