"""Read `solutions/NAME/NAME.md`: a text that holds all there is about an assignment.

Its blocks (`fences.py`) are the cells of the notebook, with nbgrader's metadata, and what is known about each
question's answers. That never leaves this folder:

- `mistakes`: named mistakes, each a name, the sentence it deserves and the change that makes it out of the solution
  (`change: "old -> new"`, a list of them, `old` and `new` where they are long, or a whole `answer`); of a value
  `name: [the wrong value, the sentence]`, where of a dict the wrong entries are enough;
- `right`: other right answers, in the same form, or `name: |` with the whole of it below; of a value `also`, a list
  of values that are right as well. What is the same choice in another form nobody need write;
- `equal`: changes of the solution that are no mistake, and corners that no test tries, each with the reason;
- `hints`: what helps, in the order in which it is opened;
- `minutes`: how long it takes, where the table in `minutes.py` cannot know.
"""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import v4

from ..expected import Expected
from .fences import KINDS, Block, blocks, with_hidden, with_solution, without_markers

RESERVED = ("setup", "finish")  # the cells that `release` puts around every notebook
FORMS = {"mistakes": list, "right": list, "also": list, "hints": list, "equal": dict, "minutes": int}
DEFAULTS = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
_CHOSEN = re.compile(r"checks\.(choice|ordering)\(")


class SourceError(Expected):
    """A source that cannot be released: the file, the line of the block, what is wrong, the repair."""

    def __init__(self, path: Path, line: int, message: str):
        self.path, self.line, self.message = path, line, message
        super().__init__(f"{path}:{line}: {message}")


@dataclass(frozen=True)
class Variant:
    """Another answer to a question: a named mistake with its sentence, or a right one (no sentence)."""

    name: str
    answer: str  # the whole solution cell as this student wrote it
    sentence: str = ""


@dataclass
class Question:
    """A cell that a student fills in, the tests that grade it, and the answers it is proved with."""

    id: str
    line: int
    solution: str  # the solution cell as written, markers included
    chapter: str = ""
    tests: dict[str, str] = field(default_factory=dict)  # its autograded cells by their grade_ids
    points: float = 0.0
    minutes: int = 0
    manual: bool = False
    mistakes: list[Variant] = field(default_factory=list)
    right: list[Variant] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    equal: dict[str, str] = field(default_factory=dict)  # changes that are no mistake, and why


@dataclass
class Source:
    """An assignment as its author wrote it."""

    name: str
    path: Path
    notebook: nbformat.NotebookNode  # the instructor's notebook: what is known about answers left out
    questions: list[Question]

    @property
    def points(self) -> float:
        return sum(q.points for q in self.questions)

    @property
    def title(self) -> str:
        heads = (row for cell in self.notebook.cells for row in cell.source.splitlines())
        return next((row.removeprefix("# ").strip() for row in heads if row.startswith("# ")), self.name)


def read(path: Path) -> Source:
    """Read and check a source; raise SourceError for the first thing that is wrong with it."""
    reader = _Reader(path)
    declared = None
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.kind == "head":
            declared = (_yaml(path, block) or {}).get("points")
        elif block.kind == "text":
            reader.cells.append(v4.new_markdown_cell(block.body))
        else:
            reader.take(block)
    reader.complete()
    total = sum(q.points for q in reader.questions)
    if declared is not None and float(declared) != total:
        message = f"the heading promises {declared:g} points and the cells add up to {total:g}"
        raise SourceError(path, 1, f"{message}; mend one of them")
    for number, cell in enumerate(reader.cells):  # nbformat would draw another id at every build
        mark = f"{number}|{cell.metadata.get('nbgrader', {}).get('grade_id', '')}|{cell.cell_type}"
        cell["id"] = hashlib.sha256(mark.encode()).hexdigest()[:8]
    return Source(path.parent.name, path, v4.new_notebook(cells=reader.cells), reader.questions)


