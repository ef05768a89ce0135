"""The class on one page: scores, questions, which mistakes were made how often, what needs a person's eye."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from html import escape

from .assignment import Assignment
from .describe import titles
from .pages import heading, page, points, prose
from .pipeline import Problem
from .similar import similar


def report(
    assignment: Assignment,
    records: list[dict],
    problems: Sequence[Problem] = (),
    pages: Mapping[str, str] | None = None,
) -> str:
    """One HTML file, from the records with the points that were given by hand. `pages`: student -> address."""
    parts = [
        _summary(assignment, records),
        _distribution(records),
        _questions(records),
        _mistakes(records),
        _attention(records, problems),
        _similar(assignment, records),
        _students(records, pages or {}),
    ]
    return page(f"{assignment.name}: the class", "\n".join(filter(None, parts)))


class _Html(str):
    """Text that is HTML already."""


def _table(
    head: Sequence[str], rows: Sequence[Sequence[object]], numbers: Set[int] = frozenset(), said: bool = False
) -> str:
    """`numbers` are columns of numbers; `said`: the rows hold sentences, and fold on a narrow screen."""

    def cell(tag: str, n: int, value: object) -> str:
        shown = value if isinstance(value, _Html) else prose(value)
        return f"<{tag}{' class=number' if n in numbers else ''}>{shown}</{tag}>"

    lines = ["<tr>" + "".join(cell("th", n, h) for n, h in enumerate(head)) + "</tr>"]
    lines += ["<tr>" + "".join(cell("td", n, v) for n, v in enumerate(row)) + "</tr>" for row in rows]
    return f"<div class='wide'><table{' class=said' if said else ''}>" + "\n".join(lines) + "</table></div>"


def _meter(share: float, text: str) -> _Html:
    """A short bar with its number beside it."""
    return _Html(f"<span class='meter'><i style='width:{100 * min(max(share, 0), 1):.0f}%'></i></span>{text}")


def _waiting(questions: list[dict]) -> int:
    return sum(q["status"] == "by hand" for q in questions)


def _summary(assignment: Assignment, records: list[dict]) -> str:
    most = records[0]["max_score"] if records else 0.0
    scores = [r["score"] for r in records]
    count = f"{len(records)} submission{'' if len(records) == 1 else 's'}"
    text = f"<h1>{heading(assignment)}</h1>"
    text += f"<p class='soft'>{escape(assignment.name)} · {count} · {points(most)} points</p>"
    if scores:
        seconds = sum(r["seconds"] for r in records)
        text += (
            f"<p>Mean {points(statistics.fmean(scores))}, median {points(statistics.median(scores))}, "
            f"from {points(min(scores))} to {points(max(scores))}. Their cells ran for {seconds:.1f} s together.</p>"
        )
    if waiting := sum(_waiting(r["questions"]) for r in records):
        answers = "1 answer waits" if waiting == 1 else f"{waiting} answers wait"
        text += f"<p>{answers} to be graded by hand; until then they count 0 in every score here.</p>"
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
    height, top = 180, max(bins)
    drawn = []
    for n, count in enumerate(bins):
        tall = round((height - 60) * count / top)
        y = height - 40 - tall
        place = f"x='{10 * n + 0.7:.1f}%' y='{y}' width='8.6%' height='{tall}'"
        drawn.append(f"<rect class='bar' {place} rx='3'></rect>")
        if count:
            drawn.append(f"<text x='{10 * n + 5}%' y='{y - 5}' text-anchor='middle'>{count}</text>")
    for n in range(11):
        anchor = "start" if n == 0 else "end" if n == 10 else "middle"
        shown = points(most * n / 10)
        drawn.append(f"<text x='{10 * n}%' y='{height - 24}' text-anchor='{anchor}'>{shown}</text>")
    drawn.append(f"<text class='soft' x='50%' y='{height - 5}' text-anchor='middle'>points</text>")
    line = f"<line class='axis' x1='0' x2='100%' y1='{height - 40}' y2='{height - 40}'></line>"
    label = f"Scores of {len(records)} submissions in ten classes: {', '.join(map(str, bins))}"
    # Widths are shares and heights are pixels, so that the letters keep their size on a narrow screen.
    view = f"width='100%' height='{height}' role='img' aria-label='{escape(label)}'"
    return f"<h2>How many students have how many points</h2><svg {view}>{line}{''.join(drawn)}</svg>"


def _questions(records: list[dict]) -> str:
    rows = []
    for key, name in titles(records).items():
        everyone = [(q, r) for r in records for q in r["questions"] if (q["notebook"], q["id"]) == key]
        waiting = _waiting([q for q, _ in everyone])
        found = [(q, r) for q, r in everyone if q["status"] != "by hand"]
        most = everyone[0][0]["max"]
        shares = [q["score"] / most if most else 0.0 for q, _ in found]
        rest = [r["score"] - q["score"] for q, r in found]
        seconds = statistics.median(q["seconds"] for q, _ in everyone)
        note = "runs in the student's process" if any(q["weaker"] for q, _ in found) else ""
        note = f"{waiting} to grade by hand" if waiting else note
        mean = None if waiting else statistics.fmean(shares)
        rows.append(
            [name, points(most), "–" if mean is None else _meter(mean, f"{100 * mean:.0f} %"),
             sum(_empty(q) for q, _ in found) or "", _correlation(shares, rest), _time(seconds), note]
        )  # fmt: skip
    head = ["question", "points", "success", "left empty", "discrimination", "median time", ""]
    note = (
        "<p class='soft'>Discrimination is the correlation of a question's score with the rest of the assignment: "
        "near 0 or below, look at the question.</p>"
    )
    return "<h2>Questions</h2>" + _table(head, rows, {1, 2, 3, 4, 5}) + note


def _time(seconds: float) -> str:
    """Of a test: none for what a person grades."""
    return f"{1000 * seconds:.0f} ms" if seconds else "–"


def _correlation(a: list[float], b: list[float]) -> str:
    if len(a) < 3 or len(set(a)) < 2 or len(set(b)) < 2:
        return "–"
    return f"{statistics.correlation(a, b):.2f}"


def _empty(question: dict) -> bool:
    """Was nothing written here?"""
    return question["status"] == "blank" or question["kind"] == "empty"


def _mistakes(records: list[dict]) -> str:
    """What was told how often: by the mistake's name where a check recognised one, else by the sentence."""
    names = titles(records)
    told: dict[tuple[str, str], Counter] = {}
    who: dict[tuple[str, str], list[str]] = {}
    for r in records:
        for q in r["questions"]:
            if q["score"] < q["max"] and q["sentence"] and q["status"] != "by hand" and not _empty(q):
                named = q["kind"] and q["kind"] != "stopped"
                question = names[q["notebook"], q["id"]]
                key = (question, q["kind"] if named else q["sentence"])
                told.setdefault(key, Counter())[q["sentence"]] += 1
                who.setdefault(key, []).append(r["student"])
    often = sorted(who, key=lambda key: (-len(who[key]), key))[:60]
    rows = []
    for question, name in often:
        sentences = told[question, name]
        sentence = sentences.most_common(1)[0][0]
        others = f" ({len(sentences) - 1} more in other words)" if len(sentences) > 1 else ""
        students = who[question, name]
        some = ", ".join(students[:6]) + (" …" if len(students) > 6 else "")
        share = _meter(len(students) / len(records), f"{len(students)}×")
        rows.append([share, question, name if name != sentence else "", sentence + others, some])
    head = ["how often", "question", "mistake", "what they were told", "who"]
    return "<h2>Which mistakes were made</h2>" + _table(head, rows, said=True) if rows else ""


def _attention(records: list[dict], problems: Sequence[Problem]) -> str:
    """What was not graded and what is doubtful; then, folded away, what was repaired."""
    rows: list[list[object]] = [[p.student, "not graded", p.sentence] for p in problems]
    rows += [[r["student"], "look at it", flag] for r in records for flag in r["flags"]]
    rows += [[r["student"], "repaired", _folded(r["repairs"])] for r in records if r["repairs"]]
    return "<h2>For a person's eye</h2>" + _table(["student", "", "what"], rows, said=True) if rows else ""


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


def _students(records: list[dict], pages: Mapping[str, str]) -> str:
    rows = []
    for r in records:
        name, waiting = r["student"], _waiting(r["questions"])
        linked = _Html(f"<a href='{escape(pages[name])}'>{escape(name)}</a>") if name in pages else name
        status = f"{r['status']}, {waiting} to grade by hand" if waiting else r["status"]
        rows.append([linked, points(r["score"]), points(r["max_score"]), status, f"{r['seconds']:.2f} s"])
    return "<h2>Students</h2>" + _table(["student", "score", "of", "status", "time"], rows, {1, 2, 4})
