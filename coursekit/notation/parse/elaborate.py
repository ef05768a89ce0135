"""Statements: from the grammar's tree to an `Equation`, with its sums, slices and concatenations in place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lark import Tree

from ..names import capital_of, small_of
from ..tree import (
    Affine,
    Apply,
    Concat,
    Equation,
    Expr,
    Flatten,
    Ref,
    Softmax,
    Span,
    free_indices,
    substitute,
    transform,
    walk,
)  # fmt: skip
from .build import affines, rename_outside
from .expressions import ExpressionReader
from .facts import Facts, parts_of
from .matrix import Shapes
from .sums import close, is_capital, opens


@dataclass(frozen=True)
class Draft:
    """An equation as it was written: capitals not yet summed, matrices not yet indexed."""

    reader: Elaborator
    left: Ref
    body: Expr
    conditional: bool  # `P(w_t | …)`: the left side names only some of its indices
    bare: bool  # the left side has no brackets
    span: Span

    def equation(self) -> Equation:
        return self.reader.define(self.left, self.body, self.conditional, self.span)


def equations(trees: list[Tree], facts: Facts, source: str) -> list[Equation]:
    """The equations of a program; matrix notation becomes index notation where shapes are declared."""
    drafts = [Elaborator(facts, source).read(tree) for tree in trees]
    if facts.shapes:
        shapes = Shapes(facts.shapes, source)
        shapes.learn([(d.left, d.body, d.bare) for d in drafts])
        for k, d in enumerate(drafts):
            left, body = shapes.equation(d.left, d.body, d.bare)
            drafts[k] = replace(d, left=left, body=body)
    return [draft.equation() for draft in drafts]


class Elaborator(ExpressionReader):
    """One statement of a program whose `Facts` are known."""

    def read(self, tree: Tree) -> Draft:
        """`left = … = right`: the last member defines the left side; those between are not kept."""
        left, right = tree.children[0], tree.children[-1]
        self.survey(tree)
        if not isinstance(left, Tree) or left.data != "reference":
            raise self.error("the left side must be one tensor, such as `h[b,t,j]`", left)
        name, round_, square = parts_of(left)
        conditional = round_ is not None and square is None and name.value.text not in self.facts.indices
        lhs = self.reference(left, left_side=True)
        if not isinstance(lhs, Ref):
            raise self.error("the left side must be one tensor, such as `h[b,t,j]`", left)
        return Draft(
            self, lhs, self.expr(right), conditional, round_ is None and square is None, self.span(tree)
        )

    def define(self, left: Ref, body: Expr, conditional: bool, span: Span) -> Equation:
        """Free the left side's capitals, sum the others, finish concatenations and opaque functions."""
        if conditional:
            left = self.complete(left, body)
        names: dict[str, str] = {}
        used = {a for n in affines(left, body) for _, a in n.terms if isinstance(a, str)}
        for affine in left.indices:
            index = affine.plain
            if index is not None and is_capital(index) and index not in names:
                small = small_of(index)
                while small in used or small in names.values():
                    small += "'"
                names[index] = small
        if names:
            left, body = substitute(left, names), rename_outside(body, names)
        if any(isinstance(n, (Apply, Concat, Flatten)) for n in walk(body)):
            body = self.vectors(body, left, tuple(names.values()))
        return Equation(left, close(body), span=span)

    def complete(self, left: Ref, body: Expr) -> Ref:
        """`P(w_t | …)` names only the word: the other indices that are free on the right come before it."""
        named = {i for a in left.indices for _, i in a.terms if isinstance(i, str)}
        normalised = {i for n in walk(body) if isinstance(n, Softmax) for i in n.indices}
        free = free_indices(body) - normalised
        order = dict.fromkeys(a for n in affines(body) for _, a in n.terms if isinstance(a, str))
        extra = tuple(Affine(((1, i),)) for i in order if i in free and i not in named and not is_capital(i))
        return replace(left, indices=extra + left.indices)

    def vectors(self, body: Expr, left: Ref, out: tuple[str, ...]) -> Expr:
        """Give each opaque function its slices and each concatenation its axis."""
        left_names = [a.plain for a in left.indices if a.plain]

        def finish(node):
            if isinstance(node, Apply):
                return replace(node, slices=tuple(tuple(opens(a)) for a in node.args), out=out)
            if isinstance(node, Flatten):
                return self.heads_axis(node, left_names)
            if isinstance(node, Concat):
                return self.concatenation(node, left_names, out)
            return node

        return transform(body, finish)

    def concatenation(self, node: Concat, left: list[str], out: tuple[str, ...]) -> Expr:
        """Find the axis (a left index that the parts do not have) and the index along each part."""
        inside = [free_indices(part) for _, part in node.parts]
        alongs = []
        for (_, part), names in zip(node.parts, inside, strict=True):
            own = opens(part) or sorted(names - set(left))
            alongs.append(own)
        axes = [i for i in left if not any(i in names for names in inside)]
        if not axes and all(not a for a in alongs):
            axes = [i for i in out if all(i in names for names in inside)]
            if len(axes) == 1:  # z[t,I] = a[t,I]; b[t,I]: the same letter along each part
                old, new = axes[0], capital_of(axes[0])
                parts = tuple((new, substitute(p, {old: new})) for _, p in node.parts)
                return Concat(old, parts, span=node.span)
        if len(axes) != 1 or any(len(a) != 1 for a in alongs):
            message = "a concatenation needs one index along each part: `c[t,C] = a[t,I]; b[t,K]`"
            raise self.error(message, node.span)
        return Concat(
            axes[0], tuple((a[0], p) for a, (_, p) in zip(alongs, node.parts, strict=True)), span=node.span
        )

    def heads_axis(self, node: Flatten, left: list[str]) -> Flatten:
        axes = [i for i in left if i not in free_indices(node.body)]
        if len(axes) != 1:
            raise self.error("a concatenation needs an index of its own on the left: `c[t,C] = …`", node.span)
        return replace(node, axis=axes[0])
