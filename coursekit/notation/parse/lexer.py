"""The reader of characters: ASCII and LaTeX become one stream of tokens for one grammar.

Each token keeps its place in the text as it was typed, so that a caret can stand under it. A name is read
whole, with its accents, sub- and superscripts and primes (`names.Name`); `\\frac`, `\\underset`, `\\sum_…^…`
become the tokens of the bracketed ASCII forms.
"""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token

from ..errors import NotationError
from .latex_reader import LatexReader

MAX_TEXT = 20_000


def lex(text: str) -> list[Token]:
    """The tokens of a text. Raises NotationError for what is no part of the language."""
    if len(text) > MAX_TEXT:
        raise NotationError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
    return LatexReader(text).tokens()


def statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Split the tokens at line ends. Inside brackets a line goes on; so it does before `=`, and before and after a
    sign, where the next line is no equation of its own."""
    current: list[Token] = []
    depth = 0
    for k, token in enumerate(tokens):
        if token.type == "NEWLINE":
            following = next((t for t in tokens[k + 1 :] if t.type != "NEWLINE"), None)
            torn = depth > 0 or (current and current[-1].type in _SIGNS) or _begins(following, _SIGNS)
            goes_on = _begins(following, ("EQ",)) or (torn and not _defines(tokens, k))
            if current and not goes_on:
                yield current
                current, depth = [], 0
            continue
        depth += {"LPAR": 1, "LSQ": 1, "LGRP": 1, "LBRACE": 1}.get(token.type, 0)
        depth -= {"RPAR": 1, "RSQ": 1, "RGRP": 1, "RBRACE": 1}.get(token.type, 0)
        current.append(token)
    if current:
        yield current


_SIGNS = ("PLUS", "MINUS", "STAR", "SLASH", "EQ")


def _begins(token: Token | None, kinds: tuple[str, ...]) -> bool:
    return token is not None and token.type in kinds


def _defines(tokens: list[Token], newline: int) -> bool:
    """Does the line after this one hold an `=`, so that it is a statement of its own?"""
    seen = False
    for token in tokens[newline + 1 :]:
        if token.type == "NEWLINE" and seen:
            return False
        seen = seen or token.type != "NEWLINE"
        if token.type == "EQ":
            return True
    return False
