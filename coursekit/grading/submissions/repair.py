"""The instructor's notebook with the student's answers in it: what is graded, whatever was handed in.

The instructor's cells come from the instructor, in the instructor's order. Of the submission only the answers are used,
found by grade_id, id, text, names, place; cells of the student's own are kept where they stood. Every difference that
mattered is written down in words, and what stays doubtful is flagged for a person.
"""

import difflib
import re
from collections import defaultdict

from ..facts import Master, MasterCell, Repaired, StudentCell, Work
from ..run.names import imports_from, names_of
from ..run.outcome import Cell

MODELS = "coursekit.models"
LONGEST = 50_000  # characters of a cell that are worth taking apart
MOST_WORDS = 600  # and words of it that are worth comparing, which takes time with their square
MOST_MAGICS = 20  # IPython reads a cell once for each
_MAGIC = re.compile(r"^\s*[%!?,;/]|=\s*[%!]|\?\s*$", re.MULTILINE)
ALIKE = 0.8


def mend(work: Work) -> None:
    """Give the work a repaired notebook for each of the assignment's. Of several that were handed in for one the latest
    counts, where the collection knows which that is, and of these the one with most answers."""
    for master in work.assignment.masters:
        mine = [handed for handed in work.notebooks if handed.master is master]
        latest = [handed for handed in mine if handed.rank == max(one.rank for one in mine)]
        made = [(repair(master, one.cells), one.name) for one in latest]
        made.sort(key=lambda one: len(one[0].blank))
        names, counted = (", ".join(one.name for one in mine), ", ".join(name for _, name in made))
        if len(mine) > len(latest):
            said = f"{master.name} was handed in more than once ({names})"
            work.flags.append(f"{said}; the latest, {counted}, was graded")
        if len(latest) > 1:
            said = f"{master.name} was handed in more than once ({counted}), and nothing says when"
            work.flags.append(f"{said}; {made[0][1]} was graded, for none has more answers")
        if not made:
            work.flags.append(f"the notebook {master.name} was not handed in")
        work.repaired[master.name] = made[0][0] if made else repair(master, [])


def repair(master: Master, cells: list[StudentCell]) -> Repaired:
    """Put the answers of a submission into the instructor's notebook."""
    return _Repair(master, cells).made


def binds(source: str) -> frozenset[str]:
    """The names that a cell defines, but for imports; none for a cell that nobody could take apart."""
    if len(source) > LONGEST or len(_MAGIC.findall(source)) > MOST_MAGICS:
        return frozenset()
    try:
        found = names_of(source)
    except Exception:  # noqa: BLE001 - whatever text a student found that the parser does not survive
        return frozenset()
    return frozenset(found.binds - found.imports)


def wanted(master: Master, own: MasterCell) -> frozenset[str]:
    """The names that an answer is there to define: those of its stub, or those of the solution that tests use."""
    if stub := binds(own.released):
        return stub
    tests = [names_of(cell.source).mentions for cell in master.cells if cell.role == "test"]
    return binds(own.source) & frozenset().union(*tests)


