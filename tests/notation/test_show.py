"""Printing: canonical ASCII, and the round trip."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import systems

from coursekit.notation.check.checker import check
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show
from coursekit.notation.tree import (
    Add,
    Affine,
    Div,
    Equation,
    Mul,
    Neg,
    Num,
    Pow,
    Ref,
    SizeOf,
    Sum,
    index,
    walk,
)

relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(systems(smooth=False))
@relaxed
def test_random_system_prints_and_parses_back(text):
    program = parse(text)
    check(program)
    assert parse(show(program)) == program


@given(systems(recurrent=True))
@settings(relaxed, max_examples=50)
def test_random_recurrence_prints_and_parses_back(text):
    program = parse(text)
    assert check(program).blocks[0].loops == (("t", 1),)
    assert parse(show(program)) == program


@pytest.mark.parametrize(
    "text",
    [
        "y[j] = W[j,I] x[I]",
        "y[j] = 1/sqrt(I) W[j,I] x[I] - B[j]",
        "y = (a + b)^2/(c d) - 1/2",
        "y[i] = -x[i]^2 + (-x[i])^2",
        "y[i] = 2 x[i] (3 - x[i])",
        "y[t] = x[2*t+1] + x[T-1-t]",
        "y[b,t,i] = e[w[b,t],i]",
        "y[t1] = softmax[t1](sum[t2 <= t1](a[t1,t2]))",
        "y[t1] = sum[t2, t1 <= t2](a[t1,t2])",
        "y[i,j] = cases(a[i] if i == j, 0 if i < j, b[j] otherwise)",
        "y[i,j] = [i == j] x[i]",
        "h[t,J] = CELL(h[t-1,J], x[t,K])",
        "h[t,J] = F_Phi(x[t,K])",
        "c[t,c] = a[t,I]; b[t,K]",
        "c[t,c] = concat[K,I](h[K,t,I])",
        "y[i] = max(x[i], 0) + min(x[i], z[i], 1)",
        "y[i] = max[j](a[i,j]) prod[k](b[i,k])",
        "y = sum[I](a[I]) sum[I](b[I])",
        "y[t1,t2] = (t1 - t2)^2",
        "y[i] = exp(x[i])^(1/2)",
        "pad L\ncentered dx\nparameters W, B\nsize t = 5\ny[x] = W[dx] L[x+dx]\nq[t] = B[t]".replace(
            "W[dx] L", "sum[dx](W[dx] L"
        ).replace("x+dx]", "x+dx])"),
        "L in R^{V x d}  b in R^{d}\ny[i] = x[i]",
    ],
)
def test_canonical_text_is_printed_as_it_stands(text):
    assert show(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("y = sum[I](a[I] b[I])", "y = a[I] b[I]"),
        ("y = 0.5", "y = 1/2"),
        ("y[i]=2x[i]", "y[i] = 2 x[i]"),
        ("y[J] = G[J] * R[J]", "y[j] = G[j] R[j]"),
        ("y = ((a)) + (b + c)", "y = a + b + c"),
        ("y = a * (b * c)", "y = a b c"),
        ("h[t] = x[ t - 1 ]", "h[t] = x[t-1]"),
        ("z[t,I] = a[t,I]; b[t,I]", "z[t,i] = a[t,I]; b[t,I]"),
    ],
)
def test_equal_meanings_print_alike(text, canonical):
    assert show(parse(text)) == canonical


def ref(name, *indices):
    return Ref(name, tuple(index(i) for i in indices))


@pytest.mark.parametrize(
    "tree",
    [
        Sum(("I",), Mul((ref("a", "I"), Sum(("J",), Mul((ref("b", "J"), ref("c", "J"))))))),
        Mul((Sum(("I",), ref("a", "I")), Sum(("I",), ref("b", "I")))),
        Sum(("I",), Add((ref("a", "I"), ref("b", "I")))),
        Sum(("I",), Pow(ref("a", "I"), Num(Fraction(2)))),
        Pow(Sum(("I",), ref("a", "I")), Num(Fraction(2))),
        Div(Sum(("I",), ref("a", "I")), ref("b")),
        Sum(("I",), Div(ref("a", "I"), ref("b", "I"))),
        Neg(Sum(("I",), Mul((Num(Fraction(-2)), ref("a", "I"))))),
        Mul((ref("a"), Num(Fraction(1, 2)), Neg(ref("b")), Div(ref("c"), ref("d")))),
    ],
)
def test_sums_stay_where_they_are(tree):
    """A sum that the capital rule would put elsewhere is printed with its own `sum[…]`."""
    again = parse("y = " + show(tree)).equations[0].right
    assert again == tree


def test_summed_index_gives_way_to_a_size_of_its_name():
    """`y = Σ_T a[T] b[T-1]` with T-1 the last place, not the shifted index."""
    last = Affine(((1, SizeOf("T")),), -1)
    tree = Equation(ref("y"), Sum(("T",), Mul((ref("a", "T"), Ref("b", (last,))))))
    text = show(tree)
    assert text == "y = a[T'] b[T-1]"
    assert Ref("b", (last,)) in list(walk(parse(text)))
