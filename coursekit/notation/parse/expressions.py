"""Expressions: each rule of the grammar becomes its node."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import cast

from lark import Token, Tree

from ..errors import NotationError
from ..tree import (
    Affine,
    And,
    Call,
    Cases,
    Compare,
    Concat,
    Condition,
    Expr,
    Flatten,
    Iverson,
    Num,
    Pow,
    Reduce,
    Ref,
    Size,
    SizeOf,
    Softmax,
    Sum,
)  # fmt: skip
from .build import add, divide, multiply, negate
from .facts import bare_name, bound_names, bracketed, names_in
from .index_reader import MAX_DEPTH
from .references import ReferenceReader
from .sums import opens


class ExpressionReader(ReferenceReader):
    """The `x_…` methods are named after the grammar's rules."""

    def expr(self, tree: Tree | Token) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"this expression is nested more than {MAX_DEPTH} deep", tree)
        try:
            assert isinstance(tree, Tree)
            return getattr(self, "x_" + tree.data)(tree)
        finally:
            self.depth -= 1

    def x_number(self, tree: Tree) -> Expr:
        return Num(Fraction(str(tree.children[0])), span=self.span(tree))

    def x_group(self, tree: Tree) -> Expr:
        return self.expr(tree.children[0])

    def x_add(self, tree: Tree) -> Expr:
        terms: list[tuple[bool, Tree]] = []
        node: Tree | Token = tree
        while isinstance(node, Tree) and node.data in ("add", "subtract"):
            terms.append((node.data == "subtract", node.children[1]))
            node = node.children[0]
        parts = [self.expr(node)]
        for minus, term in reversed(terms):
            value = self.expr(term)
            parts.append(negate(value) if minus else value)
        return add(parts, self.span(tree))

    x_subtract = x_add

    def x_negative(self, tree: Tree) -> Expr:
        return negate(self.expr(tree.children[0]), self.span(tree))

    def x_times(self, tree: Tree) -> Expr:
        """A product or a fraction, read from the left: `1/sqrt(I) a b` is `((1/sqrt(I)) a) b`."""
        steps: list[Tree] = []
        node: Tree | Token = tree
        while isinstance(node, Tree) and node.data in ("times", "divide"):
            steps.append(node)
            node = node.children[0]
        value, fractions = self.expr(node), 0
        factors = [value]
        for step in reversed(steps):
            right = self.expr(step.children[1])
            if step.data == "times":
                factors.append(right)
                continue
            fractions += 1
            if fractions > MAX_DEPTH:
                raise self.error(f"this expression is nested more than {MAX_DEPTH} deep", step)
            factors = [divide(multiply(factors, self.span(step)), right, self.span(step))]
        return multiply(factors, self.span(tree))

    x_divide = x_times

    def x_power(self, tree: Tree) -> Expr:
        base, exponent = tree.children
        name = bare_name(base)
        if name and name.text == "e" and "e" not in self.facts.tensors:
            return Call("exp", (self.expr(exponent),), span=self.span(tree))
        return Pow(self.expr(base), self.expr(exponent), span=self.span(tree))

    def x_call(self, tree: Tree) -> Expr:
        head = tree.children[0]
        rest = tree.children[1]
        nodes = rest.children if rest.data == "arguments" else [rest]
        function = str(head)
        if len(nodes) != 1 and function not in ("min", "max"):
            raise self.error(f"`{function}` takes one argument, you wrote {len(nodes)}", tree)
        if len(nodes) == 1 and function in ("min", "max"):
            hint = f"`{function}` needs two arguments, `{function}(a, b)`, or an index, `{function}[t](…)`"
            raise self.error(hint, head)
        return Call(function, tuple(self.expr(a) for a in nodes), span=self.span(tree))

    def x_norm(self, tree: Tree) -> Expr:
        body = self.expr(tree.children[0])
        return Call("sqrt", (Pow(body, Num(Fraction(2)), span=self.span(tree)),), span=self.span(tree))

    def x_bars(self, tree: Tree) -> Expr:
        inner = tree.children[0]
        name = bare_name(inner)
        if name and name.capital and name.text not in self.facts.tensors:
            self.facts.sizes.add(name.index)
            return Size(name.index, span=self.span(inner))
        return Call("abs", (self.expr(inner),), span=self.span(tree))

    def x_iverson(self, tree: Tree) -> Expr:
        return Iverson(self.condition(tree.children[0]), span=self.span(tree))

    def x_cases(self, tree: Tree) -> Expr:
        branches: list[tuple[Expr, Condition]] = []
        for branch in tree.children[:-1]:
            if branch.data == "otherwise":
                raise self.error("`otherwise` must be the last case", branch)
            branches.append((self.expr(branch.children[0]), self.condition(branch.children[1])))
        last = tree.children[-1]
        if last.data != "otherwise" or not branches:
            raise self.error("cases end with `otherwise`: `cases(a if t == 0, b otherwise)`", last)
        return Cases(tuple(branches), self.expr(last.children[0]), span=self.span(tree))

    def x_concat(self, tree: Tree) -> Expr:
        parts = tree.children
        span = self.span(tree)
        if any(p.data == "dots" for p in parts):
            return self.heads(tree)
        return Concat("", tuple(("", self.expr(p)) for p in parts), span=span)

    def heads(self, tree: Tree) -> Expr:
        """`a[0,t,I]; …; a[K-1,t,I]`: one part for each value of the index that changes."""
        shape = [p.data for p in tree.children]
        message = "dots stand between the first and the last part: `a[0,t,I]; ...; a[K-1,t,I]`"
        if len(shape) not in (3, 4) or shape.count("dots") != 1 or shape[-2] != "dots":
            raise self.error(message, tree)
        first, last = self.expr(tree.children[0]), self.expr(tree.children[-1])
        if not (isinstance(first, Ref) and isinstance(last, Ref) and first.name == last.name):
            raise self.error(message, tree)
        differ = [k for k, (a, b) in enumerate(zip(first.indices, last.indices, strict=False)) if a != b]
        ok = len(differ) == 1 and len(first.indices) == len(last.indices)
        k = differ[0] if ok else 0
        if (
            not ok
            or first.indices[k] != Affine(())
            or len(last.indices[k].terms) != 1
            or last.indices[k].const != -1
        ):
            raise self.error(message, tree)
        size = last.indices[k].terms[0][1]
        head = size.name if isinstance(size, SizeOf) else str(size)
        indices = (*first.indices[:k], Affine(((1, head),)), *first.indices[k + 1 :])
        body = replace(first, indices=indices)
        inner = [c for c in opens(body) if c != head]
        return Flatten("", (head, *inner), body, span=self.span(tree))

    def x_dots(self, tree: Tree) -> Expr:
        raise self.error("dots cannot stand here", tree)

    def x_comparison(self, tree: Tree) -> Expr:
        raise self.error("a condition cannot stand here; `[i == j]` is 1 where it holds", tree)

    x_both = x_comparison

    def x_reduce(self, tree: Tree) -> Expr:
        head, indices, body = tree.children
        word = str(head)
        span = self.span(head)
        bound, where = self.bound(indices) if indices is not None else ((), None)
        value = self.expr(body)
        if not bound:
            if word == "softmax":
                return Softmax((), value, None, span=span)
            raise self.error(f"`{word}` needs its index: `{word}[i](…)`", head)
        if word == "softmax":
            return Softmax(bound, value, where, span=span)
        if word == "concat":
            return Flatten("", bound, value, span=span)
        if word == "sum":
            return Sum(bound, value, where, span=span)
        return Reduce(word, bound, value, where, span=span)

    def bound(self, indices: Tree) -> tuple[tuple[str, ...], Condition | None]:
        """The names that a sum binds, and the condition they must meet."""
        *items, upto = indices.children
        names: list[str] = []
        conditions: list[Compare] = []
        explicit = {name.index for item in items if (name := bare_name(item))}
        for item in items:
            if isinstance(item, Tree) and upto is not None and _is_limit(item):
                names.append(self.name_of(item.children[0]))
                conditions += self.limits(names[-1], item, upto)
            elif isinstance(item, Tree) and item.data in ("comparison", "both"):
                parts = item.children if item.data == "both" else [item]
                if not explicit & {t.value.index for t in names_in(item)}:
                    if not (found := bound_names(item)):
                        message = "a condition under a sum begins with the index it binds: `sum[t2 <= t1](…)`"
                        raise self.error(message, item)
                    names += found
                for part in parts:
                    conditions += self.comparisons(part)
            else:
                names.append(self.name_of(item))
        if len(set(names)) < len(names):
            raise self.error("an index is bound twice here", indices)
        where: Condition | None = None
        if conditions:
            where = conditions[0] if len(conditions) == 1 else And(tuple(conditions))
        return tuple(names), where

    def limits(self, name: str, item: Tree, upto: Tree | Token) -> list[Compare]:
        """`t=1 … T` and `t=0 … T-1` are the whole range; other limits become conditions."""
        start = self.affine(item.children[2])
        whole = start.terms == () and start.const in (0, 1)
        if whole and names_in(upto):
            return []
        variable = Affine(((1, name),))
        return [Compare(start, "<=", variable), Compare(variable, "<=", self.affine(upto))]

    def name_of(self, item: Tree | Token) -> str:
        if name := bare_name(item):
            return name.index
        raise self.error("an index name must stand here", item)

    def condition(self, tree: Tree) -> Condition:
        parts = tree.children if tree.data == "both" else [tree]
        found = [c for part in parts for c in self.comparisons(part)]
        return found[0] if len(found) == 1 else And(tuple(found))

    def comparisons(self, tree: Tree) -> list[Compare]:
        sides, operators = tree.children[0::2], cast("list[Token]", tree.children[1::2])
        positions = [self.side(s) for s in sides]
        values: list = positions if None not in positions else [self.expr(s) for s in sides]
        signs = ["==" if o.type == "EQ" else str(o.value) for o in operators]
        span = self.span(tree)
        return [Compare(a, s, b, span=span) for a, s, b in zip(values, signs, values[1:], strict=False)]

    def side(self, tree: Tree | Token) -> Affine | None:
        """A side of a condition as an index expression, if all its names are indices or sizes."""
        if isinstance(tree, Tree) and bracketed(tree):
            return None
        for token in names_in(tree):
            index = token.value.index
            if index not in self.letters and not self.facts.is_size(index):
                return None
        try:
            return self.affine(tree)
        except NotationError:
            return None

    def x_reference(self, tree: Tree) -> Expr:
        return self.reference(tree)


def _is_limit(item: Tree) -> bool:
    """Is this the `i=1` of a sum with limits?"""
    return (
        item.data == "comparison" and len(item.children) == 3 and cast(Token, item.children[1]).type == "EQ"
    )
