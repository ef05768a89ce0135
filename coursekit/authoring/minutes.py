"""How long an assignment takes a good student who has read its chapters: an estimate, from what each question asks.

A question costs what `MINUTES` says for its kind and again for each piece of its answer: an entry, an equation, a line
of a derivation or of code. Its statement is read twice, at `WORDS` a minute, and `REPAIR` of the work is done again
after a check has found a mistake.
"""

import ast
import math
import re

from .fences import inside_markers, without_markers
from .source import Question, Source

# What is asked, by the check that judges it, and in minutes: to begin with, and for each piece.
MINUTES = {
    "choice": (3.0, 0.0),
    "ordering": (4.0, 0.0),
    "edges": (3.0, 0.4),
    "derivation": (4.0, 3.0),
    "equations": (3.0, 4.0),
    "gradients": (8.0, 1.5),
    "closed_form": (2.0, 3.0),
    "big_o": (2.0, 2.0),
    "value": (2.0, 2.0),
    "code": (6.0, 1.5),  # a function that is judged by its properties or by another one
    "essay": (5.0, 2.0),  # a piece is a point
}
WORDS, REPAIR = 130, 0.25
_CHECK = re.compile(r"checks\.(\w+)\(")


def minutes(source: Source) -> float:
    """The whole assignment."""
    texts = [c.source for c in source.notebook.cells if c.cell_type == "markdown" and not c.metadata]
    words = sum(len(text.split()) for text in texts)
    return 2 * words / WORDS + (1 + REPAIR) * sum(map(work, source.questions))


def work(question: Question) -> float:
    """The work on one question, its statement once read; an author knows better where something has to run."""
    first, each = MINUTES[kind(question)]
    return question.minutes or first + each * _pieces(question)


def kind(question: Question) -> str:
    if question.manual:
        return "essay"
    asked = {name for test in question.tests.values() for name in _CHECK.findall(test)}
    if re.search(rf"^def {question.id}\(", question.solution, re.MULTILINE):
        return "gradients" if "gradients" in asked else "code"
    return next((name for name in MINUTES if name in asked), "value")


def _pieces(question: Question) -> float:
    if question.manual:
        return question.points
    answer = inside_markers(question.solution)
    try:
        value = ast.literal_eval(without_markers(question.solution).rpartition(f"{question.id} = ")[2])
    except (SyntaxError, ValueError):
        return sum(bool(row.strip()) for row in answer.splitlines())
    if isinstance(value, str):
        return sum("=" in row for row in value.splitlines()) or 1
    return len(value) if isinstance(value, (dict, list, set)) else 1


def in_words(source: Source) -> str:
    """As a notebook says it: in half hours, rounded up."""
    halves = max(1, math.ceil(minutes(source) / 30))
    hours = f"{halves / 2:g}".replace(".5", " and a half").replace("0 and a half", "half an")
    return f"{hours} hour{'s' if halves > 2 else ''}"
