"""What the whole program tells about its names, read off the grammar's trees before any name is decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from lark import Token, Tree

from ..names import Group, Name, small_of
from ..tree import Directive
from .sums import is_capital


@dataclass
class Facts:
    """What the whole program tells about its names."""

    tensors: set[str] = field(default_factory=set)  # names with square brackets, or defined
    indices: set[str] = field(default_factory=set)  # names that stand in square brackets
    sizes: set[str] = field(default_factory=set)  # names of sizes: limits of sums, shapes
    time: set[str] = field(default_factory=set)  # letters that are indices in sub- and superscripts
    limits: dict[str, str] = field(default_factory=dict)  # the `n` of a sum over l=1…n -> `l`
    shapes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # declared: `W in R^{n x m}`
    matrix: bool = False  # superscript indices: bare capitals are matrices whose shapes are to be declared

    def is_size(self, index: str) -> bool:
        if index in self.sizes:
            return True
        return is_capital(index) and (index in self.indices or small_of(index) in self.stems)

    @cached_property
    def stems(self) -> set[str]:
        """The lower-case indices, also without their numbers: `t1` gives `t1` and `t`."""
        return self.indices | {i.rstrip("0123456789'") for i in self.indices}


def names_in(tree: Tree | Token | None) -> list[Token]:
    """The NAME tokens below a tree, in order of writing."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Tree):
            stack += node.children[::-1]
        elif node is not None and node.type == "NAME":
            found.append(node)
    return found


def rules(tree: Tree, rule: str) -> list[Tree]:
    """The subtrees that a rule of the grammar made, in order of writing."""
    return all_rules(tree).get(rule, [])


def all_rules(tree: Tree) -> dict[str, list[Tree]]:
    """Every subtree under the name of its rule, each list in order of writing."""
    found: dict[str, list[Tree]] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        found.setdefault(node.data, []).append(node)
        for child in reversed(node.children):
            if isinstance(child, Tree):
                stack.append(child)
    return found


def parts_of(reference: Tree) -> tuple[Token, Tree | None, Tree | None]:
    """A reference's name, round brackets and square brackets."""
    name, round_, square = reference.children
    return cast(Token, name), cast("Tree | None", round_), cast("Tree | None", square)


def arguments_of(brackets: Tree) -> list[Tree]:
    """What stands between the commas of a reference's brackets."""
    return cast("list[Tree]", cast(Tree, brackets.children[0]).children)


def bare_name(tree: Tree | Token | None) -> Name | None:
    """The name that a tree is, if it is one without brackets."""
    if isinstance(tree, Tree) and tree.data == "reference":
        token, round_, square = parts_of(tree)
        return token.value if round_ is None and square is None else None
    return None


def bracketed(tree: Tree) -> bool:
    """Does a name with brackets of its own stand here: a tensor's entry, or a function?"""
    return any(reference.children[1:] != [None, None] for reference in rules(tree, "reference"))


def bound_names(item: Tree | Token) -> list[str]:
    """The index that an item under a sum binds: `t`, the first name of `t2 <= t1`, the middle of `0 <= l <= n`."""
    if isinstance(item, Tree) and item.data == "both":
        item = item.children[0]
    if isinstance(item, Tree) and item.data == "comparison":
        sides = item.children[0::2]
        item = sides[1] if len(sides) == 3 else next((s for s in sides if bare_name(s)), sides[0])
    name = bare_name(item)
    return [name.index] if name else []


