"""Text to syntax tree.

    parse(r"h[t,j] = \\sigma(W^{h,h}[j,I] h[t-1,I])") -> tree.Program

The way there: characters to tokens (`lexer`), brackets paired (`brackets`), one statement at a time through
the grammar (`grammar.lark`, LALR), and names given their meaning from the whole program (`elaborate`).
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

from lark import Lark, Token, Tree, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from ..errors import NotationError
from ..tree import Directive, Program, Statement
from .brackets import pair, refuse
from .directives import directive
from .elaborate import equations
from .facts import gather
from .lexer import lex, statements

MAX_STATEMENTS = 200


def parse(text: str) -> Program:
    """The program that a text is. Raises NotationError with the place and, where it can, the repair."""
    if not isinstance(text, str):
        raise NotationError(f"equations are text, you gave {type(text).__name__}")
    found: list[Directive | Tree] = []
    for tokens in statements(lex(text)):
        found.append(directive(tokens, text) or _tree(tokens, text))
        if len(found) > MAX_STATEMENTS:
            raise refuse(f"more than {MAX_STATEMENTS} statements", text, tokens[0])
    trees = [f for f in found if isinstance(f, Tree)]
    shapes = [f for f in found if isinstance(f, Directive) and f.word == "shape"]
    read = iter(equations(trees, gather(trees, shapes), text))
    out: list[Statement] = [item if isinstance(item, Directive) else next(read) for item in found]
    if not out:
        raise NotationError("there is no equation here", text, 1, 1)
    return Program(tuple(out), text)


class _Tokens(LarkLexer):
    """Hands our tokens to the grammar; those that carry no meaning of their own are filtered out there."""

    KEPT = frozenset(
        [
            "NAME",
            "NUMBER",
            "FUNC",
            "FUNC_OPEN",
            "REDUCER",
            "GREEDY",
            "BIGOP",
            "SQRT",
            "DOTS",
            "EQ",
            "CMP",
            "_EQ",
        ]
    )

    def __init__(self, conf) -> None:
        pass

    def lex(self, data):  # type: ignore[override]
        for token in data:
            yield (
                token
                if token.type in self.KEPT
                else Token.new_borrow_pos("_" + token.type, token.value, token)
            )


@cache
def _grammar() -> Lark:
    text = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_Tokens, maybe_placeholders=True)


def _tree(tokens: list[Token], source: str) -> Tree:
    """One statement through the grammar; must be `left = right`."""
    paired = pair(tokens, source)
    if len(paired) > 1 and paired[-1].type == "COMMA":
        paired.pop()  # the comma of a sentence
    _one_equation(paired, source)
    try:
        tree = _grammar().parse(paired)  # type: ignore[arg-type]
    except UnexpectedToken as problem:
        raise _unexpected(problem.token, paired, source) from None
    if not isinstance(tree, Tree) or tree.data != "chain" or len(tree.children) < 2:
        raise refuse("this is not an equation: `=` is missing", source, tokens[-1])
    return tree


def _one_equation(tokens: list[Token], source: str) -> None:
    """`a = b; c = d` is two equations; `a == b` is none."""
    depth, semicolon = 0, None
    for token in tokens:
        depth += (token.type in _OPEN) - (token.type in _SHUT)
        if depth == 0 and token.type == "SEMI":
            semicolon = token
        if depth == 0 and token.type == "_EQ" and semicolon is not None:
            raise refuse("`;` lays tensors end to end; one equation stands on a line", source, semicolon)
        if depth == 0 and token.type == "CMP" and token.value == "==":
            raise refuse("an equation is written with `=`", source, token)


_OPEN = frozenset({"LPAR", "LSQ", "LGRP", "LBRACE"})
_SHUT = frozenset({"RPAR", "RSQ", "RGRP", "RBRACE"})
_WORDS = {
    "_EQ": "`=`", "EQ": "`=`", "_PLUS": "`+`", "_MINUS": "`-`", "_STAR": "`*`", "_SLASH": "`/`", "_COMMA": "`,`",
    "_RPAR": "`)`", "_RSQ": "`]`", "_RBRACE": "`}`", "_RGRP": "`]`", "_SEMI": "`;`", "_CARET": "`^`",
}  # fmt: skip


def _unexpected(token: Token, tokens: list[Token], source: str) -> NotationError:
    """What is wrong at a token that the grammar cannot take, and how to repair it."""
    if token.type == "$END":
        return refuse(f"the equation breaks off after `{tokens[-1]}`", source, tokens[-1])
    kind = token.type.lstrip("_")
    at = next(
        k for k, t in enumerate(tokens) if t.start_pos == token.start_pos and t.type.lstrip("_") == kind
    )
    what = _WORDS.get(token.type, f"`{token}`")
    if kind == "DOTS":
        return refuse("dots cannot be run; write a sum: `sum[i](x[i] w[i])`", source, token)
    if token.type == "_EQ" and at == 0:
        return refuse("the left side of `=` is missing", source, token)
    if at and tokens[at - 1].type in _HUNGRY:
        return refuse(f"something is missing between `{tokens[at - 1]}` and {what}", source, token)
    headless = [a for a, b in pairwise(tokens[:at]) if a.type == "REDUCER" and b.type == "LPAR"]
    if kind == "COMMA" and headless:
        word = str(headless[-1])
        return refuse(f"`{word}` takes its index in square brackets: `{word}[i](…)`", source, headless[-1])
    return refuse(_REPAIRS.get(kind, f"{what} was not expected here"), source, token)


_HUNGRY = ("PLUS", "MINUS", "STAR", "SLASH", "CARET", "_EQ", "COMMA", "LPAR", "LSQ", "SEMI")
_REPAIRS = {
    "EQ": "`=` cannot stand inside brackets here",
    "IF": "a condition stands inside cases: `cases(a if t == 0, b otherwise)`",
    "OTHERWISE": "`otherwise` stands inside cases: `cases(a if t == 0, b otherwise)`",
    "COMMA": "`,` was not expected here; one equation stands on a line",
}
