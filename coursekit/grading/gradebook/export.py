"""Grades as other systems read them: a table, Gradescope's results.json, the sheets of Canvas and Moodle filled in.

A grade is written into a sheet where it is certain whose row it is: the student's own id stands in a column of ids, and
in one row only. Names are never compared, and no part of a cell is. What was not written is listed, with the reason.
"""

import codecs
import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import GradingError
from ..facts import Entry, Key, points, titles

_FORMULA = re.compile(r"[=@\t\r]|[+-](?!\d+(\.\d+)?\Z)")  # but a number with its sign is a number

# What a download of Canvas or Moodle calls a student.
NUMBERED = re.compile(r"(?P<name>.*) \((?P<number>\d+)\)")  # "First Last (12345)"
ANONYMOUS = re.compile(r"anon \(\w{5}\)")  # Canvas's, of an assignment that is graded without names
HIDDEN = "Canvas kept back whose it is: turn anonymous grading off there, then download and grade it again"
PARTICIPANT = re.compile(r"\D+(\d+)")  # "Participant 12345", whatever the language; some leave no blank
CANVAS_IDS = ("ID", "SIS Login ID", "SIS User ID", "Integration ID")
# Moodle's words for the two columns that matter, in the languages that we know; others are named with --column.
MOODLE_GRADE = {
    "Grade", "Bewertung", "Note", "Calificación", "Valutazione", "Cijfer", "Nota", "Karakter", "Betyg"
}  # fmt: skip
MOODLE_MOST = {
    "Maximum grade", "Maximum Grade", "Bestwertung", "Note maximale", "Calificación máxima", "Punteggio massimo",
    "Maximumcijfer", "Nota máxima",
}  # fmt: skip
_ID = re.compile(r"\bID\b|username|user name|number|nummer|numéro|número", re.IGNORECASE)


def safe(text: object) -> str:
    """A cell that a spreadsheet will not run: what begins like a formula gets an apostrophe before it."""
    value = str(text)
    return "'" + value if _FORMULA.match(value) else value


def read_sheet(path: Path) -> str:
    """The text of a CSV file that another program wrote."""
    try:
        data = path.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return data.decode("utf-16" if wide else "utf-8-sig")
    except OSError as error:
        words = f"{path} cannot be read: {error.strerror}; name a CSV file that is there"
        raise GradingError(words) from error
    except UnicodeDecodeError:
        raise GradingError(f"{path} is not in UTF-8: save it as “CSV UTF-8”, or download it again") from None


def read_rows(text: str, nobody: str) -> list[list[str]]:
    """The rows of a CSV file, whatever divides its columns; `nobody` is said where it has a heading and no more."""
    mark = max(",;\t", key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text.lstrip("\ufeff")), delimiter=mark)
    rows = [row for row in lines if any(map(str.strip, row))]
    if len(rows) < 2:
        raise GradingError(nobody)
    return rows


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def as_csv(entries: list[Entry], refused: Mapping[str, str] | None = None) -> str:
    """One row a student, one column a question; an answer that waits for a person has no points yet. Whose work was
    `refused` has a row too, without points."""
    columns = titles(entries)
    rows: list[list[object]] = [["student", "score", "max_score", "status", *columns.values()]]
    for entry in entries:
        scores = {q.key: points(q.score) for q in entry.questions if not q.waiting}
        status = "flagged" if entry.flags else "waiting" if entry.waiting else "graded"
        cells = [scores.get(key, "") for key in columns]
        rows.append([entry.student, points(entry.score), points(entry.max_score), status, *cells])
    graded = {entry.student for entry in entries}
    for student, sentence in (refused or {}).items():
        if student not in graded:
            rows.append([student, "", "", f"refused: {sentence}", *[""] * len(columns)])
    return csv_text([safe(cell) for cell in row] for row in rows)


def gradescope(entry: Entry, names: Mapping[Key, str] | None = None) -> str:
    """Gradescope's results.json for one submission. `names` are what its tests are called there, if not by their id."""
    tests = [
        {"name": (names or {}).get(q.key, q.id), "score": q.score, "max_score": q.max, "output": q.sentence}
        | ({} if q.waiting else {"status": "failed" if q.short else "passed"})
        for q in entry.questions
    ]
    result = {"score": entry.score, "execution_time": entry.seconds, "visibility": "visible", "tests": tests}
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


# ── sheets ───────────────────────────────────────────────────────────────────────────────────


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
    here = _column([title.lower() for title in head], {column.lower()}, head, "Canvas gradebook", column)
    ids = [n for n, title in enumerate(head) if title in CANVAS_IDS]
    if not ids:
        raise GradingError(f"the Canvas gradebook has no column of ids ({', '.join(CANVAS_IDS)})")
    number = head.index("ID") if "ID" in head else None
    scale = next((_number(_at(row, here)) for row in rows[1:3] if row[0].strip() == "Points Possible"), None)
    keys = [[("number", _at(row, number)), *(("id", _at(row, n)) for n in ids)] for row in rows]
    return _fill(rows, here, keys, finals, [scale] * len(rows), "Canvas gradebook")


