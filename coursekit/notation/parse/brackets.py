"""Brackets: every one is paired before the grammar sees the tokens, so that a missing one is named where
it was opened; bars become opening and closing ones; a function is told from one written without brackets."""

import re

from lark import Token

from ..functions import SOFT
from ..names import Name, small_of
from .lexer import Signature
from .scanner import MAX_DEPTH
from .tokens import Tokens, as_, closing, kind_at, level, opening, refuse, split

CONDITIONAL = "(|"  # the bracket of `P(a | b)`
_CLOSES = {"LPAR": "RPAR", "LSQ": "RSQ", "LGRP": "RSQ", "LBRACE": "RBRACE", "BAR": "BAR", "NORM": "NORM"}
_BETWEEN = ("SEMI", "NORM", "EQ", "CMP")  # lay vectors end to end, or ask
_SIGN = {"LPAR": ")", "LSQ": "]", "LGRP": "]", "LBRACE": "}", "BAR": "|", "NORM": "||"}


def conditions(tokens: Tokens, known: Signature, source: str) -> Tokens:
    """`p(v | u)` as `p(u, v)`, where p is given with the axes u and v; other conditions are cut by `pair`."""
    out = list(tokens)
    for k, token in enumerate(tokens[:-1]):
        if token.type != "NAME" or tokens[k + 1].type != "LPAR" or (name := known.find(token.value)) is None:
            continue
        stop, shape = closing(tokens, k + 1), known.shapes[name]
        inside = tokens[k + 2 : stop]
        letters = {t.value.index: t for t in inside[::2] if t.type == "NAME"}
        bars = [t.type for t in inside[1::2]].count("BAR")
        if bars != 1 or len(letters) != len(shape) or len(inside) != 2 * len(shape) - 1:
            continue
        if letters.keys() != set(shape):
            written = [source[t.start_pos : t.end_pos] for t in letters.values()]
            both = [f"{name}[{','.join(order)}]" for order in (written, written[::-1])]
            message = f"which axis is which? Write `{both[0]}` or `{both[1]}`; here they are "
            repairs = (source[: token.start_pos] + one + source[tokens[stop].end_pos :] for one in both)
            raise refuse(message + ",".join(shape), source, token, tuple(repairs))
        for place, axis in zip(range(k + 2, stop, 2), shape, strict=True):
            out[place] = letters[axis]
            if place > k + 2:
                out[place - 1] = as_("COMMA", tokens[place - 1], ",")
    return out


def slices(tokens: Tokens, known: Signature, source: str) -> Tokens:
    """`x[b,:] . W[:,e]` as `x[b,I] W[I,e]`; a whole axis that comes last, `x[b,:]`, need not be written where the axes
    of x are known."""
    used = {t.value.base for t in tokens if t.type == "NAME"} | {a for s in known.shapes.values() for a in s}
    out: list[Token | None] = list(tokens)
    whole = [k for k, t in enumerate(tokens) if t.type == "SLICE"]
    for k in whole:
        if out[k] is not tokens[k]:  # it was the other one of a pair
            continue
        start = next(n for n in range(k, -1, -1) if level(tokens[n]) > 0 and closing(tokens, n) > k)
        stop = closing(tokens, start)
        rest = tokens[stop + 1 : stop + 4]
        last = closing(tokens, stop + 3) if [t.type for t in rest[1:]] == ["NAME", "LSQ"] else stop
        others = [n for n in whole if stop < n < last]
        alone = [n for n in whole if start < n < stop] == [k] and len(others) == 1
        if alone and rest[0].type in ("AT", "DOT"):
            letter = Name(next(c for c in "IJKLMNPQRSUVWXYZ" if not {c, c.lower()} & used))
            used.add(letter.base)
            out[k], out[others[0]] = (as_("NAME", tokens[n], letter) for n in (k, others[0]))
        elif known and tokens[k + 1 : stop] == [] and tokens[k - 1].type == "COMMA":
            out[k - 1] = out[k] = None
        else:
            hint = "`:` is a whole axis: give it an index, `x[b,i]`, or a capital where it is summed, `x[b,I] W[I,e]`"
            raise refuse(hint, source, tokens[k])
    return [token for token in out if token is not None]


