"""The instructor's notebook with the student's answers in it: what is graded, whatever was handed in.

The instructor's cells come from the instructor, in the instructor's order. Of the submission only the
answers are used (`match` finds them); cells of the student's own are kept where they stood. Every difference
that mattered is written down in words, and what stays doubtful is flagged for a person.
"""

from __future__ import annotations

from collections import defaultdict

from ..facts import Master, MasterCell, Repaired, StudentCell, Work
from ..run.names import imports_from
from ..run.outcome import Cell
from .match import Match, binds, wanted

MODELS = "coursekit.models"


def mend(work: Work) -> None:
    """Give the work a repaired notebook for each of the assignment's."""
    made: dict[str, Repaired] = {}
    files: dict[str, list[str]] = defaultdict(list)
    for name, master, cells in work.notebooks:
        new, earlier = repair(master, cells), made.get(master.name)
        files[master.name].append(name)
        if earlier is None or len(new.blank) < len(earlier.blank):
            made[master.name] = new
            files[master.name].insert(0, files[master.name].pop())
    for name, (counted, *others) in files.items():
        if others:
            work.flags.append(
                f"{name} was handed in more than once ({counted}, {', '.join(others)}), and nothing says when; "
                f"{counted} was graded, for none has more answers"
            )
    for master in work.assignment.masters:
        if master.name not in made:
            work.flags.append(f"the notebook {master.name} was not handed in")
            made[master.name] = repair(master, [])
        work.repaired[master.name] = made[master.name]


def repair(master: Master, cells: list[StudentCell]) -> Repaired:
    """Put the answers of a submission into the instructor's notebook."""
    return _Repair(master, cells).made


class _Repair:
    def __init__(self, master: Master, cells: list[StudentCell]):
        self.master, self.cells = master, cells
        self.found = Match(master, cells)
        self.number_of = {position: number for number, position in self.found.place.items()}
        self.made = Repaired(master, repairs=self.found.log, flags=self.found.flags)
        self.extras = self._extras()
        self.moved: set[int] = set()  # positions that were run earlier than where they stood
        self._note_changes()
        self._run_extras(-1)
        for number, own in enumerate(self.master.cells):
            if own.answer:
                self._answer(number, own)
            elif own.role in ("given", "test"):
                self.made.cells.append(own.as_task())
            self._run_extras(number)
        self._note_models()

    def _student(self, number: int) -> StudentCell | None:
        position = self.found.place.get(number)
        return None if position is None else self.cells[position]

    def _extras(self) -> dict[int, list[int]]:
        """The positions of the student's own code, under the instructor's cell that it follows (-1: the start)."""
        untouched = {"", *self.master.folded}
        extras: dict[int, list[int]] = defaultdict(list)
        after = -1
        for position, cell in enumerate(self.cells):
            if position in self.number_of:
                after = self.number_of[position]
            elif cell.kind == "code" and position not in self.found.spare and cell.folded not in untouched:
                extras[after].append(position)
        return extras

    def _run_extras(self, number: int) -> None:
        for position in self.extras.get(number, ()):
            if position not in self.moved:
                self.made.cells.append(Cell(self.cells[position].source, "extra"))

    def _answer(self, number: int, own: MasterCell) -> None:
        cell, tested, name = self._student(number), own.role == "solution", own.grade_id
        untouched = cell is None or cell.folded == self.master.folded[number]
        elsewhere = self._elsewhere(number, own) if untouched and tested else None
        if elsewhere is not None:
            self.made.repairs.append(f"`{name}` was empty or missing; its answer stood in another cell")
            self.made.answers[name] = source = self.cells[elsewhere].source
            # The stub would define the name again, without the answer. What has run already is not run twice.
            self.made.cells.append(own.as_task("" if self._has_run(elsewhere, number) else source))
            self.moved.add(elsewhere)
            return
        if cell is None:
            self.made.flags.append(f"the answer cell `{name}` is missing")
        elif cell.kind != "code" and tested:
            self.made.repairs.append(f"`{name}` was no longer a code cell; it was run as code")
        if untouched:
            self.made.blank.add(name)
        self.made.answers[name] = source = own.released if cell is None else cell.source
        if tested or own.kind == "code":
            self.made.cells.append(own.as_task(source))

    def _elsewhere(self, number: int, own: MasterCell) -> int | None:
        """The last other cell with work in it that defines all that this answer should."""
        names = wanted(self.master, own)
        for position in reversed(range(len(self.cells)) if names else ()):
            cell = self.cells[position]
            other = self.number_of.get(position) != number and cell.folded not in self.master.folded
            if other and names <= binds(cell.source):
                return position
        return None

    def _has_run(self, position: int, number: int) -> bool:
        """Has this cell of the student's run before the instructor's cell of that number?"""
        if position in self.moved:
            return True
        if position in self.number_of:
            before = self.number_of[position]
            return before < number and self.master.cells[before].role == "solution"
        return any(position in group for after, group in self.extras.items() if after < number)

    def _note_models(self) -> None:
        """An answer may be taken from the course's own models; that is for a person to judge."""
        if any(MODELS in own.released for own in self.master.cells):
            return
        for cell in self.made.cells:
            if cell.role in ("solution", "extra") and imports_from(cell.source, MODELS):
                where = f"the answer `{cell.id}`" if cell.id else "a cell of the student's own"
                self.made.flags.append(f"{where} imports `{MODELS}`, the course's own models")

    def _note_changes(self) -> None:
        log = self.made.repairs
        for number, own in enumerate(self.master.cells):
            if own.role not in ("test", "given") or not own.grade_id:
                continue
            cell, what = self._student(number), "test" if own.role == "test" else "given cell"
            if cell is None:
                log.append(f"the {what} `{own.grade_id}` was missing; it was put back")
            elif cell.folded != self.master.folded[number] or cell.kind != own.kind:
                log.append(f"the {what} `{own.grade_id}` was changed; the instructor's was used")
        unknown = sorted(
            {c.grade_id for c in self.cells if c.grade_id} - {own.grade_id for own in self.master.cells}
        )
        if unknown:
            listed, are = (
                ", ".join(f"`{name[:60]}`" for name in unknown[:10]),
                "are" if len(unknown) > 1 else "is",
            )
            log.append(f"{listed} {are} not in this release; the notebook may be an earlier one")
        order = [n for _, n in sorted(self.number_of.items()) if self.master.cells[n].grade_id]
        if order != sorted(order):
            moved = "the cells stood in another order"
            log.append(f"{moved}; they were run in the instructor's")
            if self.extras:
                self.made.flags.append(f"{moved}, and cells of the student's own among them")
