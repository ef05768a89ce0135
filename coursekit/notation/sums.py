"""Capitals: where a summed index is summed.

A capital that stands in two or more factors of a product is summed over that product; one that stands in a
single factor is summed over the innermost product around it. A power is a product of its base with itself,
a fraction one of its two parts. Brackets, signs and functions of single entries let a capital through to
the product outside, where another factor has it too: `W[j,I] tanh(h[I])` sums over I.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

from . import tree as T
from .names import GREEK
from .tree import children, mapped, scopes, transform


def is_capital(index: str) -> bool:
    return index[:1].isupper() and index not in GREEK


def capitals(*nodes: object) -> list[str]:
    return _unique(filter(is_capital, T.letters(*nodes)))


def opens(node: object) -> list[str]:
    """The capitals that a node leaves to be summed outside it, in order of writing, each once."""
    if isinstance(node, T.Ref):
        return capitals(node)
    if isinstance(node, (T.Mul, T.Div)):
        found = [c for f in children(node) for c in _factor_opens(f)]  # each factor once: depth costs no more
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
        factors = children(node)
        opened = [c for f in factors for c in _factor_opens(f)]  # each factor's once
        here = {c for c in opened if opened.count(c) > 1}
        if isinstance(node, T.Mul):
            here |= {c for f in factors if isinstance(f, (T.Ref, T.Pow)) for c in _factor_opens(f)}
        here -= free
        return _sum(
            [c for c in _unique(opened) if c in here], mapped(node, lambda factor: close(factor, free | here))
        )
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
        if not isinstance(n, (T.Mul, T.Add)):
            return n
        parts = (children(p) if type(p) is type(n) else (p,) for p in children(n))
        return type(n)(tuple(chain.from_iterable(parts)), span=n.span)

    return transform(node, strip)


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

    def outside(node: T.N) -> T.N:
        return node if isinstance(node, T.Apply) else T.renamed(mapped(node, outside), names)

    return outside(body) if names else body


def doubtful(node: object, bound: frozenset[str] = frozenset()) -> tuple[T.Div, str] | None:
    """A fraction with a capital that is summed above and stands alone below, or the other way: `A[i,J] x[J] / d[J]`."""
    if isinstance(node, (T.Sum, T.Reduce, T.Softmax, T.Flatten)):
        bound |= set(node.indices)
    if isinstance(node, T.Div):
        for one, other in ((node.above, node.below), (node.below, node.above)):
            inside = {*capitals(one)}.difference(opens(one), bound)
            if both := [c for c in opens(other) if c in inside]:
                return node, both[0]
    return next((found for child in children(node) if (found := doubtful(child, bound))), None)
