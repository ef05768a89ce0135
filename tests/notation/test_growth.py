"""Growth comparison: the course's bounds, side conditions, and exactness against brute force."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coursekit.notation.errors import NotationError
from coursekit.notation.formulas.cone import escape
from coursekit.notation.formulas.growth import Growth

SYMBOLS = ["V", "D", "d", "h", "c", "n", "T", "L", "w", "I", "J", "K", "S", "tau", "D_h"]
STEP = "V*D + D**2 + d*D"
WIDE = "V>=d, V>=D"


def verdict(reference, answer, given=""):
    return Growth(reference, given, symbols=SYMBOLS).compare(answer).verdict


@pytest.mark.parametrize(
    ("reference", "answer", "given"),
    [
        (STEP, "D*(V+d+D)", ""),
        (STEP, "max(V*D, D**2, d*D)", ""),
        (STEP, "O(|V|D + D^2 + dD)", ""),
        (STEP, r"\Theta(7 V D + 3 D^{2} + d \cdot D)", ""),
        (STEP, "V*D", WIDE),
        ("tau*(V*D + D**2 + d*D)", "tau*V*D", WIDE),
        ("V*D + tau*(d*D + D**2)", "V*D + tau*D*(d + D)", ""),
        ("n**2*(h**2+h*c)", "n^2(h^2+hc)", ""),
        ("T", "5*T + 3", ""),
        ("T + L", "T + L - 1", ""),
        ("T + L", "max(T, L)", ""),
        ("T*log(T)", "T log2 T", ""),
        ("T*log(T)", "T log(T^3)", ""),
        ("log(T + L)", "log(T) + log(L)", ""),
        ("T**2", "T*(T+1)/2", ""),
        ("w*T", "w*T - w*(w-1)/2", "w<=T"),
        ("min(w, T)*T", "w*T", "w<=T"),
        ("sqrt(T)", "sqrt(T + 1)", ""),
        ("log(d)*h", r"\lceil \log_2 d \rceil h", ""),
        ("T", "T*w", "w <= 8"),
        ("J*log(J)", "J*(log(I) + log(K))", "J = I*K"),
        ("1", "42", ""),
    ],
)
def test_bounds_that_grow_alike_are_equal(reference, answer, given):
    assert verdict(reference, answer, given) == "equal"


@pytest.mark.parametrize(
    ("reference", "answer", "given"),
    [
        ("V*D + tau*(D**2+d*D)", "tau*V*D", WIDE),  # one loss, not one a step
        ("T*w", "T**2", "w<=T"),
        ("T", "T log T", ""),
        ("T log T", "T**1.01", ""),
        ("log(T)", "log(T)**2", ""),
        ("log(log(T))", "log(T)", ""),
        ("T**9", "2**T", ""),
        ("2**T", "3**T", ""),
        ("2**T", "V**T*2**T", ""),
        ("T + L", "T*L", ""),
        ("L", "log(T)", "L <= log(T)"),
        ("T/(T+L)", "1", ""),
        ("min(T, L)", "T", ""),
        ("S*h", "d*h", "S <= d"),
    ],
)
def test_larger_bounds_are_too_loose_and_the_converse_misses_a_term(reference, answer, given):
    assert verdict(reference, answer, given) == "too loose"
    assert verdict(answer, reference, given) == "missing a term"


@pytest.mark.parametrize(
    ("reference", "answer", "given"),
    [
        ("T*w", "T**2", ""),
        ("T", "L", ""),
        (STEP, "V**2", ""),
        ("T*log(V)", "T*log(T)", ""),
        ("V", "2**T", ""),
    ],
)
def test_bounds_in_sizes_that_are_not_tied_are_incomparable(reference, answer, given):
    assert verdict(reference, answer, given) == "incomparable"


def test_the_missing_terms_are_named():
    result = Growth(STEP, symbols=SYMBOLS).compare("V*D")
    assert result.verdict == "missing a term"
    assert not result.equal
    assert "the terms `D**2` and `D*d`" in result.message


def test_the_loose_term_is_named():
    result = Growth("V*D + tau*(D**2+d*D)", WIDE, SYMBOLS).compare("tau*V*D + D**2")
    assert "`V*D*tau` grows faster" in result.message


def test_logarithms_of_sizes_of_one_order_are_of_one_order():
    """`T V log T` is bounded by `(T**2 + V**2) log V`: where T and V are alike so are their logarithms."""
    assert verdict("T**2*log(V) + V**2*log(V)", "T*V*log(T)") == "missing a term"
    assert verdict("T*log(T)", "T*log(V)", "T <= V**3, V <= T") == "equal"


def test_normal_form_keeps_only_terms_that_no_other_bounds():
    assert Growth("V*D + D + D**2 + 3").terms == ("V*D", "D**2")
    assert str(Growth("V*D + D**2", given="V>=D")) == "O(V*D)"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("V*D + q", "`q` is not a symbol"),
        ("Tau*D", "did you mean `tau`"),
        ("D2", "`D**2`"),
        ("T - L", "could be negative"),
        ("-T", "zero or negative"),
        ("T - T", "zero or negative"),
        ("(T", "missing"),
        ("T**999", "too large"),
        ("(V+D+d+h+c+n+T)**60", "terms"),
        ("", "empty"),
        ("__import__('os').getcwd()", "no meaning"),
    ],
)
def test_what_cannot_be_read_is_refused_with_one_sentence(answer, words):
    with pytest.raises(NotationError) as error:
        Growth(STEP, symbols=SYMBOLS).compare(answer)
    assert words in str(error.value)


def test_side_conditions_that_cannot_be_used_are_refused():
    for condition in ("V", "V + d >= D", "V >= x"):
        with pytest.raises(NotationError):
            Growth(STEP, condition, SYMBOLS)


exponents = st.lists(st.integers(0, 3), min_size=3, max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(exponents, st.lists(exponents, min_size=1, max_size=4), st.booleans())
def test_domination_agrees_with_a_search_over_directions(term, bounds, tied):
    names = ("x", "y", "z")

    def vector(e):
        return {n: Fraction(k) for n, k in zip(names, e, strict=True) if k}

    given = [{"x": Fraction(1), "y": Fraction(-1)}] if tied else []
    found = escape(vector(term), [vector(b) for b in bounds], given)

    def margin(u):
        return max(sum((b - a) * v for a, b, v in zip(term, bound, u, strict=True)) for bound in bounds)

    if found is not None:
        u = [found.get(n, Fraction(0)) for n in names]
        assert min(u) >= 0
        assert margin(u) < 0
        assert not tied or u[0] >= u[1]
    else:  # with exponents up to 3 a witness, if there is one, has small whole coordinates
        for u in product(range(10), repeat=3):
            assert (tied and u[0] < u[1]) or margin(u) >= 0


@pytest.mark.parametrize(
    "bound",
    [
        "Θ(V)",
        "O(V)",
        "𝒪(V)",
        r"\Theta(V)",
        r"\mathcal{O}(V)",
        r"\mathcal O(V)",
        "Theta(V)",
        " Θ ( V + 3 ) ",
        r"$\Theta\left(V\right)$",
    ],
)
def test_a_bound_may_be_written_with_its_letter(bound):
    assert Growth("V").compare(bound).equal
    assert Growth(bound).compare("V").equal
    assert Growth("V**2").compare(bound).verdict == "missing a term"


def test_a_size_called_like_a_bound_stays_a_size():
    assert Growth("O*V", symbols=["O", "V"]).compare("O(V)").equal
    assert not Growth("O*V", symbols=["O", "V"]).compare("V").equal


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("n**2", "n**2 + O(n)"),
        ("n + T", "O(n) + O(T)"),
        ("n*log(n)", "n * O(log n)"),
        ("n*log(n)", "n Θ(log_2 n)"),
        ("T**2", r"O(\sum_{t=1}^{T} t)"),
        ("T**2", r"O(1 + 2 + \cdots + T)"),
        ("n", "O(ceil(n - 1))"),
        ("n/w", "n//w + n/w"),
    ],
)
def test_growths_may_be_added_and_sums_written_out(reference, answer):
    assert verdict(reference, answer) == "equal"
