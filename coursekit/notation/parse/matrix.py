"""Matrix notation to index notation, where shapes are declared.

    H in R^{D x D}   I in R^{d x D}   b in R^{D}
    h^{(t)} = sigmoid(h^{(t-1)} H + e^{(t)} I + b)

becomes `h[t,i] = sigmoid(h[t-1,I] H[I,i] + e[t,D] I[D,i] + b[i])`. A product of a vector and a matrix on either
side, of two matrices, an inner product `u^T v` and an outer product `u v^T` are told apart by their shapes; two
vectors of one shape side by side are multiplied entry by entry. The shapes of other tensors follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import NotationError
from ..tree import (
    Add,
    Affine,
    And,
    Apply,
    Call,
    Cases,
    Compare,
    Condition,
    Div,
    Expr,
    Iverson,
    Mul,
    Neg,
    Pow,
    Reduce,
    Ref,
    Softmax,
    Sum,
    walk,
)  # fmt: skip
from .build import multiply

Shape = tuple[str, ...]  # the sizes' names; "1" is no axis
MARK = "matrix"  # Call(MARK, (ref,)): a name that was written without square brackets


class Shapes:
    """The shapes of a program's tensors: those declared, and those that follow from them."""

    def __init__(self, declared: dict[str, Shape], source: str) -> None:
        self.known: dict[str, Shape] = dict(declared)
        self.source = source
        self.letters: dict[str, str] = {}

    def learn(self, equations: Sequence[tuple[Ref, Expr, bool]]) -> None:
        """Find the shape of each marked tensor; (left side, right side, is the left side marked?)."""
        for _ in range(len(equations) + 1):
            before = dict(self.known)
            for left, body, marked in equations:
                found = self.shape(body, self.known.get(left.name) if marked else None)
                if marked and found is not None:
                    self.known.setdefault(left.name, found)
            if self.known == before:
                return

    def error(self, message: str, node) -> NotationError:
        return NotationError(message, self.source, node.span.line, node.span.column, node.span.width)

    # ── shapes ───────────────────────────────────────────────────────────────────────────────

    def shape(self, node: Expr, wanted: Shape | None = None) -> Shape | None:
        """A node's shape, or None while it is not known; `wanted` tells an unknown tensor its shape."""
        if isinstance(node, Call) and node.function == MARK:
            ref = node.args[0]
            assert isinstance(ref, Ref)
            if wanted is not None:
                self.known.setdefault(ref.name, wanted)
            return self.known.get(ref.name)
        if isinstance(node, Call) and node.function == "transpose":
            inner = self.shape(node.args[0], _transposed(wanted) if wanted else None)
            return None if inner is None else _transposed(inner)
        if isinstance(node, (Add, Call, Neg, Pow, Div, Cases, Iverson)):
            return self.common(node, wanted)
        if isinstance(node, Mul):
            return self.product(node.factors)
        if isinstance(node, (Sum, Reduce, Softmax)):
            return self.shape(node.body, wanted)
        if isinstance(node, Apply):
            for argument in node.args:
                self.shape(argument)
        return ()

    def common(self, node: Expr, wanted: Shape | None) -> Shape | None:
        """Entry by entry: the parts have one shape, or are single numbers."""
        parts = list(_parts(node))
        shapes = [self.shape(p) for p in parts]
        found = next((s for s in shapes if s), wanted)
        if found:
            shapes = [self.shape(p, found) if s is None else s for p, s in zip(parts, shapes, strict=True)]
        for part, own in zip(parts, shapes, strict=True):
            if own and found and _axes(own) != _axes(found):
                raise self.error(f"shapes {_text(found)} and {_text(own)} cannot be added or combined", part)
        return found if found else None if None in shapes else ()

    def product(self, factors: tuple[Expr, ...]) -> Shape | None:
        """From the left; a tensor beside a matrix is a vector that fits it."""
        total = self.shape(factors[0])
        for k, factor in enumerate(factors[1:]):
            own = self.shape(factor)
            if total is None and own is not None and len(own) == 2 and k == 0:
                total = self.shape(factors[0], own[:1])
            if own is None and total is not None and len(total) == 2:
                own = self.shape(factor, total[1:])
            if total is None or own is None:
                return None
            total = self.times(total, own, factor)
        return total

    def times(self, a: Shape, b: Shape, node: Expr) -> Shape:
        if not _axes(a) or not _axes(b):
            return a if _axes(a) else b
        if len(a) == len(b) == 1:
            if a == b:
                return a
        elif len(a) == 1 and b[0] == "1":
            return (a[0], b[1])
        elif a[-1] == b[0]:
            return tuple(a[:-1]) + tuple(b[1:])
        raise self.error(f"a product of shapes {_text(a)} and {_text(b)} does not fit", node)

    # ── indices ──────────────────────────────────────────────────────────────────────────────

    def letter(self, size: str, taken: set[str]) -> str:
        """One small letter for each size, the same in every equation."""
        if size not in self.letters:
            pool = [size[0].lower(), *"ijkmnpqrsuvwxyz"]
            used = taken | set(self.letters.values())
            self.letters[size] = next((c for c in pool if c not in used), f"a{len(self.letters)}")
        return self.letters[size]

    def equation(self, left: Ref, body: Expr, marked: bool) -> tuple[Ref, Expr]:
        """The equation with every axis written out."""
        taken = {a for n in walk(left) for a in _names(n)} | {a for n in walk(body) for a in _names(n)}
        shape = self.known.get(left.name, ()) if marked else ()
        axes = tuple(None if s == "1" else self.letter(s, taken) for s in shape)
        seen: dict[str, int] = {}
        for k, axis in enumerate(axes):  # a square matrix needs two names
            if axis is not None and axis in axes[:k]:
                axes = (*axes[:k], axis + "'", *axes[k + 1 :])
        writer = _Writer(self, taken, seen)
        full = replace(left, indices=left.indices + tuple(Affine(((1, a),)) for a in axes if a))
        return full, writer.write(body, axes)


