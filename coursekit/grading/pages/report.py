"""The class on one page: scores, questions, which mistakes were made how often, what needs a person's eye."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from html import escape

from ..facts import Assignment, Entry, Problem, counted, points, titles
from ..submissions.similar import similar
from .frame import Html, folded, heading, listed, page, table

CONFINED = {"landlock": "Landlock, the second level", "none": "no sandbox at all"}  # the rest by its name


def report(
    assignment: Assignment, entries: Sequence[Entry], problems: Sequence[Problem] = (),
    pages: Mapping[str, str] | None = None, named: bool = False,
) -> str:  # fmt: skip
    """One HTML file, from the entries, with the points that were given by hand. `pages`: student -> address. `named`:
    the leaderboard says who is who."""
    parts = [
        _summary(assignment, entries), _distribution(entries), _questions(entries), _board(entries, named),
        _mistakes(entries), _attention(entries, problems), _similar(assignment, entries),
        _students(entries, pages or {}),
    ]  # fmt: skip
    return page(f"{assignment.name}: the class", "\n".join(filter(None, parts)))


def _meter(share: float, text: str) -> Html:
    """A short bar with its number beside it."""
    return Html(f"<span class='meter'><i style='width:{100 * min(max(share, 0), 1):.0f}%'></i></span>{text}")


def _summary(assignment: Assignment, entries: Sequence[Entry]) -> str:
    most, count = entries[0].max_score if entries else 0.0, counted(len(entries), "submission")
    text = f"<h1>{heading(assignment)}</h1>"
    text += f"<p class='soft'>{escape(assignment.name)} · {count} · {points(most)} points</p>"
    if scores := [e.score for e in entries]:
        seconds, middle = sum(e.seconds for e in entries), points(statistics.median(scores))
        text += f"<p>Mean {points(statistics.fmean(scores))}, median {middle}, from {points(min(scores))} to "
        text += f"{points(max(scores))}. Their cells ran for {seconds:.1f} s together.</p>"
    levels = Counter(CONFINED.get(e.sandbox, e.sandbox) for e in entries if e.sandbox)
    if levels:
        words = ", ".join(f"{level} ({count})" for level, count in levels.most_common())
        text += f"<p class='soft'>The students' code ran behind {escape(words)}.</p>"
    if waiting := sum(e.waiting for e in entries):
        answers = "1 answer waits" if waiting == 1 else f"{waiting} answers wait"
        text += f"<p>{answers} to be graded by hand; until then they count 0 in every score here.</p>"
    return text


def _distribution(entries: Sequence[Entry]) -> str:
    """A histogram of the scores in ten classes, drawn as plain SVG."""
    if not entries:
        return ""
    most = max(entries[0].max_score, 1e-9)
    bins = [0] * 10
    for e in entries:
        bins[min(9, max(0, int(10 * e.score / most)))] += 1
    height, top = 180, max(bins)
    drawn = []
    for n, count in enumerate(bins):
        tall = round((height - 60) * count / top)
        y = height - 40 - tall
        size = f"width='8.6%' height='{tall}' rx='3'"
        drawn.append(f"<rect class='bar' x='{10 * n + 0.7:.1f}%' y='{y}' {size}></rect>")
        if count:
            drawn.append(f"<text x='{10 * n + 5}%' y='{y - 5}' text-anchor='middle'>{count}</text>")
    for n in range(11):
        anchor = "start" if n == 0 else "end" if n == 10 else "middle"
        shown = points(most * n / 10)
        drawn.append(f"<text x='{10 * n}%' y='{height - 24}' text-anchor='{anchor}'>{shown}</text>")
    drawn.append(f"<text class='soft' x='50%' y='{height - 5}' text-anchor='middle'>points</text>")
    line = f"<line class='axis' x1='0' x2='100%' y1='{height - 40}' y2='{height - 40}'></line>"
    label = f"Scores of {len(entries)} submissions in ten classes: {', '.join(map(str, bins))}"
    # Widths are shares and heights are pixels, so that the letters keep their size on a narrow screen.
    view = f"width='100%' height='{height}' role='img' aria-label='{escape(label)}'"
    return f"<h2>How many students have how many points</h2><svg {view}>{line}{''.join(drawn)}</svg>"


def _questions(entries: Sequence[Entry]) -> str:
    rows = []
    for key, name in titles(entries).items():
        everyone = [(q, e) for e in entries for q in e.questions if q.key == key]
        waiting = sum(q.waiting for q, _ in everyone)
        found = [(q, e) for q, e in everyone if not q.waiting]
        most = everyone[0][0].max
        shares = [q.score / most if most else 0.0 for q, _ in found]
        rest = [e.score - q.score for q, e in found]
        seconds = statistics.median(q.seconds for q, _ in everyone)
        time = f"{1000 * seconds:.0f} ms" if seconds else "–"  # none for what a person grades
        mean = 0.0 if waiting else statistics.fmean(shares)
        note = "runs in the student's process" if any(q.weaker for q, _ in found) else ""
        success = "–" if waiting else _meter(mean, f"{100 * mean:.0f} %")
        note = f"{waiting} to grade by hand" if waiting else note
        empty = sum(q.empty for q, _ in found) or ""
        rows.append([name, points(most), success, empty, _correlation(shares, rest), time, note])
    head = ["question", "points", "success", "left empty", "discrimination", "median time", ""]
    note = "Discrimination is the correlation of a question's score with the rest of the assignment: near 0 or below, "
    return f"<h2>Questions</h2>{table(head, rows, {1, 2, 3, 4, 5})}<p class='soft'>{note}look at the question.</p>"


def _board(entries: Sequence[Entry], named: bool) -> str:
    """Who got how low, for each number that a test measured; nothing where none did."""
    found: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    names = titles(entries)
    for e, q in [(one, q) for one in entries for q in one.questions]:
        for what, value in q.measured.items():
            found[names[q.key], what].append((value, e.student))
    text = "<h2>Leaderboard</h2>" if found else ""
    for (question, what), reached in found.items():
        rows = [
            [1 + sum(value < mine for value, _ in reached), f"{mine:.4g}", who][: 2 + named]
            for mine, who in sorted(reached)
        ]
        text += table(["place", f"{what} in {question}", "student"][: 2 + named], rows, {0, 1})
    return text


def _correlation(a: list[float], b: list[float]) -> str:
    if len(a) < 3 or len(set(a)) < 2 or len(set(b)) < 2:
        return "–"
    return f"{statistics.correlation(a, b):.2f}"


def _mistakes(entries: Sequence[Entry]) -> str:
    """What was told how often: by the mistake's name where a check recognised one, else by the sentence."""
    names = titles(entries)
    told: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)  # sentence, student
    for e, q in [(one, q) for one in entries for q in one.questions]:
        if q.short and q.sentence and not q.waiting and not q.empty:
            name = q.kind if q.kind and q.kind != "stopped" else q.sentence
            told[names[q.key], name].append((q.sentence, e.student))
    rows = []
    for (question, name), heard in sorted(told.items(), key=lambda one: (-len(one[1]), one[0]))[:60]:
        sentences = Counter(sentence for sentence, _ in heard)
        sentence = sentences.most_common(1)[0][0]
        others = f" ({len(sentences) - 1} more in other words)" if len(sentences) > 1 else ""
        some = ", ".join(student for _, student in heard[:6]) + (" …" if len(heard) > 6 else "")
        share = _meter(len(heard) / len(entries), f"{len(heard)}×")
        rows.append([share, question, name if name != sentence else "", sentence + others, some])
    head = ["how often", "question", "mistake", "what they were told", "who"]
    return "<h2>Which mistakes were made</h2>" + table(head, rows, said=True) if rows else ""


