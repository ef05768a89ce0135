"""Derivations, and what is read off them: the words, the dependencies, the translation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .rules import Rule
from .vocabulary import BadData


@dataclass(frozen=True)
class Tree:
    """A rule, and for each part of its right side a tree (a symbol) or the word itself."""

    rule: Rule
    parts: tuple["Tree | str", ...]

    @property
    def words(self) -> tuple[str, ...]:
        own = ((part,) if isinstance(part, str) else part.words for part in self.parts)
        return sum(own, ())

    @property
    def size(self) -> int:
        return sum(1 if isinstance(part, str) else part.size for part in self.parts)


def grow(rules: Mapping[str, Sequence[Rule]], symbol: str, draw: np.random.Generator) -> Tree:
    """A derivation of `symbol`, each rule drawn with its probability."""
    choices = rules[symbol]
    at = np.searchsorted(np.cumsum([rule.p for rule in choices]), draw.random(), side="right")
    rule = choices[min(int(at), len(choices) - 1)]
    return Tree(rule, tuple(grow(rules, name, draw) if name in rules else name for name in rule.right))


@dataclass(frozen=True)
class Parse:
    """A sentence with its gold dependencies: word n depends on word heads[n]; the root has head -1."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]


def parse(tree: Tree) -> Parse:
    """The dependencies of a derivation: a labelled part hangs on the head of its rule."""
    heads, labels = [-1] * tree.size, ["root"] * tree.size

    def head_of(node: Tree | str, start: int) -> int:
        if isinstance(node, str):
            return start
        if node.rule.labels.count("") != 1:
            raise BadData(
                f"the rule `{node.rule.left} -> {' '.join(node.rule.right)}` has no one head: label its parts"
            )
        places = []
        for part in node.parts:
            places.append(head_of(part, start))
            start += 1 if isinstance(part, str) else part.size
        top = places[node.rule.head]
        for place, label in zip(places, node.rule.labels, strict=True):
            if label:
                heads[place], labels[place] = top, label
        return top

    head_of(tree, 0)
    return Parse(tree.words, tuple(heads), tuple(labels))


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the gold alignment: pairs (place in target, place in source)."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]


def translate(tree: Tree) -> Pair:
    """The derivation read in both languages. A rule's own words are aligned with each other."""
    source: list[str] = []
    places: dict[int, list[int]] = {}  # of each tree, by id: where its rule's own words stand

    def read_source(node: Tree) -> None:
        for part in node.parts:
            if isinstance(part, str):
                places.setdefault(id(node), []).append(len(source))
                source.append(part)
            else:
                read_source(part)

    target: list[str] = []
    links: set[tuple[int, int]] = set()

    def read_target(node: Tree) -> None:
        below = {part.rule.left: part for part in node.parts if isinstance(part, Tree)}
        # A rule without a second side says the same in both languages.
        same = node.rule.target is None
        for part in node.parts if same else (below.get(name, name) for name in node.rule.target or ()):
            if isinstance(part, Tree):
                read_target(part)
            else:
                links.update((len(target), s) for s in places.get(id(node), ()))
                target.append(part)

    read_source(tree)
    read_target(tree)
    return Pair(tuple(source), tuple(target), frozenset(links))
