"""What the whole program tells about its names, read off the grammar's trees before any name is decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import cast

from lark import Token, Tree

from ..names import Name, small_of
from ..sums import is_capital
from ..tree import Directive
from .signature import Signature


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
    base: int | None = None  # the first position, where a line tells it
    matrix: bool = False  # superscript indices: bare capitals are matrices whose shapes are to be declared

    @property
    def matrices(self) -> bool:
        """May a name without brackets be a vector or a matrix?"""
        return bool(self.shapes) or bool(self.signature)

    def is_size(self, index: str) -> bool:
        if index in self.sizes:
            return True
        return is_capital(index) and (index in self.indices or small_of(index) in self.stems)

    @cached_property
    def stems(self) -> set[str]:
        """The lower-case indices, also without their numbers: `t1` gives `t1` and `t`."""
        return self.indices | {i.rstrip("0123456789'") for i in self.indices}


def names_in(tree: Tree[Token] | Token | None) -> list[Token]:
    """The NAME tokens below a tree, in order of writing."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Tree):
            stack += node.children[::-1]
        elif node is not None and node.type == "NAME":
            found.append(node)
    return found


def rules(tree: Tree[Token], rule: str) -> list[Tree[Token]]:
    """The subtrees that a rule of the grammar made, in order of writing."""
    return all_rules(tree).get(rule, [])


def all_rules(tree: Tree[Token]) -> dict[str, list[Tree[Token]]]:
    """Every subtree under the name of its rule, each list in order of writing."""
    found: dict[str, list[Tree[Token]]] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        found.setdefault(node.data, []).append(node)
        for child in reversed(node.children):
            if isinstance(child, Tree):
                stack.append(child)
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
    made = all_rules(tree)
    return "apply" in made or any(any(reference.children[1:]) for reference in made.get("reference", []))


def bound_names(item: Tree[Token] | Token) -> list[str]:
    """The index that an item under a sum binds: `t`, the first name of `t2 <= t1`, the middle of `0 <= l <= n`."""
    if isinstance(item, Tree) and item.data == "both":
        item = item.children[0]
    if isinstance(item, Tree) and item.data == "comparison":
        sides = item.children[0::2]
        item = sides[1] if len(sides) == 3 else next((s for s in sides if bare_name(s)), sides[0])
    name = bare_name(item)
    return [name.index] if name else []


def gather(trees: list[Tree[Token]], said: list[Directive], matrix: bool, signature: Signature) -> Facts:
    """Read the facts off the grammar's trees, what is said of the system and the signature."""
    facts = Facts(matrix=matrix, signature=signature)
    facts.base = next((int(d.values[0]) for d in said if d.word == "positions"), None)
    for directive in (d for d in said if d.word == "shape"):
        for name, dims in zip(directive.names, directive.values, strict=True):
            facts.shapes[name] = tuple(d for d in dims.split(",") if d)
            facts.sizes |= {d for d in facts.shapes[name] if not d.isdigit()}
    bound: set[str] = set()
    tops: dict[str, str] = {}  # what stands in the upper limit of a sum -> the index of that sum
    for tree in trees:
        made = all_rules(tree)
        left = tree.children[0]
        if isinstance(left, Tree) and left.data == "reference" and len(tree.children) > 1:
            facts.tensors.add(parts_of(left)[0].value.text)
        for ref in made.get("reference", []):
            token, script, _, square = parts_of(ref)
            for part in (script, square):
                if part is not None:
                    facts.tensors.add(token.value.text)
                    facts.ranked.add(token.value.text)
                    facts.indices |= {n.value.index for n in names_in(part)}
        for node in made.get("indices", []):
            *items, upto = node.children
            found = [index for item in items for index in bound_names(item)]
            bound |= set(found)
            if upto is not None:
                tops |= {n.value.index: found[0] for n in names_in(upto) if found}
        for node in made.get("comparison", []):  # `1 if i = l and j = k`: letters that are compared
            sides = [own for side in node.children[0::2] if (own := bare_name(side))]
            letters = {own.base for own in sides if own.plain and len(own.base) == 1}
            if len(letters) == 2:
                bound |= {letter for letter in letters if letter.islower()}
    facts.ends = _ends(trees)
    facts.indices |= bound
    tops = {top: index for top, index in tops.items() if is_capital(top) or top not in facts.indices}
    facts.sizes |= tops.keys()
    facts.limits = {
        t: i for t, i in tops.items() if small_of(t) not in facts.stems and t not in facts.indices
    }
    return facts


def _ends(trees: list[Tree[Token]]) -> dict[str, set[str]]:
    """The sizes on left sides, by tensor: `b[T-1,i] = 1`, where another line defines b at every t."""
    found: dict[str, set[str]] = {}
    rows: dict[str, list[list[list[str]]]] = {}
    for left in (
        t.children[0] for t in trees if isinstance(t.children[0], Tree) and t.children[0].data == "reference"
    ):
        token, *brackets = parts_of(left)
        arguments = (a for b in brackets if b is not None for a in arguments_of(b))
        own = [[n.value.index for n in names_in(a)] for a in arguments]
        rows.setdefault(token.value.text, []).append(own)
    for name, lines in rows.items():
        for one, other in permutations(lines, 2):
            pairs = [(a[0], b[0]) for a, b in zip(one, other, strict=False) if len(a) == len(b) == 1]
            found.setdefault(name, set()).update(a for a, b in pairs if is_capital(a) and small_of(a) == b)
    return found