def pair(tokens: Tokens, source: str) -> Tokens:
    """The tokens of one statement with brackets and bars paired, and conditions `P(a | b)` cut to `P(a)`."""
    out: Tokens = []
    stack: list[tuple[Token, int]] = []
    skip: int | None = None  # inside `| …)` of a conditional: the stack depth that ends it
    for k, token in enumerate(tokens):
        kind = token.type
        opened = stack[-1][0] if stack else None
        within = opened.type if opened is not None else ""
        named = skip is None and within == "LSQ" and kind_at(out, stack[-1][1] - 1) == "NAME"
        if opened is not None and named and kind in _BETWEEN:  # W [a; b], x [i < j]: no indices
            at, within = stack[-1][1], "LGRP"
            out[at] = as_("LGRP", opened)
            stack[-1] = (out[at], at)
        if kind == "NORM" and within == "BAR":  # of |u||v|: it closes one and opens another
            bar = as_("BAR", token, "|")
            _add(out, "BAR_CLOSE", bar, skip)
            stack[-1] = (bar, len(out))
            _add(out, "BAR_OPEN", bar, skip)
        elif kind in ("BAR", "NORM"):
            called = within == "LPAR" and kind_at(out, stack[-1][1] - 1) == "NAME"
            if kind == "NORM" and (called or within == "LGRP") and _ends_operand(out):
                _add(out, "COMMA" if called else "SEMI", token, skip)  # D(p || q), [a || b]
            elif within == kind:
                stack.pop()
                _add(out, kind + "_CLOSE", token, skip)
            elif within == "LPAR" and _ends_operand(out) and (called or skip is not None):
                if opened is not None and skip is None:
                    skip = len(stack)
                    out[stack[-1][1]] = as_("LPAR", opened, CONDITIONAL)
            else:
                stack.append((token, len(out)))
                _add(out, kind + "_OPEN", token, skip)
        elif kind in _CLOSES:
            if kind == "LGRP" and out and out[-1].end_pos == token.start_pos:
                _torn(tokens[k + 1 :], token, out[-1], source)
            stack.append((token, len(out)))
            if len(stack) > MAX_DEPTH:
                raise refuse(f"brackets are nested more than {MAX_DEPTH} deep", source, token)
            _add(out, kind, token, skip)
        elif kind in ("RPAR", "RSQ", "RBRACE"):
            if opened is None:
                raise refuse(f"`{token}` closes nothing", source, token)
            if _CLOSES[stack[-1][0].type] != kind:
                message = f"`{opened}` is never closed: `{_SIGN[opened.type]}` is missing before `{token}`"
                raise refuse(message, source, opened)
            if skip is not None and len(stack) == skip:
                skip = None
            stack.pop()
            _add(out, "RGRP" if within == "LGRP" else kind, token, skip)
        else:
            _add(out, "_EQ" if kind == "EQ" and not stack else kind, token, skip)
    if stack:
        opened = stack[-1][0]
        raise refuse(f"`{opened}` is never closed: `{_SIGN[opened.type]}` is missing", source, opened)
    _ends_below(out, source)
    return _heads(_indexed(out), source)


def _ends_below(tokens: Tokens, source: str) -> None:
    """`x/2s` and `x/|a| |b|`: what stands below the slash?"""
    for k in (k for k, t in enumerate(tokens[:-2]) if t.type == "SLASH"):
        first, stop = tokens[k + 1], k + 1
        if first.type in ("BAR_OPEN", "NORM_OPEN"):
            close = first.type.replace("OPEN", "CLOSE")
            closed = [n for n in range(k, len(tokens)) if tokens[n].type == close]
            stop = closed[0]
            doubt, last = kind_at(tokens, stop + 1) == first.type, closed[1:2]
        else:
            beside = first.type == "NUMBER" and tokens[k + 2].type in ("NAME", "FUNC", "SQRT")
            doubt, opens = beside and tokens[k + 2].start_pos == first.end_pos, kind_at(tokens, k + 3)
            last = [closing(tokens, k + 3) if opens in ("LSQ", "LPAR", "LBRACE") else k + 2]
        if not doubt:
            continue
        start, middle, end = first.start_pos or 0, tokens[stop].end_pos or 0, tokens[last[0]].end_pos
        whole, apart = f"({source[start:end]}){source[end:]}", f" * {source[middle:]}"
        repairs = (source[:start] + whole, source[:middle] + apart)
        raise refuse("where does the fraction end? Write `a/(b c)` or `a/b * c`", source, first, repairs)


