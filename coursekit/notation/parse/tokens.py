"""What each pass over the tokens asks: where a bracket closes, what stands between commas; and its refusal."""

from lark import Token

from ..errors import NotationError

Tokens = list[Token]
_LEVEL = dict.fromkeys(("LPAR", "LSQ", "LGRP", "LBRACE", "LSUB", "LIDX", "LCALL"), 1)
_LEVEL |= dict.fromkeys(("RPAR", "RSQ", "RGRP", "RBRACE", "RSUB"), -1)


def level(token: Token) -> int:
    """How much deeper in brackets one is after this token."""
    return _LEVEL.get(token.type, 0)


def closing(tokens: Tokens, at: int) -> int:
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for k in range(at, len(tokens)):
        depth += level(tokens[k])
        if depth <= 0:
            return k
    return len(tokens) - 1


def kind_at(tokens: Tokens, k: int) -> str:
    """The kind of the token at `k`, none beyond the ends."""
    return tokens[k].type if 0 <= k < len(tokens) else ""


def opening(tokens: Tokens) -> int:
    """Where the bracket that has just closed was opened."""
    depth = 0
    for k in reversed(range(len(tokens))):
        depth -= level(tokens[k])
        if depth <= 0:
            return k
    return 0


def split(tokens: Tokens) -> list[Tokens]:
    """What stands between the commas at the outermost level."""
    parts: list[Tokens] = [[]]
    depth = 0
    for token in tokens:
        depth += level(token)
        if token.type == "COMMA" and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def count(tokens: Tokens) -> int:
    return len(split(tokens))


def as_(kind: str, near: Token, value: object = None) -> Token:
    return Token.new_borrow_pos(kind, near.value if value is None else value, near)


def refuse(message: str, source: str, token: Token, repairs: tuple[str, ...] = ()) -> NotationError:
    width = (token.end_column or 0) - (token.column or 0)
    return NotationError(message, source, token.line or 0, token.column or 0, width, repairs)
