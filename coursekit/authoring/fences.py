"""The fences in which a question is written, and the text between them.

    ```{answer} slope rnn          the student's cell, and the chapter that teaches it; what follows the docstring is
                                   the solution, of a value all of it (a line `### SOLUTION` divides it elsewhere)
    ```{essay} why_slope 4 rnn     an answer in words that a person reads, with its points and its chapter
    ```{test} 4                    points, and a grade_id where it is not `test_slope`; what follows
                                   `### HIDDEN TESTS` is run by the grader alone
    ```{forms}                     what is known about answers: `mistakes`, `right`, `also`, `equal`, `hints`
    ```{given} helpers             a cell that students run and do not change

A test and the forms belong to the answer above them.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

SOLUTION, HIDDEN = "### SOLUTION", "### HIDDEN TESTS"
BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
KINDS = ("answer", "essay", "test", "forms", "given")
_OPEN = re.compile(r"^```\{([\w-]+)\}\s*(.*?)\s*$")


@dataclass(frozen=True)
class Block:
    """A fence, or the text between two; `head` is what stands at the top of the file. `line` is where it begins."""

    kind: str
    words: tuple[str, ...]
    body: str
    line: int
    closed: bool = True


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a source, one after the other."""
    lines = text.splitlines()
    at = 0
    if lines and lines[0] == "---" and "---" in lines[1:]:
        at = lines.index("---", 1) + 1
        yield Block("head", (), "\n".join(lines[1 : at - 1]), 1)
    while at < len(lines):
        opened = _OPEN.match(lines[at])
        if opened:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == "```"), len(lines))
            body = "\n".join(lines[at + 1 : end])
            yield Block(opened[1], tuple(opened[2].split()), body, at + 1, end < len(lines))
            at = end + 1
            continue
        end = next((n for n in range(at, len(lines)) if _OPEN.match(lines[n])), len(lines))
        if said := "\n".join(lines[at:end]).strip("\n"):
            yield Block("text", (), said, at + 1)
        at = end


def with_solution(text: str, name: str = "") -> str:
    """The answer with nbgrader's markers around its solution; a `name` that only this binds, bound before it."""
    rows = text.split("\n")
    marks = [n for n, row in enumerate(rows) if row.strip() == SOLUTION]
    if marks:
        start, indent = marks[0], rows[marks[0]][: -len(SOLUTION)]
        del rows[start]
    else:
        start, indent = 0, ""
        with suppress(SyntaxError, ValueError):  # said better where the released cell is looked at
            last = ast.parse(text).body[-1:]
            if last and isinstance(last[0], ast.FunctionDef) and ast.get_docstring(last[0]) is not None:
                start, indent = last[0].body[0].end_lineno or 0, "    "
    marked = "\n".join([*rows[:start], indent + BEGIN_SOLUTION, *rows[start:], indent + END_SOLUTION])
    binds = re.compile(rf"^{re.escape(name)} = ", re.MULTILINE)
    alone = name and binds.search(inside_markers(marked)) and not binds.search(outside_markers(marked))
    return f"{name} = ...\n{marked}" if alone else marked  # nothing is ever undefined for a student


def with_hidden(text: str) -> str:
    """The test with nbgrader's markers around its hidden part."""
    shown, mark, hidden = text.partition(f"{HIDDEN}\n")
    return f"{shown}{BEGIN_HIDDEN}\n{hidden}\n{END_HIDDEN}" if mark else text


def outside_markers(text: str) -> str:
    """The text less its solution and hidden-test regions."""
    return "".join(row for row, inside in regions(text) if not inside)


def inside_markers(text: str) -> str:
    """What the solution and hidden-test regions hold, markers left out."""
    return without_markers("".join(row for row, inside in regions(text) if inside))


def without_markers(text: str) -> str:
    """The text as a student would have written it: the marker lines left out."""
    markers = (BEGIN_SOLUTION, END_SOLUTION, BEGIN_HIDDEN, END_HIDDEN)
    return "".join(row for row in text.splitlines(keepends=True) if not any(m in row for m in markers))


def regions(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it stands in a solution or a hidden test; the markers do."""
    inside = False
    for row in text.splitlines(keepends=True):
        if BEGIN_SOLUTION in row or BEGIN_HIDDEN in row:
            inside = True
        yield row, inside
        if END_SOLUTION in row or END_HIDDEN in row:
            inside = False
