"""Which assignment, and which of its notebooks, is this file? By its content: names lie."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .assignment import Assignment, Master


@dataclass(frozen=True)
class StudentCell:
    """A cell of a submission, with what can still be made out of it."""

    kind: str
    source: str
    grade_id: str = ""
    cell_id: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unreadable(Exception):
    """A file that is not a notebook; the sentence says why."""

    sentence: str

    def __str__(self) -> str:
        return self.sentence


def read_notebook(data: bytes) -> tuple[list[StudentCell], str]:
    """The cells of a notebook of any age (nbformat 3 and 4, Colab's, half-broken), and the assignment that
    it says it is. No field of it is trusted to have the type that the format promises."""
    try:
        raw = json.loads(data.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"this is not a notebook: its text is not JSON ({str(error)[:80]})") from error
    if not isinstance(raw, dict):
        raise Unreadable("this is not a notebook: it has no cells")
    cells = raw.get("cells")
    if cells is None and isinstance(raw.get("worksheets"), list):  # nbformat 3
        sheets = [w for w in raw["worksheets"] if isinstance(w, dict)]
        cells = [c for sheet in sheets for c in sheet.get("cells", []) if isinstance(c, dict)]
    if not isinstance(cells, list):
        raise Unreadable("this is not a notebook: it has no cells")
    metadata = raw.get("metadata")
    said = metadata.get("coursekit", {}) if isinstance(metadata, dict) else {}
    name = said.get("assignment", "") if isinstance(said, dict) else ""
    return [_cell(c) for c in cells if isinstance(c, dict)], name if isinstance(name, str) else ""


def _cell(cell: dict) -> StudentCell:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(str(line) for line in source)
    metadata = cell.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    info = metadata.get("nbgrader")
    grade_id = info.get("grade_id", "") if isinstance(info, dict) else ""
    cell_id = cell.get("id") or metadata.get("id") or ""  # Colab keeps the id in the metadata
    kind = cell.get("cell_type", "code")
    tags = metadata.get("tags")
    return StudentCell(
        kind if kind in ("code", "markdown", "raw") else "code",
        str(source),
        grade_id if isinstance(grade_id, str) else "",
        cell_id if isinstance(cell_id, str) else "",
        tuple(str(t) for t in tags) if isinstance(tags, list) else (),
    )


def recognise(
    cells: list[StudentCell], said: str, file_name: str, assignments: Iterable[Assignment]
) -> tuple[Assignment, Master] | None:
    """The assignment and notebook that these cells come from, or None where too little is left to tell."""
    best: tuple[float, Assignment, Master] | None = None
    for assignment in assignments:
        for master in assignment.masters:
            score = _likeness(cells, master)
            score += 0.05 * (said == assignment.name) + 0.02 * (master.name.lower() in file_name.lower())
            if best is None or score > best[0]:
                best = (score, assignment, master)
    return (best[1], best[2]) if best and best[0] >= 0.15 else None


def _likeness(cells: list[StudentCell], master: Master) -> float:
    """The share of the master's cells that can be found again, by id or by text."""
    ids = {c.grade_id for c in cells if c.grade_id} | {c.cell_id for c in cells if c.cell_id}
    texts = {fold(c.source) for c in cells}
    found = sum(
        1
        for m in master.cells
        if (m.grade_id and m.grade_id in ids) or (m.cell_id and m.cell_id in ids) or fold(m.released) in texts
    )
    return found / max(1, len(master.cells))


def fold(text: str) -> str:
    """A cell's text without white space, for comparing."""
    return re.sub(r"\s+", "", text)
