"""Capitals: where a summed index is summed.

A capital that stands in two or more factors of a product is summed over that product; one that stands in a
single factor is summed over the innermost product around it. A power is a product of its base with itself,
a fraction one of its two parts. Brackets, signs and functions of single entries let a capital through to
the product outside, where another factor has it too: `W[j,I] tanh(h[I])` sums over I.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from . import tree as T
from .names import GREEK
from .tree import children, mapped, references, scopes, substitute, transform


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
    if isinstance(node, (T.Affine, T.Apply, T.Iverson, T.Compare, T.And)):
        return []
    kept = node.indices if isinstance(node, T.Softmax) else ()
    return _unique(c for part, own in scopes(node) for c in opens(part) if c not in (*own, *kept))


def close(node: T.Expr, free: frozenset[str] = frozenset()) -> T.Expr:
    """The node with every open capital outside `free` summed where it belongs."""
    if isinstance(node, T.Ref):
        return _sum([c for c in opens(node) if c not in free], node)
    if isinstance(node, (T.Mul, T.Div)):
        factors = _factors(node)
        opened = [c for f in factors for c in _factor_opens(f)]  # each factor's once
        here = {c for c in opened if opened.count(c) > 1}
        if isinstance(node, T.Mul):
            here |= {c for f in factors if isinstance(f, (T.Ref, T.Pow)) for c in _factor_opens(f)}
        here -= free
        order = [c for c in _unique(c for f in factors for c in _factor_opens(f)) if c in here]
        return _sum(order, mapped(node, lambda factor: close(factor, free | here)))
    if isinstance(node, T.Pow):
        base = [c for c in opens(node.base) if c not in free]
        inside = close(node.base, free | set(base))
        return _sum(base, replace(node, base=inside, exponent=close(node.exponent, free)))
    if isinstance(node, T.Affine):
        return node
    if isinstance(node, T.Softmax):
        free |= set(node.indices)
    used = (set(own) for _, own in scopes(node))
    return mapped(node, lambda part: close(part, free | next(used)))


def bare(node: T.Expr, chosen: Callable[[T.Sum], bool]) -> T.Expr:
    """The inverse, as far as it goes: the chosen sums taken away, products flat as the parser makes them."""

    def strip(n: object) -> object:
        if isinstance(n, T.Sum) and chosen(n):
            return n.body
        for kind, field in ((T.Mul, "factors"), (T.Add, "terms")):
            if isinstance(n, kind) and any(isinstance(part, kind) for part in getattr(n, field)):
                flat = [getattr(p, field) if isinstance(p, kind) else (p,) for p in getattr(n, field)]
                return replace(n, **{field: tuple(part for group in flat for part in group)})  # type: ignore[arg-type]
        return n

    return transform(node, strip)


def _factors(node: T.Mul | T.Div) -> tuple[T.Expr, ...]:
    return node.factors if isinstance(node, T.Mul) else (node.above, node.below)


def _factor_opens(factor: T.Expr) -> list[str]:
    """What a factor shares with its product: a power counts by its base."""
    if isinstance(factor, T.Pow):
        return _unique(opens(factor.base) + opens(factor.exponent))
    return opens(factor)


def _sum(indices: list[str], body: T.Expr) -> T.Expr:
    return T.Sum(tuple(indices), body, span=body.span) if indices else body


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def rename_outside(body: T.Expr, names: dict[str, str]) -> T.Expr:
    """Rename the left side's capitals, except inside an opaque function, which takes them as vectors."""
    if not names:
        return body
    kept: dict[int, T.Apply] = {}

    def hide(node: object) -> object:
        if isinstance(node, T.Apply):
            kept[len(kept)] = node
            return T.Ref(f"\0{len(kept) - 1}", span=node.span)
        return node

    hidden = substitute(transform(body, hide), names)

    def show(node: object) -> object:
        return kept[int(node.name[1:])] if isinstance(node, T.Ref) and node.name.startswith("\0") else node

    return transform(hidden, show) if kept else hidden


def doubtful(node: object, bound: frozenset[str] = frozenset()) -> tuple[T.Div, str] | None:
    """A fraction with a capital that is summed above and stands alone below, or the other way: `A[i,J] x[J] / d[J]`."""
    if isinstance(node, (T.Sum, T.Reduce, T.Softmax, T.Flatten)):
        bound |= set(node.indices)
    if isinstance(node, T.Div):
        for one, other in ((node.above, node.below), (node.below, node.above)):
            inside = {c for r in references(one) for i in r.indices for c in capitals(i)} - {
                *opens(one),
                *bound,
            }
            if both := [c for c in opens(other) if c in inside]:
                return node, both[0]
    return next((found for child in children(node) if (found := doubtful(child, bound))), None)
