"""Which assignment, and which of its notebooks, is this file? By its content: names lie."""

import json
from collections.abc import Iterable
from typing import Any

from ..facts import Assignment, Master, StudentCell


class Unreadable(Exception):
    """A file that is not a notebook; the sentence says why."""


def read_notebook(data: bytes) -> tuple[list[StudentCell], str]:
    """The cells of a notebook of any age (nbformat 3 and 4, Colab's, half-broken), and the assignment that
    it says it is. No field of it is trusted to have the type that the format promises."""
    if not data.strip():
        raise Unreadable("this is not a notebook: the file is empty")
    try:
        raw = json.loads(data.decode(json.detect_encoding(data), errors="replace"))  # Windows has UTF-16 too
    except (ValueError, RecursionError) as error:
        raise Unreadable("this is not a notebook: its text is not JSON") from error
    if not isinstance(raw, dict):
        raise Unreadable("this is not a notebook: it has no cells")
    cells = raw.get("cells")
    if cells is None and isinstance(raw.get("worksheets"), list):  # nbformat 3
        sheets = [_dict(sheet).get("cells") for sheet in raw["worksheets"]]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list):
        raise Unreadable("this is not a notebook: it has no cells")
    said = _dict(_dict(raw.get("metadata")).get("coursekit")).get("assignment")
    return [_cell(c) for c in cells if isinstance(c, dict)], _text(said)


def _cell(cell: dict[str, Any]) -> StudentCell:
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    metadata = _dict(cell.get("metadata"))
    kind = cell.get("cell_type", "code")
    marks = _dict(metadata.get("nbgrader"))
    points = marks.get("points") if marks.get("grade") is True and marks.get("solution") is not True else 0
    return StudentCell(
        # Of a type that no notebook has, only the text is kept: it is run where it stands for an answer.
        {"code": "code", "markdown": "markdown", "heading": "markdown"}.get(_text(kind), "raw"),
        _text(source),
        _text(marks.get("grade_id")),
        _text(cell.get("id")) or _text(metadata.get("id")),  # Colab keeps the id in the metadata
        float(points) if isinstance(points, (int, float)) and 0 <= points < 1e6 else 0.0,
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """A string that any file and any database can hold: no lone surrogate, no zero."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


ALIKE = 0.15  # the share of an assignment's cells that a copy of it must still have


def recognise(
    cells: list[StudentCell], said: str, file_name: str, assignments: Iterable[Assignment], certain: bool = False
) -> tuple[Assignment, Master, str] | None:  # fmt: skip
    """The assignment and notebook that these cells come from, and what is doubtful about that; None where too little
    is left to tell. `certain`: it is one of these, whatever it looks like; a person said so."""
    ids, texts = {c.grade_id for c in cells} | {c.cell_id for c in cells}, {c.folded for c in cells}
    scores = []
    for assignment, master in [(one, master) for one in assignments for master in one.masters]:
        # Text counts too: `q1` is in every assignment.
        marked = sum(any(own in ids for own in (c.grade_id, c.cell_id) if own) for c in master.cells)
        told = sum(folded in texts for folded in master.folded)
        score = 0.5 * (marked + told) / max(1, len(master.cells))
        score += 0.05 * (said == assignment.name) + 0.02 * (master.name.lower() in file_name.lower())
        scores.append((score, assignment, master))
    best, assignment, master = max(scores, key=lambda one: one[0])
    if best < ALIKE and not certain:
        return None
    doubt = f"{file_name} does not look like {assignment.name}; it was graded as that because you named it"
    return assignment, master, doubt if best < ALIKE else ""
