"""Grades as a table and as Gradescope's results.json; `sheets` fills in what Canvas and Moodle gave."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import GradingError
from ..facts import Entry, Key, points, titles

_FORMULA = re.compile(r"[=@\t\r]|[+-](?!\d+(\.\d+)?\Z)")  # but a number with its sign is a number


def safe(text: object) -> str:
    """A cell that a spreadsheet will not run: what begins like a formula gets an apostrophe before it."""
    value = str(text)
    return "'" + value if _FORMULA.match(value) else value


def read_sheet(path: Path) -> str:
    """The text of a CSV file that another program wrote."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GradingError(
            f"{path} cannot be read: {error.strerror}; name a CSV file that is there"
        ) from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
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
        status = "waiting" if entry.status == "graded" and entry.waiting else entry.status
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
