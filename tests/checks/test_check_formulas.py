"""Formulas that a student types: right ones pass however they are written, wrong ones hear how they differ."""

import pytest
import torch

from coursekit import checks
from coursekit.checks import Mistake, digest
from coursekit.notation.formulas.closed_form import ClosedForm

S = ["V", "d", "D", "tau"]
STEP = "V*D + D**2 + d*D"


@pytest.mark.parametrize(
    "answer",
    [STEP, "D*(V + d + D)", "max(V*D, D**2, d*D)", "O(V D + D^2 + d D)", "2*V*D + 3*D**2 + d*D + V + 7",
     r"\Theta(V D + D^{2} + d D)"],
)  # fmt: skip
def test_right_growth_passes_in_every_form(answer):
    result = checks.big_o(answer, STEP, symbols=S)
    assert result.ok, result.sentence


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("V*D", "missing a term"),
        ("V*D**2 + d*D", "too loose"),
        ("tau*D**2 + d*D", "incomparable"),
        ("V", "missing a term"),
    ],
)
def test_wrong_growth_hears_how_it_differs(answer, kind):
    result = checks.big_o(answer, STEP, symbols=S)
    assert (result.ok, result.kind) == (False, kind)


def test_side_conditions_decide():
    given = "V >= d, V >= D"
    assert checks.big_o("V*D", STEP, symbols=S, given=given).ok
    assert not checks.big_o("V*D", STEP, symbols=S).ok


def test_named_growth_gets_its_sentence():
    every = Mistake("each-step", "One loss at the end: the output layer runs once.", "tau*(V*D + d*D + D**2)")
    result = checks.big_o("tau*D*(V+d+D)", "V*D + tau*(d*D + D**2)", symbols=S, mistakes=[every])
    assert result.mistake == "each-step"


@pytest.mark.parametrize("check", [checks.big_o, checks.closed_form])
@pytest.mark.parametrize(
    ("answer", "kind"),
    [(None, "empty"), ("", "empty"), (3, "type"), ("V*(D", "notation"), ("V*Q", "notation"),
     ("__import__('os').getcwd()", "notation"), ("V" + "*V" * 20_000, "notation"), ("(" * 5000, "notation")],
)  # fmt: skip
def test_text_that_is_no_formula_gets_a_sentence(check, answer, kind):
    result = check(answer, "V*D", symbols=S)
    assert not result.ok
    assert result.kind == kind
    assert len(result.sentence) < 400


def test_unreadable_formula_shows_a_caret_under_the_place():
    result = checks.big_o("V*(D", "V*D", symbols=S)
    text, caret = result.block.splitlines()
    assert text == "V*(D"
    assert set(caret.strip()) == {"^"}


@pytest.mark.parametrize(
    "expected", ["2*h**2 + h*c", digest(ClosedForm("2*h**2 + h*c", ["h", "c"]), salt="s")]
)
@pytest.mark.parametrize("answer", ["2*h**2 + h*c", "h*(2*h + c)", "h c + 2 h^2", "h*c + h**2 + h**2"])
def test_right_formula_passes_in_every_form(answer, expected):
    assert checks.closed_form(answer, expected, symbols=["h", "c"]).ok


@pytest.mark.parametrize(
    ("answer", "kind"), [("h**2 + h*c", "coefficient"), ("2*h**2", "missing term"), ("2*h**2 - h*c", "sign")]
)
def test_wrong_formula_hears_how_it_differs(answer, kind):
    assert checks.closed_form(answer, "2*h**2 + h*c", symbols=["h", "c"]).kind == kind
    assert not checks.closed_form(
        answer, digest(ClosedForm("2*h**2 + h*c", ["h", "c"])), symbols=["h", "c"]
    ).ok


def test_root_is_read_as_a_root():
    for expected in ("1/sqrt(I)", digest(ClosedForm("1/sqrt(I)", ["I", "J"]))):
        assert checks.closed_form(r"\frac{1}{\sqrt{I}}", expected, symbols=["I", "J"]).ok
        assert checks.closed_form("I**(-1/2)", expected, symbols=["I", "J"]).ok
        assert not checks.closed_form("1/I", expected, symbols=["I", "J"]).ok


def test_named_formula_gets_its_sentence():
    untied = Mistake("head", "That is for one head; a layer has K.", "2*I*J")
    result = checks.closed_form("2*J*I", "2*K*I*J", symbols=["K", "I", "J"], mistakes=[untied])
    assert result.mistake == "head"


def test_count_of_a_real_module_is_the_oracle():
    def parameters(J, K):
        return sum(p.numel() for p in torch.nn.LSTM(K, J).parameters())

    at = [{"J": 4, "K": 3}, {"J": 5, "K": 7}]
    assert checks.closed_form("4*(J**2 + J*K + 2*J)", symbols=["J", "K"], oracle=parameters, at=at).ok
    result = checks.closed_form("4*(J**2 + J*K + J)", symbols=["J", "K"], oracle=parameters, at=at)
    assert "with J = 4, K = 3 it gives 128, and counting gives 144" in result.sentence
    with pytest.raises(ValueError, match="sizes"):
        checks.closed_form("J", symbols=["J"], oracle=parameters)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("V*D + D**2", "missing term"),
        ("V*D + 2*D**2 + d*D", "extra term"),
        ("D*(V*D + D**2 + d*D)", "extra factor"),
        ("V + D + d", "missing factor"),
        ("1/(V*D + D**2 + d*D)", "reciprocal"),
        ("V**2 + d", "other"),
    ],
)
def test_a_formula_that_is_counted_against_is_told_its_slip(answer, kind):
    count = lambda V, d, D: V * D + D * D + d * D
    at = [{"V": 11, "d": 4, "D": 5}, {"V": 7, "d": 6, "D": 3}, {"V": 5, "d": 3, "D": 8}]
    assert checks.closed_form(answer, symbols=["V", "d", "D"], oracle=count, at=at).kind == kind


def test_a_count_that_is_right_for_one_alone_is_told_so():
    count = lambda L, I: L * I
    at = [{"L": 4, "I": 3}, {"L": 1, "I": 5}, {"L": 3, "I": 2}]
    result = checks.closed_form("I", symbols=["L", "I"], oracle=count, at=at)
    assert result.sentence.endswith("It is right only where `L` is 1.")
    assert "right only" not in checks.closed_form("I + 1", symbols=["L", "I"], oracle=count, at=at).sentence
