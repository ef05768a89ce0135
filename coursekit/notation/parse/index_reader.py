"""Index expressions: `t-1`, `2*t+dt`, `T-1-t`, the lookup `w_t`."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from lark import Token, Tree

from ..errors import NotationError
from ..names import Name
from ..tree import (
    Affine,
    Expr,
    Lookup,
    Ref,
    SizeOf,
    Span,
)  # fmt: skip
from .facts import (
    Facts,
    all_rules,
    arguments_of,
    bare_name,
    bound_names,
    bracketed,
    index_items,
    names_in,
    parts_of,
)
from .sums import is_capital

MAX_DEPTH = 60


class IndexReader:
    """One statement's indices. `known`: those of the left side and of every sum; `letters`: all that stand in
    brackets; `whole`: capitals that stand bare in brackets (so that `T-1` is an index, not a size)."""

    def __init__(self, facts: Facts, source: str) -> None:
        self.facts = facts
        self.source = source
        self.depth = 0
        self.known: set[str] = set()
        self.letters: set[str] = set()
        self.whole: set[str] = set()

    def span(self, node: Tree | Token) -> Span:
        first, last = _edge(node, 0), _edge(node, -1)
        if first is None or last is None:
            return Span()
        width = (last.end_pos or 0) - (first.start_pos or 0) if first.line == last.line else 1
        return Span(first.line or 0, first.column or 0, max(1, width))

    def error(self, message: str, node: Tree | Token | Span) -> NotationError:
        span = node if isinstance(node, Span) else self.span(node)
        return NotationError(message, self.source, span.line, span.column, span.width)

    def survey(self, tree: Tree) -> None:
        """Collect the statement's index names before any name is decided."""
        made = all_rules(tree)
        left = tree.children[0]
        if isinstance(left, Tree) and left.data == "reference":
            for part in left.children[1:]:
                if part is not None:
                    self.known |= {n.value.index for n in names_in(part)}
        for node in made.get("indices", []):
            for item in node.children[:-1]:
                self.known |= set(bound_names(item))
        for ref in made.get("reference", []):
            token, round_, square = parts_of(ref)
            for part in (round_, square):
                if part is None or (part is round_ and token.value.text not in self.facts.tensors):
                    continue
                for argument in arguments_of(part):
                    self.letters |= {n.value.index for n in names_in(argument)}
                    if name := bare_name(argument):
                        self.whole.add(name.index)
            for group in (*token.value.sups, *token.value.subs):
                found = index_items(group, self.facts.time)
                self.letters |= {letter for letter, _ in found or () if letter}
        self.letters |= self.known

    def affine(self, tree: Tree | Token) -> Affine:
        terms, const = self.linear(tree)
        kept = tuple((c, a) for a, c in terms.items() if c)
        return Affine(kept, const, span=self.span(tree))

    def linear(self, tree: Tree | Token) -> tuple[dict, int]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"this index is nested more than {MAX_DEPTH} deep", tree)
        try:
            return self.combination(tree)
        finally:
            self.depth -= 1

    def combination(self, tree: Tree | Token) -> tuple[dict, int]:
        """The coefficients of an index expression's atoms, and its constant."""
        assert isinstance(tree, Tree)
        if tree.data == "number":
            value = Fraction(str(tree.children[0]))
            if value.denominator != 1:
                raise self.error("an index must be a whole number", tree)
            return {}, int(value)
        if tree.data == "group":
            return self.linear(tree.children[0])
        if tree.data in ("add", "subtract"):
            steps = []
            node: Tree | Token = tree
            while isinstance(node, Tree) and node.data in ("add", "subtract"):
                steps.append((1 if node.data == "add" else -1, node.children[1]))
                node = node.children[0]
            total = self.linear(node)
            for sign, term in reversed(steps):
                total = _combine(total, self.linear(term), sign)
            return total
        if tree.data == "negative":
            return _combine(({}, 0), self.linear(tree.children[0]), -1)
        if tree.data == "times":
            a, b = self.linear(tree.children[0]), self.linear(tree.children[1])
            if b[0] and a[0]:
                raise self.error("an index may be multiplied by a number only: `2*t+dt`", tree)
            terms, const = b if b[0] else a
            factor = a[1] if b[0] else b[1]
            return {k: c * factor for k, c in terms.items()}, const * factor
        if tree.data == "reference":
            return {self.atom(tree): 1}, 0
        if tree.data == "bars":
            return self.linear(tree.children[0])
        raise self.error("an index is a name, a sum such as `t-1` or `2*t+dt`, or a lookup `w[b,t]`", tree)

    def atom(self, tree: Tree) -> str | Lookup | SizeOf:
        token, round_, square = parts_of(tree)
        name: Name = token.value
        if round_ is not None or square is not None:
            ref = self.reference(tree)
            if not isinstance(ref, Ref):
                raise self.error("an index is a name, a sum such as `t-1`, or a lookup `w[b,t]`", tree)
            return Lookup(ref)
        index = name.index
        if index in self.known:
            pass
        elif (items := self.lookup_items(name)) is not None:
            plain = replace(name, subs=())
            return Lookup(
                Ref(plain.text, tuple(Affine(((1, n),), s) for n, s in items), span=self.span(tree))
            )
        if (
            (is_capital(index) or index in self.facts.sizes)
            and index not in self.whole
            and index not in self.known
        ):
            return SizeOf(index)
        return index

    def lookup_items(self, name: Name) -> list[tuple[str, int]] | None:
        """`w_t`, `w_{t+1}`, `w_{b,t}` where `t` is an index of this statement: the entry w[t]."""
        if len(name.subs) != 1 or name.sups or name.primes or name.index in self.known:
            return None
        found = []
        for item in name.subs[0].items:
            match = re.fullmatch(r"([a-z][a-z0-9]*'?)([+-]\d+)?", item)
            if not match or match.group(1) not in self.letters | self.facts.indices:
                return None
            found.append((match.group(1), int(match.group(2) or 0)))
        return found

    def index_like(self, tree: Tree | Token) -> bool:
        """Could this be an index: `t`, `t-1`, `w_t`, `J`, `0`?"""
        if not isinstance(tree, Tree) or tree.data not in ("reference", "add", "subtract", "times", "number"):
            return False
        return not bracketed(tree) and all(self.is_index(t.value) for t in names_in(tree))

    def is_index(self, name: Name) -> bool:
        if name.index in self.letters or name.index in self.facts.indices or is_capital(name.index):
            return True
        return len(name.subs) == 1 and not name.sups and self.lookup_items(name) is not None

    def reference(self, tree: Tree, left_side: bool = False) -> Expr:
        raise NotImplementedError


def _edge(node: Tree | Token | None, end: int) -> Token | None:
    """The first (0) or last (-1) token of a tree."""
    while isinstance(node, Tree):
        node = next((c for c in node.children[:: 1 if end == 0 else -1] if c is not None), None)
    return node


def _combine(a: tuple[dict, int], b: tuple[dict, int], sign: int) -> tuple[dict, int]:
    terms = dict(a[0])
    for atom, coefficient in b[0].items():
        terms[atom] = terms.get(atom, 0) + sign * coefficient
    return terms, a[1] + sign * b[1]