class _Match:
    """`place`: number of the instructor's cell -> position of the student's."""

    def __init__(self, master: Master, cells: list[StudentCell]):
        self.master, self.cells = master, cells
        self.made = Repaired(master)
        self.place: dict[int, int] = {}
        self.spare: set[int] = set()  # copies without work in them
        self.taken: set[int] = set()
        for number, own in enumerate(master.cells):
            found = [p for p, cell in enumerate(cells) if own.grade_id and cell.grade_id == own.grade_id]
            if found:
                self._take(number, self._of_copies(number, found) if len(found) > 1 else found[0])
        ways = (
            (self._with_id, "its cell's id"), (self._with_text, "its text"),
            (self._with_names, "the names that it defines"), (self._with_like_text, "its text"),
        )  # fmt: skip
        for find, how in ways:
            for number in self._open():
                if (position := find(number)) is not None:
                    self._take(number, position, how)
        self._by_place()

    def _open(self) -> list[int]:
        """The instructor's cells that were not found yet."""
        return [n for n in range(len(self.master.cells)) if n not in self.place]

    def _free(self) -> list[int]:
        """The student's cells that may still be taken: not those that carry the mark of another cell."""
        cells = enumerate(self.cells)
        return [p for p, c in cells if p not in self.taken and c.grade_id not in self.master.by_id]

    def _take(self, number: int, position: int, how: str = "") -> None:
        self.place[number] = position
        self.taken.add(position)
        name = self.master.cells[number].grade_id
        if how and name:
            self.made.repairs.append(f"`{name}` had lost its mark and was found by {how}")

    def _of_copies(self, number: int, found: list[int]) -> int:
        """Which of several cells with one grade_id is meant: the last that was worked on."""
        own, folded = self.master.cells[number], self.master.folded[number]
        worked = [p for p in found if self.cells[p].folded != folded]
        self.taken.update(found)
        self.spare |= set(found) - set(worked) if own.answer else set(found)
        if own.answer:
            times = f"`{own.grade_id}` stood {len(found)} times"
            whole = [p for p in worked if wanted(self.master, own) <= binds(self.cells[p].source)]
            if len({self.cells[p].folded for p in worked}) <= 1:
                self.made.repairs.append(f"{times}; the copy with work in it was graded")
                self.spare |= set(worked[:-1])
            elif own.role == "solution" and len(whole) <= 1:
                self.made.repairs.append(f"{times}; its pieces were run in their order")
                return (whole or worked)[-1]
            else:
                self.made.flags.append(f"{times} with different answers; the last was graded")
        return worked[-1] if worked else found[-1]

    def _with_id(self, number: int) -> int | None:
        own = self.master.cells[number].cell_id
        return next((p for p in self._free() if own and self.cells[p].cell_id == own), None)

    def _with_text(self, number: int) -> int | None:
        """The same text, where it stands once: a stub that several answers share says nothing."""
        text = self.master.folded[number]
        if not text or [self.master.folded[n] for n in self._open()].count(text) > 1:
            return None
        found = [p for p in self._free() if self.cells[p].folded == text]
        self.spare |= set(found[1:])
        self.taken |= set(found)
        return found[0] if found else None

    def _with_names(self, number: int) -> int | None:
        own = self.master.cells[number]
        names = wanted(self.master, own) if own.role == "solution" else frozenset()
        owners = [p for p in self._free() if names and names <= binds(self.cells[p].source)]
        return owners[-1] if owners else None

    def _with_like_text(self, number: int) -> int | None:
        own = self.master.cells[number]
        shared = self.master.folded.count(self.master.folded[number]) > 1
        if own.role in ("text", "task") or len(own.released) < 40 or shared:
            return None
        words, ratios = own.released.split()[:MOST_WORDS], {}
        compare = difflib.SequenceMatcher(None, b=words, autojunk=False)
        for position in self._free():
            compare.set_seq1(self.cells[position].source[:LONGEST].split()[:MOST_WORDS])
            if compare.real_quick_ratio() > ALIKE and compare.quick_ratio() > ALIKE:
                ratios[position] = compare.ratio()
        best = max(ratios, key=lambda position: (ratios[position], position), default=None)
        return best if best is not None and ratios[best] > ALIKE else None

    def _by_place(self) -> None:
        """Answers that only their neighbours can tell: between the same two cells, as many as there should be."""
        for number in self._open():
            own = self.master.cells[number]
            if not own.answer or number in self.place:
                continue
            first = max((n for n in self.place if n < number), default=-1)
            last = min((n for n in self.place if n > number), default=len(self.master.cells))
            start, stop = self.place.get(first, -1), self.place.get(last, len(self.cells))
            answers = [n for n in range(first + 1, last) if self.master.cells[n].answer]
            between = [(p, self.cells[p]) for p in self._free() if start < p < stop]
            fitting = [p for p, c in between if c.folded and (c.kind == "code") == (own.kind == "code")]
            if len(answers) == len(fitting) or (len(answers) == 1 and fitting):
                for each, position in zip(answers, fitting, strict=False):
                    self._take(each, position, "its place")


class _Repair(_Match):
    def __init__(self, master: Master, cells: list[StudentCell]):
        super().__init__(master, cells)
        self.number_of = {position: number for number, position in self.place.items()}
        self.moved: set[int] = set()  # positions that were run earlier than where they stood
        # The positions of the student's own code, under the instructor's cell that it follows (-1: the start).
        self.extras: dict[int, list[int]] = defaultdict(list)
        untouched, after = {"", *master.folded}, -1
        for position, cell in enumerate(cells):
            if position in self.number_of:
                after = self.number_of[position]
            elif cell.kind == "code" and position not in self.spare and cell.folded not in untouched:
                self.extras[after].append(position)
        self._note_changes()
        self._run_extras(-1)
        for number, own in enumerate(master.cells):
            if own.answer:
                self._answer(number, own)
            elif own.role in ("given", "test"):
                self.made.cells.append(own.as_task())
            self._run_extras(number)
        self._note_models()

    def _student(self, number: int) -> StudentCell | None:
        return self.cells[self.place[number]] if number in self.place else None

    def _run_extras(self, number: int) -> None:
        found = [position for position in self.extras.get(number, ()) if position not in self.moved]
        self.made.cells += [Cell(self.cells[position].source, "extra") for position in found]

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
        names, others = wanted(self.master, own), reversed([*enumerate(self.cells)])
        worked = (
            (p, c)
            for p, c in others
            if self.number_of.get(p) != number and c.folded not in self.master.folded
        )
        return next((p for p, c in worked if names and names <= binds(c.source)), None)

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
        unknown = sorted({c.grade_id for c in self.cells if c.grade_id} - self.master.by_id.keys())
        if unknown:
            listed = ", ".join(f"`{name[:60]}`" for name in unknown[:10])
            are = "are" if len(unknown) > 1 else "is"
            log.append(f"{listed} {are} not in this release; the notebook may be an earlier one")
        order = [n for _, n in sorted(self.number_of.items()) if self.master.cells[n].grade_id]
        if order != sorted(order):
            moved = "the cells stood in another order"
            log.append(f"{moved}; they were run in the instructor's")
            if self.extras:
                self.made.flags.append(f"{moved}, and cells of the student's own among them")