def _torn(after: Tokens, token: Token, before: Token, source: str) -> None:
    """`W[i][j]` and `tanh(x)[i]` are no products."""
    for inner in after if before.type in ("RPAR", "RSQ") else ():
        if inner.type == "RSQ":
            where = "in one pair of brackets: `W[i,j]`" if before.type == "RSQ" else "inside: `tanh(x[i])`"
            raise refuse(f"this is no index of a tensor; write it {where}", source, token)
        if inner.type not in ("NAME", "NUMBER", "PLUS", "MINUS", "COMMA"):
            return


def _add(out: Tokens, kind: str, token: Token, skip: int | None) -> None:
    if skip is None:
        out.append(token if kind == token.type else as_(kind, token, token.value))


def _ends_operand(out: Tokens) -> bool:
    if out and out[-1].type == "RSQ":  # but not the index of a sum
        return out[opening(out) - 1].type not in ("BIGOP", "REDUCER")
    return bool(out) and out[-1].type in ("NAME", "NUMBER", "RPAR", "RGRP", "RBRACE", "BAR_CLOSE")


def _indexed(tokens: Tokens) -> Tokens:
    """`mean(x[b,i], b)`, `sum(x_i, i)`: the index after the comma as `mean[b](x[b,i])` has it."""
    for k in range(len(tokens) - 2, -1, -1):
        if tokens[k].type != "REDUCER" or tokens[k + 1].type != "LPAR":
            continue
        stop = closing(tokens, k + 1)
        body, *over = split(tokens[k + 2 : stop])
        inside = {t.value.index for t in body if t.type == "NAME"}
        inside |= {i for t in body if t.type == "NAME" for g in t.value.subs for i in g.items}
        if over and all(len(o) == 1 and o[0].type == "NAME" and o[0].value.index in inside for o in over):
            index = tokens[k + 3 + len(body) : stop]
            head = [as_("LSQ", index[0], "["), *index, as_("RSQ", index[-1], "]")]
            tokens = [*tokens[: k + 1], *head, tokens[k + 1], *body, *tokens[stop:]]
    return tokens


def _heads(tokens: Tokens, source: str) -> Tokens:
    """Mark each function and reducer that is followed by no bracket: it takes what comes next.

    `\\sum_i` always takes the rest of its product; `sum[i]( … )` and `softmax[w]( … )` take the bracket.
    """
    out: list[Token | None] = list(tokens)
    inserts: dict[int, Token] = {}
    for k, token in enumerate(tokens):
        if token.type not in ("FUNC", "REDUCER", "BIGOP"):
            continue
        after = k + 1
        if kind_at(tokens, after) == "LSQ":
            after = closing(tokens, k + 1) + 1
            _over_set(tokens, out, k + 1, after - 1, source)
            for dots in range(k + 2, after - 1):  # sum[s=0..t]
                if (tokens[dots].type, tokens[dots - 2].type) == ("DOTS", "EQ") and token.type != "FUNC":
                    out[dots] = as_("UPTO", tokens[dots], "to")
        bracket = kind_at(tokens, after) in ("LPAR", "LGRP", "LBRACE")
        if bracket and token.type == "REDUCER" and tokens[k + 1].value == "_":  # as on a page: `sum_i (…)`
            spaced = source[(tokens[after].start_pos or 1) - 1].isspace()
            if spaced and token.value in ("sum", "prod"):
                bracket = False
            else:
                _power_of(tokens, k, after, source)
        if kind_at(tokens, k + 1) == "_EQ" and token.type != "BIGOP":
            out[k] = as_("NAME", token, Name(str(token.value)))  # `softmax = …` gives a name
            continue
        if token.type == "FUNC":
            kind = "FUNC" if bracket else "FUNC_OPEN"
            if not bracket and (stop := _alone(tokens, k, source)):
                kind = "FUNC"
                inserts[k + 1] = as_("LPAR", tokens[k + 1], "(")
                inserts[stop] = as_("RPAR", tokens[stop - 1], ")")
        elif token.type == "REDUCER" and not bracket:
            kind = "GREEDY" if token.value in SOFT else "BIGOP"
        else:
            kind = token.type
        if kind != token.type:
            out[k] = as_(kind, token)
    for at in sorted(inserts, reverse=True):
        out.insert(at, inserts[at])
    return [token for token in out if token is not None]