class _Writer:
    def __init__(self, shapes: Shapes, taken: set[str], seen: dict[str, int]) -> None:
        self.shapes = shapes
        self.taken = taken
        self.seen = seen

    def summed(self, size: str) -> str | None:
        """A capital for a contraction over a size, a new one each time."""
        if size == "1":
            return None
        capital = self.shapes.letter(size, self.taken).upper()
        self.seen[capital] = self.seen.get(capital, -1) + 1
        return capital + "'" * self.seen[capital]

    def write(self, node: Expr, axes: tuple[str | None, ...]) -> Expr:
        """The node with the indices `axes`, one for each size of its shape (None for a size of 1)."""
        axes = _fit(axes, self.shapes.shape(node) or ())
        if isinstance(node, Call) and node.function == MARK:
            ref = node.args[0]
            assert isinstance(ref, Ref)
            return replace(ref, indices=ref.indices + tuple(Affine(((1, a),)) for a in axes if a))
        if isinstance(node, Call) and node.function == "transpose":
            return self.write(node.args[0], axes[::-1])
        if isinstance(node, Mul):
            return self.product(node, axes)
        if isinstance(node, Softmax) and not node.indices:
            over = tuple(a for a in axes[-1:] if a) or tuple(a for a in axes if a)
            node = replace(node, indices=over)
        if isinstance(node, (Sum, Reduce, Softmax)):
            where = None if node.where is None else self.condition(node.where, axes)
            return replace(node, body=self.write(node.body, axes), where=where)
        if isinstance(node, Add):
            return replace(node, terms=tuple(self.write(t, axes) for t in node.terms))
        if isinstance(node, Neg):
            return replace(node, body=self.write(node.body, axes))
        if isinstance(node, Div):
            return replace(node, above=self.write(node.above, axes), below=self.write(node.below, axes))
        if isinstance(node, Pow):
            return replace(node, base=self.write(node.base, axes), exponent=self.write(node.exponent, ()))
        if isinstance(node, Call):
            return replace(node, args=tuple(self.write(a, axes) for a in node.args))
        if isinstance(node, Cases):
            branches = tuple((self.write(v, axes), self.condition(c, axes)) for v, c in node.branches)
            return replace(node, branches=branches, otherwise=self.write(node.otherwise, axes))
        if isinstance(node, Iverson):
            return replace(node, condition=self.condition(node.condition, axes))
        if isinstance(node, Apply):
            shapes = [self.shapes.shape(a) or () for a in node.args]
            args = (
                self.write(a, tuple(self.summed(s) for s in own))
                for a, own in zip(node.args, shapes, strict=True)
            )
            return replace(node, args=tuple(args))
        return node

    def condition(self, node: Condition, axes: tuple[str | None, ...]) -> Condition:
        """The same for the values that a condition compares."""
        if isinstance(node, And):
            return And(tuple(self.compare(part, axes) for part in node.parts))
        return self.compare(node, axes)

    def compare(self, node: Compare, axes: tuple[str | None, ...]) -> Compare:
        left, right = (s if isinstance(s, Affine) else self.write(s, axes) for s in (node.left, node.right))
        return replace(node, left=left, right=right)

    def product(self, node: Mul, axes: tuple[str | None, ...]) -> Expr:
        """Split off the last factor, give the contraction an index, write both sides."""
        *first, last = node.factors
        if not first:
            return self.write(last, axes)
        rest = Mul(tuple(first), span=node.span)
        a, b = self.shapes.product(rest.factors) or (), self.shapes.shape(last) or ()
        if not _axes(a) or not _axes(b):
            left, right = (axes if _axes(a) else ()), (axes if _axes(b) else ())
        elif len(a) == len(b) == 1:
            left = right = axes
        elif len(a) == 1 and b[0] == "1":
            left, right = axes[:1], (None, *axes[1:])
        else:
            over = self.summed(b[0])
            left = (*axes[: len(a) - 1], over)
            right = (over, *axes[len(a) - 1 :])
        return multiply([self.product(rest, left), self.write(last, right)], node.span)


