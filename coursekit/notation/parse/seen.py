"""What the tokens of a whole text tell about its names, before any name is decided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lark import Token

from ..names import Group, Name
from .tokens import Tokens, kind_at, level

ATOM = re.compile(r"[A-Za-z]+\d*'*")


@dataclass
class Seen:
    """What the tokens of a whole text tell about its names."""

    names: list[Name] = field(default_factory=list)  # outside square brackets
    lefts: list[Name] = field(default_factory=list)  # that begin a statement
    bare: set[str] = field(default_factory=set)  # without scripts and brackets
    tensors: set[str] = field(default_factory=set)  # with square brackets
    indices: set[str] = field(default_factory=set)  # in square brackets
    bound: set[str] = field(default_factory=set)  # under a sum, a maximum, a softmax
    upto: set[str] = field(default_factory=set)  # in the upper limit of a sum
    time: set[str] = field(default_factory=set)  # letters that are indices in sub- and superscripts
    above: bool = False  # a left side carries its index above: `h^{i,j}`
    matrix: bool = False  # indices above: bare capitals are matrices
    layers: bool = False  # numbers alone stand in round brackets, on a left side too: `a^{(1)} = …`
    raised: dict[str, set[str]] = field(default_factory=dict)  # letters above the name of a left side: `c^t`


def depths(tokens: Tokens) -> Iterator[tuple[int, Token, str]]:
    """Each token with its number and the innermost square bracket around it: `index`, `bound` or none."""
    stack: list[str] = []
    for k, token in enumerate(tokens):
        if level(token) < 0 and stack:
            stack.pop()
        yield k, token, next((s for s in reversed(stack) if s), "")
        if level(token) > 0:
            before = tokens[k - 1].type if k and token.type == "LSQ" else ""
            stack.append({"": "", "NAME": "index", "RPAR": "index", "RSUB": "index"}.get(before, "bound"))


def survey(statements: list[Tokens]) -> Seen:
    seen = Seen()
    for tokens in statements:
        upto = False
        for k, token, inside in depths(tokens):
            following = kind_at(tokens, k + 1)
            upto = (upto or token.type == "UPTO") and token.type != "RSQ"
            if token.type != "NAME":
                continue
            name: Name = token.value
            if inside == "index":
                seen.indices.add(name.index)
            elif inside == "bound":
                first = tokens[k - 1].type == "LSQ"  # the w_s of `s: w_s = v` is no index of the sum
                if not name.capital and (first or name.plain):
                    (seen.upto if upto else seen.bound).add(name.index)
            else:
                seen.names.append(name)
                if k == 0:
                    seen.lefts.append(name)
            if following in ("EQ", "CMP") and k + 2 < len(tokens) and tokens[k + 2].type == "NAME":
                other = tokens[k + 2].value  # `1 if i = l and j = k`: letters that are compared
                seen.bound |= {n.base for n in (name, other)} if _letter(name) and _letter(other) else set()
            if following == "LSQ":
                seen.tensors.add(name.text)
            elif name.plain and following != "LPAR":
                seen.bare.add(name.text)
    upper = {n.base for n in seen.lefts if n.sups}
    rounds = [g.items for n in seen.names for g in (*n.sups, *n.subs) if g.round]
    led = any(g.round for n in seen.lefts for g in (*n.sups, *n.subs))
    seen.layers = led and all(item.isdigit() for items in rounds for item in items)
    seen.above = any(_shifted(g) for n in seen.names if n.base in upper for g in n.sups)
    seen.time = _script_indices(seen, seen.bound - seen.indices)
    seen.matrix = any(_shifted(g) for n in seen.names for g in n.sups if g.round or seen.above)
    seen.matrix |= not seen.tensors and any(_shifted(g) for n in seen.names for g in n.subs)
    return seen


def _letter(name: Name) -> bool:
    return name.plain and len(name.base) == 1 and name.base.islower()


def _shifted(group: Group) -> set[str]:
    """`h_{t-1}`, `h^{(t)}`; a layer's `ℓ` stays a name."""
    letters = {m.group(1) for item in group.items if (m := re.fullmatch(r"([a-z]\d?)([+-]\d+)?", item))}
    whole = len(letters) == len(group.items)
    return letters - {"l"} if whole and (group.arithmetic or group.round) else set()


def _script_indices(seen: Seen, bound: set[str]) -> set[str]:
    """The letters that a script by itself shows to be indices, or a sum over them, then its neighbours in the same
    name (`W_{lk}`, `x_{t-k}`), other letters in the same place (`x_i` beside `x_l`), and those of a left side that
    limit a sum or stand beside an index above (`y_t = \\sum_{s=0}^t a^{t-s} x_s`)."""
    names = seen.names
    scripts = (g for n in names for g in (*n.subs, *(g for g in n.sups if g.round or seen.above)))
    found = {c for g in scripts for c in _shifted(g)}
    bases = {n.base for n in names}
    if not seen.tensors:  # indices are nowhere in brackets: a subscript with commas is a list of them
        lists = [letters_in(g) for n in names for g in n.subs if len(g.items) > 1]
        found |= {c for letters in lists if not letters & bases for c in letters}
    groups = [letters_in(g) for n in names for g in (*n.sups, *n.subs)]
    atoms = {a for n in names for g in n.subs for item in g.items for a in ATOM.findall(item) if not g.word}
    found |= {b for b in bound if b in atoms or any(b in letters for letters in groups)}
    beside = [set(ATOM.findall(item)) for n in names for g in n.subs for item in g.items if g.arithmetic]
    above = [set(ATOM.findall(item)) for n in names for g in n.sups for item in g.items if g.arithmetic]
    led = {c for n in seen.lefts for g in n.subs for c in letters_in(g)}
    found |= led & seen.upto
    while True:
        known = {n.without(g).text for n in names for g in n.subs if letters_in(g) & found}
        more = found.union(*(letters for letters in beside if letters & found))
        more |= {c for letters in above if letters & found for c in letters & led}
        for name in names:
            own = [letters_in(g) for g in name.subs]
            if any(letters & bound for letters in own):
                more |= {letter for letters in own for letter in letters}
            for g, letters in zip(name.subs, own, strict=True):
                if name.without(g).text in known and (len(letters) == 1 or not seen.tensors):
                    more |= letters
        if more == found:
            return found
        found = more


def letters_in(group: Group) -> set[str]:
    """The single small letters that a group could be made of, as indices: `lk` -> l, k."""
    letters: set[str] = set()
    for item in () if group.word else group.items:
        if re.fullmatch(r"[a-z]|(?!in|to|up|of)[a-z]{2}", item) and (len(item) == 1 or len(group.items) == 1):
            letters |= set(item)
        elif match := re.fullmatch(r"([a-z]\d?'?)([+-]\d+)?", item):
            letters.add(match.group(1))
        else:
            return set()
    return letters


def made_of(group: Group, letters: set[str]) -> bool | None:
    """Is a group made of these indices: False as it stands, True letter by letter (`lk`), None not at all?"""
    apart = False
    for item in group.items:
        number = item.isdigit() and (group.round or len(group.items) > 1)
        if group.word or (not (found := ATOM.findall(item)) and not number):
            return None
        if all(a in letters for a in found):
            continue
        if not re.fullmatch(r"(?!(?:in|to|up|of|out)$)[a-z]{2,4}", item) or not set(item) <= letters:
            return None
        apart = True
    return apart if group.items else None
