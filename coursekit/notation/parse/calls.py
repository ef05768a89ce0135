"""Round brackets after a name: a tensor's indices, a function's arguments, or the next factor of a product.

A name before a bracket is a factor, with a product's precedence, unless it is a function: one that the language
knows, one with a subscript Φ, one defined in the text, or a word of the reader's own that begins with a capital.
A line such as `f(z) = \\frac{1}{1 + e^{-z}}` is no tensor: it is taken out, and its right side is put in wherever the
function is used.
"""

import difflib
from collections.abc import Collection
from functools import partial
from itertools import pairwise

from lark import Token

from ..names import GREEK, Name, small_of
from ..sums import is_capital
from .brackets import CONDITIONAL
from .facts import Seen, depths
from .lexer import Signature
from .symbols import FUNCTIONS, PYTHON, REDUCERS
from .tokens import Tokens, as_, closing, count, kind_at, outside, refuse, split

MAX_TOKENS = 20_000
Definition = tuple[list[str], Tokens]  # the parameters, and the right side


def expand(statements: list[Tokens], signature: Signature, source: str) -> list[Tokens | None]:
    """The statements with each use written out; None in the place of each definition."""
    statements = _rounded(statements, signature)
    if not any(_head(s) or len(s) == 3 for s in statements):
        return list(statements)
    indices = {t.value.index for s in statements for _, t, at in depths(s) if at and t.type == "NAME"}
    used: dict[str, list[list[str]]] = {}
    for tokens in statements:
        for k in _uses(tokens):
            written = [str(t) for t in tokens[k + 2 : closing(tokens, k + 1)] if t.type != "COMMA"]
            used.setdefault(_word(tokens[k]), []).append(written)
    functions: dict[str, Definition] = {}
    out: list[Tokens | None] = []
    for tokens in statements:
        word, head = _word(tokens[0]), _head(tokens)
        out.append(None)
        if (named := _alias(tokens, used)) and not signature.ranks.keys() & {word, named}:
            functions |= {word + mark: _applied(named + mark, tokens[0]) for mark in ("", "'")}
            continue
        within = any(_word(tokens[k]) == word for k in _uses(tokens) if k)  # h(t) = … h(t-1): a recurrence
        known = not within and (tokens[0].type == "FUNC" or len(used.get(word, [])) > 1)
        own = head is not None and not any(p in indices for p in head)
        if own and any(p in signature.ranks for p in head or ()):  # of a tensor: used with another?
            own = any(args != head and len(args) == len(head or ()) for args in used.get(word, []))
        if own and known and head is not None and word not in signature.ranks:
            right = next(k for k, t in enumerate(tokens) if t.type == "_EQ") + 1
            functions[word] = head, _written(tokens[right:], functions, source)
        else:
            out[-1] = tokens
    return [None if s is None else _written(s, functions, source) for s in out]


def _alias(tokens: Tokens, used: Collection[str]) -> str:
    """The function that a line calls by a letter: `f = \\tanh`, `f = \\sigma`; f(z) and its slope f'(z) are used."""
    if len(tokens) != 3 or (tokens[0].type, tokens[1].type) != ("NAME", "_EQ"):
        return ""
    word = _word(tokens[0])
    called = tokens[2].type in ("FUNC_OPEN", "NAME") and (word in used or word + "'" in used)
    return FUNCTIONS.get(_word(tokens[2]), "") if called else ""


def _applied(function: str, near: Token) -> Definition:
    """z, and `function(z)`."""
    kinds = (("FUNC", function), ("LPAR", "("), ("NAME", Name("z")), ("RPAR", ")"))
    return ["z"], [as_(kind, near, value) for kind, value in kinds]


def _rounded(statements: list[Tokens], signature: Signature) -> list[Tokens]:
    """`K[u,v] = …` as K(u,v), where `K[q_t, k_s]` is written of vectors that are known."""

    def of_vector(part: Tokens) -> bool:
        name = part[0].value if part and part[0].type == "NAME" else Name("")
        known = [signature.find(name.without(group)) for group in name.subs[:1]]
        return any(own and signature.ranks[own] > 1 for own in known)

    for tokens in statements if signature else ():
        name, head = _word(tokens[0]), _head(tokens, "LSQ") or ["["]
        alone = {t.value.text for _, t, at in depths(tokens) if not at and t.type == "NAME"}
        used = [(s, k + 1) for s in statements for k in _uses(s, "LSQ") if _word(s[k]) == name]
        inside = [split(s[k + 1 : closing(s, k)]) for s, k in used]
        whole = [parts for parts in inside if len(parts) == len(head) and any(map(of_vector, parts))]
        for s, k in used if whole and name not in signature.ranks and alone.issuperset(head) else ():
            stop = closing(s, k)
            s[k], s[stop] = as_("LPAR", s[k], "("), as_("RPAR", s[stop], ")")
    return statements


def _word(token: Token) -> str:
    return token.value.text if token.type == "NAME" else str(token.value)


