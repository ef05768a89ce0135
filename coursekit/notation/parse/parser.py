"""Text to syntax tree.

    parse(r"h[t,j] = \\sigma(W^{h,h}[j,I] h[t-1,I])") -> tree.Program

The way there: characters to tokens (`lexer`), brackets paired (`brackets`), one statement at a time through
the grammar (`grammar.lark`, LALR), and names given their meaning from the whole program (`elaborate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise, takewhile

from lark import Lark, Token, Tree, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from ..errors import NotationError
from ..tree import Directive, Program, Statement
from .brackets import conditions, pair, slices
from .calls import Calls, expand
from .elaborate import equations
from .facts import gather
from .lexer import SHAPE, directive, lex, statements
from .positions import positions
from .scripts import Scripts
from .signature import Axes, Signature
from .symbols import program
from .tokens import as_, closing, level, refuse, split

MAX_STATEMENTS = 200


def parse(text: str, signature: Mapping[str, Axes] | None = None) -> Program:
    """The program that a text is; `signature` tells the axes of tensors that are known (see `Equations`).

    Raises NotationError with the place and, where it can, the repair."""
    if not isinstance(text, str):
        raise NotationError(f"equations are text, you gave {type(text).__name__}")
    for number, line in enumerate(text.split("\n"), 1):
        if sentence := program(line):
            raise NotationError(sentence, text, number, len(line) - len(line.lstrip()) + 1, 3)
    found: list[Directive | None] = []
    written: list[list[Token]] = []
    known = Signature(signature)
    for tokens in statements(lex(text, known.ranks)):
        found.append(directive(tokens, text))
        if found[-1] is None:
            written.append(_paired(conditions(slices(tokens, known, text), known, text), text))
        if len(found) > MAX_STATEMENTS:
            raise refuse(f"more than {MAX_STATEMENTS} statements", text, tokens[0])
    kept = iter(expand([_rest(tokens, written) for tokens in written], known, text))
    full = [(item, None if item is not None else next(kept)) for item in found]
    found = [item for item, tokens in full if item is not None or tokens is not None]
    said = [f for f in found if f is not None]
    declared = {name for directive in said if directive.word == "shape" for name in directive.names}
    scripts = Scripts([tokens for _, tokens in full if tokens is not None], text, known, declared)
    calls = Calls(scripts.statements, scripts.seen, known, text)
    trees = [_tree(tokens, text) for tokens in calls.statements]
    facts = gather(trees, said, scripts.seen.matrix, known)
    read = iter(equations(trees, facts, text))
    out: list[Statement] = [s for item in found for s in (next(read) if item is None else [item])]
    for name, shape in sorted({known.holder(axis) for axis in facts.named}):
        out.insert(0, Directive("shape", (name,), (",".join(shape),)))
    out[:0] = [Directive("shape", (name,), ("",)) for name in sorted(facts.looked - facts.shapes.keys())]
    out = positions(out, text)
    if not out:
        raise NotationError("there is no equation here", text, 1, 1)
    return Program(tuple(out), text)


class _Tokens(LarkLexer):
    """Hands our tokens to the grammar; those that carry no meaning of their own are filtered out there."""

    KEPT = frozenset(("NAME NUMBER FUNC FUNC_OPEN REDUCER GREEDY BIGOP SQRT DOTS EQ CMP _EQ").split())

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, data: Iterable[Token]) -> Iterator[Token]:  # type: ignore[override]
        for token in data:
            yield token if token.type in self.KEPT else as_("_" + token.type, token)


@cache
def _grammar() -> Lark:
    text = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")  # it may lie in a zip
    return Lark(text, parser="lalr", lexer=_Tokens, maybe_placeholders=True)


def _rest(tokens: list[Token], others: list[list[Token]]) -> list[Token]:
    """`x[l] = … for l > 0` without its condition, where another line begins with `x[0] =`."""
    test = tokens[-4:]
    if [t.type for t in test] != ["IF", "NAME", "CMP", "NUMBER"]:
        return tokens
    above = (str(test[2]), str(test[3])) in ((">", "0"), (">=", "1"))
    heads = [o[: closing(o, 1)] for o in others if o is not tokens and len(o) > 1 and o[0] == tokens[0]]
    return tokens[:-4] if above and any(t.value == "0" for head in heads for t in head) else tokens


def _tree(paired: list[Token], source: str) -> Tree[Token]:
    """One statement through the grammar; must be `left = right`."""
    signs = [k for k, t in enumerate(paired) if t.type == "_EQ"]
    if not signs:
        raise refuse("this is not an equation: `=` is missing", source, paired[-1])
    parts = split(paired[: signs[-1]])
    if len(parts) > 1:
        raise refuse(_REPAIRS["COMMA"], source, paired[len(parts[0])])
    if signs[-1] + 1 < len(paired):
        paired = paired[: signs[0]] + paired[signs[-1] :]  # of `a = b = c` the last member defines a
    try:
        return _grammar().parse(paired)
    except UnexpectedToken as problem:
        raise _unexpected(problem.token, paired, source) from None


def _paired(tokens: list[Token], source: str) -> list[Token]:
    """A statement with its brackets paired; `a = b; c = d` is two equations, `a == b` is none."""
    paired = pair(tokens, source)
    if len(paired) > 1 and paired[-1].type == "COMMA":
        paired.pop()  # the comma of a sentence
    depth, semicolon = 0, None
    for token in takewhile(lambda t: t.type != "IF", paired):
        depth += level(token)
        kind = token.type if depth == 0 else ""
        semicolon = token if kind == "SEMI" else semicolon
        if kind == "IN":
            raise refuse(SHAPE, source, token)
        if kind == "_EQ" and semicolon is not None:
            raise refuse("`;` lays tensors end to end; one equation stands on a line", source, semicolon)
        if kind == "CMP" and token.value == "==":
            raise refuse("an equation is written with `=`", source, token)
    return paired


_WORDS = {
    "_EQ": "`=`", "EQ": "`=`", "_PLUS": "`+`", "_MINUS": "`-`", "_STAR": "`*`", "_SLASH": "`/`", "_COMMA": "`,`",
    "_RPAR": "`)`", "_RSQ": "`]`", "_RBRACE": "`}`", "_RGRP": "`]`", "_SEMI": "`;`", "_CARET": "`^`",
}  # fmt: skip


def _unexpected(token: Token, tokens: list[Token], source: str) -> NotationError:
    """What is wrong at a token that the grammar cannot take, and how to repair it."""
    if token.type == "$END":
        for test in (t for t in tokens if t.type == "IF"):
            return refuse("what is it otherwise? Write `a if t > 0 else b`", source, test)
        return refuse(f"the equation breaks off after `{tokens[-1]}`", source, tokens[-1])
    kind = token.type.lstrip("_")
    same = [t.start_pos == token.start_pos and t.type.lstrip("_") == kind for t in tokens]
    at = same.index(True)
    what = _WORDS.get(token.type, f"`{token}`")
    if kind == "DOTS":
        return refuse("dots cannot be run; write a sum: `sum[i](x[i] w[i])`", source, token)
    if token.type == "_EQ" and at == 0:
        return refuse("the left side of `=` is missing", source, token)
    if at and tokens[at - 1].type in _HUNGRY:
        return refuse(f"something is missing between `{tokens[at - 1]}` and {what}", source, token)
    headless = [a for a, b in pairwise(tokens[:at]) if a.type == "REDUCER" and b.type == "LPAR"]
    if kind in ("COMMA", "EQ") and headless:
        message = "`{0}` takes its index in square brackets: `{0}[i](…)`"
        return refuse(message.format(headless[-1]), source, headless[-1])
    sentence = _REPAIRS.get(kind, f"{what} was not expected here")
    if kind == "CMP":
        sentence += "; a condition in square brackets is 1 where it holds: `[x[i] > 0]`"
    return refuse(sentence, source, token)


_HUNGRY = ("PLUS", "MINUS", "STAR", "SLASH", "CARET", "_EQ", "COMMA", "LPAR", "LSQ", "SEMI")
_REPAIRS = {
    "EQ": "`=` cannot stand inside brackets here",
    "IF": "a condition stands inside cases: `cases(a if t == 0, b otherwise)`",
    "OTHERWISE": "`otherwise` stands inside cases: `cases(a if t == 0, b otherwise)`",
    "COMMA": "`,` was not expected here; one equation stands on a line",
}
