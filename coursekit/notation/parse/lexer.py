"""The reader of characters: ASCII and LaTeX become one stream of tokens for one grammar.

Each token keeps its place in the text as it was typed, so that a caret can stand under it. A name is read
whole, with its accents, sub- and superscripts and primes (`names.Name`); `\\frac`, `\\underset`, `\\sum_…^…`
become the tokens of the bracketed ASCII forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from lark import Token

from ..errors import NotationError
from ..names import Name
from ..tree import Directive, Span
from .latex_reader import LatexReader
from .symbols import DIRECTIVES
from .tokens import closing, kind_at, level, refuse

MAX_TEXT = 20_000
MAX_SIZE = 1_000_000
SHAPE = "after `in` comes a shape: `W in R^{n x m}`, or `W in R` for a number"


def lex(text: str, given: Iterable[str] = ()) -> list[Token]:
    """The tokens of a text; words that are `given` as tensors are no functions there. Raises NotationError for what is
    no part of the language."""
    if len(text) > MAX_TEXT:
        raise NotationError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
    reader = LatexReader(text)
    reader.defined.update(given)
    return reader.tokens()


def canonical(text: str) -> str:
    """The ASCII name of a tensor written in any spelling: canonical("W^{h,G}") == "W_hG"."""
    if not isinstance(text, str):
        raise NotationError(f"the name of a tensor is text, not {text!r}")
    tokens = [t for t in lex(text) if t.type != "NEWLINE"]
    name = tokens[0].value if len(tokens) == 1 else None
    if not isinstance(name, Name) or not all(g.name_like for g in name.groups):
        raise NotationError(f"`{text.strip()}` is not the name of a tensor", text, 1, 1, len(text))
    return name.text


def statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Split the tokens at line ends. Inside brackets a line goes on; so it does before `=`, and before and after a
    sign, where the next line is no equation of its own."""
    tokens = [t for k, t in enumerate(tokens) if t.type != "NEWLINE" or kind_at(tokens, k + 1) != "NEWLINE"]
    current: list[Token] = []
    depth = 0
    for k, token in enumerate(tokens):
        if token.type == "NEWLINE":
            rest = tokens[k + 1 :]
            torn = depth > 0 or (current and current[-1].type in _SIGNS) or kind_at(rest, 0) in _SIGNS
            defines = any(t.type == "EQ" for t in takewhile(lambda t: t.type != "NEWLINE", rest))
            goes_on = kind_at(rest, 0) == "EQ" or (torn and not defines)
            if current and not goes_on:
                yield from clauses(current)
                current, depth = [], 0
            continue
        depth += level(token)
        current.append(token)
    if current:
        yield from clauses(current)


def clauses(tokens: list[Token]) -> Iterator[list[Token]]:
    """One line may hold several equations, apart by commas, semicolons or `\\quad`, and say over what an index runs
    (`t = 1, \\dots, T`), which is what it runs over anyway."""
    part: list[Token] = []
    depth = k = 0
    while k < len(tokens):
        kind = tokens[k].type
        if depth == 0 and kind in ("COMMA", "SEMI", "QUAD", "IF"):
            apart = ("COMMA", "SEMI", "QUAD")
            after = next((n for n in range(k, len(tokens)) if tokens[n].type not in apart), k)
            if length := _range(tokens[after:]):
                k = after + length
                continue
            said = {t.type for t in part} & {"EQ", "SHAPE"}
            follows = _begins_one(tokens[after:])
            if kind != "IF" and said and follows and (said, follows) != ({"SHAPE"}, "IN"):
                yield part
                part, k = [], after
                continue
        depth += level(tokens[k])
        if kind != "QUAD":
            part.append(tokens[k])
        k += 1
    if part:
        yield part


_SIGNS = ("PLUS", "MINUS", "STAR", "SLASH", "EQ")
_RANGE = re.compile(
    r"NAME IN (?:LPAR|LGRP) NUMBER COMMA (?:DOTS COMMA )?NAME (?:RPAR|RSQ)\b"
    r"|(?:IF )?NAME EQ NUMBER (?:COMMA )?DOTS (?:COMMA )?NAME\b"
)


def _range(tokens: list[Token]) -> int:
    """How many tokens say that an index takes all its values: `for t = 1, \\dots, T`."""
    said = _RANGE.match(" ".join("COMMA" if t.type == "QUAD" else t.type for t in tokens[:9]))
    whole = next((t.value for t in tokens if t.type == "NUMBER"), "") in ("0", "1")
    return len(said.group().split()) if said and whole else 0


def _begins_one(tokens: list[Token]) -> str:
    """`EQ` where a tensor and its `=` come next, `IN` for its shape, else nothing."""
    at = 1
    while at < len(tokens) and level(tokens[at]) > 0:
        at = closing(tokens, at) + 1
    named = kind_at(tokens, 0) in ("NAME", "FUNC") and kind_at(tokens, at) in ("EQ", "IN")
    return kind_at(tokens, at) if named else ""


