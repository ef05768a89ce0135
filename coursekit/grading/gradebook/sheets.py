"""Other systems' sheets, filled in: Canvas's gradebook and Moodle's worksheet.

A grade is written where it is certain whose row it is: the student's own id stands in a column of ids, and in one
row only. Names are never compared, and no part of a cell is. What was not written is listed, with the reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import GradingError
from ..facts import points
from .export import csv_text, read_rows

# What a download of Canvas or Moodle calls a student.
NUMBERED = re.compile(r".* \((\d+)\)")  # "First Last (12345)"
PARTICIPANT = re.compile(r"\D+(\d+)")  # "Participant 12345", whatever the language; some leave no blank
CANVAS_IDS = ("SIS Login ID", "SIS User ID", "Integration ID")
# Moodle's words for the two columns that matter, in the languages that we know; others are named with --column.
MOODLE_GRADE = {
    "Grade", "Bewertung", "Note", "Calificación", "Valutazione", "Cijfer", "Nota", "Karakter", "Betyg"
}  # fmt: skip
MOODLE_MOST = {
    "Maximum grade", "Maximum Grade", "Bestwertung", "Note maximale", "Calificación máxima", "Punteggio massimo",
    "Maximumcijfer", "Nota máxima",
}  # fmt: skip
_ID = re.compile(r"\bID\b|username|user name|number|nummer|numéro|número", re.IGNORECASE)
Keys = Callable[[list[str]], Iterable[tuple[str, str]]]  # a row's ids, each with its kind


@dataclass
class Filled:
    """A sheet with grades in it, and what stayed out of it."""

    text: str
    written: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # a sentence each


@dataclass(frozen=True)
class Final:
    """What may go out for a student: the score, or why there is none yet."""

    score: float
    most: float
    wait: str = ""
    feedback: str = ""  # for a sheet that has a column of it


def fill_canvas(text: str, column: str, finals: Mapping[str, Final]) -> Filled:
    """Canvas's exported gradebook with one column filled in, ready to import again."""
    rows = read_rows(text, "the Canvas gradebook has no students in it")
    head = [re.sub(r"\s*\(\d+\)$", "", title).strip() for title in rows[0]]
    here = _column(head, {column.lower()}, "Canvas gradebook", column, str.lower)
    number = head.index("ID") if "ID" in head else None
    ids = [n for n, title in enumerate(head) if title in CANVAS_IDS]
    if number is None and not ids:
        raise GradingError(f"the Canvas gradebook has no column of ids ({', '.join(('ID', *CANVAS_IDS))})")
    possible = next((row for row in rows[1:3] if row[0].strip() == "Points Possible"), None)
    scale = _number(possible[here]) if possible and here < len(possible) else None

    def keys(row: list[str]) -> Iterable[tuple[str, str]]:
        if number is not None and number < len(row):
            yield "number", row[number].strip()
            yield "id", row[number].strip()
        yield from (("id", row[n].strip()) for n in ids if n < len(row))

    return _fill(rows, here, keys, finals, lambda row: scale, "Canvas gradebook")


def fill_moodle(text: str, finals: Mapping[str, Final], column: str = "") -> Filled:
    """Moodle's downloaded grading worksheet with its column of grades filled in, in any language."""
    rows = read_rows(text, "the Moodle worksheet has no students in it")
    head = [title.strip() for title in rows[0]]
    if not all(PARTICIPANT.fullmatch(row[0].strip()) for row in rows[1:]):
        raise GradingError(
            "the first column of the Moodle worksheet must be its identifiers, as 'Participant 123'; download it "
            "from the assignment with 'Download grading worksheet'"
        )
    here = _column(head, {column} if column else MOODLE_GRADE, "Moodle worksheet", column or "Grade", str)
    most = next((n for n, title in enumerate(head) if title in MOODLE_MOST), None)
    after = [n for n in range(1, len(head)) if n != here]

    def keys(row: list[str]) -> Iterable[tuple[str, str]]:
        match = PARTICIPANT.fullmatch(row[0].strip())
        if match:
            yield "number", match[1]
        # Full name, status and the rest stand there too, but only an id can equal a student's id and be unique.
        known = (n for n in after if n < len(row) and ("@" in row[n] or _ID.search(head[n])))
        yield from (("id", row[n].strip()) for n in known)

    scale = lambda row: _number(row[most]) if most is not None else None
    words = next((n for n, title in enumerate(head) if title.startswith("Feedback")), None)
    return _fill(rows, here, keys, finals, scale, "Moodle worksheet", words)


def _fill(
    rows: list[list[str]], here: int, keys: Keys, finals: Mapping[str, Final],
    most: Callable[[list[str]], float | None], what: str, words: int | None = None,
) -> Filled:  # fmt: skip
    """Write each grade into the one row that is certainly the student's."""
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    for n, row in enumerate(rows[1:], 1):
        for key in keys(row):
            where[key].add(n)
    places = {student: _places(student, where) for student in finals}
    claimed: dict[int, set[str]] = defaultdict(set)
    for student, found in places.items():
        for n in found:
            claimed[n].add(student)
    filled = Filled("")
    for student, final in finals.items():
        found = places[student]
        rivals = sorted({s for n in found for s in claimed[n]} - {student})
        if not found:
            why = f"no row of the {what} has this id; enter it by hand, or add the id to the class list"
        elif len(found) > 1:
            why = f"{len(found)} rows of the {what} have this id, and it cannot be told whose it is"
        elif rivals:
            why = f"{', '.join(rivals)} would have the same row of the {what}"
        else:
            why = final.wait
        if why:
            filled.left.append(f"{student}: {why}")
            continue
        row = rows[found.pop()]
        row += [""] * (here + 1 - len(row))
        scale = most(row)
        row[here] = points(final.score * scale / final.most if scale and final.most else final.score)
        if words is not None and words < len(row) and not row[words].strip():  # what a person wrote stays
            row[words] = final.feedback
        filled.written.append(student)
    if not claimed:
        raise GradingError(f"none of the graded students is in the {what}: is it that of another course?")
    filled.text = csv_text(rows)  # the other system's own cells go back as they came
    return filled


def _places(student: str, where: Mapping[tuple[str, str], set[int]]) -> set[int]:
    """The rows that have this student's id: the number that the system gave, or else the id as a whole."""
    match = NUMBERED.fullmatch(student)
    if match and (found := where.get(("number", match[1]))):
        return found
    return where.get(("id", student), set()) if student else set()


def _column(head: list[str], names: set[str], what: str, wanted: str, fold: Callable[[str], str]) -> int:
    found = [n for n, title in enumerate(head) if fold(title) in names]
    if len(found) != 1:
        shown = ", ".join(map(repr, head))
        raise GradingError(
            f"the {what} has {len(found)} columns named {wanted!r}; name the one to fill with --column (it has {shown})"
        )
    return found[0]


def _number(text: str) -> float | None:
    match = re.fullmatch(r"\s*(\d+(?:[.,]\d+)?)\s*", text)
    return float(match[1].replace(",", ".")) if match else None
