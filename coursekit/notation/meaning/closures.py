"""What the functions of a `Machine` are made of; and a sum over several indices, taken one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import tree as T
from ..functions import times as product_of
from .reach import conditions

At = dict[str, int]  # a value for each index
Value = Callable[[At], float]
Spot = tuple[Callable[[At], int], int, int]  # a place along an axis, and two numbers of that axis


def apart(node: T.Sum) -> bool:
    """Whether a sum over several indices of a product may be taken as several sums."""
    return not conditions(node.body) and set(node.indices) <= T.free_indices(node.body)


def nested(indices: Sequence[str], factors: Sequence[T.Expr]) -> T.Expr:
    """`Σ_j Σ_k a[j] W[j,k] c[k]` as `Σ_k c[k] Σ_j a[j] W[j,k]`: each sum over what it concerns alone."""
    left, parts = set(indices), [(f, T.free_indices(f)) for f in factors]
    affines = [n for f in factors for n in T.walk(f) if isinstance(n, T.Affine) and n.plain is None]
    mixed = set().union(*map(T.free_indices, affines))  # a bare index runs along memory: it comes innermost
    while left:
        wide = {i: set().union(*(free for _, free in parts if i in free)) for i in left}
        index = min(left, key=lambda i: (len(wide[i]), i in mixed, i))
        inside = [f for f, free in parts if index in free]
        parts = [(f, free) for f, free in parts if index not in free]
        parts.append((T.Sum((index,), product_of(*inside)), wide[index] - {index}))
        left.remove(index)
    return product_of(*(f for f, _ in parts))


def always(number: float) -> Value:
    return lambda at: number


def plus(a: Value, b: Value) -> Value:
    return lambda at: a(at) + b(at)


def times(a: Value, b: Value) -> Value:
    return lambda at: a(at) * b(at)


def linear(const: int, terms: Sequence[tuple[int, str]]) -> Callable[[At], int]:
    """A place; written out where it depends on few indices, as it mostly does."""
    match terms:
        case [(f, i)]:
            return lambda at: const + f * at[i]
        case [(f, i), (g, j)]:
            return lambda at: const + f * at[i] + g * at[j]
        case [(f, i), (g, j), (h, k)]:
            return lambda at: const + f * at[i] + g * at[j] + h * at[k]
    return lambda at: const + sum([f * at[i] for f, i in terms])


def entry(flat: list[float], const: int, terms: list[tuple[int, str]], looked_up: list[Spot]) -> Value:
    place = linear(const, terms)
    if looked_up:
        return lambda at: flat[place(at) + sum([(spot(at) - low) * step for spot, low, step in looked_up])]
    return lambda at: flat[place(at)]
