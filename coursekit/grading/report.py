"""The class on one page: scores, questions, which mistakes were made how often, what needs a person's eye."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence, Set
from html import escape

from .assignment import Assignment
from .pages import page, points, prose
from .pipeline import Problem
from .similar import similar


def report(assignment: Assignment, records: list[dict], problems: Sequence[Problem] = ()) -> str:
    """One HTML file, from the records with the points that were given by hand."""
    parts = [
        _summary(assignment, records),
        _distribution(records),
        _questions(records),
        _mistakes(records),
        _attention(records, problems),
        _similar(assignment, records),
        _students(records),
    ]
    return page(f"{assignment.name}: the class", "\n".join(filter(None, parts)))


class _Html(str):
    """Text that is HTML already."""


def _table(head: Sequence[str], rows: Sequence[Sequence[object]], numbers: Set[int] = frozenset()) -> str:
    def cell(tag: str, n: int, value: object) -> str:
        shown = value if isinstance(value, _Html) else prose(value)
        return f"<{tag}{' class=number' if n in numbers else ''}>{shown}</{tag}>"

    lines = ["<tr>" + "".join(cell("th", n, h) for n, h in enumerate(head)) + "</tr>"]
    lines += ["<tr>" + "".join(cell("td", n, v) for n, v in enumerate(row)) + "</tr>" for row in rows]
    return "<div class='wide'><table>" + "\n".join(lines) + "</table></div>"


def _summary(assignment: Assignment, records: list[dict]) -> str:
    most = records[0]["max_score"] if records else 0.0
    scores = [r["score"] for r in records]
    text = f"<h1>{escape(assignment.name)}</h1><p class='soft'>{len(records)} submissions, {points(most)} points</p>"
    if scores:
        seconds = sum(r["seconds"] for r in records)
        text += (
            f"<p>Mean {points(statistics.fmean(scores))}, median {points(statistics.median(scores))}, "
            f"from {points(min(scores))} to {points(max(scores))}. Their cells ran for {seconds:.1f} s together.</p>"
        )
    return text


def _distribution(records: list[dict]) -> str:
    """A histogram of the scores in ten classes, drawn as plain SVG."""
    if not records:
        return ""
    most = max(records[0]["max_score"], 1e-9)
    bins = [0] * 10
    for r in records:
        share = r["score"] / most
        bins[min(9, max(0, int(10 * share)))] += 1
    width, height, top = 60, 160, max(bins)
    bars = []
    for n, count in enumerate(bins):
        tall = round((height - 40) * count / top)
        x, y = 10 + n * width, height - 20 - tall
        bars.append(f"<rect class='bar' x='{x}' y='{y}' width='{width - 8}' height='{tall}' rx='3'></rect>")
        if count:
            bars.append(f"<text x='{x + width / 2 - 4}' y='{y - 5}' text-anchor='middle'>{count}</text>")
        bars.append(f"<text x='{x}' y='{height - 4}'>{points(most * n / 10)}</text>")
    line = f"<line class='axis' x1='0' x2='620' y1='{height - 20}' y2='{height - 20}'></line>"
    label = f"Scores of {len(records)} submissions in ten classes: {', '.join(map(str, bins))}"
    view = f"viewBox='0 0 620 {height}' role='img' aria-label='{escape(label)}'"
    return f"<h2>Scores</h2><svg {view}>{line}{''.join(bars)}</svg>"


def _questions(records: list[dict]) -> str:
    ids = list(dict.fromkeys(q["id"] for r in records for q in r["questions"]))
    rows = []
    for name in ids:
        found = [(q, r) for r in records for q in r["questions"] if q["id"] == name]
        most = found[0][0]["max"]
        shares = [q["score"] / most if most else 0.0 for q, _ in found]
        rest = [r["score"] - q["score"] for q, r in found]
        seconds = statistics.median(q["seconds"] for q, _ in found)
        weaker = "runs in the student's process" if any(q["weaker"] for q, _ in found) else ""
        rows.append(
            [name, points(most), f"{100 * statistics.fmean(shares):.0f} %", sum(_empty(q) for q, _ in found) or "",
             _correlation(shares, rest), f"{1000 * seconds:.0f} ms", weaker]
        )  # fmt: skip
    head = ["question", "points", "success", "left empty", "discrimination", "median time", ""]
    note = (
        "<p class='soft'>Discrimination is the correlation of a question's score with the rest of the assignment: "
        "near 0 or below, look at the question.</p>"
    )
    return "<h2>Questions</h2>" + _table(head, rows, {1, 2, 3, 4, 5}) + note


def _correlation(a: list[float], b: list[float]) -> str:
    if len(a) < 3 or len(set(a)) < 2 or len(set(b)) < 2:
        return "–"
    return f"{statistics.correlation(a, b):.2f}"


def _empty(question: dict) -> bool:
    """Was nothing written here?"""
    return question["status"] == "blank" or question["kind"] == "empty"


def _mistakes(records: list[dict]) -> str:
    """What was told how often: by the mistake's name where a check recognised one, else by the sentence."""
    told: dict[tuple[str, str], Counter] = {}
    who: dict[tuple[str, str], list[str]] = {}
    for r in records:
        for q in r["questions"]:
            if q["score"] < q["max"] and q["sentence"] and q["status"] != "by hand" and not _empty(q):
                key = (q["id"], q["kind"] or q["sentence"])
                told.setdefault(key, Counter())[q["sentence"]] += 1
                who.setdefault(key, []).append(r["student"])
    often = sorted(who, key=lambda key: (-len(who[key]), key))[:60]
    rows = []
    for question, name in often:
        sentence = told[question, name].most_common(1)[0][0]
        students = who[question, name]
        names = ", ".join(students[:6]) + (" …" if len(students) > 6 else "")
        rows.append([f"{len(students)}×", question, name if name != sentence else "", sentence, names])
    head = ["", "question", "mistake", "what they were told", "who"]
    return "<h2>Which mistakes were made</h2>" + _table(head, rows) if rows else ""


def _attention(records: list[dict], problems: Sequence[Problem]) -> str:
    """What was not graded and what is doubtful; then, folded away, what was repaired."""
    rows: list[list[object]] = [[p.student, "not graded", p.sentence] for p in problems]
    rows += [[r["student"], "look at it", flag] for r in records for flag in r["flags"]]
    rows += [[r["student"], "repaired", _folded(r["repairs"])] for r in records if r["repairs"]]
    return "<h2>For a person's eye</h2>" + _table(["student", "", "what"], rows) if rows else ""


def _folded(lines: list[str]) -> _Html:
    if len(lines) == 1:
        return _Html(prose(lines[0]))
    listed = "".join(f"<li>{prose(line)}</li>" for line in lines)
    return _Html(f"<details><summary>{len(lines)} repairs</summary><ul>{listed}</ul></details>")


def _similar(assignment: Assignment, records: list[dict]) -> str:
    rows = [[f"{100 * s:.0f} %", a, b] for s, a, b in similar(assignment, records)]
    if not rows:
        return ""
    note = "<p class='soft'>Share of wording in common, starter code left out. A reason to ask, no proof.</p>"
    return "<h2>Similar submissions</h2>" + _table(["", "student", "student"], rows, {0}) + note


def _students(records: list[dict]) -> str:
    rows = [
        [
            r["student"],
            points(r["score"]),
            points(r["max_score"]),
            r["status"],
            f"{r['seconds']:.2f} s",
        ]
        for r in records
    ]
    return "<h2>Students</h2>" + _table(["student", "score", "of", "status", "time"], rows, {1, 2, 4})
