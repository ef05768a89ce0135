"""Brackets: every one is paired before the grammar sees the tokens, so that a missing one is named where
it was opened; bars become opening and closing ones; a function is told from one written without brackets."""

from __future__ import annotations

from lark import Token

from ..errors import NotationError
from .scanner import MAX_DEPTH

_CLOSES = {"LPAR": "RPAR", "LSQ": "RSQ", "LGRP": "RSQ", "LBRACE": "RBRACE", "BAR": "BAR", "NORM": "NORM"}
_SIGN = {"LPAR": ")", "LSQ": "]", "LGRP": "]", "LBRACE": "}", "BAR": "|", "NORM": "||"}


def refuse(message: str, source: str, token: Token) -> NotationError:
    width = (token.end_column or 0) - (token.column or 0)
    return NotationError(message, source, token.line or 0, token.column or 0, width)


def pair(tokens: list[Token], source: str) -> list[Token]:
    """The tokens of one statement with brackets and bars paired, and conditions `P(a | b)` cut to `P(a)`."""
    out: list[Token] = []
    stack: list[tuple[Token, int]] = []
    skip: int | None = None  # inside `| …)` of a conditional: the stack depth that ends it
    for token in tokens:
        kind = token.type
        opened = stack[-1][0] if stack else None
        if kind in ("BAR", "NORM"):
            if opened is not None and opened.type == kind:
                stack.pop()
                _add(out, kind + "_CLOSE", token, skip)
                continue
            if kind == "BAR" and opened is not None and opened.type == "LPAR" and _ends_operand(out):
                if stack[-1][1] > 0 and out[stack[-1][1] - 1].type == "NAME" and skip is None:
                    skip = len(stack)
                    continue
                if skip is not None:
                    continue
            stack.append((token, len(out)))
            _add(out, kind + "_OPEN", token, skip)
        elif kind in _CLOSES:
            stack.append((token, len(out)))
            if len(stack) > MAX_DEPTH:
                raise refuse(f"brackets are nested more than {MAX_DEPTH} deep", source, token)
            _add(out, kind, token, skip)
        elif kind in ("RPAR", "RSQ", "RBRACE"):
            if opened is None:
                raise refuse(f"`{token}` closes nothing", source, token)
            if _CLOSES[opened.type] != kind:
                message = f"`{opened}` is never closed: `{_SIGN[opened.type]}` is missing before `{token}`"
                raise refuse(message, source, opened)
            if skip is not None and len(stack) == skip:
                skip = None
            stack.pop()
            _add(out, "RGRP" if opened.type == "LGRP" else kind, token, skip)
        else:
            _add(out, "_EQ" if kind == "EQ" and not stack else kind, token, skip)
    if stack:
        opened = stack[-1][0]
        raise refuse(f"`{opened}` is never closed: `{_SIGN[opened.type]}` is missing", source, opened)
    return _heads(out)


def _add(out: list[Token], kind: str, token: Token, skip: int | None) -> None:
    if skip is None:
        out.append(token if kind == token.type else Token.new_borrow_pos(kind, token.value, token))


def _ends_operand(out: list[Token]) -> bool:
    return bool(out) and out[-1].type in ("NAME", "NUMBER", "RPAR", "RSQ", "RGRP", "RBRACE", "BAR_CLOSE")


def _heads(tokens: list[Token]) -> list[Token]:
    """Mark each function and reducer that is followed by no bracket: it takes what comes next.

    `\\sum_i` always takes the rest of its product; `sum[i]( … )` and `softmax[w]( … )` take the bracket.
    """
    out = list(tokens)
    for k, token in enumerate(tokens):
        if token.type not in ("FUNC", "REDUCER", "BIGOP"):
            continue
        after = k + 1
        if after < len(tokens) and tokens[after].type == "LSQ":
            level = 0
            for after in range(k + 1, len(tokens)):
                level += {"LSQ": 1, "LGRP": 1, "RSQ": -1, "RGRP": -1}.get(tokens[after].type, 0)
                if level == 0:
                    break
            after += 1
        bracket = after < len(tokens) and tokens[after].type in ("LPAR", "LGRP", "LBRACE")
        if token.type == "FUNC":
            kind = "FUNC" if bracket else "FUNC_OPEN"
        elif token.type == "REDUCER" and not bracket:
            kind = "GREEDY" if token.value == "softmax" else "BIGOP"
        else:
            kind = token.type
        if kind != token.type:
            out[k] = Token.new_borrow_pos(kind, token.value, token)
    return out
