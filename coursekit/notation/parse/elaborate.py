"""Statements: from the grammar's tree to an `Equation`, with its sums, slices and concatenations in place."""

from dataclasses import dataclass, replace

from lark import Token, Tree

from .. import tree as T
from ..errors import NotationError
from ..names import capital_of, fresh, small_of
from ..sums import close, doubtful, is_capital, opens, rename_outside
from ..tree import children, free_indices, substitute, transform, walk
from .build import apart, reuses
from .expressions import ExpressionReader
from .facts import Facts, arguments_of, parts_of
from .matrix import Doubt, Shapes

MAX_DOUBTS = 4


@dataclass(frozen=True)
class Draft:
    """An equation as it was written: capitals not yet summed, matrices not yet indexed."""

    left: T.Ref
    body: T.Expr
    conditional: bool  # `P(w_t | …)`: the left side names only some of its indices
    bare: bool  # the left side has no brackets
    span: T.Span


def equations(trees: list[Tree[Token]], facts: Facts, source: str) -> list[list[T.Equation]]:
    """The equations that each statement becomes; matrix notation becomes index notation where shapes are known."""
    readers = [Elaborator(facts, source) for _ in trees]
    for reader, tree in zip(readers, trees, strict=True):
        reader.survey(tree)
    facts.settle()
    drafts = [reader.read(tree) for reader, tree in zip(readers, trees, strict=True)]
    if not facts.matrices:
        return [[reader.define(draft)] for reader, draft in zip(readers, drafts, strict=True)]
    return _written(drafts, facts, source, {})


def _written(
    drafts: list[Draft], facts: Facts, source: str, decided: dict[str, frozenset[str]]
) -> list[list[T.Equation]]:
    """Every axis written out. An equation that can be read in two ways is read in the one that fits the others."""
    try:
        return _indexed(drafts, facts, Shapes(facts, source, decided))
    except Doubt as doubt:
        found = []
        for way in doubt.ways if len(decided) < MAX_DOUBTS else ():
            try:
                found.append(_written(drafts, facts, source, {**decided, doubt.equation: way}))
            except Doubt:
                raise doubt from None
            except NotationError:
                continue
        if len(found) != 1:
            raise
        return found[0]


def _indexed(drafts: list[Draft], facts: Facts, shapes: Shapes) -> list[list[T.Equation]]:
    shapes.learn([(d.left, d.body, d.bare) for d in drafts])
    out: list[list[T.Equation]] = []
    define = Elaborator(facts, shapes.source).define
    for draft in drafts:
        shapes.joined = []
        left, body = shapes.equation(draft.left, draft.body, draft.bare)
        lines = [*shapes.joined, (left, body)]
        out.append([define(replace(draft, left=own, body=right)) for own, right in lines])
    return out


