"""Find what a released notebook must not say: a line of a solution, a hidden test or a mistake."""

import re
from collections.abc import Iterator

from .fences import inside_markers, outside_markers
from .source import Question, Source

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d+\.\d+")
_TELLING = 5  # what is as short as this gives nothing away in a hint
_SHORT = 4  # a line with fewer words than this gives nothing away by itself
# An answer that is a formula in quotation marks.
_FORMULA = re.compile(r"""["']([\w\s().{}\\-]*[*+/^][\w\s*+/^().{}\\-]*)["']""")


def leaks(source: Source, released: str) -> Iterator[tuple[int, str]]:
    """Each secret line that the released text still holds, with the line of its question."""
    public = fold("\n".join(outside_markers(c.source) for c in source.notebook.cells))
    text = fold(released)
    for line, secret in dict.fromkeys(_secrets(source)):  # a line that several answers share is one leak
        folded = fold(secret)
        if folded in text and folded not in public:
            yield line, secret
    for question in source.questions:
        for formula in _FORMULA.findall(inside_markers(question.solution)):
            if len(fold(formula)) > 6 and fold(formula) in text:
                yield question.line, formula
        for hint in question.hints:
            for said in _answers(question):
                if fold(said) in fold(hint):
                    yield question.line, said


def _answers(question: Question) -> Iterator[str]:
    """What no hint may say: a value, or what a line of the answer computes or returns."""
    for row in inside_markers(question.solution).splitlines():
        quoted = re.findall(r"""["']([^"']+)["']""", row)
        for side in (*quoted, re.split(r"(?<![=<>!])=(?!=)|return ", row)[-1]):
            if len(fold(side)) > _TELLING and re.search(r"[^\w\s]", side):
                yield side.strip()


def _secrets(source: Source) -> Iterator[tuple[int, str]]:
    hidden: list[tuple[int, str]] = []
    for question in source.questions:
        answers = [question.solution, *(m.answer for m in question.mistakes)]
        hidden += [(question.line, text) for text in (*answers, *question.tests.values())]
        yield from ((question.line, mistake.sentence) for mistake in question.mistakes)
    for line, text in hidden:
        for row in inside_markers(text).splitlines():
            if len(_WORD.findall(row)) >= _SHORT:
                yield line, row.strip()


def fold(text: str) -> str:
    """Without white space and JSON's escapes, so that a line is found however it was wrapped."""
    return re.sub(r'[\s\\"]', "", text.replace("\\n", " "))
