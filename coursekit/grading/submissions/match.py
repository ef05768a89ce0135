"""Which cell of a submission stands for which of the instructor's: by grade_id, id, text, names, place."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from ..facts import Master, MasterCell, StudentCell
from ..run.names import names_of

LONGEST = 50_000  # characters of a cell that are worth taking apart
MOST_WORDS = 600  # and words of it that are worth comparing, which takes time with their square
MOST_MAGICS = 20  # IPython reads a cell once for each
_MAGIC = re.compile(r"^\s*[%!?,;/]|=\s*[%!]|\?\s*$", re.MULTILINE)
ALIKE = 0.8


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
    stub = binds(own.released)
    if stub:
        return stub
    tests = [names_of(cell.source).mentions for cell in master.cells if cell.role == "test"]
    return binds(own.source) & frozenset().union(*tests)


def _grouped(numbers: Iterable[int], key: Callable[[int], str]) -> dict[str, list[int]]:
    """The numbers by what each has, in their order; those that have nothing are left out."""
    found: dict[str, list[int]] = defaultdict(list)
    for number in numbers:
        if key(number):
            found[key(number)].append(number)
    return found


class Match:
    """`place`: number of the instructor's cell -> position of the student's. `log`: how the marks were lost."""

    def __init__(self, master: Master, cells: list[StudentCell]):
        self.master, self.cells = master, cells
        self.place: dict[int, int] = {}
        self.spare: set[int] = set()  # copies without work in them
        self.log: list[str] = []
        self.flags: list[str] = []
        self.taken: set[int] = set()
        self.known = {own.grade_id for own in master.cells if own.grade_id}
        self._by_grade_id()
        self._by_id()
        for look in (self._by_text, self._by_names, self._by_likeness, self._by_place):
            if self._open():
                look()

    def _open(self) -> list[int]:
        """The instructor's cells that were not found yet."""
        return [n for n in range(len(self.master.cells)) if n not in self.place]

    def _free(self) -> list[int]:
        """The student's cells that may still be taken: not those that carry the mark of another cell."""
        cells = enumerate(self.cells)
        return [p for p, c in cells if p not in self.taken and c.grade_id not in self.known]

    def _take(self, number: int, position: int, how: str = "") -> None:
        self.place[number] = position
        self.taken.add(position)
        name = self.master.cells[number].grade_id
        if how and name:
            self.log.append(f"`{name}` had lost its mark and was found by {how}")

    def _by_grade_id(self) -> None:
        places = _grouped(range(len(self.cells)), lambda position: self.cells[position].grade_id)
        for number, own in enumerate(self.master.cells):
            found = places.get(own.grade_id, [])
            if found:
                self._take(number, self._of_copies(number, found) if len(found) > 1 else found[0])

    def _of_copies(self, number: int, found: list[int]) -> int:
        """Which of several cells with one grade_id is meant: the last that was worked on."""
        own, folded = self.master.cells[number], self.master.folded[number]
        worked = [p for p in found if self.cells[p].folded != folded]
        self.taken.update(found)
        self.spare |= set(found) - set(worked)
        if own.answer:
            times = f"`{own.grade_id}` stood {len(found)} times"
            whole = [p for p in worked if wanted(self.master, own) <= binds(self.cells[p].source)]
            if len({self.cells[p].folded for p in worked}) <= 1:
                self.log.append(f"{times}; the copy with work in it was graded")
                self.spare |= set(worked[:-1])
            elif own.role == "solution" and len(whole) <= 1:
                self.log.append(f"{times}; its pieces were run in their order")
                return (whole or worked)[-1]
            else:
                self.flags.append(f"{times} with different answers; the last was graded")
        else:
            self.spare |= set(found)
        return worked[-1] if worked else found[-1]

    def _by_id(self) -> None:
        places = _grouped(self._free(), lambda position: self.cells[position].cell_id)
        for number in self._open():
            found = places.get(self.master.cells[number].cell_id, [])
            if found:
                self._take(number, found.pop(0), "its cell's id")

    def _by_text(self) -> None:
        """The same text, where it stands once: a stub that several answers share says nothing."""
        numbers = _grouped(self._open(), lambda number: self.master.folded[number])
        places = _grouped(self._free(), lambda position: self.cells[position].folded)
        for text, found in numbers.items():
            if len(found) == 1 and places.get(text):
                self._take(found[0], places[text][0], "its text")
                spare = set(places[text][1:])
                self.spare |= spare
                self.taken |= spare

    def _by_names(self) -> None:
        for number in self._open():
            own = self.master.cells[number]
            names = wanted(self.master, own) if own.role == "solution" else frozenset()
            owners = [p for p in self._free() if names and names <= binds(self.cells[p].source)]
            if owners:
                self._take(number, owners[-1], "the names that it defines")

    def _by_likeness(self) -> None:
        for number in self._open():
            own = self.master.cells[number]
            shared = self.master.folded.count(self.master.folded[number]) > 1
            if own.role in ("text", "task") or len(own.released) < 40 or shared:
                continue
            ratio, position = max(self._alike(own.released), default=(0.0, -1))
            if ratio > ALIKE:
                self._take(number, position, "its text")

    def _alike(self, text: str) -> Iterator[tuple[float, int]]:
        words = text.split()[:MOST_WORDS]
        compare = difflib.SequenceMatcher(None, b=words, autojunk=False)
        for position in self._free():
            compare.set_seq1(self.cells[position].source[:LONGEST].split()[:MOST_WORDS])
            if compare.real_quick_ratio() > ALIKE and compare.quick_ratio() > ALIKE:
                yield compare.ratio(), position

    def _by_place(self) -> None:
        """Answers that only their neighbours can tell: between the same two cells, as many as there should be."""
        for number in self._open():
            own = self.master.cells[number]
            if not own.answer or number in self.place:
                continue
            first = max((n for n in self.place if n < number), default=-1)
            last = min((n for n in self.place if n > number), default=len(self.master.cells))
            start, stop = self.place.get(first, -1), self.place.get(last, len(self.cells))
            open_answers = [n for n in range(first + 1, last) if self.master.cells[n].answer]
            fitting = [p for p in self._free() if start < p < stop and self._fits(p, own.kind)]
            if len(open_answers) == len(fitting) or (len(open_answers) == 1 and fitting):
                for each, position in zip(open_answers, fitting, strict=False):
                    self._take(each, position, "its place")

    def _fits(self, position: int, kind: str) -> bool:
        cell = self.cells[position]
        return bool(cell.folded) and (cell.kind == "code") == (kind == "code")
