"""Grades for other systems: CSV, Canvas's gradebook, Moodle's worksheet, Gradescope's results.json."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping

from .describe import titles
from .errors import GradingError
from .pages import points

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe(text: object) -> str:
    """A cell that a spreadsheet will not run: what begins like a formula gets an apostrophe before it."""
    value = str(text)
    return "'" + value if value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", text) is not None


def _csv(rows: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_MINIMAL, lineterminator="\n").writerows(
        [safe(c) for c in row] for row in rows
    )
    return out.getvalue()


def as_csv(records: list[dict], totals: Mapping[str, float]) -> str:
    """One row a student, one column a question; an answer that waits for a person has no points yet."""
    columns = titles(records)
    rows: list[list[object]] = [["student", "score", "max_score", "status", *columns.values()]]
    for record in records:
        done = [q for q in record["questions"] if q["status"] != "by hand"]
        scores = {(q["notebook"], q["id"]): points(q["score"]) for q in done}
        total = totals.get(record["student"], record["score"])
        waiting = record["status"] == "graded" and len(done) < len(record["questions"])
        status = "waiting" if waiting else record["status"]
        cells = [scores.get(key, "") for key in columns]
        rows.append([record["student"], points(total), points(record["max_score"]), status, *cells])
    return _csv(rows)


def fill_canvas(gradebook: str, assignment: str, totals: Mapping[str, float]) -> str:
    """Canvas's exported gradebook with this assignment's column filled in, ready to import again."""
    rows = _read(gradebook, "Canvas gradebook")
    head = rows[0]
    columns = [
        n
        for n, title in enumerate(head)
        if re.sub(r"\s*\(\d+\)$", "", title).strip().lower() == assignment.lower()
    ]
    if len(columns) != 1:
        raise GradingError(
            f"the Canvas gradebook has {len(columns)} columns named {assignment!r}; it must have one"
        )
    keys = [n for n, title in enumerate(head) if title in ("SIS Login ID", "SIS User ID", "ID", "Student")]
    matched = 0
    for row in rows[1:]:
        found = _find(totals, [row[k] for k in keys if k < len(row)])
        if found is not None:
            row[columns[0]] = points(found)
            matched += 1
    return _plain(rows, matched, "Canvas gradebook")


def fill_moodle(worksheet: str, totals: Mapping[str, float], most: float) -> str:
    """Moodle's downloaded grading worksheet with its Grade column filled in."""
    rows = _read(worksheet, "Moodle worksheet")
    head = rows[0]
    if "Grade" not in head or "Identifier" not in head:
        raise GradingError(
            "the Moodle worksheet must have the columns Identifier and Grade; download it with them"
        )
    grade = head.index("Grade")
    keys = [
        head.index(k)
        for k in ("Identifier", "Full name", "ID number", "Username", "Email address")
        if k in head
    ]
    highest = head.index("Maximum grade") if "Maximum grade" in head else None
    matched = 0
    for row in rows[1:]:
        found = _find(totals, [row[k] for k in keys])
        if found is not None:
            scale = (
                float(row[highest].replace(",", ".")) / most
                if highest is not None and row[highest] and most
                else 1.0
            )
            row[grade] = points(found * scale)
            matched += 1
    return _plain(rows, matched, "Moodle worksheet")


def gradescope(record: dict) -> str:
    """Gradescope's results.json for one submission."""
    tests = [
        {"name": q["id"], "score": q["score"], "max_score": q["max"], "output": q["sentence"]}
        | ({} if q["status"] == "by hand" else {"status": "passed" if q["score"] >= q["max"] else "failed"})
        for q in record["questions"]
    ]
    result = {
        "score": record["score"],
        "execution_time": record["seconds"],
        "visibility": "visible",
        "tests": tests,
    }
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def _read(text: str, what: str) -> list[list[str]]:
    rows = [row for row in csv.reader(io.StringIO(text.lstrip("\ufeff"))) if row]
    if len(rows) < 2:
        raise GradingError(f"the {what} has no students in it")
    return rows


def _plain(rows: list[list[str]], matched: int, what: str) -> str:
    """The other system's own cells go back as they came; only grades were written, and those are numbers."""
    if not matched:
        raise GradingError(f"none of the graded students is in the {what}: is it that of another course?")
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _find(totals: Mapping[str, float], keys: list[str]) -> float | None:
    """A student's total under any of the names that the other system has for them."""
    folded = {_fold(name): value for name, value in totals.items()}
    for key in keys:
        number = re.sub(r"\D", "", key)
        for student, value in totals.items():
            # "First Last (12345)" of a Moodle download; "Participant 12345" in its worksheet
            match = re.search(r"\((\d+)\)$", student)
            if match and number and match[1] == number:
                return value
        if _fold(key) in folded:
            return folded[_fold(key)]
    return None


def _fold(name: str) -> str:
    """ "Last, First" and "lastfirst" are one student to Canvas."""
    return re.sub(r"[^\w@]", "", name).lower()
