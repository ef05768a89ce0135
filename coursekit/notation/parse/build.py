"""Building expressions so that equal meanings have one form: flat sums and products, signed constants."""

from __future__ import annotations

from ..tree import (
    Add,
    Affine,
    Apply,
    Div,
    Expr,
    Mul,
    Neg,
    Num,
    Ref,
    Span,
    substitute,
    transform,
    walk,
)  # fmt: skip


def add(terms: list[Expr], span: Span) -> Expr:
    flat = [t for term in terms for t in (term.terms if isinstance(term, Add) else (term,))]
    return flat[0] if len(flat) == 1 else Add(tuple(flat), span=span)


def multiply(factors: list[Expr], span: Span) -> Expr:
    flat = [f for factor in factors for f in (factor.factors if isinstance(factor, Mul) else (factor,))]
    return flat[0] if len(flat) == 1 else Mul(tuple(flat), span=span)


def divide(above: Expr, below: Expr, span: Span) -> Expr:
    if isinstance(above, Num) and isinstance(below, Num) and below.value != 0:
        return Num(above.value / below.value, span=span)
    return Div(above, below, span=span)


def negate(value: Expr, span: Span | None = None) -> Expr:
    where = span or value.span
    if isinstance(value, Num) and value.value != 0:
        return Num(-value.value, span=where)
    return Neg(value, span=where)


def affines(*nodes: object) -> list[Affine]:
    return [n for node in nodes for n in walk(node) if isinstance(n, Affine)]


def rename_outside(body: Expr, names: dict[str, str]) -> Expr:
    """Rename the left side's capitals, except inside an opaque function, which takes them as vectors."""
    if not names:
        return body
    kept: dict[int, Apply] = {}

    def hide(node):
        if isinstance(node, Apply):
            kept[len(kept)] = node
            return Ref(f"\0{len(kept) - 1}", span=node.span)
        return node

    hidden = substitute(transform(body, hide), names)

    def show(node):
        return kept[int(node.name[1:])] if isinstance(node, Ref) and node.name.startswith("\0") else node

    return transform(hidden, show) if kept else hidden