def _attention(entries: Sequence[Entry], problems: Sequence[Problem]) -> str:
    """What was not graded and what is doubtful; then, folded away, what was repaired."""
    rows: list[list[object]] = [[p.student, "not graded", p.sentence] for p in problems]
    rows += [[e.student, "look at it", flag] for e in entries for flag in e.flags]
    for e in (e for e in entries if e.repairs):
        many = Html(folded(f"{len(e.repairs)} repairs", listed(e.repairs)))
        rows.append([e.student, "repaired", many if len(e.repairs) > 1 else e.repairs[0]])
    return "<h2>For a person's eye</h2>" + table(["student", "", "what"], rows, said=True) if rows else ""


def _similar(assignment: Assignment, entries: Sequence[Entry]) -> str:
    rows = [[f"{100 * s:.0f} %", a, b] for s, a, b in similar(assignment, entries)]
    note = "<p class='soft'>Share of wording in common, starter code left out. A reason to ask, no proof.</p>"
    shown = f"<h2>Similar submissions</h2>{table(['', 'student', 'student'], rows, {0})}{note}"
    return shown if rows else ""


def remarks(e: Entry) -> str:
    """What there is to know about a score, in few words."""
    late = f"late, {points(e.late_penalty)} fewer" if e.late_penalty else ""
    return ", ".join(
        filter(None, [late, f"{e.waiting} waiting" if e.waiting else "", "flagged" if e.flags else ""])
    )


def _students(entries: Sequence[Entry], pages: Mapping[str, str]) -> str:
    rows = []
    for e in entries:
        name = e.student
        linked = Html(f"<a href='{escape(pages[name])}'>{escape(name)}</a>") if name in pages else name
        rows.append([linked, points(e.score), remarks(e), f"{e.seconds:.2f} s"])
    most = f"of {points(entries[0].max_score)}" if entries else ""
    return "<h2>Students</h2>" + table(["student", most, "", "time"], rows, {1, 3}, narrow=True)
