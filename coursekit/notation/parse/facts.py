"""What a whole text tells about its names: `Seen` by its tokens, before any is decided, `Facts` by the trees."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import cast

from lark import Token, Tree

from ..names import Group, Name, small_of
from ..sums import is_capital
from ..tree import Directive
from .lexer import Signature
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
    compared: set[str] = field(default_factory=set)  # `1 if i = l and j = k`: letters that are compared


def depths(tokens: Tokens) -> Iterator[tuple[int, Token, str]]:
    """Each token with its number and the innermost square bracket around it: `index`, `bound` or none."""
    stack = [""]
    for k, token in enumerate(tokens):
        step = level(token)
        if step < 0 and len(stack) > 1:
            stack.pop()
        yield k, token, stack[-1]
        if step > 0:
            before = tokens[k - 1].type if k and token.type == "LSQ" else ""
            stack.append(_INSIDE.get(before, "bound") or stack[-1])


_INSIDE = {"": "", "NAME": "index", "RPAR": "index", "RSUB": "index"}


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
            if following in ("EQ", "CMP") and kind_at(tokens, k + 2) == "NAME":
                other = tokens[k + 2].value
                seen.compared |= (
                    {n.base for n in (name, other)} if _letter(name) and _letter(other) else set()
                )
            if following == "LSQ":
                seen.tensors.add(name.text)
            elif name.plain and following != "LPAR":
                seen.bare.add(name.text)
    seen.bound |= seen.compared
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
    names, bases = [n for n in seen.names if n.subs or n.sups], {n.base for n in seen.names}
    scripts = (g for n in names for g in (*n.subs, *(g for g in n.sups if g.round or seen.above)))
    found = {c for g in scripts for c in _shifted(g)}
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


# ── trees ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Facts:
    """What the whole program tells about its names."""

    tensors: set[str] = field(default_factory=set)  # names with square brackets, or defined
    ranked: set[str] = field(default_factory=set)  # names with square brackets or indices as scripts
    indices: set[str] = field(default_factory=set)  # names that stand in square brackets
    sizes: set[str] = field(default_factory=set)  # names of sizes: limits of sums, shapes
    limits: dict[str, str] = field(default_factory=dict)  # the `n` of a sum over l=1…n -> `l`
    shapes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # declared: `W in R^{n x m}`
    signature: Signature = field(default_factory=Signature)
    named: set[str] = field(default_factory=set)  # axes of the signature whose sizes are used
    looked: set[str] = field(default_factory=set)  # numbers that are given and stand as an index
    counts: dict[str, str] = field(default_factory=dict)  # the `N` of `1/N sum_i` -> `i`
    ends: dict[str, set[str]] = field(default_factory=dict)  # the T of `b[T-1,i] = 1` beside `b[t,i] = …`
    tops: dict[str, str] = field(default_factory=dict)  # in the upper limit of a sum -> the index of that sum
    base: int | None = None  # the first position, where a line tells it
    begun: list[tuple[str, str]] = field(default_factory=list)  # the t and the n of `\\sum_{t=0}^{n-1}`
    matrix: bool = False  # superscript indices: bare capitals are matrices whose shapes are to be declared

    @property
    def matrices(self) -> bool:
        """May a name without brackets be a vector or a matrix?"""
        return bool(self.shapes) or bool(self.signature)

    def settle(self) -> None:
        """What follows, once every statement has been surveyed."""
        tops = {t: i for t, i in self.tops.items() if is_capital(t) or t not in self.indices}
        self.sizes |= tops.keys()
        free = (t for t in tops if small_of(t) not in self.stems and t not in self.indices)
        self.limits = {top: tops[top] for top in free}

    def from_zero(self, index: str, top: str | None) -> bool:
        """Does a sum from 0 to the size less 1 tell where the positions of this index begin?"""
        return any(n in self.sizes and (t == index or n == top) for t, n in self.begun)

    def is_size(self, index: str) -> bool:
        ranged = index in self.indices or small_of(index) in self.stems
        return index in self.sizes or (ranged and is_capital(index))

    @cached_property
    def stems(self) -> set[str]:
        """The lower-case indices, also without their numbers: `t1` gives `t1` and `t`."""
        return self.indices | {i.rstrip("0123456789'") for i in self.indices}


def names_in(tree: Tree[Token] | Token | None) -> list[Token]:
    """The NAME tokens below a tree, in order of writing: each begins the subtree that it stands in."""
    made = tree.iter_subtrees_topdown() if isinstance(tree, Tree) else ()  # type: ignore[no-untyped-call]
    return [cast(Token, node.children[0]) for node in made if node.data in ("reference", "apply")]


def rules(tree: Tree[Token]) -> dict[str, list[Tree[Token]]]:
    """Every subtree under the name of its rule, each list in order of writing."""
    found: dict[str, list[Tree[Token]]] = defaultdict(list)
    for node in tree.iter_subtrees_topdown():  # type: ignore[no-untyped-call]
        found[node.data].append(node)
    return found


Part = Tree[Token] | None


def parts_of(reference: Tree[Token]) -> tuple[Token, Part, Part, Part]:
    """A reference's name, its indices as scripts, its round brackets and its square brackets."""
    script, round_, square = cast("list[Part]", reference.children[1:])
    return cast(Token, reference.children[0]), script, round_, square


