"""Text to syntax tree.

    parse(r"h[t,j] = \\sigma(W^{h,h}[j,I] h[t-1,I])") -> tree.Program

The way there: characters to tokens (`lexer`), brackets paired (`brackets`), one statement at a time through
the grammar (`grammar.lark`, LALR), and names given their meaning from the whole program (`elaborate`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise, takewhile

from lark import Lark, Token, Tree, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from ..errors import NotationError
from ..names import Name
from ..tree import Directive, Program, Span, Statement
from .brackets import conditions, pair, slices
from .calls import Calls, expand
from .elaborate import equations
from .facts import gather
from .lexer import Axes, Signature, lex
from .positions import positions
from .scripts import Scripts
from .symbols import DIRECTIVES, program
from .tokens import as_, closing, kind_at, level, outside, refuse, split

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
    lines = expand([_rest(tokens, written) for tokens in written], known, text)
    said = [f for f in found if f is not None]
    declared = {name for directive in said if directive.word == "shape" for name in directive.names}
    scripts = Scripts([tokens for tokens in lines if tokens is not None], text, known, declared)
    calls = Calls(scripts.statements, scripts.seen, known, text)
    trees = [_tree(tokens, text) for tokens in calls.statements]
    facts = gather(trees, said, scripts.seen, known)
    read = iter(equations(trees, facts, text))
    made = iter([[] if tokens is None else next(read) for tokens in lines])
    out: list[Statement] = [s for item in found for s in (next(made) if item is None else [item])]
    for name, shape in sorted({known.holder(axis) for axis in facts.named}):
        out.insert(0, Directive("shape", (name,), (",".join(shape),)))
    out[:0] = [Directive("shape", (name,), ("",)) for name in sorted(facts.looked - facts.shapes.keys())]
    out = positions(out, text)
    if not out:
        raise NotationError("there is no equation here", text, 1, 1)
    return Program(tuple(out), text)


class _Tokens(LarkLexer):
    """Hands our tokens to the grammar; those that carry no meaning of their own are filtered out there."""

    KEPT = frozenset(
        ("NAME NUMBER NORM_CLOSE FUNC FUNC_OPEN REDUCER GREEDY BIGOP SQRT DOTS EQ CMP _EQ").split()
    )

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, data: Iterable[Token]) -> Iterator[Token]:  # type: ignore[override]
        for token in data:
            kept = token.type in self.KEPT or token.type[0] == "_"
            yield token if kept else as_("_" + token.type, token)


@cache
def _grammar() -> Lark:
    text = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")  # it may lie in a zip
    plain = lambda rule, children: Tree(str(rule), children)  # lark's own name of a rule is slow to compare
    return Lark(text, parser="lalr", lexer=_Tokens, maybe_placeholders=True, tree_class=plain)


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

MAX_SIZE = 1_000_000
SHAPE = "after `in` comes a shape: `W in R^{n x m}`, or `W in R` for a number"
# What follows each word, and what is said where something else does.
_FORMS = {
    "positions": ("NAME NUMBER", "the first position is told by `positions from 0` or `positions from 1`"),
    "size": ("NAME EQ NUMBER", "`size` is written `size t = 5`"),
    "shape": ("NAME EQ (NAME|NUMBER)( COMMA (NAME|NUMBER))*", "`shape` is written `shape W = n, m`"),
}


def directive(tokens: list[Token], source: str) -> Directive | None:
    """The directive that a statement's tokens are, or None if they are an equation."""
    first, kinds = tokens[0], [t.type for t in tokens]
    span = Span(first.line or 0, first.column or 0, (first.end_column or 0) - (first.column or 0))
    if not isinstance(first.value, Name):
        return None
    word = first.value.text
    if word in DIRECTIVES and (kinds[1:2] in ([], ["NAME"]) or not {"EQ", "LSQ"} & set(kinds)):
        return replace(_word("centered" if word == "centred" else word, tokens, source), span=span)
    if word == "Phi" and kinds[1:3] == ["EQ", "LPAR"]:  # (W[Δx,j,j'], B[j], …)
        outer = (tokens[3 + k] for k in outside(tokens[3:]))
        return Directive("parameters", tuple(t.value.text for t in outer if t.type == "NAME"), span=span)
    if "IN" in kinds and set(kinds[: kinds.index("IN")]) <= {"NAME", "COMMA"}:
        return replace(_shapes(tokens, source), span=span)
    return None


