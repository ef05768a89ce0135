"""Read `solutions/NAME/NAME.md`: a MyST text notebook that holds all there is about an assignment.

Its cells are those of the notebook, with nbgrader's metadata (only what differs from the default
need be written), and raw cells that are about a question and never leave this folder:

- `mistakes: GRADE_ID` has a list of named mistakes, each a `name`, the `sentence` it deserves and the
  change that makes it out of the solution (`old`/`new`, or a whole `answer`);
- `right: GRADE_ID` has other right answers, in the same form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
import yaml
from jupytext.myst import myst_to_notebook

BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"

RESERVED = ("setup", "finish")  # the cells that `release` puts around every notebook

DEFAULTS = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}


class SourceError(Exception):
    """A source that cannot be released: the file, the line of the cell, what is wrong, the repair."""

    def __init__(self, path: Path, line: int, message: str):
        self.path, self.line, self.message = path, line, message
        super().__init__(f"{path}:{line}: {message}")


@dataclass(frozen=True)
class Variant:
    """Another answer to a question: a named mistake with its sentence, or a right one (no sentence)."""

    name: str
    answer: str  # the whole solution cell as this student wrote it
    sentence: str = ""
    line: int = 0


@dataclass
class Question:
    """A cell that a student fills in, the tests that grade it, and the answers it is proved with."""

    id: str
    line: int
    solution: str  # the solution cell as written, markers included
    tests: list[str] = field(default_factory=list)  # grade_ids of its autograded cells
    points: float = 0.0
    manual: bool = False
    mistakes: list[Variant] = field(default_factory=list)
    right: list[Variant] = field(default_factory=list)


@dataclass
class Source:
    """An assignment as its author wrote it."""

    name: str
    path: Path
    notebook: nbformat.NotebookNode  # the instructor's notebook: raw cells about questions taken out
    questions: list[Question]

    @property
    def points(self) -> float:
        return sum(q.points for q in self.questions)

    @property
    def title(self) -> str:
        for cell in self.notebook.cells:
            for text in cell.source.splitlines():
                if text.startswith("# "):
                    return text.removeprefix("# ").strip()
        return self.name


def read(path: Path) -> Source:
    """Read and check a source; raise SourceError for the first thing that is wrong with it."""
    text = path.read_text(encoding="utf-8")
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except Exception as error:  # jupytext raises many kinds for one cause: the text is not MyST
        raise SourceError(path, 1, f"this is not a MyST text notebook: {error}") from error
    lines = notebook.metadata.pop("source_map", [1] * len(notebook.cells))
    lines = [n + 1 for n in lines]
    metadata = jupytext.reads(text, "md:myst").metadata
    notebook.metadata.update({"kernelspec": metadata.get("kernelspec", {})})

    cells, about = [], []
    for cell, line in zip(notebook.cells, lines, strict=True):
        kind = next((k for k in ("mistakes", "right") if k in cell.metadata), None)
        if cell.cell_type == "raw" and kind:
            about.append((kind, cell.metadata[kind], cell.source, line))
        else:
            cell.metadata["line"] = line
            cells.append(cell)
    notebook.cells = cells

    _complete_metadata(path, cells)
    questions = list(_questions(path, cells))
    by_id = {q.id: q for q in questions}
    for kind, grade_id, body, line in about:
        if grade_id not in by_id:
            raise SourceError(path, line, f"`{kind}: {grade_id}` names no solution cell; write its grade_id")
        question = by_id[grade_id]
        getattr(question, kind).extend(_variants(path, line, kind, body, question))
    _points_add_up(path, metadata.get("points"), questions)
    for number, cell in enumerate(cells):
        cell.metadata.pop("line")
        cell["id"] = _cell_id(cell, number)
    return Source(path.parent.name, path, notebook, questions)


def _complete_metadata(path: Path, cells: list) -> None:
    seen: dict[str, int] = {}
    for cell in cells:
        line = cell.metadata["line"]
        marked = "nbgrader" in cell.metadata
        for marker, role in ((BEGIN_SOLUTION, "solution"), (BEGIN_HIDDEN, "grade")):
            if marker in cell.source and not (marked and cell.metadata["nbgrader"].get(role)):
                raise SourceError(
                    path,
                    line,
                    f"the cell has `{marker}` but is no {role} cell; add `{role}: true` to its metadata",
                )
        if not marked:
            continue
        info = {**DEFAULTS, **cell.metadata["nbgrader"]}
        grade_id = info.get("grade_id")
        if not grade_id:
            raise SourceError(
                path, line, "the cell has nbgrader metadata but no grade_id; add `grade_id: some_name`"
            )
        if grade_id in seen:
            raise SourceError(
                path,
                line,
                f"grade_id `{grade_id}` stands on line {seen[grade_id]} already; give this cell its own",
            )
        if grade_id in RESERVED:
            raise SourceError(
                path, line, f"grade_id `{grade_id}` is a cell that release adds; choose another name"
            )
        seen[grade_id] = line
        if info["grade"] and "points" not in info:
            raise SourceError(path, line, f"`{grade_id}` is graded but has no points; add `points: 1`")
        if info["grade"] and not isinstance(info["points"], (int, float)):
            raise SourceError(
                path,
                line,
                f"`{grade_id}` has the points {info['points']!r}; write a number, as in `points: 1`",
            )
        if not info["grade"]:
            info.pop("points", None)
        if info["grade"] and not info["solution"]:
            info["locked"] = True
            _balanced(path, line, cell.source, BEGIN_HIDDEN, END_HIDDEN)
        if info["solution"]:
            _balanced(path, line, cell.source, BEGIN_SOLUTION, END_SOLUTION)
            if cell.cell_type == "code" and BEGIN_SOLUTION not in cell.source:
                raise SourceError(
                    path,
                    line,
                    f"solution cell `{grade_id}` has no `{BEGIN_SOLUTION}`: its answer would be released",
                )
        cell.metadata["nbgrader"] = info


def _balanced(path: Path, line: int, text: str, begin: str, end: str) -> None:
    inside = False
    for offset, row in enumerate(text.splitlines()):
        if begin in row or end in row:
            if (begin in row) == inside:
                raise SourceError(
                    path, line + offset, f"`{row.strip()}` has no partner; write `{begin}` … `{end}`"
                )
            inside = not inside
    if inside:
        raise SourceError(path, line, f"`{begin}` is never closed; add `{end}`")


def _questions(path: Path, cells: list) -> Iterator[Question]:
    current: Question | None = None
    for cell in cells:
        info = cell.metadata.get("nbgrader")
        if not info:
            continue
        if info["solution"]:
            if current is not None:
                yield _complete(path, current)
            manual = bool(info["grade"])
            current = Question(info["grade_id"], cell.metadata["line"], cell.source, manual=manual)
            current.points = float(info["points"]) if manual else 0.0
        elif info["grade"]:
            if current is None:
                message = (
                    f"test `{info['grade_id']}` stands before any solution cell; move it below its answer"
                )
                raise SourceError(path, cell.metadata["line"], message)
            current.tests.append(info["grade_id"])
            current.points += float(info["points"])
    if current is not None:
        yield _complete(path, current)


def _complete(path: Path, question: Question) -> Question:
    if not question.tests and not question.manual:
        message = (
            f"solution cell `{question.id}` has no test; add a cell with `grade: true` and points below it"
        )
        raise SourceError(path, question.line, message)
    return question


def _variants(path: Path, line: int, kind: str, body: str, question: Question) -> Iterator[Variant]:
    try:
        items = yaml.safe_load(body)
    except yaml.YAMLError as error:
        raise SourceError(path, line, f"`{kind}` is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(items, list):
        raise SourceError(path, line, f"`{kind}` must be a list; begin each item with `- name:`")
    for item in items:
        name = str(item.get("name", "")).strip()
        sentence = " ".join(str(item.get("sentence", "")).split())
        if not name or (kind == "mistakes" and not sentence):
            raise SourceError(
                path, line, f"an item of `{kind}: {question.id}` lacks its name or its sentence"
            )
        answer = item.get("answer")
        if answer is None:
            answer = question.solution
            changes = item.get("changes") or [{"old": item.get("old"), "new": item.get("new", "")}]
            for change in changes:
                old = change["old"]
                if not old or answer.count(old) != 1:
                    times = answer.count(old) if old else 0
                    message = (
                        f"{name!r}: `old` must stand exactly once in the solution, and stands {times} times"
                    )
                    raise SourceError(path, line, message)
                answer = answer.replace(old, change["new"])
        yield Variant(name, answer, sentence, line)


def _points_add_up(path: Path, declared, questions: list[Question]) -> None:
    total = sum(q.points for q in questions)
    if declared is not None and float(declared) != total:
        message = (
            f"the heading promises {declared:g} points and the cells add up to {total:g}; mend one of them"
        )
        raise SourceError(path, 1, message)


def _cell_id(cell, number: int) -> str:
    """The same id at every build: nbformat would draw a random one."""
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    return hashlib.sha256(f"{number}|{grade_id}|{cell.cell_type}".encode()).hexdigest()[:8]


def outside_markers(text: str) -> str:
    """The text less its solution and hidden-test regions."""
    return "".join(row for row, inside in _regions(text) if not inside)


def inside_markers(text: str) -> str:
    """What the solution and hidden-test regions hold, markers left out."""
    return without_markers("".join(row for row, inside in _regions(text) if inside))


def without_markers(text: str) -> str:
    """The text as a student would have written it: the marker lines left out."""
    markers = (BEGIN_SOLUTION, END_SOLUTION, BEGIN_HIDDEN, END_HIDDEN)
    return "".join(row for row in text.splitlines(keepends=True) if not any(m in row for m in markers))


def _regions(text: str) -> Iterator[tuple[str, bool]]:
    inside = False
    for row in text.splitlines(keepends=True):
        if BEGIN_SOLUTION in row or BEGIN_HIDDEN in row:
            inside = True
        yield row, inside
        if END_SOLUTION in row or END_HIDDEN in row:
            inside = False