# ── statements about the system that are no equations ────────────────────────────────────────


def directive(tokens: list[Token], source: str) -> Directive | None:
    """The directive that a statement's tokens are, or None if they are an equation."""
    first = tokens[0]
    span = Span(first.line or 0, first.column or 0, (first.end_column or 0) - (first.column or 0))
    if not isinstance(first.value, Name):
        return None
    word = first.value.text
    second = tokens[1].type if len(tokens) > 1 else ""
    if word in DIRECTIVES and (second in ("", "NAME") or all(t.type not in ("EQ", "LSQ") for t in tokens)):
        return _word("centered" if word == "centred" else word, tokens, source, span)
    if word == "Phi" and second == "EQ" and len(tokens) > 2 and tokens[2].type == "LPAR":
        return Directive("parameters", tuple(_listed(tokens[3:])), span=span)
    kinds = [t.type for t in tokens]
    if "IN" in kinds and set(kinds[: kinds.index("IN")]) <= {"NAME", "COMMA"}:
        return _shapes(tokens, source, span)
    return None


def _word(word: str, tokens: list[Token], source: str, span: Span) -> Directive:
    if word in ("size", "shape"):
        return _measure(word, tokens, source, span)
    if word == "positions":
        if [str(t.value) for t in tokens[1:]] not in (["from", "0"], ["from", "1"]):
            raise refuse(
                "the first position is told by `positions from 0` or `positions from 1`", source, tokens[0]
            )
        return Directive(word, (), (str(tokens[2]),), span=span)
    names: list[str] = []
    expect_name = True
    for token in tokens[1:]:
        if expect_name != (token.type == "NAME") or not (expect_name or token.type == "COMMA"):
            raise refuse(f"after `{word}` comes a list of names: `{word} W, B`", source, token)
        if expect_name:
            names.append(token.value.index if word == "centered" else token.value.text)
        expect_name = not expect_name
    if names and expect_name:
        raise refuse(f"after `{word}` comes a list of names: `{word} W, B`", source, tokens[-1])
    if word != "pad" and not names:
        raise refuse(f"after `{word}` comes a list of names", source, tokens[0])
    return Directive(word, tuple(names), span=span)


def _measure(word: str, tokens: list[Token], source: str, span: Span) -> Directive:
    """`size t = 5`, `shape W = n, m`."""
    values = tokens[3::2]
    kinds = ("NUMBER",) if word == "size" else ("NUMBER", "NAME")
    well = len(tokens) > 3 and [t.type for t in tokens[1:3]] == ["NAME", "EQ"] and len(tokens) % 2 == 0
    well = well and all(t.type == "COMMA" for t in tokens[4::2]) and (word == "shape" or len(values) == 1)
    if not well or any(t.type not in kinds or (t.type == "NUMBER" and not str(t).isdigit()) for t in values):
        example = "size t = 5" if word == "size" else "shape W = n, m"
        raise refuse(f"`{word}` is written `{example}`", source, tokens[0])
    if word == "size" and not 0 < int(str(values[0])) <= MAX_SIZE:
        raise refuse(f"a size is a number from 1 to {MAX_SIZE}", source, values[0])
    name: Name = tokens[1].value
    spelt = (t.value.index if t.type == "NAME" else str(t) for t in values)
    return Directive(word, (name.index if word == "size" else name.text,), (",".join(spelt),), span=span)


def _listed(tokens: list[Token]) -> list[str]:
    """The tensors of `(W[Δx,j,j'], B[j], …)`: the names at the outermost level."""
    names, depth = [], 0
    for token in tokens:
        depth += level(token)
        if token.type == "NAME" and depth == 0:
            names.append(token.value.text)
    return names


def _shapes(tokens: list[Token], source: str, span: Span) -> Directive:
    """`L in R^{V x d}  H, U in R^{D x D}`: names, and for each a comma-separated shape."""
    names: list[str] = []
    values: list[str] = []
    waiting: list[Token] = []
    rest = [t for t in tokens if t.type != "COMMA"]
    while rest:
        if rest[0].type == "NAME":
            waiting.append(rest.pop(0))
            continue
        if not waiting or [t.type for t in rest[:2]] != ["IN", "SHAPE"]:
            raise refuse(SHAPE, source, rest[0])
        names += [t.value.text for t in waiting]
        values += [",".join(rest[1].value)] * len(waiting)
        waiting, rest = [], rest[2:]
    if waiting:
        raise refuse("a shape is written `W in R^{n x m}`", source, waiting[-1])
    return Directive("shape", tuple(names), tuple(values), span=span)
