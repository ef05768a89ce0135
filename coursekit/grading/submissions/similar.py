"""Pairs of submissions that say the same in the same words, the starter code left out."""

import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, islice

from ..facts import Assignment, Entry
from ..run.names import has_long_line

WINDOW = 8  # tokens in a row that count as wording
FEWEST = 40  # a submission with less wording of its own than this says too little
SUSPICIOUS = 0.8
MOST_STUDENTS = 2000  # pairs grow with the square


def similar(assignment: Assignment, entries: Iterable[Entry]) -> list[tuple[float, str, str]]:
    """(share of wording in common, student, student), the most alike first."""
    cells = {(m.name, c.grade_id): c for m in assignment.masters for c in m.cells if c.grade_id}
    starter = {w for c in cells.values() for w in _wording(c.released, c.kind == "code")}
    prose = {key for key, cell in cells.items() if cell.kind != "code"}
    prints = {}
    for entry in islice(entries, MOST_STUDENTS):
        texts = {(book, name): text for book, mine in entry.answers.items() for name, text in mine.items()}
        words = {w for key, text in texts.items() for w in _wording(text, key not in prose)} - starter
        if len(words) >= FEWEST:
            prints[entry.student] = words
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


def _wording(text: str, code: bool) -> list[tuple[str, ...]]:
    """Runs of words. In code, names are made alike, so that renaming a variable hides nothing."""
    tokens = _tokens(text) if code else re.findall(r"\w+", text.lower())
    return [tuple(tokens[n : n + WINDOW]) for n in range(len(tokens) - WINDOW + 1)]


def _tokens(text: str) -> list[str]:
    if has_long_line(text):
        return text.split()
    tokens = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                tokens.append(token.string if keyword.iskeyword(token.string) else "name")
            elif token.type in (tokenize.OP, tokenize.NUMBER, tokenize.STRING):
                tokens.append(token.string)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return text.split()
    return tokens
