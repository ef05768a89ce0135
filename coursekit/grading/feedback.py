"""A student's page: points, what was wrong and why, their own answer and what it printed.

Only the student's words and the checks' sentences are on it: no test, no expected value, no traceback of ours.
"""

from __future__ import annotations

from html import escape

from .assignment import Assignment, MasterCell
from .describe import stopped
from .pages import heading, page, points, prose
from .telling import hint

LONGEST = 4000  # characters of one output that are worth a reader's time


def feedback(entry: dict, assignment: Assignment, outputs: dict[str, list[dict]]) -> str:
    """The HTML page of one record and its cells' outputs (see `describe`)."""
    late = entry["late_penalty"]
    head = f"<h1>{heading(assignment)}</h1>\n"
    head += f"<p class='soft'>{escape(assignment.name)} · {escape(entry['student'])}</p>\n"
    head += f"<p class='total'>{points(entry['score'])} <span class='soft'>of {points(entry['max_score'])}</span></p>\n"
    if late:
        head += f"<p>Handed in late: {points(late)} points fewer.</p>\n"
    waiting = sum(q["status"] == "by hand" for q in entry["questions"])
    if waiting:
        head += f"<p>{waiting} answer{'s' if waiting > 1 else ''} will be graded by a person.</p>\n"
    notes = "".join(f"<li>{prose(line)}</li>" for line in [*entry["flags"], *entry["repairs"]])
    if notes:
        head += f"<details><summary>About your notebook</summary><ul>{notes}</ul></details>\n"
    body = head + "\n".join(_questions(entry, assignment, outputs))
    return page(f"{assignment.name}: {entry['student']}", body)


def _questions(entry: dict, assignment: Assignment, outputs: dict[str, list[dict]]):
    verdicts = {(q["notebook"], q["id"]): q for q in entry["questions"]}
    given: set[str] = set()  # a hint is worth reading once
    for master in assignment.masters:
        if len(assignment.masters) > 1:
            yield f"<h2>{escape(master.name)}</h2>"
        ran = {cell["id"]: cell for cell in outputs.get(master.name, [])}
        answers = entry["answers"].get(master.name, {})
        comments = entry.get("comments", {}).get(master.name, {})
        for answer, tests in _grouped(master.cells):
            found = [
                verdicts[master.name, t.grade_id] for t in tests if (master.name, t.grade_id) in verdicts
            ]
            if found:
                name = answer.grade_id if answer else found[0]["id"]
                hints = {hint(q, master.by_id[q["id"]].source) for q in found if q["score"] < q["max"]}
                fresh = sorted(hints - given - {""})
                given |= hints
                yield _question(
                    name, found, fresh, answers.get(name, ""), ran.get(name), comments.get(name, "")
                )


def _grouped(cells: tuple[MasterCell, ...]):
    """Each answer cell with the cells that grade it."""
    answer: MasterCell | None = None
    tests: list[MasterCell] = []
    for cell in cells:
        if cell.role in ("solution", "manual", "task"):
            yield answer, tests
            answer, tests = cell, [] if cell.role == "solution" else [cell]
        elif cell.role == "test":
            tests.append(cell)
    yield answer, tests


def _question(
    title: str, verdicts: list[dict], hints: list[str], text: str, outcome: dict | None, comment: str
) -> str:
    got, most = sum(v["score"] for v in verdicts), sum(v["max"] for v in verdicts)
    waiting = any(v["status"] == "by hand" for v in verdicts)
    look = "part" if waiting or 0 < got < most else "good" if got >= most else "bad"
    mark = "…" if waiting else {"good": "✓", "part": "◐", "bad": "✗"}[look]
    rows = [
        f"<p class='head'><span class='mark'>{mark} {escape(title)}</span> "
        f"<span class='soft'>{points(got)} of {points(most)}</span></p>"
    ]
    sentences = dict.fromkeys(v["sentence"] for v in verdicts if v["sentence"] and v["score"] < v["max"])
    rows += [f"<p>{prose(sentence)}</p>" for sentence in sentences]
    if outcome and outcome["status"] != "ok" and not any(v["kind"] in ("empty", "stopped") for v in verdicts):
        fate = stopped(outcome["status"], outcome["error"])
        rows.append(f"<p>{prose(f'Your cell {fate}.')}</p>")
    rows += [f"<p class='soft'>{prose(words)}</p>" for words in hints]
    if comment:
        rows.append(f"<p class='comment'>{escape(comment)}</p>")
    if text.strip():
        unfold = "" if look == "good" or all(v["kind"] == "empty" for v in verdicts) else " open"
        rows.append(f"<details{unfold}><summary>Your answer</summary><pre>{escape(text)}</pre></details>")
    shown = "".join(_output(o) for o in (outcome or {}).get("outputs", []))
    if shown:
        rows.append(f"<details><summary>What it printed</summary>{shown}</details>")
    return f"<article class='{look}'>\n" + "\n".join(rows) + "\n</article>"


def _output(output: dict) -> str:
    """Text is escaped, a picture is a PNG; HTML that a student made is never shown as HTML."""
    if output["kind"] == "image/png":
        return f"<p><img alt='a picture that your cell drew' src='data:image/png;base64,{escape(output['data'])}'></p>"
    if output["kind"] == "text/html":
        return "<p class='soft'>(a display that is not shown here)</p>"
    text = output["data"]
    cut = text[:LONGEST] + ("\n… (cut)" if len(text) > LONGEST else "")
    return f"<pre>{escape(cut)}</pre>"
