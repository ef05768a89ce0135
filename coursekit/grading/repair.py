"""The instructor's notebook with the student's answers in it: what is graded, whatever was handed in.

The instructor's cells come from the instructor, in the instructor's order. Of the submission only the
answers are used, found by grade_id, then by the cell's id, then by what they define or say; cells of the
student's own are kept where they stood. Every difference that mattered is written down in words.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass, field

from .assignment import Master, MasterCell
from .names import names_of
from .outcome import Cell
from .recognise import StudentCell, fold


@dataclass
class Repaired:
    """A notebook made whole. `answers` maps a solution's or manual cell's grade_id to the student's text."""

    master: Master
    cells: list[Cell] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    blank: set[str] = field(default_factory=set)  # answers that were left as they were given
    repairs: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


def repair(master: Master, cells: list[StudentCell]) -> Repaired:
    """Put the answers of a submission into the instructor's notebook."""
    made = Repaired(master)
    match = _match(master, cells, made)
    extras = _extras(master, cells, match)
    _note_changes(master, cells, match, made)
    answers = {number for number, own in enumerate(master.cells) if own.role == "solution"}
    for cell in extras.get(-1, ()):
        made.cells.append(Cell(cell.source, "extra"))
    for number, own in enumerate(master.cells):
        if own.role == "solution":
            _solution(own, match.get(number), _elsewhere(own, number, cells, match, extras, answers), made)
        elif own.role == "manual":
            _manual(own, match.get(number), made)
        elif own.role in ("given", "test"):
            made.cells.append(Cell(own.source, own.role, own.grade_id or own.cell_id, own.points))
        for cell in extras.get(number, ()):
            made.cells.append(Cell(cell.source, "extra"))
    return made


# ── finding the answers ──────────────────────────────────────────────────────────────────────


def _match(master: Master, cells: list[StudentCell], made: Repaired) -> dict[int, StudentCell]:
    """For each of the master's cells (by position) the student's cell that stands for it."""
    match: dict[int, StudentCell] = {}
    taken: set[int] = set()
    by_grade_id: dict[str, list[int]] = defaultdict(list)
    by_cell_id: dict[str, list[int]] = defaultdict(list)
    for position, cell in enumerate(cells):
        if cell.grade_id:
            by_grade_id[cell.grade_id].append(position)
        if cell.cell_id:
            by_cell_id[cell.cell_id].append(position)

    def take(number: int, position: int) -> None:
        match[number] = cells[position]
        taken.add(position)

    for number, own in enumerate(master.cells):
        places = by_grade_id.get(own.grade_id, []) if own.grade_id else []
        if len(places) > 1:
            chosen = _of_duplicates(own, [cells[p] for p in places], made)
            take(number, places[chosen])
            # A copy with work in it is kept as a cell of the student's own; an untouched copy is dropped.
            taken.update(p for p in places if fold(cells[p].source) == fold(own.released))
        elif places:
            take(number, places[0])
    for number, own in enumerate(master.cells):
        if number not in match and own.cell_id:
            places = [p for p in by_cell_id.get(own.cell_id, []) if p not in taken]
            if places:
                take(number, places[0])
                if own.grade_id:
                    made.repairs.append(f"`{own.grade_id}` had lost its mark and was found by its cell's id")
    for number, own in enumerate(master.cells):
        if number not in match:
            place = _by_text(own, cells, taken)
            if place is not None:
                take(number, place)
                if own.grade_id:
                    made.repairs.append(f"`{own.grade_id}` had lost its mark and was found by its text")
    return match


def _of_duplicates(own: MasterCell, copies: list[StudentCell], made: Repaired) -> int:
    """Which of several cells with one grade_id is meant: the last that was worked on."""
    worked = [n for n, copy in enumerate(copies) if fold(copy.source) != fold(own.released)]
    different = {fold(copies[n].source) for n in worked}
    if len(different) > 1 and own.role in ("solution", "manual"):
        made.flags.append(
            f"`{own.grade_id}` stands {len(copies)} times with different answers; the last was graded"
        )
    elif own.role in ("solution", "manual"):
        made.repairs.append(
            f"`{own.grade_id}` stood {len(copies)} times; the copy with work in it was graded"
        )
    return worked[-1] if worked else len(copies) - 1


