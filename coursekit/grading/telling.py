"""What a student may be told of a verdict: a check's sentence without what its hidden test expected.

A check may name the right number, the missing term or the option that should have been chosen: in the notebook that
is its purpose. On a student's page it would be the answer. What it says of the student's own answer stays: a turned
sign, a factor too many, bits where nats are asked for. The sentences that an author wrote for the student pass as
they are.
"""

from __future__ import annotations

import re

_CODE = r"`[^`]*`"
_EDGE = r"`[^`]* → [^`]*`(?: \([^)]*\))?"
_NUMBER = r"-?[\d.,]*\d(?:e[+-]?\d+)?|-?(?:inf|nan)"
_TERMS = rf"{_CODE}(?:, {_CODE})*(?: and {_CODE})?"
_NOT = ", and that is not right."
_MISSING = re.compile(
    rf"(?P<edges>{_EDGE}(?:, {_EDGE})*)(?: and (?:(?P<more>\d+) more|(?P<last>{_EDGE})))? (?:is|are) missing\."
)
_RULES = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        # numbers
        (r",? and (?:counting gives|should be) [^\s,;]*[^\s,;.]", ""),
        (rf" ?On random numbers {_CODE} should be (?:{_NUMBER}); yours is (?:{_NUMBER})\.", ""),
        (rf"The two formulas differ( at [^:]*)?: expected (?:{_NUMBER}), got ({_NUMBER})\.",
         r"Your formula is not right:\1 it gives \2."),
        (r"; it should be [-\d/]+\.", _NOT),
        (rf" \(here (?:{_NUMBER})\)", ""),
        (r"Off by one: your formula is 1 too (?:large|small)\.", "Off by one."),
        (r"A constant factor is wrong: your formula is \S+ times the right one\.", "A constant factor is wrong."),
        (r" is \S+ times what it should be\.", " is off by a constant factor."),
        (r"multiply-adds where [\d ]+ are (?:needed|enough), \S+ times as many\.",
         "multiply-adds, more than are needed."),
        (r"multiply-adds where [\d ]+ are needed\.", "multiply-adds, fewer than are needed."),
        # pieces of the right formula, the right equations, the right order
        (rf"Your formula is the right one times {_CODE}\.", "Your formula is off by a factor."),
        (rf"A (term|factor) is missing: {_CODE}\.", r"A \1 is missing."),
        (rf"The bound misses the terms? {_TERMS}", "The bound misses a term"),
        (rf"(?<=Neither bounds the other: ){_TERMS} (?:is|are) not covered", "a term is not covered"),
        (rf"\bThe (term|factor|function) {_CODE} is missing from", r"A \1 is missing from"),
        (rf"\bThe sum over {_TERMS} is missing", "A sum is missing"),
        (rf"without the gate {_CODE}", "without a gate"),
        (rf"the division by {_CODE} is missing", "a division is missing"),
        (rf"the weights {_CODE} are missing", "the weights are missing"),
        (rf" where {_CODE} belongs\.", " where something else belongs."),
        (rf"; (?:it|they|one softmax|the sum|{_CODE}) must [^;.`]*{_CODE}(?:[^.`]|{_CODE})*\.", _NOT),
        (rf"; its axes are those of {_CODE}\.", "."),
        (rf": the right order is {_CODE}\.", "."),
        (rf", on what the matrix multiplies: {_CODE}\.", "."),
        (rf"Not in order yet: {_CODE} must come before {_CODE}\.", "Not in order yet."),
        (rf"(?:{_CODE} should (?:not )?be chosen\.(?: The same goes for [^.]*\.)? ?)+",
         "Not exactly the right options are chosen. "),
    )
)  # fmt: skip

# What to try next, by how the question failed.
_TRY = (
    "Run the check below your answer in the notebook and mend what it says. The tests that grade use other numbers "
    "and sizes as well."
)
_HINTS = {
    "failed": _TRY,
    "partial": _TRY,
    "error": _TRY,
    "missing": "Run the notebook from the top in a fresh session; every cell must get through.",
    "timeout": "Look for a loop that does not end, and for work inside a loop that could be done once before it.",
    "died": "Something here ends the process: a call such as `exit()`, or more memory than there is.",
}


def told(sentence: str) -> str:
    """The sentence as the student reads it."""
    for pattern, instead in _RULES:
        sentence = pattern.sub(instead, sentence)
    return _MISSING.sub(_counted, sentence).strip()


def _counted(found: re.Match) -> str:
    number = found["edges"].count(" → ") + int(found["more"] or 0) + bool(found["last"])
    return f"{number} {'edge is' if number == 1 else 'edges are'} missing."


def hint(question: dict, test: str) -> str:
    """What to try next, for a question that lost points. `test` is its test's source: what the author has written there
    for this very mistake needs no more words."""
    named = question["kind"] and repr(question["kind"]) in test
    if named or question["sentence"] in test or question["kind"] == "empty":
        return ""
    return _HINTS.get(question["status"], "")
