"""Grammars ready for use: small enough to learn in a minute, each with something to learn.

english()     number agreement over a distance: the boat near the harbours sinks
brackets()    two kinds of brackets, nested: a stack has to be kept
"""

from __future__ import annotations

from .grammar import Grammar

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


def english() -> Grammar:
    return Grammar(ENGLISH)


def brackets() -> Grammar:
    return Grammar(BRACKETS)
