"""The order of multiplication is the cheapest there is."""

from __future__ import annotations

from itertools import combinations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coursekit.notation.meaning.pairing import Pair, cheapest


def cost(tree, factors, keep, sizes) -> tuple[frozenset[str], float]:
    """The axes and the price of a tree: multiplications and entries written."""
    if isinstance(tree, int):
        return factors[tree], 0.0
    own = leaves(tree)
    others = frozenset().union(*(f for n, f in enumerate(factors) if n not in own))
    (a, x), (b, y) = (cost(part, factors, keep, sizes) for part in (tree.left, tree.right))
    axes = (a | b) & (keep | others)
    return axes, x + y + prod(sizes[i] for i in a | b) + prod(sizes[i] for i in axes)


def leaves(tree) -> set[int]:
    return {tree} if isinstance(tree, int) else leaves(tree.left) | leaves(tree.right)


def every_tree(numbers: tuple[int, ...]):
    if len(numbers) == 1:
        yield numbers[0]
    first, rest = numbers[0], numbers[1:]
    for n in range(len(rest)):
        for chosen in combinations(rest, n):
            left = (first, *chosen)
            right = tuple(k for k in numbers if k not in left)
            for a in every_tree(left):
                for b in every_tree(right):
                    yield Pair(a, b)


axes = st.frozensets(st.sampled_from("abcde"), min_size=1, max_size=3)


@given(st.lists(axes, min_size=2, max_size=5), st.frozensets(st.sampled_from("abcde")), st.data())
def test_no_order_is_cheaper(factors, keep, data):
    sizes = {n: data.draw(st.integers(1, 9)) for n in "abcde"}
    best = min(cost(t, factors, keep, sizes)[1] for t in every_tree(tuple(range(len(factors)))))
    assert cost(cheapest(factors, keep, sizes), factors, keep, sizes)[1] == best


def test_each_of_many_factors_is_used_once():
    factors = [frozenset(p) for p in ("ab", "bc", "cd", "de", "ea", "a", "b", "c", "d")]
    assert leaves(cheapest(factors, frozenset("e"), dict.fromkeys("abcde", 3))) == set(range(9))


@pytest.mark.parametrize(("steps", "hoisted"), [(100, True), (1, False)])
def test_what_a_loop_does_not_change_is_multiplied_before_it_where_that_pays(steps, hoisted):
    # h[J] W[J,K] M[x,K]: W M once for all steps, or h W anew in each.
    sizes = {"J": 8, "K": 8, "x": 8, "t": steps}
    tree = cheapest([frozenset("J"), frozenset("JK"), frozenset("Kx")], frozenset("x"), sizes,
                    [True, False, False], frozenset("t"))  # fmt: skip
    assert isinstance(tree, Pair)
    assert ({1, 2} in (leaves(tree.left), leaves(tree.right))) == hoisted
