"""How a grammar is written down, and what is read off its derivations: words, dependencies, a translation.

    S  -> NP:nsubj VP
    NP -> Det:det Noun [0.6] | we [0.4]
    Noun -> train => tog | boat => bat

Left of the arrow stands a symbol, right of it its alternatives, each with its probability; where none is
given, the alternatives share what is left. A name that has no rule is a word.

Two additions, for tasks that need gold answers. `NP:nsubj` says that the head word of NP depends, with
this label, on the head word of the rule: that of the one part without a label. And `=>` gives the same
rule in another language: the same symbols in that language's order, with its own words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .vocabulary import BadData

_PROBABILITY = re.compile(r"\[([^\]]*)\]\s*$")


@dataclass(frozen=True)
class Rule:
    """One alternative: `left -> right`, with probability p."""

    left: str
    right: tuple[str, ...]
    p: float
    labels: tuple[str, ...]  # of each part of `right`; "" for the head
    target: tuple[str, ...] | None = None  # the right side in the other language: the same symbols, each once


def read(text: str) -> dict[str, list[Rule]]:
    """The rules of each symbol, in the order they are written; a bad line is named."""
    found: dict[str, list[Rule]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        left, arrow, rest = line.partition("->")
        left = left.strip()
        if not arrow or len(left.split()) != 1:
            raise BadData(f"line {number}, `{line}`: a rule needs the form `Left -> right | right`")
        if left in found:
            raise BadData(
                f"line {number}, `{line}`: {left} has rules already; put all its alternatives on one line"
            )
        found[left] = _alternatives(left, rest, f"line {number}, `{line}`")
    if not found:
        raise BadData("the grammar has no rules; write at least `S -> word`")
    return found


def _alternatives(left: str, text: str, where: str) -> list[Rule]:
    parts = []
    for alternative in text.split("|"):
        found = _PROBABILITY.search(alternative)
        source, pair, target = (alternative[: found.start()] if found else alternative).partition("=>")
        if not source.split():
            raise BadData(f"{where}: an alternative is empty; every one needs at least one word or symbol")
        parts.append((source.split(), target.split() if pair else None, found[1] if found else None))
    try:
        given = [None if p is None else float(p) for _, _, p in parts]
    except ValueError:
        raise BadData(f"{where}: a probability in brackets needs to be a number, as in [0.5]") from None
    rest = 1 - sum(p for p in given if p is not None)
    shares = given.count(None)
    values = [rest / shares if p is None else p for p in given]
    if abs(sum(values) - 1) > 1e-9 or min(values) <= 0:
        raise BadData(f"{where}: the probabilities are {values}; they need to be above 0 and sum to 1")
    rules: list[Rule] = []
    for (words, other, _), p in zip(parts, values, strict=True):
        names, labels = zip(
            *((name, label) for name, _, label in (s.partition(":") for s in words)), strict=True
        )
        if any(labels) and labels.count("") != 1:
            raise BadData(
                f"{where}: exactly one part of `{' '.join(words)}` needs to be without a label, the head"
            )
        if any(rule.right == names for rule in rules):
            raise BadData(
                f"{where}: `{' '.join(names)}` stands twice; join the two and add their probabilities"
            )
        rules.append(Rule(left, names, p, labels, None if other is None else tuple(other)))
    return rules


@dataclass(frozen=True)
class Tree:
    """A rule, and for each part of its right side a tree (a symbol) or the word itself."""

    rule: Rule
    parts: tuple["Tree | str", ...]

    @property
    def words(self) -> tuple[str, ...]:
        own = ((part,) if isinstance(part, str) else part.words for part in self.parts)
        return sum(own, ())


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
    heads, labels = [-1] * len(tree.words), ["root"] * len(tree.words)

    def head_of(node: Tree | str, start: int) -> int:
        if isinstance(node, str):
            return start
        places = []
        for part in node.parts:
            places.append(head_of(part, start))
            start += 1 if isinstance(part, str) else len(part.words)
        top = places[node.rule.labels.index("")]  # the head word of the part without a label
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
    source, target, own = list[str](), list[str](), list[int]()
    below: dict[str, list[tuple[int, Pair]]] = {}  # where a symbol's words begin, and their translation
    for name, part in zip(tree.rule.right, tree.parts, strict=True):
        if isinstance(part, Tree):
            below.setdefault(name, []).append((len(source), translate(part)))
            source += below[name][-1][1].source
        else:
            own.append(len(source))
            source.append(part)
    links: set[tuple[int, int]] = set()
    for name in tree.rule.target or tree.rule.right:  # without a second side it says the same in both
        if name in below:
            start, pair = below[name].pop(0)
            links |= {(len(target) + t, start + s) for t, s in pair.alignment}
            target += pair.target
        else:
            links |= {(len(target), s) for s in own}
            target.append(name)
    return Pair(tuple(source), tuple(target), frozenset(links))