class Elaborator(ExpressionReader):
    """One statement of a program whose `Facts` are known."""

    def read(self, tree: Tree[Token]) -> Draft:
        """`left = … = right`: the last member defines the left side; those between are not kept."""
        left, right = tree.children[0], tree.children[-1]
        if not isinstance(left, Tree) or left.data != "reference":
            message = "the left side must be one tensor, such as `h[b,t,j]`"
            quotient = isinstance(left, Tree) and left.data == "divide"
            raise self.error(message + "; a derivative has a name, `dz[j] = …`" * quotient, left)
        name, _, round_, square = parts_of(left)
        conditional = round_ is not None and square is None and name.value.text not in self.facts.indices
        lhs = self.x_reference(left, left_side=True)
        if not isinstance(lhs, T.Ref):
            raise self.error("the left side must be one tensor, such as `h[b,t,j]`", left)
        rank = self.facts.signature.ranks.get(lhs.name)
        given = round_ is None or not self.left_arguments(arguments_of(round_))  # Attention(Q, K, V)
        letters = all(len(i.plain or "") == 1 for i in lhs.indices)  # h(t) = …, but not P(w_t | …)
        given |= bool(self.facts.signature) and letters and len(lhs.indices) < (99 if rank is None else rank)
        open_ = square is None or bool(self.facts.signature)
        bare = given and open_ and (rank is None or len(lhs.indices) < rank)
        return Draft(lhs, self.expr(right), conditional, bare, self.span(tree))

    def define(self, draft: Draft) -> T.Equation:
        """Free the left side's capitals, sum the others, finish concatenations and opaque functions."""
        left, body = draft.left, draft.body
        if draft.conditional:
            left = self.complete(left, body)
        if isinstance(body, T.Softmax) and not left.indices and left.name not in self.facts.signature.ranks:
            free = {i for i in free_indices(body) if not is_capital(i)}
            left = replace(left, indices=tuple(map(T.index, body.indices if free == {*body.indices} else ())))
        names: dict[str, str] = {}
        for affine in left.indices:
            index = affine.plain
            if index is not None and is_capital(index) and index not in names:
                names[index] = fresh(small_of(index), {*T.letters(left, body), *names.values()})
        if names:
            left, body = substitute(left, names), rename_outside(body, names)
        kinds = {type(n) for n in walk(body)}
        if not kinds.isdisjoint((T.Apply, T.Concat, T.Flatten)):
            body = self.vectors(body, left, tuple(names.values()))
        if T.Div in kinds and (doubt := doubtful(body)):
            node, capital = doubt
            head = f"sum[{small_of(capital)}]"
            message = f"is `{capital}` summed over the whole fraction, written `{head}(a/b)`, or above and"
            raise self.error(f"{message} below apart, written `{head}(a)/{head}(b)`?", node.span)
        body = close(body)
        free = {a.plain for a in left.indices if a.plain} & free_indices(body)
        return T.Equation(left, apart(body, free) if reuses(body, free) else body, span=draft.span)

    def complete(self, left: T.Ref, body: T.Expr) -> T.Ref:
        """`P(w_t | …)` names only the word: the other indices that are free on the right come before it."""
        named = {i for a in left.indices for i in a.names}
        normalised = {i for n in walk(body) if isinstance(n, T.Softmax) for i in n.indices}
        free = free_indices(body) - normalised
        order = dict.fromkeys(T.letters(body))
        extra = (i for i in order if i in free and i not in named and not is_capital(i))
        return replace(left, indices=(*map(T.index, extra), *left.indices))

    def vectors(self, body: T.Expr, left: T.Ref, out: tuple[str, ...]) -> T.Expr:
        """Give each opaque function its slices and each concatenation its axis."""
        left_names = [a.plain for a in left.indices if a.plain]
        for part in (p for n in walk(body) if isinstance(n, (T.Mul, T.Div)) for p in children(n)):
            if isinstance(part, (T.Concat, T.Flatten)):
                message = "in a product, give a concatenation a line of its own: `c[t,C] = a[t,I]; b[t,K]`"
                raise self.error(message, part.span)

        def finish(node: object) -> object:
            if isinstance(node, T.Apply):
                return replace(node, slices=tuple(tuple(opens(a)) for a in node.args), out=out)
            if isinstance(node, T.Flatten):
                axes = [i for i in left_names if i not in free_indices(node.body)]
                if len(axes) != 1:
                    message = "a concatenation needs an index of its own on the left: `c[t,C] = …`"
                    raise self.error(message, node.span)
                return replace(node, axis=axes[0])
            if isinstance(node, T.Concat):
                return self.concatenation(node, left_names, out)
            return node

        return transform(body, finish)

    def concatenation(self, node: T.Concat, left: list[str], out: tuple[str, ...]) -> T.Expr:
        """Find the axis (a left index that the parts do not have) and the index along each part."""
        inside = [free_indices(part) for _, part in node.parts]
        pairs = zip(node.parts, inside, strict=True)
        alongs = [opens(part) or sorted(names - set(left)) for (_, part), names in pairs]
        axes = [i for i in left if not any(i in names for names in inside)]
        if not axes and all(not a for a in alongs):
            axes = [i for i in out if all(i in names for names in inside)]
            if len(axes) == 1:  # z[t,I] = a[t,I]; b[t,I]: the same letter along each part
                old, new = axes[0], capital_of(axes[0])
                parts = tuple((new, substitute(p, {old: new})) for _, p in node.parts)
                return T.Concat(old, parts, span=node.span)
        if len(axes) != 1 or any(len(a) != 1 for a in alongs):
            message = "a concatenation needs one index along each part: `c[t,C] = a[t,I]; b[t,K]`"
            raise self.error(message, node.span)
        parts = tuple((a[0], p) for a, (_, p) in zip(alongs, node.parts, strict=True))
        return T.Concat(axes[0], parts, span=node.span)