class _Reader:
    """Takes one block after the other."""

    def __init__(self, path: Path):
        self.path = path
        self.cells: list[nbformat.NotebookNode] = []
        self.questions: list[Question] = []
        self.lines: dict[str, int] = {}

    def take(self, block: Block) -> None:
        if block.kind not in KINDS:
            known = _listed(f"{{{kind}}}" for kind in KINDS)
            raise self.error(block, f"there is no fence `{{{block.kind}}}`; there are {known}")
        if not block.closed:
            message = f"the fence `{{{block.kind}}}` is never closed"
            raise self.error(block, f"{message}; add a line of three backquotes")
        if block.kind in ("test", "forms") and not self.questions:
            raise self.error(block, f"`{{{block.kind}}}` stands before any answer; move it below its own")
        getattr(self, f"_{block.kind}")(block)

    def error(self, block: Block, message: str) -> SourceError:
        return SourceError(self.path, block.line, message)

    def _answer(self, block: Block) -> None:
        self.complete()
        name, chapter = self._words(block, 1, 2)
        solution = with_solution(block.body, name)
        self.questions.append(Question(name, block.line, solution, chapter))
        self._cell(block, name, solution, solution=True)

    def _essay(self, block: Block) -> None:
        self.complete()
        name, points, chapter = self._words(block, 2, 3)
        number = self._number(block, points)
        self.questions.append(Question(name, block.line, block.body, chapter, points=number, manual=True))
        self._cell(block, name, block.body, grade=True, solution=True, points=number)

    def _test(self, block: Block) -> None:
        points, name = self._words(block, 1, 2)
        question = self.questions[-1]
        name = name or f"test_{question.id}"
        text = with_hidden(block.body)
        question.tests[name] = text
        number = self._number(block, points)
        question.points += number
        self._cell(block, name, text, grade=True, locked=True, points=number)

    def _given(self, block: Block) -> None:
        (name,) = self._words(block, 1, 1)
        self._cell(block, name, block.body, locked=True)

    def _forms(self, block: Block) -> None:
        question = self.questions[-1]
        told: dict[str, Any] = dict(_yaml(self.path, block) or {})
        for part, items in told.items():
            if part not in FORMS:
                raise self.error(block, f"`forms` has no {part!r}; it has {_listed(FORMS)}")
            if not isinstance(items, FORMS[part]):
                form = {list: "a list: begin each item with `- `", dict: "a mapping", int: "a number"}
                raise self.error(block, f"`{part}` must be {form[FORMS[part]]}")
        question.minutes = told.get("minutes", 0)
        question.equal |= told.get("equal", {})
        question.hints += told.get("hints", [])
        question.mistakes += self._variants(block, "mistakes", told.get("mistakes", []), question)
        question.right += self._variants(block, "right", told.get("right", []), question)
        question.right += [Variant(f"also {v!r}", _valued(question, v)) for v in told.get("also", [])]

    def _variants(self, block: Block, part: str, items: list[Any], question: Question) -> Iterator[Variant]:  # noqa: C901
        for item in items:
            (name, said), *_ = item.items()
            sentence, answer, changes = "", item.get("answer"), item.get("change", [])
            if isinstance(said, list):
                wrong, sentence = said
                answer = _valued(question, wrong)
            elif part == "mistakes":
                sentence = str(said or "")
            elif said is not None and ("\n" in said or " -> " not in said):
                answer = said  # the whole of it
            elif said is not None:
                changes = said
            if not name or (part == "mistakes" and not sentence):
                raise self.error(block, f"an item of `{part}` lacks its name or its sentence")
            if answer is None:
                answer = question.solution
                for change in changes if isinstance(changes, list) else [changes]:
                    old, _, new = str(change).partition(" -> ")
                    if isinstance(change, dict):  # they have several lines
                        old, new = str(change.get("old", "")), str(change.get("new", ""))
                    if answer.count(old) != 1:
                        times = f"exactly once in the solution, and stands {answer.count(old)} times"
                        raise self.error(block, f"{name!r}: `{old}` must stand {times}")
                    answer = answer.replace(old, new)
            yield Variant(str(name), answer, " ".join(sentence.split()))

    def complete(self) -> None:
        """Nothing more is said about the question."""
        if not self.questions:
            return
        question = self.questions[-1]
        if not question.tests and not question.manual:
            message = f"`{question.id}` has no test; add a fence `{{test}} POINTS` below it"
            raise SourceError(self.path, question.line, message)
        if not question.right and any(_CHOSEN.search(test) for test in question.tests.values()):
            forms = _same_choice(question)
            question.right = [Variant(f"written {form!r}", _valued(question, form)) for form in forms]

    def _words(self, block: Block, fewest: int, most: int) -> tuple[str, ...]:
        if not fewest <= len(block.words) <= most:
            wanted = f"{fewest} to {most} words" if fewest < most else f"{fewest} word"
            has = f"`{{{block.kind}}}` takes {wanted} and has {len(block.words)}"
            raise self.error(block, f"{has}: its name, its points")
        return (*block.words, *[""] * (most - len(block.words)))

    def _number(self, block: Block, word: str) -> float:
        try:
            return float(word)
        except ValueError:
            raise self.error(block, f"the points are {word!r}; write a number, as in `{{test}} 1`") from None

    def _cell(self, block: Block, name: str, text: str, **info: Any) -> None:
        if line := self.lines.get(name):
            stands = f"grade_id `{name}` stands on line {line} already"
            raise self.error(block, f"{stands}; give this cell its own")
        if name in RESERVED:
            raise self.error(block, f"grade_id `{name}` is a cell that release adds; choose another name")
        self.lines[name] = block.line
        new: Callable[..., Any] = v4.new_markdown_cell if block.kind == "essay" else v4.new_code_cell
        if "points" in info and info["points"].is_integer():
            info["points"] = int(info["points"])
        self.cells.append(new(text, metadata={"nbgrader": {**DEFAULTS, "grade_id": name, **info}}))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _valued(question: Question, value: Any) -> str:
    """The answer cell with this value; of a dict with these entries."""
    if isinstance(value, dict):
        return f"{question.solution}\n{question.id}.update({value!r})"
    return with_solution(f"{question.id} = {value!r}")


def _same_choice(question: Question) -> list[Any]:
    """A choice or an order in other forms that a student may write as well."""
    try:
        value = ast.literal_eval(without_markers(question.solution).rpartition(" = ")[2])
    except (SyntaxError, ValueError):
        return []
    if isinstance(value, str):
        return [value.upper(), f" {value} ", [value]]
    if isinstance(value, list):
        return [", ".join(value), tuple(value), [label.upper() for label in value]]
    return [sorted(value, reverse=True), ", ".join(sorted(value)), [label.upper() for label in value]]


def _yaml(path: Path, block: Block) -> Any:
    try:
        return yaml.safe_load(block.body)
    except yaml.YAMLError as error:
        message = f"`{block.kind}` is not YAML: {str(error).splitlines()[0]}"
        raise SourceError(path, block.line, message) from error
