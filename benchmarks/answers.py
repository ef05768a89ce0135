"""Answers that no author wrote down, tried by `python -m benchmarks.answers FILE …` as a class hands them in.

A file is named after its assignment. In it a question's id on a line, then `right` and `wrong`, then an answer an item:
`- name: old -> new` for a change of the solution, or `- name:` with the whole answer indented below it.
Every right one must pass both, every wrong one must lose points;
what a wrong one hears is printed, to be judged by a reader.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import dedent
from time import process_time

from coursekit import checks
from coursekit.authoring.course import Course
from coursekit.authoring.release import instructor_notebook, settings
from coursekit.authoring.source import Variant, read, without_markers
from coursekit.checks.asked.notebook import run_cell
from coursekit.checks.shown.result import Finding
from coursekit.grading.assignment import master
from coursekit.grading.prove import TINY, _definitions

MOST = 0.2  # seconds of work that a student waits for a check and its panel
ROOT = Path(__file__).resolve().parent.parent


def tried(path: Path) -> Counter:
    """Try the answers of one file in this process, print what is not as it should be, and count."""
    course, name = Course(ROOT), path.stem.partition("-")[0]
    source = read(course.solutions / name / f"{name}.md")
    made = master(name, instructor_notebook(source, course), settings())
    asked = {question.id: question for question in source.questions}
    kinds = _items(path.read_text(encoding="utf-8"))
    scope: dict = {"checks": checks}
    checks.warm()  # as a notebook's first cell does
    counted: Counter = Counter()
    for cell in made.cells:
        if cell.role == "solution":
            question, answers, found = asked.get(cell.grade_id), [], {}
            for kind, items in kinds.get(cell.grade_id, {}).items():
                for variant in _read(items, question):
                    answers.append((kind == "right", variant, {**scope}))
                    _exec(without_markers(variant.answer), answers[-1][2])
            _exec(without_markers(cell.source), scope)
        elif cell.role == "test":
            for at, (_, _, own) in enumerate(answers):
                told, seconds, points = found.get(at, ("", 0.0, 0.0))
                begun = process_time()
                shown = _told(cell.released, own)  # what it defines the next test may use
                said = "" if getattr(shown, "ok", True) else shown.looked().sentence
                getattr(shown, "_repr_html_", str)()
                seconds = max(seconds, process_time() - begun)
                score = _told(cell.source, dict(own))
                if not said:  # then what the page says after grading
                    later = _told(_unscored(cell.source), dict(own))
                    said = "" if getattr(later, "ok", True) else f"[later] {later.looked().sentence}"
                points += float(score) if isinstance(score, (int, float)) else cell.points * bool(score)
                found[at] = (f"{told} {said}".strip(), seconds, points)
            if question and question.tests and cell.grade_id == [*question.tests][-1]:
                for at, (right, variant, _) in enumerate(answers):
                    counted += _one(f"{name}/{question.id}", right, variant, *found[at], question)
            for names in (scope, *(own for _, _, own in answers)):  # the next test may use them
                _exec(_definitions(cell.released), names)
        elif cell.role == "given":
            _exec(cell.source, scope)
    return counted


def _told(text: str, scope: dict) -> object:
    """The value of a test cell: a result, or points."""
    try:
        return run_cell(text, scope)
    except checks.CheckFailed as failed:
        return failed.result
    except Exception as error:
        return checks.Result(False, (Finding("error", f"{type(error).__name__}: {error}"),))


def _unscored(text: str) -> str:
    """The cell with its last line's `.score(…)` taken off: the result that the points are of."""
    last = ast.parse(text).body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call) or getattr(call.func, "attr", "") != "score":
        return text
    above = text.splitlines()[: last.lineno - 1]
    return "\n".join([*above, ast.unparse(call.func.value)])


def _exec(text: str, scope: dict) -> None:
    with redirect_stdout(StringIO()):
        try:
            exec(compile(text, "<cell>", "exec"), scope)
        except Exception as error:
            print("STOPPED", error, file=sys.stderr)


def _items(text: str) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The answers by question and kind: (name, what follows it)."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    items: list[tuple[str, str]] = []
    for row in text.splitlines():
        if match := re.fullmatch(r"(\w+):", row):
            question = found.setdefault(match[1], {})
        elif match := re.fullmatch(r"  (right|wrong):", row):
            items = question.setdefault(match[1], [])
        elif match := re.fullmatch(r"  - ([^:]*):\s*(.*)", row):
            items.append((match[1], _unquoted(match[2])))
        elif items and row.strip() not in ("", "answer: |"):
            items[-1] = (items[-1][0], items[-1][1] + "\n" + row)
    return found


def _unquoted(text: str) -> str:
    if text[:1] == text[-1:] == '"' and " -> " in text and text.count('"') == 2:
        return json.loads(text)
    return text[1:-1].replace("''", "'") if text[:1] == text[-1:] == "'" else text


def _read(items: list, question) -> list[Variant]:
    found: list[Variant] = []
    for name, text in items:
        old, arrow, new = text.partition(" -> ")
        if "\n" in text.strip() or not arrow:
            found.append(Variant(name, dedent(text.strip("\n|-"))))
        elif question.solution.count(old) == 1:
            found.append(Variant(name, question.solution.replace(old, new)))
        else:
            print(f"UNREADABLE {question.id} {name}: {question.solution.count(old)} times {old!r}")
    return found


def _one(
    where: str, right: bool, variant: Variant, told: str, seconds: float, points: float, question
) -> Counter:
    full = points >= question.points - TINY
    what = f"{where}: {variant.name}"
    if seconds > MOST:
        print(f"SLOW           {what}: {1000 * seconds:.0f} ms of work")
    if right:
        if not full or told:
            print(f"RIGHT REFUSED  {what}: {points:g} of {question.points:g}: {told}")
        return Counter(right=1, refused=not full, unseen=bool(told), slow=seconds > MOST)
    print(f"{'WRONG ACCEPTED' if full else 'wrong'} {what} ({points:g}): {told or 'PASSED'}")
    return Counter(wrong=1, accepted=full, slow=seconds > MOST)


if __name__ == "__main__":
    total: Counter = Counter()
    for file in sys.argv[1:]:
        total += tried(Path(file))
    print(dict(total))
