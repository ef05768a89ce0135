"""Closed forms: equality, kinds of difference, refusals; float evaluation is the oracle of equality."""

import contextlib
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coursekit.notation.errors import NotationError
from coursekit.notation.formulas.closed_form import ClosedForm

SYMBOLS = ["V", "D", "d", "h", "c", "n", "T", "L", "I", "J", "K", "CE", "m", "N", "D_h", "tau", "w"]


def compare(reference, answer):
    return ClosedForm(reference, SYMBOLS).compare(answer)


@pytest.mark.parametrize(
    ("reference", "answers"),
    [
        (
            "2*h**2 + h*c",
            ["h(2h+c)", "h*c+2h^2", "h*h + h*(h+c)", r"2h^{2} + h \cdot c", "2h²+hc", "(2h+c)h"],
        ),
        (
            "1/sqrt(I)",
            ["I**(-1/2)", "I^-0.5", r"\frac{1}{\sqrt{I}}", "sqrt(I)/I", "sqrt(1/I)", "√I/I", "1/I^(1/2)"],
        ),
        ("2*K*I*J", ["2KIJ", "K*I*J*2", "IJK+IJK", r"2 K \times I J"]),
        ("J/2", [r"\frac{J}{2}", "0.5*J", "1/2 J", r"\frac12 J", "J*2**-1"]),
        ("exp(CE)", ["e**CE", r"\exp(CE)", "exp(2*CE)/exp(CE)", "e^{CE}"]),
        ("log(V)", ["ln V", r"\ln V", "log(V**2)/2", "log2(V)*log(2)", "-log(1/V)"]),
        ("w*T - w*(w-1)/2", ["w(T-(w-1)/2)", "w(2T-w+1)/2"]),
        ("3*(J**2+J*K+J)", ["3J(J+K+1)"]),
        ("n**2*(h*c+2*h**2)", ["n^2h(c+2h)"]),
        ("sqrt(T+L)", ["(T+L)/sqrt(T+L)", "exp(log(T+L)/2)"]),
        ("2*n-1", ["n+(n-1)", "2(n-1)+1"]),
        ("D_h", ["D_{h}", "|D_h|"]),
        ("(1 + w)**T", ["(1 + w)*(1 + w)**(T - 1)"]),
        ("n*log(n)", ["log(n**n)"]),
    ],
)
def test_algebraic_rewrites_are_equal(reference, answers):
    for answer in answers:
        assert compare(reference, answer).equal, answer
        assert ClosedForm(reference, SYMBOLS).equals(answer)


@pytest.mark.parametrize(
    ("reference", "symbols", "answers"),
    [
        ("lam*n", ["lam", "n"], [r"\lambda n", "λ n", "n λ", r"\lambda \cdot n", "lam⋅n"]),
        ("yhat + eps", ["yhat", "eps"], [r"\hat{y} + \varepsilon", r"\epsilon + \hat y"]),
        ("n_heads*d_model^2", ["n_heads", "d_model"], [r"n_{\text{heads}} d_{\mathrm{model}}^2"]),
        ("T*log2(d)", ["T", "d"], [r"\mathcal{O}(T \log_2 d)", r"T \log_{2}(d)"]),
        ("D*h + D_h", ["D", "h", "D_h"], ["Dh + D_h", "D_{h} + hD"]),
    ],
)
def test_a_symbol_may_be_written_as_its_page_prints_it(reference, symbols, answers):
    for answer in answers:
        assert ClosedForm(reference, symbols).equals(answer), answer


@pytest.mark.parametrize(
    ("reference", "answer", "kind", "words"),
    [
        ("2*h**2 + h*c", "4h^2+2hc", "constant factor", "2 times"),
        ("K*J**2", "J**2*K/2", "constant factor", "1/2 times"),
        ("2*h**2 + h*c", "2h**2", "missing term", "`h*c`"),
        ("2*h**2 + h*c", "2h**2 + h*c + h", "extra term", "`h`"),
        ("2*h**2 + h*c", "h**2 + h*c", "coefficient", "is 1; it should be 2"),
        ("2*h**2 + h*c", "2h**2 - h*c", "sign", "`h*c`"),
        ("2*h**2 + h*c", "-h(2h+c)", "sign", "-1"),
        ("2*h**2 + h*c", "n^2(2h^2+hc)", "extra factor", "`n**2`"),
        ("2*h**2 + h*c", "2h+c", "missing factor", "`h`"),
        ("1/sqrt(I)", "sqrt(I)", "reciprocal", "upside down"),
        ("1/sqrt(I)", "1/sqrt(J)", "wrong factor", "sqrt(I)/sqrt(J)"),
        ("exp(CE)", "exp(-CE)", "reciprocal", "upside down"),
        ("2*n - 1", "2*n", "off by one", "1 too large"),
        ("T*(T+1)/2", "T*(T-1)/2", "off by one", "`T - 1`"),
        ("log(V)", "log2(V)", "log base", "base 2"),
        ("log2(V)", "log10(V)", "log base", "base 10"),
        ("V**2", "V**3 + 7", "different", "expected 4, got 15"),
    ],
)
def test_each_kind_of_difference_is_named(reference, answer, kind, words):
    result = compare(reference, answer)
    assert not result.equal
    assert result.kind == kind
    assert words in result.message


