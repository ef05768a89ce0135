"""Slips of the keyboard and of Python's quotes: what a character or a command that makes no sense was meant to be."""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches

from ..names import ACCENTS, GREEK
from .symbols import FUNCTIONS, OPERATORS, REDUCERS, WRAPPERS

# Blanks that Python does not count among them: a pasted text may hold some, and nobody sees them.
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"

# `"\frac"` without an r before the quotes: Python has made one character of the backslash and its letter. A tab
# and a carriage return may be meant, so they need the rest of a command; `\to` and `\top` may be a tab and a name.
_ESCAPED = re.compile(
    "(?:[\a\b\f\v](?=[A-Za-z])|\t(?=anh|au|ext|heta|ilde|imes)|\r(?=brac|ho|ight|vert))[A-Za-z]+"
)
_LETTER = {"\a": "a", "\b": "b", "\f": "f", "\r": "r", "\t": "t", "\v": "v"}

_INSTEAD = {
    ":": "; a slice is a capital: `h[b,t,J]`",
    "@": "; write the factors side by side: `W[j,I] x[I]`, or `W x` where their shapes are declared",
    "?": "; write `a[i] if x[i] > 0 else b[i]`",
}
_BESIDE = "write the factors side by side, a capital for what is summed: `W[j,I] x[I]`"
PYTHON = {
    **dict.fromkeys(("matmul", "mm", "dot", "bmm", "einsum", "matvec", "mv"), _BESIDE),
    **dict.fromkeys(("cat", "hstack", "concatenate", "stack"), "write `c[t,C] = a[t,I]; b[t,K]`"),
    "where": "write `a[i] if x[i] > 0 else b[i]`",
    "len": "the size of an axis is a capital: `T` for the index t",
    "range": "an index takes all its values by itself; under a sum a condition may tell which: `sum[s <= t](x[s])`",
    "zeros": "write the number: `h[-1,j] = 0`",
}
# A line of a program: what stands at its beginning, and what a tutor would say.
_PROGRAM = re.compile(r"\s*(def|for|while|return|import|from|class|print|assert|with)\b(?!\s*(\[|=|_|'))")


def program(line: str) -> str | None:
    """A sentence for a line of Python, where an equation is expected."""
    found = _PROGRAM.match(line)
    if found is None:
        return None
    return (
        f"`{found.group(1)}` begins a line of Python; an equation says what each entry is, "
        f"for all values of its indices: `h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])`"
    )


_COMMANDS = sorted(
    {"frac", "sqrt", "underset", "left", "right", "quad", "ell", "in"}.union(
        GREEK, ACCENTS, WRAPPERS, FUNCTIONS, REDUCERS, filter(str.isalpha, OPERATORS)
    )
)


def escaped(text: str, at: int, end: int) -> tuple[str, int] | None:
    """A sentence and a width where Python has eaten the backslash of a command that begins here."""
    found = _ESCAPED.match(text, at, end)
    if found is None:
        return None
    letter = _LETTER[text[at]]
    command = letter + found.group()[1:]
    says = f"Python has read the `\\{letter}` of `\\{command}` as one character; put an r before the quotes: "
    return f'{says}r"\\{command}…"', len(command)


def stranger(char: str) -> str:
    """A sentence for a character that is no part of the language; one that only looks familiar gets its name."""
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    name = "" if char.isascii() else unicodedata.name(char, "").lower()
    plain = unicodedata.normalize("NFKC", char)
    instead = f"; write `{plain}`" if plain != char and plain.isascii() else _INSTEAD.get(char, "")
    return f"`{shown}`{f' ({name})' if name else ''} is no part of the language{instead}"


def unknown_command(name: str) -> str:
    close = [c for c in _COMMANDS if c == name.lower()] or get_close_matches(name, _COMMANDS, 1, 0.7)
    return f"the command `\\{name}` is not known" + (f"; did you mean `\\{close[0]}`?" if close else "")