def _by_text(own: MasterCell, cells: list[StudentCell], taken: set[int]) -> int | None:
    """A cell without marks: the same text, or for an answer one that defines the same names, or reads alike."""
    free = [(p, c) for p, c in enumerate(cells) if p not in taken and not c.grade_id]
    for position, cell in free:
        if fold(cell.source) == fold(own.released):
            return position
    if own.role == "solution":
        wanted = names_of(own.released).binds or names_of(own.source).binds
        owners = [p for p, c in free if wanted and wanted <= names_of(c.source).binds]
        if owners:
            return owners[-1]
    if own.role in ("solution", "manual", "test", "given"):
        scored = [(difflib.SequenceMatcher(None, own.released, c.source).quick_ratio(), p) for p, c in free]
        likely = [
            (difflib.SequenceMatcher(None, own.released, cells[p].source).ratio(), p)
            for quick, p in scored
            if quick > 0.8
        ]
        ratio, position = max(likely, default=(0.0, -1))
        if ratio > 0.8:
            return position
    return None


def _extras(
    master: Master, cells: list[StudentCell], match: dict[int, StudentCell]
) -> dict[int, list[StudentCell]]:
    """The student's own code cells, under the position of the master's cell that they follow (-1: the start)."""
    number_of = {id(cell): number for number, cell in match.items()}
    untouched = {fold(own.released) for own in master.cells}
    extras: dict[int, list[StudentCell]] = defaultdict(list)
    after = -1
    for cell in cells:
        if id(cell) in number_of:
            after = max(after, number_of[id(cell)])
        elif cell.kind == "code" and cell.source.strip() and fold(cell.source) not in untouched:
            extras[after].append(cell)
    return extras


# ── writing it down ──────────────────────────────────────────────────────────────────────────


def _elsewhere(
    own: MasterCell, number: int, cells, match, extras, answers
) -> tuple[StudentCell, bool] | None:
    """Another cell of the submission that defines all that this answer should, and whether it is run anyway."""
    wanted = names_of(own.released).binds or names_of(own.source).binds
    if not wanted:
        return None
    run_anyway = {id(c) for group in extras.values() for c in group} | {
        id(match[n]) for n in match if n in answers
    }
    for cell in reversed(cells):
        if cell is not match.get(number) and wanted <= names_of(cell.source).binds:
            return cell, id(cell) in run_anyway
    return None


def _solution(own: MasterCell, found: StudentCell | None, elsewhere, made: Repaired) -> None:
    source = own.released if found is None else found.source
    untouched = fold(source) == fold(own.released)
    if untouched and elsewhere is not None:
        cell, run_anyway = elsewhere
        made.repairs.append(f"`{own.grade_id}` was empty or missing; its answer stands in another cell")
        made.answers[own.grade_id] = cell.source
        if not run_anyway:
            made.cells.append(Cell(cell.source, "extra"))
        return  # the empty cell would define the name again, without the answer
    if found is None:
        made.flags.append(f"the answer cell `{own.grade_id}` is missing")
    elif found.kind != "code":
        made.repairs.append(f"`{own.grade_id}` had become a {found.kind} cell; it was run as code")
    if untouched:
        made.blank.add(own.grade_id)
    made.answers[own.grade_id] = source
    made.cells.append(Cell(source, "solution", own.grade_id, reference=own.source))


def _manual(own: MasterCell, found: StudentCell | None, made: Repaired) -> None:
    source = own.released if found is None else found.source
    if found is None:
        made.flags.append(f"the answer cell `{own.grade_id}` is missing")
    if fold(source) == fold(own.released):
        made.blank.add(own.grade_id)
    made.answers[own.grade_id] = source
    if own.kind == "code":
        made.cells.append(Cell(source, "solution", own.grade_id, reference=own.source))


def _note_changes(
    master: Master, cells: list[StudentCell], match: dict[int, StudentCell], made: Repaired
) -> None:
    """What of the instructor's was changed or lost; it was put back."""
    for number, own in enumerate(master.cells):
        if own.role not in ("test", "given") or not own.grade_id:
            continue
        found = match.get(number)
        what = "test" if own.role == "test" else "given cell"
        if found is None:
            made.repairs.append(f"the {what} `{own.grade_id}` was missing; it was put back")
        elif fold(found.source) != fold(own.released) or found.kind != own.kind:
            made.repairs.append(f"the {what} `{own.grade_id}` was changed; the instructor's was used")
    known = {own.grade_id for own in master.cells}
    unknown = sorted({c.grade_id for c in cells if c.grade_id and c.grade_id not in known})
    if unknown:
        listed = ", ".join(f"`{name}`" for name in unknown)
        made.repairs.append(f"{listed} is not in this release; the notebook may be an earlier one")
    order = [number for c in cells for number, m in match.items() if m is c and master.cells[number].grade_id]
    if order != sorted(order):
        made.repairs.append("the cells stood in another order; they were run in the instructor's")