def _word(word: str, tokens: list[Token], source: str) -> Directive:
    """`pad L`, `parameters W, B`, `size t = 5`, `shape W = n, m`, `positions from 1`."""
    sentence = f"after `{word}` comes a list of names: `{word} W, B`"
    form, sentence = _FORMS.get(word, ("NAME( COMMA NAME)*", sentence))
    kinds = " ".join(t.type for t in tokens[1:])
    said = [t for t in tokens[1:] if t.type in ("NAME", "NUMBER")]
    numbers = [str(t) for t in said if t.type == "NUMBER"]
    well = (re.fullmatch(form, kinds) or (word == "pad" and not kinds)) and all(map(str.isdigit, numbers))
    if not well and word not in _FORMS:
        fits = re.match(form, kinds)
        raise refuse(sentence, source, tokens[min(len(tokens) - 1, 1 + len(fits[0].split()) if fits else 1)])
    if not well or (word == "positions" and (said[0] != "from" or numbers[0] not in ("0", "1"))):
        raise refuse(sentence, source, tokens[0])
    if word == "size" and not 0 < int(numbers[0]) <= MAX_SIZE:
        raise refuse(f"a size is a number from 1 to {MAX_SIZE}", source, said[1])
    if word == "positions":
        return Directive(word, (), (numbers[0],))
    spelt = [t.value.index if t.type == "NAME" else str(t) for t in said]
    names = spelt if word in ("size", "centered") else [t.value.text for t in said if t.type == "NAME"]
    if word in _FORMS:
        return Directive(word, (names[0],), (",".join(spelt[1:]),))
    return Directive(word, (*names,))


def _shapes(tokens: list[Token], source: str) -> Directive:
    """`L in R^{V x d}  H, U in R^{D x D}`: names, and for each a comma-separated shape."""
    names: list[str] = []
    values: list[str] = []
    waiting: list[str] = []
    rest = iter([t for t in tokens if t.type != "COMMA"])
    for token in rest:
        if token.type == "NAME":
            waiting.append(token.value.text)
            continue
        shape = next(rest, token)
        if not waiting or (token.type, shape.type) != ("IN", "SHAPE"):
            raise refuse(SHAPE, source, token)
        names += waiting
        values += [",".join(shape.value)] * len(waiting)
        waiting = []
    if waiting:
        raise refuse("a shape is written `W in R^{n x m}`", source, tokens[-1])
    return Directive("shape", tuple(names), tuple(values))


# ── one equation ─────────────────────────────────────────────────────────────────────────────


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
    semicolon = None
    for token in takewhile(lambda t: t.type != "IF", (paired[k] for k in outside(paired))):
        semicolon = token if token.type == "SEMI" else semicolon
        if token.type == "IN":
            raise refuse(SHAPE, source, token)
        if token.type == "_EQ" and semicolon is not None:
            raise refuse("`;` lays tensors end to end; one equation stands on a line", source, semicolon)
        if token.type == "CMP" and token.value == "==":
            raise refuse("an equation is written with `=`", source, token)
    return paired


def _unexpected(token: Token, tokens: list[Token], source: str) -> NotationError:
    """What is wrong at a token that the grammar cannot take, and how to repair it."""
    if token.type == "$END":
        for test in (t for t in tokens if t.type == "IF"):
            return refuse("what is it otherwise? Write `a if t > 0 else b`", source, test)
        return refuse(f"the equation breaks off after `{tokens[-1]}`", source, tokens[-1])
    kind = token.type.lstrip("_")
    same = [t.start_pos == token.start_pos and t.type.lstrip("_") == kind for t in tokens]
    at = same.index(True)
    if kind == "DOTS":
        return refuse("dots cannot be run; write a sum: `sum[i](x[i] w[i])`", source, token)
    if token.type == "_EQ" and at == 0:
        return refuse("the left side of `=` is missing", source, token)
    if at and tokens[at - 1].type in _HUNGRY:
        return refuse(f"something is missing between `{tokens[at - 1]}` and `{token}`", source, token)
    headless = [a for a, b in pairwise(tokens[:at]) if a.type == "REDUCER" and b.type == "LPAR"]
    if kind in ("COMMA", "EQ") and headless:
        message = "`{0}` takes its index in square brackets: `{0}[i](…)`"
        return refuse(message.format(headless[-1]), source, headless[-1])
    sentence = _REPAIRS.get(kind, f"`{token}` was not expected here")
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