def arguments_of(brackets: Tree[Token]) -> list[Tree[Token]]:
    """What stands between the commas of a reference's brackets."""
    return cast("list[Tree[Token]]", cast("Tree[Token]", brackets.children[0]).children)


def bare_name(tree: Tree[Token] | Token | None) -> Name | None:
    """The name that a tree is, if it is one without brackets."""
    if isinstance(tree, Tree) and tree.data == "reference":
        return None if any(tree.children[1:]) else cast(Token, tree.children[0]).value
    return None


def bracketed(tree: Tree[Token]) -> bool:
    """Does a name with brackets of its own stand here: a tensor's entry, or a function?"""
    made = rules(tree)
    return bool(made["apply"]) or any(any(reference.children[1:]) for reference in made["reference"])


def bound_names(item: Tree[Token] | Token) -> list[str]:
    """The index that an item under a sum binds: `t`, the first name of `t2 <= t1`, the middle of `0 <= l <= n`."""
    if isinstance(item, Tree) and item.data == "both":
        item = item.children[0]
    if isinstance(item, Tree) and item.data == "comparison":
        sides = item.children[0::2]
        item = sides[1] if len(sides) == 3 else next((s for s in sides if bare_name(s)), sides[0])
    name = bare_name(item)
    return [name.index] if name else []


def gather(trees: list[Tree[Token]], said: list[Directive], seen: Seen, signature: Signature) -> Facts:
    """What is said of the system, what its tokens and its left sides tell, and the signature."""
    facts = Facts(matrix=seen.matrix, signature=signature, ends=_ends(trees), indices=set(seen.compared))
    facts.base = next((int(d.values[0]) for d in said if d.word == "positions"), None)
    for directive in (d for d in said if d.word == "shape"):
        for name, dims in zip(directive.names, directive.values, strict=True):
            facts.shapes[name] = tuple(d for d in dims.split(",") if d)
            facts.sizes |= {d for d in facts.shapes[name] if not d.isdigit()}
    return facts


def _ends(trees: list[Tree[Token]]) -> dict[str, set[str]]:
    """The sizes on left sides, by tensor: `b[T-1,i] = 1`, where another line defines b at every t."""
    found: dict[str, set[str]] = {}
    rows: dict[str, list[list[list[str]]]] = {}
    lefts = (tree.children[0] for tree in trees)
    for left in (t for t in lefts if isinstance(t, Tree) and t.data == "reference"):
        token, *brackets = parts_of(left)
        arguments = (a for b in brackets if b is not None for a in arguments_of(b))
        own = [[n.value.index for n in names_in(a)] for a in arguments]
        rows.setdefault(token.value.text, []).append(own)
    for name, lines in rows.items():
        for one, other in permutations(lines, 2):
            pairs = [(a[0], b[0]) for a, b in zip(one, other, strict=False) if len(a) == len(b) == 1]
            found.setdefault(name, set()).update(a for a, b in pairs if is_capital(a) and small_of(a) == b)
    return found
