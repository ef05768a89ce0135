"""In which order to multiply: the cheapest way through a product of many factors, two at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Union

from .. import tree as T
from ..functions import times as product_of
from .reach import conditions

_EXACT = 7  # up to this many parts every order is weighed; of more, the best next pair is taken first


@dataclass(frozen=True, slots=True)
class Pair:
    """Two parts of a product, multiplied and summed over what nothing else needs."""

    left: "Pairing"
    right: "Pairing"


Pairing = Union[int, Pair]  # the number of a factor, or a pair


def leaves(tree: Pairing) -> set[int]:
    """The numbers of the factors in a pairing."""
    return {tree} if isinstance(tree, int) else leaves(tree.left) | leaves(tree.right)


@dataclass(frozen=True, slots=True)
class _Part:
    pairing: Pairing
    axes: frozenset[str]
    inside: bool
    cost: float


def cheapest(
    factors: Sequence[frozenset[str]],
    keep: frozenset[str],
    sizes: Mapping[str, int],
    inside: Sequence[bool] = (),
    looped: frozenset[str] = frozenset(),
) -> Pairing:
    """The order with the fewest multiplications.

    `keep` are the axes of the answer. A factor that is `inside` changes in each step of a loop over the
    indices `looped`; what is made of other factors alone is computed once, for all steps together.
    """
    inside = inside or [False] * len(factors)
    steps = prod(sizes[i] for i in looped)
    parts = [_Part(n, axes, inside[n], 0.0) for n, axes in enumerate(factors)]

    def join(a: _Part, b: _Part, others: frozenset[str]) -> _Part:
        within = a.inside or b.inside
        union = (a.axes | b.axes) - looped if within else a.axes | b.axes
        # Writing the answer costs as well: it decides between orders with equally many multiplications.
        axes = union & (keep | others | looped)
        work = prod(sizes[i] for i in union) + prod(sizes[i] for i in axes)
        cost = a.cost + b.cost + work * (steps if within else 1)
        return _Part(Pair(a.pairing, b.pairing), axes, within, cost)

    while len(parts) > _EXACT:  # the best next pair
        choices: list[tuple[float, int, list[_Part]]] = []
        for one, other in combinations(parts, 2):
            rest = [p for p in parts if p not in (one, other)]
            whole = join(one, other, frozenset().union(*(p.axes for p in rest)))
            choices.append((whole.cost - one.cost - other.cost, len(choices), [*rest, whole]))
        parts = min(choices)[2]
    best: dict[int, _Part] = {1 << k: part for k, part in enumerate(parts)}
    for mask in range(1, 1 << len(parts)):
        if mask in best:
            continue
        others = frozenset().union(*(part.axes for k, part in enumerate(parts) if not mask >> k & 1))
        left = (mask - 1) & mask
        while left > mask ^ left:
            whole = join(best[left], best[mask ^ left], others)
            if mask not in best or whole.cost < best[mask].cost:
                best[mask] = whole
            left = (left - 1) & mask
    return best[(1 << len(parts)) - 1].pairing


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
