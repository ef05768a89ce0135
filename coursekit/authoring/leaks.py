"""Find what a released notebook must not say: a line of a solution, a hidden test or a mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .source import Source, inside_markers, outside_markers

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d+\.\d+")
_SHORT = 4  # a line with fewer words than this gives nothing away by itself
# An answer that is a formula in quotation marks.
_FORMULA = re.compile(r"""["']([\w\s().{}\\-]*[*+/^][\w\s*+/^().{}\\-]*)["']""")


def leaks(source: Source, released: str) -> Iterator[tuple[int, str]]:
    """Each secret line that the released text still holds, with the line of its question."""
    public = _fold("\n".join(outside_markers(c.source) for c in source.notebook.cells))
    text = _fold(released)
    for line, secret in _secrets(source):
        folded = _fold(secret)
        if folded in text and folded not in public:
            yield line, secret
    for question in source.questions:
        for formula in _FORMULA.findall(inside_markers(question.solution)):
            if len(_fold(formula)) > 6 and _fold(formula) in text:
                yield question.line, formula


def _secrets(source: Source) -> Iterator[tuple[int, str]]:
    for question in source.questions:
        for row in inside_markers(question.solution).splitlines():
            if len(_WORD.findall(row)) >= _SHORT:
                yield question.line, row.strip()
        for mistake in question.mistakes:
            yield question.line, mistake.sentence
            for row in inside_markers(mistake.answer).splitlines():
                if len(_WORD.findall(row)) >= _SHORT:
                    yield question.line, row.strip()
    for cell in source.notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            for row in inside_markers(cell.source).splitlines():
                if len(_WORD.findall(row)) >= _SHORT:
                    yield 1, row.strip()


def _fold(text: str) -> str:
    """Without white space and JSON's escapes, so that a line is found however it was wrapped."""
    return re.sub(r'[\s\\"]', "", text.replace("\\n", " "))
