"""The term on one page: every student and every assignment, and how each grade came to be what it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from ..facts import Entry, counted, points
from ..gradebook.history import Change
from .frame import Html, folded, page, table
from .report import remarks


def term_page(
    entries: Mapping[str, Sequence[Entry]], people: Sequence[str], changes: Iterable[Change]
) -> str:
    """`entries` by assignment; `people` is the class list, or empty where there is none."""
    found = {(e.student, e.assignment): e for some in entries.values() for e in some}
    students = sorted({*people, *(student for student, _ in found)})
    rows = []
    for student in students:
        mine = [found.get((student, name)) for name in entries]
        total = points(sum(entry.score for entry in mine if entry))
        rows.append([student, *(Html(_cell(entry)) for entry in mine), total])
    numbers = set(range(1, len(entries) + 2))
    count = f"{counted(len(students), 'student')} · {counted(len(entries), 'assignment')}"
    body = f"<h1>The term</h1><p class='soft'>{count}</p>"
    body += table(["student", *entries, "together"], rows, numbers)
    body += "<h2>How each grade came about</h2>" + "".join(_histories(changes))
    return page("The term", body)


def _cell(entry: Entry | None) -> str:
    """A score, and below it what there is to know about it."""
    if entry is None:
        return "<span class='soft'>missing</span>"
    below = f"<br><span class='soft'>{escape(words)}</span>" if (words := remarks(entry)) else ""
    return f"{points(entry.score)} of {points(entry.max_score)}{below}"


def _histories(changes: Iterable[Change]) -> Iterable[str]:
    """Each student's, folded away."""
    by_student: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_student[change.student].append(change)
    for student, mine in sorted(by_student.items()):
        rows = [[c.run[:16].replace("T", " "), c.assignment, c.moved, c.why] for c in mine]
        yield folded(student, table(["when (UTC)", "assignment", "points", "why"], rows, said=True))