def _over_set(tokens: Tokens, out: list[Token | None], start: int, stop: int, source: str) -> None:
    """`\\sum_{x \\in X}`: a set that is named after its index holds all its values."""
    for k in range(start, stop):
        if tokens[k].type != "IN":
            continue
        name = tokens[k + 1].value if tokens[k + 1].type == "NAME" else None
        own = tokens[k - 1].value if tokens[k - 1].type == "NAME" else None
        if name is None or own is None or not name.plain or small_of(name.base) != own.base:
            message = "a set may hold some of the values: for all of them write the index alone, `sum[i](…)`"
            repair = source[: tokens[k - 1].end_pos] + source[tokens[stop].start_pos :]
            raise refuse(message, source, tokens[k], (repair,))
        out[k] = out[k + 1] = None


def _power_of(tokens: Tokens, k: int, after: int, source: str) -> None:
    """`max_i (…)^2`: the power of what is in the brackets, or of the maximum?"""
    stop = closing(tokens, after)
    if stop + 1 < len(tokens) and tokens[stop + 1].type == "CARET":
        start, begin = tokens[k].start_pos or 0, tokens[after].start_pos or 0
        end = tokens[stop].end_pos or 0
        power = _POWER.match(source, end)
        to = power.end() if power else end
        head = source[start:begin].strip()
        both = (f"{head} ({source[begin:to]})", f"({head} {source[begin:end]}){source[end:to]}")
        repairs = tuple(source[:start] + one + source[to:] for one in both)
        message = f"is the power that of each term, written `{both[0]}`, or of the whole"
        raise refuse(f"{message}, written `{both[1]}`?", source, tokens[k], repairs)


_POWER = re.compile(r"\s*(\^|\*\*)\s*(\w+|\{[^}]*\}|\([^)]*\))?")
_BEGINS = frozenset({"NAME", "NUMBER", "LPAR", "LGRP", "FRAC"})


def _alone(tokens: Tokens, k: int, source: str) -> int:
    """A function without brackets takes one factor; where another follows, nobody knows where it ends, but for the
    angle of `\\cos t\\theta_i` and `\\sin 2\\pi x`: its first factors are single
    letters or numbers. Then its end is told."""
    ends: list[int] = []
    at = k + 1
    while kind_at(tokens, at) in _BEGINS and len(ends) < 20:
        name = tokens[at].type == "NAME"
        at = at if name or tokens[at].type == "NUMBER" else closing(tokens, at + (tokens[at].type == "FRAC"))
        while name and kind_at(tokens, at + 1) in ("LSQ", "LPAR"):
            at = closing(tokens, at + 1)
        if tokens[at].type == "RBRACE" and kind_at(tokens, at + 1) == "LBRACE":
            at = closing(tokens, at + 1)
        if at + 2 < len(tokens) and tokens[at + 1].type == "CARET":
            at = at + 2 if tokens[at + 2].type in ("NUMBER", "NAME") else closing(tokens, at + 2)
        ends.append(tokens[at].end_pos or 0)
        at += 1
    if len(ends) < 2:
        return 0
    angle = tokens[k].value in ("sin", "cos") and len(ends) == at - k - 1  # each factor is one token
    if angle and all(t.type == "NUMBER" or t.value.plain for t in tokens[k + 1 : at - 1]):
        return at
    word, start = source[tokens[k].start_pos or 0 : tokens[k].end_pos], tokens[k].end_pos or 0
    first, whole = source[start : ends[0]].strip(), source[start : ends[-1]].strip()
    rest = source[ends[0] : ends[-1]].strip()
    both = (f"{word}({whole})", f"{word}({first}) {rest}")
    repairs = tuple(source[: tokens[k].start_pos] + one + source[ends[-1] :] for one in both)
    message = f"where does `{word}` end? Write `{both[0]}` or `{both[1]}`"
    raise refuse(message, source, tokens[k], repairs)
