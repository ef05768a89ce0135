"""What a student may be told of a verdict: a check's sentence without what its hidden test expected.

A check may name the right number, the missing edge or the option that should have been chosen: in the notebook that
is its purpose. On a student's page it would be the answer. The sentences of named mistakes are the author's own
words to the student, and pass as they are.
"""

from __future__ import annotations

import re

_EDGE = r"`[^`]* → [^`]*`(?: \([^)]*\))?"
_MISSING = re.compile(
    rf"(?P<edges>{_EDGE}(?:, {_EDGE})*)(?: and (?:(?P<more>\d+) more|(?P<last>{_EDGE})))? (?:is|are) missing\."
)
_CHOSEN = re.compile(r"(?:`[^`]+` should (?:not )?be chosen\.(?: The same goes for [^.]*\.)? ?)+")
_RULES = (
    (re.compile(r",? and (?:counting gives|should be) [^\s,;]*[^\s,;.]"), ""),
    (re.compile(r"Not in order yet: `[^`]+` must come before `[^`]+`\."), "Not in order yet."),
)


def told(sentence: str) -> str:
    """The sentence as the student reads it."""
    for pattern, instead in _RULES:
        sentence = pattern.sub(instead, sentence)
    sentence = _MISSING.sub(_counted, sentence)
    return _CHOSEN.sub("Not exactly the right options are chosen. ", sentence).strip()


def _counted(found: re.Match) -> str:
    number = found["edges"].count(" → ") + int(found["more"] or 0) + bool(found["last"])
    return f"{number} {'edge is' if number == 1 else 'edges are'} missing."