def _parts(node: Expr) -> Sequence[Expr]:
    if isinstance(node, Add):
        return node.terms
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Neg):
        return (node.body,)
    if isinstance(node, Pow):
        return (node.base,)
    if isinstance(node, Div):
        return (node.above, node.below)
    if isinstance(node, Iverson):
        return _compared(node.condition)
    assert isinstance(node, Cases)
    conditions = [side for _, c in node.branches for side in _compared(c)]
    return (*(v for v, _ in node.branches), node.otherwise, *conditions)


def _compared(condition: Condition) -> list[Expr]:
    parts = condition.parts if isinstance(condition, And) else (condition,)
    return [side for c in parts for side in (c.left, c.right) if not isinstance(side, Affine)]


def _fit(axes: tuple[str | None, ...], shape: Shape) -> tuple[str | None, ...]:
    """The same indices for a shape that differs by sizes of 1; none for a single number."""
    real = [a for a in axes if a]
    if len(real) != len(_axes(shape)):
        return ()
    return tuple(None if size == "1" else real.pop(0) for size in shape)


def _transposed(shape: Shape) -> Shape:
    return ("1", *shape) if len(shape) == 1 else shape[::-1]


def _axes(shape: Shape) -> Shape:
    return tuple(s for s in shape if s != "1")


def _text(shape: Shape) -> str:
    return " x ".join(shape)


def _names(node: object) -> list[str]:
    if isinstance(node, Affine):
        return [a for _, a in node.terms if isinstance(a, str)]
    return list(getattr(node, "indices", ())) if isinstance(node, (Sum, Softmax, Reduce)) else []
