"""Pairs of submissions that say the same in the same words, the starter code left out."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from itertools import combinations

from .assignment import Assignment

WINDOW = 8  # tokens in a row that count as wording
FEWEST = 40  # a submission with less wording of its own than this says too little
SUSPICIOUS = 0.8
MOST_STUDENTS = 2000  # pairs grow with the square


def similar(assignment: Assignment, records: list[dict]) -> list[tuple[float, str, str]]:
    """(share of wording in common, student, student), the most alike first."""
    starter = Counter(
        w for m in assignment.masters for c in m.cells if c.role == "solution" for w in _wording(c.released)
    )
    prints = {}
    for record in records[:MOST_STUDENTS]:
        texts = (text for answers in record["answers"].values() for text in answers.values())
        words = {w for text in texts for w in _wording(text)} - starter.keys()
        if len(words) >= FEWEST:
            prints[record["student"]] = words
    # What half the class writes is the problem's own wording, not anybody's.
    common = Counter(w for words in prints.values() for w in words)
    usual = {w for w, n in common.items() if n > max(2, len(prints) / 2)}
    own = {s: words - usual for s, words in prints.items() if len(words - usual) >= FEWEST}
    found = []
    for a, b in combinations(sorted(own), 2):
        share = len(own[a] & own[b]) / min(len(own[a]), len(own[b]))
        if share >= SUSPICIOUS:
            found.append((share, a, b))
    return sorted(found, reverse=True)[:50]


def _wording(text: str) -> list[tuple[str, ...]]:
    """Runs of tokens with names made alike, so that renaming a variable hides nothing."""
    tokens = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                tokens.append(token.string if keyword.iskeyword(token.string) else "name")
            elif token.type in (tokenize.OP, tokenize.NUMBER, tokenize.STRING):
                tokens.append(token.string)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        tokens = text.split()
    return [tuple(tokens[n : n + WINDOW]) for n in range(len(tokens) - WINDOW + 1)]
