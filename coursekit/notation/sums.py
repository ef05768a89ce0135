"""Capitals: where a summed index is summed.

A capital that stands in two or more factors of a product is summed over that product; one that stands in a
single factor is summed over the innermost product around it. A power is a product of its base with itself,
a fraction one of its two parts. Brackets, signs and functions of single entries let a capital through to
the product outside, where another factor has it too: `W[j,I] tanh(h[I])` sums over I.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import tree as T
from .names import GREEK
from .tree import children, references, substitute, transform


def is_capital(index: str) -> bool:
    return index[:1].isupper() and index not in GREEK


def capitals(affine: T.Affine) -> list[str]:
    found: list[str] = []
    for _, atom in affine.terms:
        if isinstance(atom, str) and is_capital(atom):
            found.append(atom)
        elif isinstance(atom, T.Lookup):
            found += [c for inner in atom.ref.indices for c in capitals(inner)]
    return found


def opens(node: object) -> list[str]:
    """The capitals that a node leaves to be summed outside it, in order of writing, each once."""
    if isinstance(node, T.Ref):
        return _unique(c for i in node.indices for c in capitals(i))
    if isinstance(node, (T.Mul, T.Div)):
        found = [c for f in _factors(node) for c in _factor_opens(f)]  # each factor once: depth costs no more
        return [c for c in _unique(found) if found.count(c) == 1]
    if isinstance(node, T.Pow):
        return opens(node.exponent)
    if isinstance(node, (T.Add, T.Call)):
        return _unique(
            c for part in (node.terms if isinstance(node, T.Add) else node.args) for c in opens(part)
        )
    if isinstance(node, T.Neg):
        return opens(node.body)
    if isinstance(node, (T.Sum, T.Reduce, T.Softmax)):
        return [c for c in opens(node.body) if c not in node.indices]
    if isinstance(node, T.Cases):
        values = [v for v, _ in node.branches] + [node.otherwise]
        return _unique(c for v in values for c in opens(v))
    if isinstance(node, T.Concat):
        return _unique(c for along, part in node.parts for c in opens(part) if c != along)
    if isinstance(node, T.Flatten):
        return [c for c in opens(node.body) if c not in node.indices]
    return []


def close(node: T.Expr, free: frozenset[str] = frozenset()) -> T.Expr:
    """The node with every open capital outside `free` summed where it belongs."""
    if isinstance(node, T.Ref):
        return _sum([c for c in opens(node) if c not in free], node)
    if isinstance(node, (T.Mul, T.Div)):
        factors = _factors(node)
        here = _shared(factors)
        if isinstance(node, T.Mul):
            here |= {c for f in factors if isinstance(f, (T.Ref, T.Pow)) for c in _factor_opens(f)}
        here -= free
        order = [c for c in _unique(c for f in factors for c in _factor_opens(f)) if c in here]
        inner = free | here
        if isinstance(node, T.Mul):
            return _sum(order, replace(node, factors=tuple(close(f, inner) for f in factors)))
        return _sum(order, replace(node, above=close(node.above, inner), below=close(node.below, inner)))
    if isinstance(node, T.Pow):
        here_list = [c for c in opens(node.base) if c not in free]
        inner = free | set(here_list)
        return _sum(
            here_list, replace(node, base=close(node.base, inner), exponent=close(node.exponent, free))
        )
    if isinstance(node, T.Add):
        return replace(node, terms=tuple(close(t, free) for t in node.terms))
    if isinstance(node, T.Neg):
        return replace(node, body=close(node.body, free))
    if isinstance(node, T.Call):
        return replace(node, args=tuple(close(a, free) for a in node.args))
    if isinstance(node, T.Apply):
        closed = (close(a, free | set(s)) for a, s in zip(node.args, node.slices, strict=True))
        return replace(node, args=tuple(closed))
    if isinstance(node, (T.Sum, T.Reduce, T.Softmax, T.Flatten)):
        inner = free | set(node.indices)
        changed = replace(node, body=close(node.body, inner))
        if not isinstance(changed, T.Flatten) and changed.where is not None:
            changed = replace(changed, where=_close_condition(changed.where, inner))
        return changed
    if isinstance(node, T.Concat):
        return replace(node, parts=tuple((a, close(p, free | {a})) for a, p in node.parts))
    if isinstance(node, T.Cases):
        branches = tuple((close(v, free), _close_condition(c, free)) for v, c in node.branches)
        return replace(node, branches=branches, otherwise=close(node.otherwise, free))
    if isinstance(node, T.Iverson):
        return replace(node, condition=_close_condition(node.condition, free))
    return node


def bare(node: T.Expr, chosen: Callable[[T.Sum], bool]) -> T.Expr:
    """The inverse, as far as it goes: the chosen sums taken away, products flat as the parser makes them."""

    def strip(n):
        if isinstance(n, T.Sum) and chosen(n):
            return n.body
        if isinstance(n, T.Mul) and any(isinstance(f, T.Mul) for f in n.factors):
            return replace(
                n, factors=tuple(g for f in n.factors for g in (f.factors if isinstance(f, T.Mul) else (f,)))
            )
        if isinstance(n, T.Add) and any(isinstance(t, T.Add) for t in n.terms):
            return replace(
                n, terms=tuple(g for t in n.terms for g in (t.terms if isinstance(t, T.Add) else (t,)))
            )
        return n

    return transform(node, strip)


def _close_condition(condition: T.Condition, free: frozenset[str]) -> T.Condition:
    if isinstance(condition, T.And):
        return T.And(tuple(_close_compare(c, free) for c in condition.parts))
    return _close_compare(condition, free)


def _close_compare(c: T.Compare, free: frozenset[str]) -> T.Compare:
    left = c.left if isinstance(c.left, T.Affine) else close(c.left, free)
    right = c.right if isinstance(c.right, T.Affine) else close(c.right, free)
    return replace(c, left=left, right=right)


def _factors(node: T.Mul | T.Div) -> tuple[T.Expr, ...]:
    return node.factors if isinstance(node, T.Mul) else (node.above, node.below)


def _factor_opens(factor: T.Expr) -> list[str]:
    """What a factor shares with its product: a power counts by its base."""
    if isinstance(factor, T.Pow):
        return _unique(opens(factor.base) + opens(factor.exponent))
    return opens(factor)


def _shared(factors: tuple[T.Expr, ...]) -> set[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for factor in factors:
        found = set(_factor_opens(factor))
        twice |= found & seen
        seen |= found
    return twice


def _sum(indices: list[str], body: T.Expr) -> T.Expr:
    return T.Sum(tuple(indices), body, span=body.span) if indices else body


def _unique(items) -> list[str]:
    return list(dict.fromkeys(items))


def rename_outside(body: T.Expr, names: dict[str, str]) -> T.Expr:
    """Rename the left side's capitals, except inside an opaque function, which takes them as vectors."""
    if not names:
        return body
    kept: dict[int, T.Apply] = {}

    def hide(node):
        if isinstance(node, T.Apply):
            kept[len(kept)] = node
            return T.Ref(f"\0{len(kept) - 1}", span=node.span)
        return node

    hidden = substitute(transform(body, hide), names)

    def show(node):
        return kept[int(node.name[1:])] if isinstance(node, T.Ref) and node.name.startswith("\0") else node

    return transform(hidden, show) if kept else hidden


def doubtful(node: object, bound: frozenset[str] = frozenset()) -> tuple[T.Div, str] | None:
    """A fraction with a capital that is summed above and stands alone below, or the other way: `A[i,J] x[J] / d[J]`."""
    if isinstance(node, (T.Sum, T.Reduce, T.Softmax, T.Flatten)):
        bound |= set(node.indices)
    if isinstance(node, T.Div):
        for one, other in ((node.above, node.below), (node.below, node.above)):
            inside = (
                {c for r in references(one) for i in r.indices for c in capitals(i)} - set(opens(one)) - bound
            )
            if both := [c for c in opens(other) if c in inside]:
                return node, both[0]
    return next((found for child in children(node) if (found := doubtful(child, bound))), None)