def fill_moodle(text: str, finals: Mapping[str, Final], column: str = "") -> Filled:
    """Moodle's downloaded grading worksheet with its column of grades filled in, in any language."""
    rows = read_rows(text, "the Moodle worksheet has no students in it")
    head = [title.strip() for title in rows[0]]
    if not all(PARTICIPANT.fullmatch(row[0].strip()) for row in rows[1:]):
        must = "the first column of the Moodle worksheet must be its identifiers, as 'Participant 123'"
        raise GradingError(f"{must}; download it from the assignment with 'Download grading worksheet'")
    here = _column(head, {column} if column else MOODLE_GRADE, head, "Moodle worksheet", column or "Grade")
    most = next((n for n, title in enumerate(head) if title in MOODLE_MOST), None)
    words = next((n for n, title in enumerate(head) if title.startswith("Feedback")), None)
    keys = [[("number", PARTICIPANT.sub(r"\1", row[0].strip()))] for row in rows]
    for row, own in zip(rows, keys, strict=True):
        # Full name, status and the rest stand there too, but only an id can equal a student's id and be unique.
        others = [n for n in range(1, len(head)) if n != here and ("@" in _at(row, n) or _ID.search(head[n]))]
        own += [("id", _at(row, n)) for n in others]
    scales = [_number(_at(row, most)) for row in rows]
    return _fill(rows, here, keys, finals, scales, "Moodle worksheet", words)


def _fill(
    rows: list[list[str]], here: int, keys: list[list[tuple[str, str]]], finals: Mapping[str, Final],
    most: list[float | None], what: str, words: int | None = None,
) -> Filled:  # fmt: skip
    """Write each grade into the one row that is certainly the student's. `keys` are each row's ids, with their kind,
    `most` the points that its system reckons with."""
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    for n in range(1, len(rows)):
        for key in keys[n]:
            where[key].add(n)
    named: dict[str, set[int]] = defaultdict(set)
    for n, row in enumerate(rows):
        for cell in row:
            named[cell.strip()].add(n)
    places = {student: _places(student, where, named) for student in finals}
    claims = Counter(n for found in places.values() for n in found)
    if not claims:
        why = HIDDEN if any(map(ANONYMOUS.fullmatch, finals)) else "is it that of another course?"
        raise GradingError(f"none of the graded students is in the {what}: {why}")
    filled = Filled("")
    for student, final in finals.items():
        found, why = places[student], final.wait
        if ANONYMOUS.fullmatch(student):
            why = HIDDEN
        elif not found:
            why = f"no row of the {what} has this id; enter it by hand, or add the id to the class list"
        elif len(found) > 1:
            why = f"{len(found)} rows of the {what} have this id, and it cannot be told whose it is"
        elif any(claims[n] > 1 for n in found):
            rivals = sorted(other for other, theirs in places.items() if found & theirs and other != student)
            why = f"{', '.join(rivals)} would have the same row of the {what}"
        if why:
            filled.left.append(f"{student}: {why}")
            continue
        (n,) = found
        row, scale = rows[n], most[n]
        row += [""] * (here + 1 - len(row))
        row[here] = points(final.score * scale / final.most if scale and final.most else final.score)
        if words is not None and words < len(row) and not row[words].strip():  # what a person wrote stays
            row[words] = final.feedback
        filled.written.append(student)
    filled.text = csv_text(rows)  # the other system's own cells go back as they came
    return filled


def _places(
    student: str, where: Mapping[tuple[str, str], set[int]], named: Mapping[str, set[int]]
) -> set[int]:
    """The rows that have this student's id: the number that the system gave, or else the id as a whole. Moodle numbers
    groups as well: a number whose row has not the name, while others have it, is not a student's."""
    match = None if ANONYMOUS.fullmatch(student) else NUMBERED.fullmatch(student)
    numbered = where.get(("number", match["number"]), set()) if match else set()
    others = named.get(match["name"], set()) if match else set()
    return (set() if others and not others & numbered else numbered) or where.get(("id", student), set())


def _column(titles: list[str], names: set[str], head: list[str], what: str, wanted: str) -> int:
    found = [n for n, title in enumerate(titles) if title in names]
    if len(found) != 1:
        has, shown = f"the {what} has {len(found)} columns named {wanted!r}", ", ".join(map(repr, head))
        raise GradingError(f"{has}; name the one to fill with --column (it has {shown})")
    return found[0]


def _at(row: list[str], n: int | None) -> str:
    return row[n].strip() if n is not None and n < len(row) else ""


def _number(text: str) -> float | None:
    match = re.fullmatch(r"(\d+(?:[.,]\d+)?)", text)
    return float(match[1].replace(",", ".")) if match else None
