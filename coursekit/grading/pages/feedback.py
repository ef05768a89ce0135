"""A student's page: points, what was wrong and why, their own answer and what it printed.

Only the student's words and the checks' sentences are on it: no test, no expected value, no traceback of ours.
"""

from collections.abc import Iterator
from html import escape

from ..facts import Assignment, Entry, Printed, Verdict, counted, points
from ..run.outcome import CellOutcome, Output
from .describe import stopped
from .frame import folded, heading, listed, page, prose

LONGEST = 4000  # characters of one output that are worth a reader's time

# What to try next, by how the question failed.
_TRY = (
    "Run the check below your answer in the notebook and mend what it says. The tests that grade use other numbers "
    "and sizes as well."
)
_HINTS = dict.fromkeys(("failed", "partial", "error"), _TRY) | {
    "missing": "Run the notebook from the top in a fresh session; every cell must get through.",
    "timeout": "Look for a loop that does not end, and for work inside a loop that could be done once before it.",
    "died": "Something here ends the process: a call such as `exit()`, or more memory than there is.",
}


def feedback(entry: Entry, assignment: Assignment, printed: Printed) -> str:
    """The HTML page of one entry and what its cells printed (see `describe`)."""
    head = [
        f"<h1>{heading(assignment)}</h1>",
        f"<p class='soft'>{escape(assignment.name)} · {escape(entry.student)}</p>",
        f"<p class='total'>{points(entry.score)} <span class='soft'>of {points(entry.max_score)}</span></p>",
    ]
    if entry.late_penalty:
        head.append(f"<p>Handed in late: {points(entry.late_penalty)} points fewer.</p>")
    if entry.waiting:
        head.append(f"<p>{counted(entry.waiting, 'answer')} will be graded by a person.</p>")
    if notes := [*entry.flags, *entry.repairs]:
        head.append(folded("About your notebook", listed(notes)))
    body = "\n".join([*head, *_questions(entry, assignment, printed)])
    return page(f"{assignment.name}: {entry.student}", body)


def _questions(entry: Entry, assignment: Assignment, printed: Printed) -> Iterator[str]:
    verdicts = {q.key: q for q in entry.questions}
    given: set[str] = set()  # a hint is worth reading once
    for master in assignment.masters:
        book = master.name
        if len(assignment.masters) > 1:
            yield f"<h2>{escape(book)}</h2>"
        ran = {cell.id: cell for cell in printed.get(book, [])}
        answers, comments = entry.answers.get(book, {}), entry.comments.get(book, {})
        for answer, graders in master.questions:
            found = [verdicts[book, cell.grade_id] for cell in graders if (book, cell.grade_id) in verdicts]
            if found:
                name = answer.grade_id if answer else found[0].id
                hints = {_hint(q, master.by_id[q.id].source) for q in found if q.short} - {""}
                fresh, given = sorted(hints - given), given | hints
                text, comment = answers.get(name, ""), comments.get(name, "")
                yield _question(name, found, fresh, text, ran.get(name), comment)


def _hint(verdict: Verdict, test: str) -> str:
    """What to try next, for a question that lost points. `test` is its test's source: what the author has written there
    for this very mistake needs no more words."""
    named = verdict.kind and repr(verdict.kind) in test
    return "" if named or verdict.sentence in test or verdict.empty else _HINTS.get(verdict.status, "")


def _question(
    title: str, verdicts: list[Verdict], hints: list[str], text: str, cell: CellOutcome | None, comment: str
) -> str:
    got, most = sum(v.score for v in verdicts), sum(v.max for v in verdicts)
    waiting = any(v.waiting for v in verdicts)
    look = "part" if waiting or 0 < got < most else "good" if got >= most else "bad"
    mark = "…" if waiting else {"good": "✓", "part": "◐", "bad": "✗"}[look]
    score = f"{points(most)} points" if waiting else f"{points(got)} of {points(most)}"
    named = f"<span class='mark'>{mark} {escape(title)}</span>"
    rows = [f"<p class='head'>{named} <span class='soft'>{score}</span></p>"]
    said = [v.sentence for v in verdicts if v.sentence and v.short]
    if cell and cell.status != "ok" and not any(v.kind in ("empty", "stopped") for v in verdicts):
        said.append(f"Your cell {stopped(cell)}.")
    rows += [f"<p>{prose(sentence)}</p>" for sentence in dict.fromkeys(said)]
    rows += [f"<p class='soft'>{prose(words)}</p>" for words in hints]
    if comment:
        rows.append(f"<p class='comment'>{escape(comment)}</p>")
    if text.strip():
        unfold = look != "good" and not all(v.kind == "empty" for v in verdicts)
        rows.append(folded("Your answer", f"<pre>{escape(text)}</pre>", unfold))
    if shown := "".join(map(_output, cell.outputs)) if cell else "":
        rows.append(folded("What it printed", shown))
    return f"<article class='{look}'>\n" + "\n".join(rows) + "\n</article>"


def _output(output: Output) -> str:
    """Text is escaped, a picture is a PNG; HTML that a student made is never shown as HTML."""
    text = str(output.data)
    if output.kind == "image/png":
        return f"<p><img alt='a picture that your cell drew' src='data:image/png;base64,{escape(text)}'></p>"
    if output.kind == "text/html":
        return "<p class='soft'>(a display that is not shown here)</p>"
    cut = text[:LONGEST] + ("\n… (cut)" if len(text) > LONGEST else "")
    return f"<pre>{escape(cut)}</pre>"