def test_a_logarithm_in_another_base_is_not_equal():
    assert not compare("exp(CE)", "2**CE").equal


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("2*q", 3, "the symbols are"),
        ("2*v", 3, "did you mean `V`"),
        ("J/2I", 4, "two ways"),
        ("log T d", 5, "brackets"),
        ("T3", 1, "`T**3`"),
        ("h(h+c", 6, "`)` is missing"),
        ("h + ", 5, "ends where"),
        ("sqrt", 1, "argument"),
        ("max T", 1, "brackets"),
        ("h;c", 2, "no meaning"),
        ("__import__('os').getcwd()", 1, "no meaning"),
    ],
)
def test_refusals_point_at_the_place(text, column, words):
    with pytest.raises(NotationError) as error:
        ClosedForm(text, SYMBOLS)
    assert words in error.value.message
    assert error.value.column == column


@pytest.mark.parametrize(
    "text", ["(" * 500, "-" * 999, "sqrt " * 190 + "T", "2**" * 300 + "2", "9**9**9**9", "(V+D+d+h+c)**64",
             "T" * 1001, "1/0", "log(0)", "√" * 900 + "T", "|" * 99, "9" * 40]
)  # fmt: skip
def test_large_and_deep_formulas_are_refused_and_do_no_work(text):
    with pytest.raises(NotationError):
        ClosedForm(text, SYMBOLS)


def test_value_and_latex():
    assert ClosedForm("1/sqrt(I)").value(I=4) == 0.5
    assert ClosedForm("n**2*(h*c+2*h**2)").value(n=4, c=3, h=5) == 1040
    assert ClosedForm("2*h**2 + h*(c-1)").latex() == r"2 h^{2} + h \cdot (c - 1)"
    with pytest.raises(NotationError, match="`h`"):
        ClosedForm("h").value()


ATOMS = ["T", "L", "h", "2", "3"]
formulas = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        inner.map(lambda p: f"({p})**2"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})/(1 + ({p[1]})**2)"),
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(formulas, formulas)
def test_equality_agrees_with_python_arithmetic(first, second):
    """Python's own arithmetic on our own generated text is the oracle; the text of a student never gets there."""
    draw = random.Random(1)
    points = [{n: draw.uniform(1, 3) for n in "TLh"} for _ in range(5)]
    same = all(
        math.isclose(eval(first, {}, p), eval(second, {}, p), rel_tol=1e-9, abs_tol=1e-9) for p in points
    )
    symbols = ["T", "L", "h"]
    assert ClosedForm(first, symbols).equals(second) == same


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="TLhVD_23 .+-*/^(){}[]|,√\\fracsqrtlogmx²⌈⌉", max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(NotationError):
        ClosedForm(text, ["T", "L", "h", "V", "D"]).compare("T + L")


@pytest.mark.parametrize(
    ("reference", "answers"),
    [
        ("n - 1", ["ceil(n - 1)", r"\lceil n - 1 \rceil", "floor(n) - 1", "int(n) - 1"]),
        ("ceil(n/2)", ["floor((n+1)/2)", "n - floor(n/2)", "(n+1)//2"]),
        ("ceil(n/w)", ["floor((n+w-1)/w)", "(n + w - 1)//w", r"\left\lceil \frac{n}{w} \right\rceil"]),
        ("floor((T - J)/w) + 1", ["ceil((T-J+1)/w)", "(T-J)//w + 1", "floor((T - J + w)/w)"]),
        ("T*(T+1)/2", [r"\sum_{t=1}^{T} t", "1 + 2 + ... + T", r"1 + 2 + \dots + T", r"\binom{T+1}{2}"]),
        ("T*(T-1)/2", [r"\sum_{t=1}^{T-1} t", r"\sum_{t=0}^{T-1} t", "sum_{t=1}^{T-1} t"]),
        ("n*(n+1)*(2*n+1)/6", [r"\sum_{k=1}^{n} k^2"]),
        ("2**n - 1", [r"\sum_{i=0}^{n-1} 2^i", "1 + 2 + 4 + ... + 2^(n-1)"]),
        ("n**2", ["1 + 3 + ... + (2n - 1)", "n squared", "n times n"]),
        ("V*T*h", [r"\sum_{i=1}^{T} V h", "V x T x h"]),
    ],
)
def test_rounding_and_sums_written_out_mean_what_they_say_for_whole_sizes(reference, answers):
    for answer in answers:
        assert compare(reference, answer).equal, answer


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("ceil(n/2)", "n/2"),
        ("ceil(n/w)", "floor(n/w) + 1"),
        ("ceil(n/w)", "floor(n/w)"),
        ("floor((T - J)/w) + 1", "ceil((T-J)/w)"),
        ("T*(T+1)/2", r"\sum_{t=1}^{T-1} t"),
        ("2**n - 1", "1 + 2 + 4 + ... + 2^n"),
    ],
)
def test_other_roundings_and_sums_are_told_apart(reference, answer):
    assert not compare(reference, answer).equal


def test_a_bound_around_a_part_is_no_closed_form():
    with pytest.raises(NotationError, match="`O` is not a symbol"):
        compare("n**2", "n**2 + O(n)")
