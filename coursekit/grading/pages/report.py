"""The class on one page: scores, questions, which mistakes were made how often, what needs a person's eye. And the
term on one page: every student and every assignment, and how each grade came to be what it is."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from ..facts import Assignment, Entry, Problem, counted, points, titles
from ..gradebook.record import Change
from ..submissions.similar import similar
from .frame import Html, folded, heading, listed, page, table

CONFINED = {"landlock": "Landlock, the second level", "none": "no sandbox at all"}  # the rest by its name
HEIGHT = 180  # of the picture of the scores


def report(
    assignment: Assignment, entries: Sequence[Entry], problems: Sequence[Problem] = (),
    pages: Mapping[str, str] | None = None, named: bool = False,
) -> str:  # fmt: skip
    """One HTML file, from the entries (one at least), with the points that were given by hand. `pages`: student ->
    address. `named`: the leaderboard says who is who."""
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
    most, count = entries[0].max_score, counted(len(entries), "submission")
    text = f"<h1>{heading(assignment)}</h1>"
    text += f"<p class='soft'>{escape(assignment.name)} · {count} · {points(most)} points</p>"
    scores, seconds = [e.score for e in entries], sum(e.seconds for e in entries)
    middle, least, best = points(statistics.median(scores)), points(min(scores)), points(max(scores))
    text += f"<p>Mean {points(statistics.fmean(scores))}, median {middle}, from {least} to {best}. "
    text += f"Their cells ran for {seconds:.1f} s together.</p>"
    if levels := Counter(CONFINED.get(e.sandbox, e.sandbox) for e in entries if e.sandbox):
        words = ", ".join(f"{level} ({count})" for level, count in levels.most_common())
        text += f"<p class='soft'>The students' code ran behind {escape(words)}.</p>"
    if waiting := sum(e.waiting for e in entries):
        answers = "1 answer waits" if waiting == 1 else f"{waiting} answers wait"
        text += f"<p>{answers} to be graded by hand; until then they count 0 in every score here.</p>"
    return text


def _distribution(entries: Sequence[Entry]) -> str:
    """A histogram of the scores in ten classes, drawn as plain SVG. Widths are shares and heights are pixels, so that
    the letters keep their size on a narrow screen."""
    most = max(entries[0].max_score, 1e-9)
    found = Counter(min(9, max(0, int(10 * e.score / most))) for e in entries)
    bins, ground = [found[n] for n in range(10)], HEIGHT - 40
    drawn = [f"<line class='axis' x1='0' x2='100%' y1='{ground}' y2='{ground}'></line>"]
    for n, count in enumerate(bins):
        tall = round((HEIGHT - 60) * count / max(bins))
        place = f"x='{10 * n + 0.7:.1f}%' y='{ground - tall}' width='8.6%' height='{tall}'"
        drawn.append(f"<rect class='bar' {place} rx='3'></rect>")
        drawn.append(_word(f"{10 * n + 5}%", ground - tall - 5, str(count or "")))
    for n in range(11):
        anchor = "start" if n == 0 else "end" if n == 10 else "middle"
        drawn.append(_word(f"{10 * n}%", HEIGHT - 24, points(most * n / 10), anchor))
    label = f"Scores of {len(entries)} submissions in ten classes: {', '.join(map(str, bins))}"
    view = f"width='100%' height='{HEIGHT}' role='img' aria-label='{escape(label)}'"
    words = "".join([*drawn, _word("50%", HEIGHT - 5, "points", mark=" class='soft'")])
    return f"<h2>How many students have how many points</h2><svg {view}>{words}</svg>"


def _word(x: str, y: int, text: str, anchor: str = "middle", mark: str = "") -> str:
    return f"<text{mark} x='{x}' y='{y}' text-anchor='{anchor}'>{text}</text>" if text else ""


def _questions(entries: Sequence[Entry]) -> str:
    rows = []
    for key, name in titles(entries).items():
        everyone = [(q, e) for e in entries for q in e.questions if q.key == key]
        found = [(q, e) for q, e in everyone if not q.waiting]
        most, waiting = everyone[0][0].max, len(everyone) - len(found)
        shares = [q.score / most if most else 0.0 for q, _ in found]
        seconds = statistics.median(q.seconds for q, _ in everyone)
        time = f"{1000 * seconds:.0f} ms" if seconds else "–"  # none for what a person grades
        note, success = "runs in the student's process" if any(q.weaker for q, _ in found) else "", Html("–")
        if waiting:
            note = f"{waiting} to grade by hand"
        else:
            success = _meter(mean := statistics.fmean(shares), f"{100 * mean:.0f} %")
        empty, apart = sum(q.empty for q, _ in found) or "", [e.score - q.score for q, e in found]
        rows.append([name, points(most), success, empty, _correlation(shares, apart), time, note])
    head = ["question", "points", "success", "left empty", "discrimination", "median time", ""]
    note = "Discrimination is the correlation of a question's score with the rest of the assignment: near 0 or below, "
    return f"<h2>Questions</h2>{table(head, rows, {1, 2, 3, 4, 5})}<p class='soft'>{note}look at the question.</p>"


def _correlation(a: list[float], b: list[float]) -> str:
    known = len(a) > 2 and len(set(a)) > 1 and len(set(b)) > 1
    return f"{statistics.correlation(a, b):.2f}" if known else "–"


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
    return "<h2>Which mistakes were made</h2>" + table(head, rows, kind="said") if rows else ""


def _attention(entries: Sequence[Entry], problems: Sequence[Problem]) -> str:
    """What was not graded and what is doubtful; then, folded away, what was repaired."""
    rows: list[list[object]] = [[p.student, "not graded", p.sentence] for p in problems]
    rows += [[e.student, "look at it", flag] for e in entries for flag in e.flags]
    for e in (e for e in entries if e.repairs):
        many = Html(folded(f"{len(e.repairs)} repairs", listed(e.repairs)))
        rows.append([e.student, "repaired", many if len(e.repairs) > 1 else e.repairs[0]])
    return "<h2>For a person's eye</h2>" + table(["student", "", "what"], rows, kind="said") if rows else ""


def _similar(assignment: Assignment, entries: Sequence[Entry]) -> str:
    rows = [[f"{100 * s:.0f} %", a, b] for s, a, b in similar(assignment, entries)]
    note = "<p class='soft'>Share of wording in common, starter code left out. A reason to ask, no proof.</p>"
    shown = f"<h2>Similar submissions</h2>{table(['', 'student', 'student'], rows, {0})}{note}"
    return shown if rows else ""


def _students(entries: Sequence[Entry], pages: Mapping[str, str]) -> str:
    rows = []
    for e in entries:
        name = e.student
        linked = Html(f"<a href='{escape(pages[name])}'>{escape(name)}</a>") if name in pages else name
        rows.append([linked, points(e.score), _remarks(e), f"{e.seconds:.2f} s"])
    most = f"of {points(entries[0].max_score)}"
    return "<h2>Students</h2>" + table(["student", most, "", "time"], rows, {1, 3}, kind="narrow")


def _remarks(e: Entry) -> str:
    """What there is to know about a score, in few words."""
    late = f"late, {points(e.late_penalty)} fewer" if e.late_penalty else ""
    waiting = f"{e.waiting} waiting" if e.waiting else ""
    return ", ".join(filter(None, [late, waiting, "flagged" if e.flags else ""]))


# ── the term ─────────────────────────────────────────────────────────────────────────────────


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
        rows.append([student, *map(_standing, mine), total])
    count = f"{counted(len(students), 'student')} · {counted(len(entries), 'assignment')}"
    body = f"<h1>The term</h1><p class='soft'>{count}</p>"
    body += table(["student", *entries, "together"], rows, set(range(1, len(entries) + 2)))
    histories: dict[str, list[list[str]]] = defaultdict(list)
    for c in changes:
        histories[c.student].append([c.run[:16].replace("T", " "), c.assignment, c.moved, c.why])
    body += "<h2>How each grade came about</h2>"
    for student, lines in sorted(histories.items()):
        body += folded(student, table(["when (UTC)", "assignment", "points", "why"], lines, kind="said"))
    return page("The term", body)


def _standing(entry: Entry | None) -> Html:
    """A score, and below it what there is to know about it."""
    if entry is None:
        return Html("<span class='soft'>missing</span>")
    below = f"<br><span class='soft'>{escape(words)}</span>" if (words := _remarks(entry)) else ""
    return Html(f"{points(entry.score)} of {points(entry.max_score)}{below}")
