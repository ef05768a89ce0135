"""How a grammar is written down.

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
from dataclasses import dataclass

from .vocabulary import BadData

_PROBABILITY = re.compile(r"\[([^\]]*)\]\s*$")


@dataclass(frozen=True)
class Rule:
    """One alternative: `left -> right`, with probability p."""

    left: str
    right: tuple[str, ...]
    p: float
    labels: tuple[str, ...]  # of each part of `right`; "" for the head
    target: tuple[str, ...] | None = None  # the right side in the other language

    @property
    def head(self) -> int:
        """The part whose head word is that of the whole rule."""
        return self.labels.index("")


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
    for rules in found.values():
        for rule in rules:
            _check_target(rule, found)
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


def _check_target(rule: Rule, rules: dict[str, list[Rule]]) -> None:
    symbols = sorted(name for name in rule.right if name in rules)
    other = sorted(name for name in rule.target or () if name in rules)
    if rule.target is not None and symbols != other:
        raise BadData(
            f"the rule `{rule.left} -> {' '.join(rule.right)} => {' '.join(rule.target)}`: "
            "both sides need the same symbols, in any order"
        )
    if rule.target is not None and len(set(symbols)) != len(symbols):
        raise BadData(
            f"the rule `{rule.left} -> {' '.join(rule.right)}` names a symbol twice, so its pairs are not clear; "
            "give one of them a name and a rule of its own"
        )
