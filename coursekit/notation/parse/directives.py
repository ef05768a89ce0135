"""Statements about the system that are no equations: `pad`, `centered`, `parameters`, `size`, shapes, Φ."""

from __future__ import annotations

from lark import Token

from ..names import Name
from ..tree import Directive, Span
from .symbols import DIRECTIVES
from .tokens import level, refuse

MAX_SIZE = 1_000_000


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
            message = "after `in` comes a shape: `W in R^{n x m}`, or `W in R` for a number"
            raise refuse(message, source, rest[0])
        names += [t.value.text for t in waiting]
        values += [",".join(rest[1].value)] * len(waiting)
        waiting, rest = [], rest[2:]
    if waiting:
        raise refuse("a shape is written `W in R^{n x m}`", source, waiting[-1])
    return Directive("shape", tuple(names), tuple(values), span=span)
