"""What each pass over the tokens asks: where a bracket closes, what stands between commas; and its refusal."""

from itertools import accumulate, pairwise

from lark import Token

from ..errors import NotationError

Tokens = list[Token]
_LEVEL = dict.fromkeys(("LPAR", "LSQ", "LGRP", "LBRACE", "LSUB", "LIDX", "LCALL"), 1)
_LEVEL |= dict.fromkeys(("RPAR", "RSQ", "RGRP", "RBRACE", "RSUB"), -1)


def level(token: Token) -> int:
    """How much deeper in brackets one is after this token."""
    return _LEVEL.get(token.type, 0)


def closing(tokens: Tokens, at: int, step: int = 1) -> int:
    """Where the bracket that opens at `at` closes; backwards, where the one that closes there opens."""
    depth, k = 0, at
    for k in range(at, len(tokens) if step > 0 else -1, step):
        depth += step * level(tokens[k])
        if depth <= 0:
            break
    return k


def kind_at(tokens: Tokens, k: int) -> str:
    """The kind of the token at `k`, none beyond the ends."""
    return tokens[k].type if 0 <= k < len(tokens) else ""


def opening(tokens: Tokens) -> int:
    """Where the bracket that has just closed was opened."""
    return closing(tokens, len(tokens) - 1, -1)


def outside(tokens: Tokens) -> list[int]:
    """Where those stand that are in no bracket, and those that close one."""
    return [k for k, depth in enumerate(accumulate(map(level, tokens))) if depth == 0]


def split(tokens: Tokens) -> list[Tokens]:
    """What stands between the commas at the outermost level."""
    cuts = [-1, *(k for k in outside(tokens) if tokens[k].type == "COMMA"), len(tokens)]
    return [tokens[a + 1 : b] for a, b in pairwise(cuts)]


def count(tokens: Tokens) -> int:
    return len(split(tokens))


def as_(kind: str, near: Token, value: object = None) -> Token:
    return Token.new_borrow_pos(kind, near.value if value is None else value, near)


def refuse(message: str, source: str, token: Token, repairs: tuple[str, ...] = ()) -> NotationError:
    width = (token.end_column or 0) - (token.column or 0)
    return NotationError(message, source, token.line or 0, token.column or 0, width, repairs)
