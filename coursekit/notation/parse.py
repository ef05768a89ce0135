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

from .brackets import pair, refuse
from .directives import directive
from .elaborate import equations
from .errors import NotationError
from .facts import gather
from .lexer import lex, statements
from .tree import Directive, Program, Statement

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

    def lex(self, data):
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
    try:
        tree = _grammar().parse(paired)  # type: ignore[arg-type]
    except UnexpectedToken as problem:
        raise _unexpected(problem.token, paired, source) from None
    if not isinstance(tree, Tree) or tree.data != "chain" or len(tree.children) < 2:
        raise refuse("this is not an equation: `=` is missing", source, tokens[-1])
    return tree


_WORDS = {
    "_EQ": "`=`", "EQ": "`=`", "_PLUS": "`+`", "_MINUS": "`-`", "_STAR": "`*`", "_SLASH": "`/`", "_COMMA": "`,`",
    "_RPAR": "`)`", "_RSQ": "`]`", "_RBRACE": "`}`", "_RGRP": "`]`", "_SEMI": "`;`", "_CARET": "`^`",
}  # fmt: skip


def _unexpected(token: Token, tokens: list[Token], source: str) -> NotationError:
    if token.type == "$END":
        last = tokens[-1]
        return refuse(f"the equation breaks off after `{last}`", source, last)
    before = next((a for a, b in pairwise(tokens) if b.start_pos == token.start_pos), None)
    what = _WORDS.get(token.type, f"`{token}`")
    if token.type == "DOTS":
        return refuse("dots cannot be run; write a sum: `sum[i](x[i] w[i])`", source, token)
    if token.type == "_EQ" and token is tokens[0]:
        return refuse("the left side of `=` is missing", source, token)
    if before is not None and before.type in (
        "PLUS",
        "MINUS",
        "STAR",
        "SLASH",
        "_EQ",
        "COMMA",
        "LPAR",
        "LSQ",
        "SEMI",
    ):
        return refuse(f"something is missing between `{before}` and {what}", source, token)
    if token.type == "EQ":
        return refuse("`=` cannot stand inside brackets here", source, token)
    return refuse(f"{what} was not expected here", source, token)