def gather(trees: list[Tree], shapes: list[Directive]) -> Facts:
    """Read the facts off the grammar's trees and the declared shapes."""
    facts = Facts()
    for directive in shapes:
        for name, dims in zip(directive.names, directive.values, strict=True):
            facts.shapes[name] = tuple(dims.split(","))
            facts.sizes |= {d for d in facts.shapes[name] if not d.isdigit()}
    bound: set[str] = set()
    names: list[Name] = []
    for tree in trees:
        made = all_rules(tree)
        left = tree.children[0]
        if isinstance(left, Tree) and left.data == "reference" and len(tree.children) > 1:
            facts.tensors.add(parts_of(left)[0].value.text)
        for ref in made.get("reference", []):
            token, _, square = parts_of(ref)
            names.append(token.value)
            if square is not None:
                facts.tensors.add(token.value.text)
                facts.indices |= {n.value.index for n in names_in(square)}
        for node in made.get("indices", []):
            *items, upto = node.children
            found = [index for item in items for index in bound_names(item)]
            bound |= set(found)
            if upto is not None and len(tops := {n.value.index for n in names_in(upto)}) == 1:
                facts.limits |= {top: found[0] for top in tops if not is_capital(top)}
                facts.sizes |= tops
        for node in made.get("comparison", []):  # `1 if i = l and j = k`: letters that are compared
            sides = [own for side in node.children[0::2] if (own := bare_name(side))]
            letters = {own.base for own in sides if own.plain and len(own.base) == 1}
            if len(letters) == 2:
                bound |= {letter for letter in letters if letter.islower()}
    facts.time = _script_indices(names, bound - facts.indices)
    facts.matrix = any(time_letters(g) for n in names for g in n.sups)
    facts.indices |= bound | facts.time
    for written in names:
        core = written
        for group in (*written.sups, *written.subs):
            if index_items(group, facts.time) is not None:
                core = core.without(group)
                facts.tensors.add(core.text)
    return facts


def _script_indices(names: list[Name], bound: set[str]) -> set[str]:
    """The letters that are indices where they stand in sub- and superscripts.

    The evidence: arithmetic or round brackets (`h_{t-1}`, `h^{(t)}`), or a sum over the letter (`\\sum_l x_l`);
    then its neighbours in the same name (`W_{lk}`) and other letters in the same place (`x_i` beside `x_l`).
    """
    found = {letter for name in names for g in (*name.sups, *name.subs) for letter in time_letters(g)}
    if bound or found:
        found |= {b for b in bound if any(b in _letters(g) for n in names for g in (*n.sups, *n.subs))}
    while True:
        known = {n.without(g).text for n in names for g in n.subs if _letters(g) & found}
        more = set(found)
        for name in names:
            groups = [_letters(g) for g in (*name.sups, *name.subs)]
            if any(letters & bound for letters in groups):
                more |= {letter for letters in groups for letter in letters}
            for g in name.subs:
                if name.without(g).text in known and len(_letters(g)) == 1:
                    more |= _letters(g)
        if more == found:
            return found
        found = more


def _letters(group: Group) -> set[str]:
    """The single small letters that a group could be made of, as indices: `lk` -> l, k."""
    letters: set[str] = set()
    for item in group.items:
        if re.fullmatch(r"[a-z]|(?!in|to|up|of)[a-z]{2}", item) and (len(item) == 1 or len(group.items) == 1):
            letters |= set(item)
        elif match := re.fullmatch(r"([a-z]\d?'?)([+-]\d+)?", item):
            letters.add(match.group(1))
        else:
            return set()
    return letters


def time_letters(group: Group) -> set[str]:
    """The letters that a group shows to be indices: `h_{t-1}`, `h^{(t)}`; a layer's `ℓ` stays a name."""
    letters = {m.group(1) for item in group.items if (m := re.fullmatch(r"([a-z]\d?)([+-]\d+)?", item))}
    if (group.arithmetic or group.round) and len(letters) == len(group.items):
        return letters - {"l"}
    return set()


def index_items(group: Group, letters: set[str]) -> list[tuple[str, int]] | None:
    """A group as shifted indices, if it is made of known index letters (or `(0)`), else None."""
    found: list[tuple[str, int]] = []
    for item in group.items:
        match = re.fullmatch(r"([a-z]\d?'?)([+-]\d+)?", item)
        if match and match.group(1) in letters:
            found.append((match.group(1), int(match.group(2) or 0)))
        elif item.isdigit() and group.round:
            found.append(("", int(item)))
        elif re.fullmatch(r"[a-z]{2}", item) and _letters(Group((item,))) and set(item) <= letters:
            found += [(letter, 0) for letter in item]
        else:
            return None
    return found or None
