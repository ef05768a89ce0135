"""Polynomials against plain evaluation at random points."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coursekit.notation.errors import NotationError
from coursekit.notation.polynomial import Polynomial

NAMES = ("V", "D", "d")
numbers = st.fractions(min_value=-5, max_value=5, max_denominator=4)
points = st.fixed_dictionaries({n: st.integers(min_value=1, max_value=9) for n in NAMES})


@st.composite
def polynomials(draw):
    """A polynomial, and the same as a function of a point, built side by side."""
    terms = draw(st.lists(st.tuples(numbers, st.lists(st.sampled_from(NAMES), max_size=3)), max_size=4))
    p = Polynomial()
    for coefficient, names in terms:
        product = Polynomial.number(coefficient)
        for name in names:
            product = product * Polynomial.size(name)
        p = p + product

    def value(at):
        total = Fraction(0)
        for coefficient, names in terms:
            for name in names:
                coefficient *= at[name]
            total += coefficient
        return total

    return p, value


@given(polynomials(), polynomials(), points)
def test_algebra_agrees_with_arithmetic_at_every_point(left, right, at):
    (p, f), (q, g) = left, right
    assert p(**at) == f(at)
    assert (p + q)(**at) == f(at) + g(at)
    assert (p - q)(**at) == f(at) - g(at)
    assert (p * q)(**at) == f(at) * g(at)
    assert (-p)(**at) == -f(at)
    assert (p**2)(**at) == f(at) ** 2
    assert (3 - p)(**at) == 3 - f(at)


@given(polynomials(), polynomials(), polynomials())
def test_equal_polynomials_print_alike(a, b, c):
    (p, _), (q, _), (r, _) = a, b, c
    one, other = p * (q + r), r * p + q * p
    assert one == other
    assert str(one) == str(other)
    assert hash(one) == hash(other)


@given(polynomials(), polynomials(), st.lists(points, min_size=1, max_size=5))
def test_at_most_is_never_claimed_wrongly(a, b, where):
    (p, _), (q, _) = a, b
    if p.at_most(q):
        for at in where:
            assert p(**at) <= q(**at)


def test_prints_as_one_writes_it():
    V, D, d = (Polynomial.size(n) for n in NAMES)
    assert str(V * D + D**2 + d * D) == "D^2 + D*V + D*d"
    assert str(2 * V - 3) == "2*V - 3"
    assert str(-V * Fraction(1, 2)) == "-V/2"
    assert str(Polynomial()) == "0"


def test_big_o_drops_constants_and_terms_that_another_exceeds():
    V, D, d = (Polynomial.size(n) for n in NAMES)
    assert (3 * V * D + 5 * D + D**2 + 7).big_o == V * D + D**2
    assert (V + d).big_o == V + d  # neither is the larger one for all sizes
    assert Polynomial.number(5).big_o == Polynomial.number(1)
    assert (D**2 - D).big_o == D**2


def test_is_called_with_names_or_aliases():
    p = (Polynomial.size("J") * Polynomial.size("V")).named({"D": "J"})
    assert p(D=5, V=11) == p(J=5, V=11) == 55
    with pytest.raises(NotationError, match="needs a size for V"):
        p(J=5)
