"""Round brackets after a name: a tensor's indices, a function's arguments, or the next factor of a product.

A name before a bracket is a factor, with a product's precedence, unless it is a function: one that the language
knows, one with a subscript Φ, one defined in the text, or a word of the reader's own that begins with a capital.
"""

from __future__ import annotations

import difflib

from lark import Token

from ..names import GREEK, Name, small_of
from ..sums import is_capital
from .brackets import CONDITIONAL
from .seen import Seen, depths
from .signature import Signature
from .slips import PYTHON
from .symbols import FUNCTIONS, REDUCERS
from .tokens import Tokens, as_, closing, count, level, refuse

_PLAIN = frozenset({"NAME", "NUMBER", "PLUS", "MINUS", "STAR", "COMMA", "LSUB", "RSUB"})


_FUNCTION_LETTERS = frozenset({"f", "g", "pi", "phi", "varphi", "psi", "Phi", "Psi"})
_INDICATORS = frozenset({"I", "ind", "indicator", "Indicator"})


class Calls:
    """Marks the bracket after a name: `LIDX` for indices, `LCALL` for a function; a factor's stays as it is."""

    def __init__(self, statements: list[Tokens], seen: Seen, signature: Signature, source: str) -> None:
        self.seen = seen
        self.signature = signature
        self.source = source
        self.lefts = {n.text for n in seen.lefts}
        self.tensors = seen.tensors | {n for n, rank in signature.ranks.items() if rank}
        self.letters = seen.indices | seen.bound | seen.time
        self.defined: dict[str, bool] = {}  # the left sides with round brackets: are these indices?
        self.rows = False  # h(t) = …: round brackets hold some of the indices, rows are left
        for tokens in statements:
            self.survey(tokens)
        self.statements = [self.mark(tokens) for tokens in statements]

    def survey(self, tokens: Tokens) -> None:
        for k, token in enumerate(tokens):
            if token.type == "NAME" and k + 1 < len(tokens) and tokens[k + 1].type in ("LSUB", "LSQ"):
                self.tensors.add(token.value.text)
        after = closing(tokens, 1) + 1 if len(tokens) > 1 and tokens[1].type == "LSUB" else 1
        if len(tokens) > after and tokens[0].type == "NAME" and tokens[after].type == "LPAR":
            inside = tokens[after + 1 : closing(tokens, after)]
            indices = all(t.type in ("NAME", "NUMBER", "COMMA") for t in inside)
            self.defined[tokens[0].value.text] = indices
            rank = self.signature.ranks.get(tokens[0].value.text, 0)
            self.rows |= indices and 0 < count(inside) < rank
            if indices:
                self.letters |= {t.value.index for t in inside if t.type == "NAME"}

    def mark(self, tokens: Tokens) -> Tokens:
        out = list(tokens)
        left = next((k for k, t in enumerate(tokens) if t.type == "_EQ"), 0)
        for k, token, _ in depths(tokens):
            if token.type != "LPAR" or k == 0 or tokens[k - 1].type not in ("NAME", "RSUB"):
                continue
            head = k - 1
            while tokens[head].type != "NAME" or (head + 1 < k and tokens[head + 1].type != "LSUB"):
                head -= 1
            stop = closing(tokens, k)
            square = stop + 1 < len(tokens) and tokens[stop + 1].type == "LSQ"
            script = tokens[head + 2 : k - 1]
            kind = "LIDX" if k < left or square else self.kind(tokens[head], tokens[k + 1 : stop], script)
            if not kind and token.value == CONDITIONAL:
                raise refuse(_function(tokens[head].value), self.source, tokens[head])
            if kind == "LCALL" and tokens[head].value.text in _INDICATORS and _asks(tokens[k + 1 : stop]):
                out[head] = as_("NUMBER", tokens[head], "1")  # I(y = k)
            elif kind:
                out[k] = as_(kind, token)
        return out

    def kind(self, token: Token, inside: Tokens, script: Tokens) -> str:
        name: Name = token.value
        commas = count(inside) > 1
        index_like = bool(inside) and all(
            t.type in _PLAIN
            and (
                t.type != "NAME"
                or (after.type == "LSUB" and self.looks_up(inside, k))
                or self.is_index(t.value)
            )
            for k, (t, after) in enumerate(zip(inside, [*inside[1:], token], strict=True))
        )
        index_like |= bool(inside) and inside[0].type in ("REDUCER", "BIGOP") and inside[0] == "argmax"
        known = name.text in self.tensors or name.text in self.lefts
        if not index_like and not script and count(inside) == self.signature.ranks.get(name.text):
            index_like = all(t.type in _PLAIN and (t.type != "NAME" or self.strange(t.value)) for t in inside)
        if self.signature and not known and any(t.type == "LSUB" for t in inside):
            index_like = False  # CELL(h_{t-1,J}, x_{t,K}): of tensors that are given, in none that is
        if (name.opaque and not (known and index_like)) or _asks(inside):
            return "LCALL"
        if name.text in self.signature.ranks:
            self.applied(token, inside, script)
            scripts = count(script) if script else 0
            rank = self.signature.ranks[name.text]
            written = scripts + count(inside)
            if index_like and rank > written and not self.rows:
                axes = ",".join(a if a.isalpha() else "…" for a in self.signature.shapes[name.text])
                message = f"`{name.text}` has {rank} axes: write all its indices, `{name.text}[{axes}]`, or a product, "
                raise refuse(f"{message}`{name.text} * (…)`", self.source, token)
            names = commas and rank == written and all(t.type in _PLAIN for t in inside)
            return "LIDX" if (index_like and rank >= written) or names else ""
        if script:
            return "LIDX" if index_like and self.defined.get(name.text) else ""  # a_t(u)
        if name.base in FUNCTIONS and not name.plain and name.text not in self.seen.bare:
            raise refuse(_function(name), self.source, token)
        if index_like and (known or commas or self.defined.get(name.text)):
            return "LIDX"
        if (self.is_size(name) or self.signature.axis(name)) and not commas:
            return ""
        word = len(name.base) > 1 and name.plain and not name.capital  # len(S) is no entry of a tensor
        if index_like and not word and name.base not in GREEK and name.text not in self.seen.bare:
            shifted = any(t.type in ("PLUS", "MINUS") for t in inside) and inside[1].type != "LSUB"
            if shifted and len(name.base) == 1:
                raise refuse(_both(name), self.source, token)
            return "LIDX"
        if name.text in self.tensors and not commas:
            return ""
        if name.capital and (commas or len(name.base) > 1) and name.text not in self.seen.bare:
            return "LCALL"
        if name.plain and name.base in _FUNCTION_LETTERS and name.text not in self.seen.bare:
            raise refuse(_function(name), self.source, token)
        plain = len(name.base) == 1 or name.base in GREEK or not name.plain or name.text in self.seen.bare
        if plain and not commas and (not name.capital or name.text in self.seen.bare):
            return ""
        raise refuse(self.unknown(name, commas), self.source, token)

    def applied(self, token: Token, inside: Tokens, script: Tokens) -> None:
        """`E_i(x)`, where both are vectors: a function of x, or a product with it?"""
        ranks, own = self.signature.ranks, token.value.text
        name = inside[0].value.text if len(inside) == 1 and inside[0].type == "NAME" else ""
        left = ranks[own] - (count(script) if script else 0)
        if left == 1 == ranks.get(name):
            written = self.source[token.start_pos : (inside[0].start_pos or 1) - 1]
            message = f"`{written}({name})` can be a function of `{name}`, written `{written}` alone, or a product, "
            if not written.endswith(" "):
                raise refuse(f"{message}written `{written} * {name}`", self.source, token)

    def looks_up(self, tokens: Tokens, k: int) -> bool:
        """May the tensor with a script at `k` be an index: is no axis of it left?"""
        rank = self.signature.ranks.get(tokens[k].value.text)
        return rank is None or rank == count(tokens[k + 2 : closing(tokens, k + 1)])

    def is_index(self, name: Name) -> bool:
        return (
            name.index in self.letters
            or (is_capital(name.index) and len(name.base) == 1)
            or (len(name.subs) == 1 and not name.sups and set(name.subs[0].items) <= self.letters)
        )

    def strange(self, name: Name) -> bool:
        """A letter that is no tensor, so that it can only be an index: the u of `c(u,v)`."""
        letter = name.plain and len(name.base) == 1 and name.base.islower()
        return letter and self.signature.find(name) is None and name.text not in self.lefts

    def is_size(self, name: Name) -> bool:
        """A size, an index as a number, or sizes side by side."""
        stems = self.letters | {i.rstrip("0123456789'") for i in self.letters}
        words = [name.index] if name.index in stems or small_of(name.index) in stems else list(name.base)
        return name.plain and not name.text_word and all(small_of(w) in stems or w in stems for w in words)

    def unknown(self, name: Name, commas: bool) -> str:
        if name.base in REDUCERS:
            return f"`{name.base}` needs its index: `{name.base}[i](…)`"
        if name.base in PYTHON:
            return f"`{name.base}` is Python; {PYTHON[name.base]}"
        close = difflib.get_close_matches(name.text, [*FUNCTIONS, *REDUCERS], 1, 0.6)
        if close and not name.capital:
            return f"the function `{name.text}` is not defined; did you mean `{close[0]}`?"
        if name.capital and not commas:
            return (
                f"`{name.text}(…)` can be a product, written `{name.text} * (…)`, or a function of your own, "
                f"written with a word that begins with a capital: `Cell(…)`"
            )
        product = f"`{name.text} * (…)` for a product, or "
        hint = f"write {'' if commas else product}a capital first for a function of your own"
        return f"the function `{name.text}` is not defined; {hint}"


def _function(name: Name) -> str:
    return (
        f"`{name.text}(…)` can be a function, defined on a line of its own, `{name.text}(z) = tanh(z)`, "
        f"or a product, written `{name.text} * (…)`"
    )


def _both(name: Name) -> str:
    return f"`{name.text}(…)` can be an entry, written `{name.text}[…]`, or a product, written `{name.text} * (…)`"


def _asks(tokens: Tokens) -> bool:
    """Is it the `x = v` of `P(x = v)`? A comparison in brackets of its own is a factor: `y[j] ([i = j] - p[i])`."""
    depth = 0
    for token in tokens:
        depth += level(token)
        if depth == 0 and token.type in ("EQ", "CMP"):
            return True
    return False
