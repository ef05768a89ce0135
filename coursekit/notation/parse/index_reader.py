"""Index expressions: `t-1`, `2*t+dt`, `T-1-t`, the lookup `w_t`."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import cast

from lark import Token, Tree

from .. import tree as T
from ..errors import NotationError
from ..names import Name, small_of
from ..sums import is_capital
from .build import MARK
from .facts import Facts, all_rules, arguments_of, bare_name, bound_names, names_in, parts_of

Linear = tuple[dict[T.IndexAtom, int], int]  # the coefficients of the atoms, and the constant
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
        self.left: set[str] = set()
        self.own = ""  # the left side, where it is a name alone
        self.summed: set[str] = set()  # what the statement's sums bind
        self.sums: list[tuple[int, str]] = []  # where each begins, and what it binds
        self.around: list[str] = []  # what is bound around the expression that is read
        self.ones: list[tuple[str, Tree[Token], Tree[Token] | Token]] = []  # sums from 1 over a whole axis
        self.floors: list[tuple[str, T.And]] = []  # what stands for `t//2` or an argmax, to be summed over

    def span(self, node: Tree[Token] | Token) -> T.Span:
        first, last = edge(node, 0), edge(node, -1)
        if first is None or last is None:
            return T.Span()
        width = (last.end_pos or 0) - (first.start_pos or 0) if first.line == last.line else 1
        return T.Span(first.line or 0, first.column or 0, max(1, width))

    def error(
        self, message: str, node: Tree[Token] | Token | T.Span, repairs: tuple[str, ...] = ()
    ) -> NotationError:
        span = node if isinstance(node, T.Span) else self.span(node)
        return NotationError(message, self.source, span.line, span.column, span.width, repairs)

    def survey(self, tree: Tree[Token]) -> None:
        """Collect the statement's index names before any name is decided."""
        made = all_rules(tree)
        left = tree.children[0]
        if isinstance(left, Tree) and left.data == "reference":
            self.own = "" if any(left.children[1:]) else parts_of(left)[0].value.text
            ends = self.facts.ends.get(parts_of(left)[0].value.text, set())
            for child in left.children[1:]:
                if child is not None:
                    self.left |= {n.value.index for n in names_in(child)} - ends
        self.known |= self.left
        for node in made.get("indices", []):
            for item in node.children[:-1]:
                found = bound_names(item)
                self.summed |= set(found)
                first = edge(node, 0)
                self.sums += [(first.start_pos or 0, i) for i in found if first is not None]
        self.known |= self.summed
        for ref in made.get("reference", []):
            for part in parts_of(ref)[1:]:
                if part is None:
                    continue
                for argument in arguments_of(part):
                    self.letters |= {n.value.index for n in names_in(argument)}
                    if (name := bare_name(argument)) and (ref is not left or name.index not in ends):
                        self.whole.add(name.index)
        self.letters |= self.known

    def affine(self, tree: Tree[Token] | Token) -> T.Affine:
        terms, const = self.linear(tree)
        kept = tuple((c, a) for a, c in terms.items() if c)
        return T.Affine(kept, const, span=self.span(tree))

    def linear(self, tree: Tree[Token] | Token) -> Linear:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"this index is nested more than {MAX_DEPTH} deep", tree)
        try:
            return self.combination(tree)
        finally:
            self.depth -= 1

    def combination(self, tree: Tree[Token] | Token) -> Linear:
        """The coefficients of an index expression's atoms, and its constant."""
        assert isinstance(tree, Tree)
        if tree.data == "number":
            if tree.children[0] == "inf":
                raise self.error("an axis has an end: write its size, `K` for the index k", tree)
            if Fraction(str(tree.children[0])).denominator != 1:
                raise self.error("an index must be a whole number", tree)
            return {}, int(Fraction(str(tree.children[0])))
        if tree.data in ("group", "bars"):
            return self.linear(tree.children[0])
        if tree.data in ("add", "subtract"):
            first, *rest = terms_of(tree)
            total = self.linear(first[1])
            for sign, term in rest:
                total = _combine(total, self.linear(term), sign)
            return total
        if tree.data == "negative":
            return _combine(({}, 0), self.linear(tree.children[0]), -1)
        if tree.data in ("times", "star", "dot"):
            a, b = self.linear(tree.children[0]), self.linear(tree.children[1])
            if b[0] and a[0]:
                message = "an index may be multiplied by a number only, `2*t+dt`; "
                raise self.error(message + "for each i and j give the tensor two axes: `x[i,j]`", tree)
            terms, const = b if b[0] else a
            factor = a[1] if b[0] else b[1]
            return {k: c * factor for k, c in terms.items()}, const * factor
        if tree.data == "floor":
            return {self.floor(tree): 1}, 0
        if tree.data == "reference":
            return {self.atom(tree): 1}, 0
        if tree.data == "reduce" and tree.children[0] == "argmax":  # Q[argmax[a](P[a])]
            name = self.fresh()
            self.floors.append((name, T.And((T.Compare(T.Position(T.index(name)), "==", self.expr(tree)),))))
            return {name: 1}, 0
        if tree.data == "concat":
            raise self.error("for a product with a concatenation write `W \\cdot [a; b]`", tree)
        raise self.error("an index is a name, a sum such as `t-1` or `2*t+dt`, or a lookup `w[b,t]`", tree)

    def floor(self, tree: Tree[Token]) -> str:
        """`t//2`: a new index q with `2*q <= t <= 2*q+1`, which the tensor's entry is summed over."""
        above, below = self.affine(tree.children[0]), self.affine(tree.children[1])
        if below.terms or below.const < 1:
            raise self.error("an index is divided by a number only: `t//2`", tree)
        if any(isinstance(atom, T.Lookup) for _, atom in above.terms):
            message = "`//` divides a position, not what is looked up: give a tensor that holds the quotient"
            raise self.error(message, tree)
        name = self.fresh()
        times = T.Affine(((below.const, name),))
        most = replace(times, const=below.const - 1)
        self.floors.append((name, T.And((T.Compare(times, "<=", above), T.Compare(above, "<=", most)))))
        return name

    def fresh(self) -> str:
        name = f"q{len(self.floors) + 1}"
        while name in self.letters:
            name += "'"
        self.letters.add(name)
        return name

    def atom(self, tree: Tree[Token]) -> str | T.Lookup | T.SizeOf:
        token, *brackets = parts_of(tree)
        name: Name = token.value
        if any(brackets):
            ref = unmarked(self.reference(tree, left_side=brackets[1:] == [None, None]))
            if not isinstance(ref, T.Ref):
                raise self.error("an index is a name, a sum such as `t-1`, or a lookup `w[b,t]`", tree)
            return T.Lookup(ref)
        index = name.index
        facts = self.facts
        number = facts.signature.ranks.get(name.text) == 0 or facts.shapes.get(name.text) == ()
        number |= name.text in facts.tensors - facts.ranked
        if index in self.known:
            return index
        if number and not name.capital:  # k = argmax[e](p[e]), then p[k]
            self.facts.looked |= {name.text} - self.facts.tensors
            return T.Lookup(T.Ref(name.text, span=self.span(tree)))
        if (items := self.lookup_items(name)) is not None:
            places = tuple(T.Affine(((1, n),), s) for n, s in items)
            return T.Lookup(T.Ref(replace(name, subs=()).text, places, span=self.span(tree)))
        if (is_capital(index) or index in self.facts.sizes) and index not in self.whole:
            ranged = small_of(index) in self.facts.stems or index in self.facts.sizes
            axis = None if ranged else self.facts.signature.axis(name)
            self.facts.named |= {axis} if axis else set()
            return T.SizeOf(axis or index)  # x[T-1], where x is given with an axis t
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

    def reference(self, tree: Tree[Token], left_side: bool = False) -> T.Expr:
        raise NotImplementedError

    def expr(self, tree: Tree[Token] | Token) -> T.Expr:
        raise NotImplementedError


def unmarked(node: T.Expr) -> T.Expr:
    """The entry itself, where it was marked as one that may be a row."""
    return node.args[0] if isinstance(node, T.Call) and node.function == MARK else node


def edge(node: Tree[Token] | Token | None, end: int) -> Token | None:
    """The first (0) or last (-1) token of a tree."""
    while isinstance(node, Tree):
        node = next((c for c in node.children[:: 1 if end == 0 else -1] if c is not None), None)
    return node


def terms_of(tree: Tree[Token]) -> list[tuple[int, Tree[Token]]]:
    """The terms of a sum, each with its sign."""
    terms = []
    while tree.data in ("add", "subtract"):
        rest, last = cast("tuple[Tree[Token], Tree[Token]]", tree.children)
        terms.append((1 if tree.data == "add" else -1, last))
        tree = rest
    return [(1, tree), *reversed(terms)]


def _combine(a: Linear, b: Linear, sign: int) -> Linear:
    terms = dict(a[0])
    for atom, coefficient in b[0].items():
        terms[atom] = terms.get(atom, 0) + sign * coefficient
    return terms, a[1] + sign * b[1]
