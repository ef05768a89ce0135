"""Grammars ready for use, and tasks from grammars with gold answers: dependency parses, aligned translations.

    english()                      # number agreement over a distance: the boat near the harbours sinks
    brackets()                     # two kinds of brackets, nested: a stack has to be kept

    task = dependencies(1000)
    task.parses[0]                 # words, heads, labels
    task.batches(size=32)          # (w,), each row <eos> words <eos>

    task = translation(1000)
    task.pairs[0].alignment        # {(place in target, place in source), ...}
    task.batches(size=32)          # (source, target); the target begins and ends with <eos>

A translation is fixed by its source, so the limit of a translator's loss is zero. The target language
is invented: its verb comes last, its adjective follows its noun, and one of its adverbs is two words.
"""

from dataclasses import dataclass
from typing import Any

from .batches import Batches, padded
from .grammar import Grammar
from .trees import Pair, Parse, parse, translate
from .vocabulary import EOS, Vocabulary

ENGLISH = """
    S    -> One [0.5] | Many [0.5]
    One  -> NP1 VP1
    Many -> NP2 VP2
    NP   -> NP1 [0.5] | NP2 [0.5]
    NP1  -> Det N1 [0.45] | Det Adj N1 [0.25] | Det N1 PP [0.3]
    NP2  -> Det N2 [0.45] | Det Adj N2 [0.25] | Det N2 PP [0.3]
    PP   -> P NP
    VP1  -> sinks [0.2] | sails [0.2] | V1 NP [0.6]
    VP2  -> sink [0.2] | sail [0.2] | V2 NP [0.6]
    Det  -> the [0.6] | some [0.2] | no [0.2]
    Adj  -> old | small | red | proud
    P    -> near [0.5] | behind [0.3] | above [0.2]
    N1   -> boat [0.4] | harbour [0.2] | gull [0.2] | captain [0.2]
    N2   -> boats [0.4] | harbours [0.2] | gulls [0.2] | captains [0.2]
    V1   -> sees [0.5] | follows [0.3] | greets [0.2]
    V2   -> see [0.5] | follow [0.3] | greet [0.2]
"""

BRACKETS = """
    S -> B [0.6] | B S [0.4]
    B -> ( ) [0.35] | ( S ) [0.25] | { } [0.25] | { S } [0.15]
"""

# One of its sentences: we booked the evening train through Vienna.
DEPENDENCIES = """
    S       -> Pronoun:nsubj VP [0.5] | Object:nsubj VP [0.5]
    VP      -> Verb Object:dobj
    Object  -> Det:det Nominal
    Nominal -> Noun [0.3] | Adj:amod Noun [0.2] | Time:nmod Noun [0.2] | Noun PP:nmod [0.2] | Full [0.1]
    Full    -> Time:nmod Noun PP:nmod
    PP      -> P:case Place
    Pronoun -> we | they | you
    Verb    -> booked | missed | liked | painted
    Det     -> the [0.7] | every [0.3]
    Noun    -> train | ferry | bus | guide | driver
    Adj     -> slow | cheap | crowded
    Time    -> morning | evening | winter
    P       -> through [0.6] | from [0.4]
    Place   -> Vienna | Trieste | Zagreb | Split
"""

TRANSLATION = """
    S   -> NP VP
    VP  -> V Obj => Obj V [0.7] | V Obj Adv => Adv Obj V [0.3]
    Obj -> NP
    NP  -> Det N [0.5] | Det Adj N => Det N Adj [0.5]
    Det -> the => lo [0.6] | a => un [0.4]
    N   -> dog => keru | bird => alun | child => mipo | house => doma | river => vesk
    Adj -> small => tiki | green => zelu | old => gama | quiet => siro
    V   -> sees => vidra | paints => farba | loves => miluna | seeks => sekata
    Adv -> often => oftu [0.5] | slowly => pas pasu [0.5]
"""


def english() -> Grammar:
    return Grammar(ENGLISH)


def brackets() -> Grammar:
    return Grammar(BRACKETS)


@dataclass(frozen=True)
class Dependencies:
    """Sentences with gold parses."""

    grammar: Grammar
    parses: list[Parse]

    @property
    def vocabulary(self) -> Vocabulary:
        return self.grammar.vocabulary

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that occurs, in alphabetical order, without "root"."""
        return tuple(sorted({label for p in self.parses for label in p.labels} - {"root"}))

    def batches(self, size: int = 32, seed: int = 0) -> Batches:
        rows = self.grammar.rows(p.words for p in self.parses)
        return Batches(rows, size=size, seed=seed, pad=Vocabulary.pad)


def dependencies(count: int = 1000, seed: int = 0) -> Dependencies:
    grammar = Grammar(DEPENDENCIES)
    return Dependencies(grammar, [parse(tree) for tree in grammar.trees(count, seed)])


@dataclass(frozen=True)
class Translation:
    """Pairs of sentences with gold alignments."""

    grammar: Grammar
    pairs: list[Pair]
    source: Vocabulary
    target: Vocabulary

    def source_rows(self, pairs: list[Pair] | None = None) -> Any:
        """(N, S) ids: the words and <pad>."""
        return padded([self.source.encode(p.source) for p in pairs or self.pairs], Vocabulary.pad)

    def target_rows(self, pairs: list[Pair] | None = None) -> Any:
        """(N, T) ids: <eos>, the words, <eos> and <pad>."""
        rows = [self.target.encode([EOS, *p.target, EOS]) for p in pairs or self.pairs]
        return padded(rows, Vocabulary.pad)

    def batches(self, size: int = 32, seed: int = 0) -> Batches:
        return Batches(self.source_rows(), self.target_rows(), size=size, seed=seed, pad=Vocabulary.pad)


def translation(count: int = 1000, seed: int = 0) -> Translation:
    grammar = Grammar(TRANSLATION)
    pairs = [translate(tree) for tree in grammar.trees(count, seed)]
    rules = [rule for rules in grammar.rules.values() for rule in rules]
    other = (name for rule in rules for name in rule.target or rule.right if name not in grammar.rules)
    return Translation(grammar, pairs, grammar.vocabulary, Vocabulary(dict.fromkeys(other)))
