"""Functions defined in passing: `f(z) = \\frac{1}{1 + e^{-z}}` above, `f(W[j,I] x[I])` below.

Such a line is no tensor. It is taken out, and its right side is put in wherever the function is used.
"""

from __future__ import annotations

from itertools import pairwise

from lark import Token

from .seen import depths
from .signature import Signature
from .symbols import FUNCTIONS
from .tokens import Tokens, as_, closing, refuse, split

MAX_TOKENS = 20_000
Definition = tuple[list[str], Tokens]  # the parameters, and the right side


def expand(statements: list[Tokens], signature: Signature, source: str) -> list[Tokens | None]:
    """The statements with each use written out; None in the place of each definition."""
    heads = {_word(s[k]).rstrip("'") for s in statements for k in _uses(s)}
    called = {s[0].value.text: word for s in statements if (word := _alias(s)) and s[0].value.text in heads}
    if called := {name: word for name, word in called.items() if not signature.ranks.keys() & {name, word}}:
        others = [[] if _alias(s) and s[0].value.text in called else _called(s, called) for s in statements]
        kept = iter(expand([s for s in others if s], signature, source))
        return [next(kept) if s else None for s in others]
    statements = _rounded(statements, signature)
    defined = [_head(tokens) for tokens in statements]
    if not any(defined):
        return list(statements)
    indices = {t.value.index for s in statements for _, t, at in depths(s) if at and t.type == "NAME"}
    used: dict[str, list[list[str]]] = {}
    for tokens in statements:
        for k in _uses(tokens):
            written = [str(t) for t in tokens[k + 2 : closing(tokens, k + 1)] if t.type != "COMMA"]
            used.setdefault(_word(tokens[k]), []).append(written)
    functions: dict[str, Definition] = {}
    out: list[Tokens | None] = []
    for tokens, head in zip(statements, defined, strict=True):
        word = _word(tokens[0])
        within = any(_word(tokens[k]) == word for k in _uses(tokens) if k)  # h(t) = … h(t-1): a recurrence
        known = not within and (tokens[0].type == "FUNC" or len(used.get(word, [])) > 1)
        own = head is not None and not any(p in indices for p in head)
        if (
            own and head is not None and any(p in signature.ranks for p in head)
        ):  # of a tensor: used with another?
            own = any(args != head and len(args) == len(head) for args in used.get(word, []))
        if own and known and head is not None and word not in signature.ranks:
            right = next(k for k, t in enumerate(tokens) if t.type == "_EQ") + 1
            functions[word] = head, _written(tokens[right:], functions, source)
            out.append(None)
        else:
            out.append(tokens)
    return [None if s is None else _written(s, functions, source) for s in out]


def _rounded(statements: list[Tokens], signature: Signature) -> list[Tokens]:
    """`K[u,v] = …` as K(u,v), where `K[q_t, k_s]` is written of vectors that are known."""
    heads: dict[str, int] = {}
    for tokens in statements:
        inside = tokens[2 : closing(tokens, 1)] if [t.type for t in tokens[:2]] == ["NAME", "LSQ"] else []
        letters = {t.value.text for t in inside[::2] if t.type == "NAME" and t.value.plain}
        alone = {t.value.text for _, t, at in depths(tokens) if not at and t.type == "NAME"}
        if (
            inside
            and letters <= alone
            and len(letters) == len(inside[::2])
            and tokens[len(inside) + 3].type == "_EQ"
        ):
            heads[tokens[0].value.text] = len(letters)

    def of_vectors(inside: Tokens) -> bool:
        firsts = [part[0].value for part in split(inside) if part and part[0].type == "NAME"]
        known = [signature.find(name.without(g)) for name in firsts for g in name.subs[:1]]
        return any(name and signature.ranks[name] > 1 for name in known)

    def calls(tokens: Tokens, name: str) -> list[int]:
        pairs = enumerate(pairwise(tokens))
        return [k + 1 for k, (a, b) in pairs if a.type == "NAME" and a.value.text == name and b.type == "LSQ"]

    for name, count in heads.items():
        used = [s[k + 1 : closing(s, k)] for s in statements for k in calls(s, name)]
        if name in signature.ranks or not any(len(split(i)) == count and of_vectors(i) for i in used):
            continue
        statements = [list(tokens) for tokens in statements]
        for tokens in statements:
            for k in calls(tokens, name):
                stop = closing(tokens, k)
                tokens[k], tokens[stop] = as_("LPAR", tokens[k], "("), as_("RPAR", tokens[stop], ")")
    return statements


def _alias(tokens: Tokens) -> str:
    """The function that a line calls by a letter: `f = \\tanh`, `f = \\sigma`."""
    if [t.type for t in tokens[:2]] != ["NAME", "_EQ"] or len(tokens) != 3:
        return ""
    word = _word(tokens[2])
    return FUNCTIONS.get(word, "") if tokens[2].type in ("FUNC_OPEN", "NAME") else ""


def _called(tokens: Tokens, called: dict[str, str]) -> Tokens:
    """`f(z)` and the slope `f'(z)` as `tanh(z)` and `tanh'(z)`."""
    out = list(tokens)
    for k in _uses(tokens):
        word, name = _word(tokens[k]).rstrip("'"), tokens[k].value
        if word in called and tokens[k].type == "NAME" and name.primes < 2:
            out[k] = as_("FUNC", tokens[k], called[word] + "'" * name.primes)
    return out


def _word(token: Token) -> str:
    return token.value.text if token.type == "NAME" else str(token.value)


def _head(tokens: Tokens) -> list[str] | None:
    """The parameters of `f(y, z) = …`."""
    if len(tokens) < 5 or tokens[0].type not in ("NAME", "FUNC") or tokens[1].type != "LPAR":
        return None
    stop = closing(tokens, 1)
    inside = tokens[2:stop]
    if stop + 1 >= len(tokens) or tokens[stop + 1].type != "_EQ" or len(inside) % 2 == 0:
        return None
    plain = all(t.type == "NAME" and t.value.plain for t in inside[::2])
    return (
        [t.value.text for t in inside[::2]]
        if plain and all(t.type == "COMMA" for t in inside[1::2])
        else None
    )


def _uses(tokens: Tokens) -> list[int]:
    heads = ("NAME", "FUNC")
    return [k for k, t in enumerate(tokens[:-1]) if t.type in heads and tokens[k + 1].type == "LPAR"]


def _written(tokens: Tokens, functions: dict[str, Definition], source: str) -> Tokens:
    """The tokens with each use of a function replaced by its right side, in brackets."""
    out: Tokens = []
    k = 0
    while k < len(tokens):
        token = tokens[k]
        used = token.type in ("NAME", "FUNC") and _word(token) in functions
        if not used or k + 1 >= len(tokens) or tokens[k + 1].type != "LPAR":
            out.append(token)
            k += 1
            continue
        parameters, body = functions[_word(token)]
        stop = closing(tokens, k + 1)
        arguments = split(_written(tokens[k + 2 : stop], functions, source))
        if len(arguments) != len(parameters):
            message = f"`{_word(token)}` takes {len(parameters)} arguments, you wrote {len(arguments)}"
            raise refuse(message, source, token)
        given = dict(zip(parameters, arguments, strict=True))
        out.append(tokens[k + 1])
        for t in body:
            value = given.get(t.value.text) if t.type == "NAME" else None
            out += [tokens[k + 1], *value, tokens[stop]] if value is not None else [t]
        out.append(tokens[stop])
        if len(out) > MAX_TOKENS:
            raise refuse("written out, these functions are too long", source, token)
        k = stop + 1
    return out