def _head(tokens: Tokens, opener: str = "LPAR") -> list[str] | None:
    """The parameters of `f(y, z) = …`."""
    if tokens[0].type not in ("NAME", "FUNC") or kind_at(tokens, 1) != opener:
        return None
    stop = closing(tokens, 1)
    parts = split(tokens[2:stop])
    plain = all(len(p) == 1 and p[0].type == "NAME" and p[0].value.plain for p in parts)
    return [p[0].value.text for p in parts] if plain and kind_at(tokens, stop + 1) == "_EQ" else None


def _uses(tokens: Tokens, opener: str = "LPAR") -> list[int]:
    pairs = enumerate(pairwise(tokens))
    return [k for k, (a, b) in pairs if a.type in ("NAME", "FUNC") and b.type == opener]


def _written(tokens: Tokens, functions: dict[str, Definition], source: str) -> Tokens:
    """The tokens with each use of a function replaced by its right side, in brackets."""
    out: Tokens = []
    k = 0
    while k < len(tokens):
        token, k = tokens[k], k + 1
        definition = functions.get(_word(token)) if kind_at(tokens, k) == "LPAR" else None
        if definition is None:
            out.append(token)
            continue
        (parameters, body), stop = definition, closing(tokens, k)
        arguments = split(_written(tokens[k + 1 : stop], functions, source))
        if len(arguments) != len(parameters):
            message = f"`{_word(token)}` takes {len(parameters)} arguments, you wrote {len(arguments)}"
            raise refuse(message, source, token)
        given = dict(zip(parameters, arguments, strict=True))
        out.append(tokens[k])
        for t in body:
            value = given.get(t.value.text) if t.type == "NAME" else None
            out += [tokens[k], *value, tokens[stop]] if value is not None else [t]
        out.append(tokens[stop])
        if len(out) > MAX_TOKENS:
            raise refuse("written out, these functions are too long", source, token)
        k = stop + 1
    return out


# ── indices, arguments or a factor ───────────────────────────────────────────────────────────

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
            if token.type == "NAME" and kind_at(tokens, k + 1) in ("LSUB", "LSQ"):
                self.tensors.add(token.value.text)
        after = closing(tokens, 1) + 1 if kind_at(tokens, 1) == "LSUB" else 1
        if tokens[0].type == "NAME" and kind_at(tokens, after) == "LPAR":
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
        for k, token in enumerate(tokens):
            if token.type != "LPAR" or k == 0 or tokens[k - 1].type not in ("NAME", "RSUB"):
                continue
            head = k - 1
            while tokens[head].type != "NAME" or (head + 1 < k and tokens[head + 1].type != "LSUB"):
                head -= 1
            stop = closing(tokens, k)
            square = kind_at(tokens, stop + 1) == "LSQ"
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
        index_like = bool(inside) and all(map(partial(self.may_be_index, inside), range(len(inside))))
        index_like |= kind_at(inside, 0) in ("REDUCER", "BIGOP") and inside[0] == "argmax"
        known = name.text in self.tensors or name.text in self.lefts
        if self.signature and not known and any(t.type == "LSUB" for t in inside):
            index_like = False  # CELL(h_{t-1,J}, x_{t,K}): of tensors that are given, in none that is
        if (name.opaque and not (known and index_like)) or _asks(inside):
            return "LCALL"
        if name.text in self.signature.ranks:
            self.applied(token, inside, script)
            rank = self.signature.ranks[name.text]
            written = (count(script) if script else 0) + count(inside)
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
                raise refuse(_or_product(name, f"an entry, written `{name.text}[…]`"), self.source, token)
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

    def may_be_index(self, inside: Tokens, k: int) -> bool:
        if inside[k].type != "NAME":
            return inside[k].type in _PLAIN
        name: Name = inside[k].value
        looked = len(name.subs) == 1 and not name.sups and set(name.subs[0].items) <= self.letters
        if kind_at(inside, k + 1) == "LSUB":  # a tensor of which no axis is left
            rank = self.signature.ranks.get(name.text)
            looked |= rank is None or rank == count(inside[k + 2 : closing(inside, k + 1)])
        return looked or name.index in self.letters or (is_capital(name.index) and len(name.base) == 1)

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
            product = f"`{name.text}(…)` can be a product, written `{name.text} * (…)`"
            return f"{product}, or a function of your own, written with a word that begins with a capital: `Cell(…)`"
        product = f"`{name.text} * (…)` for a product, or "
        hint = f"write {'' if commas else product}a capital first for a function of your own"
        return f"the function `{name.text}` is not defined; {hint}"


def _function(name: Name) -> str:
    return _or_product(name, f"a function, defined on a line of its own, `{name.text}(z) = tanh(z)`")


def _or_product(name: Name, other: str) -> str:
    return f"`{name.text}(…)` can be {other}, or a product, written `{name.text} * (…)`"


def _asks(tokens: Tokens) -> bool:
    """Is it the `x = v` of `P(x = v)`? A comparison in brackets of its own is a factor: `y[j] ([i = j] - p[i])`."""
    return any(tokens[k].type in ("EQ", "CMP") for k in outside(tokens))
