"""Equations against a torch oracle, which shows no answer, and against the reference."""

import pytest
import torch

from coursekit import checks
from coursekit.checks import Mistake

RNN = "h[b,t,j] = sigmoid(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])"


def case(b, T, J, K, seed):
    g = torch.Generator().manual_seed(seed)
    r = lambda *shape: torch.randn(*shape, generator=g, dtype=torch.float64)
    return {"W": r(J, J), "U": r(J, K), "B": r(J), "x": r(b, T, K), "h0": r(b, J)}


CASES = [case(2, 5, 4, 3, 0), case(3, 4, 2, 5, 1)]


def oracle(W, U, B, x, h0):
    cell = torch.nn.RNNCell(U.shape[1], U.shape[0], dtype=torch.float64)  # for its shapes' sake only
    states, h = [], h0
    for t in range(x.shape[1]):
        h = torch.sigmoid(torch.nn.functional.linear(x[:, t], U, -B) + h @ W.mT)
        states.append(h)
    assert cell.weight_ih.shape == U.shape
    return torch.stack(states, 1)


def check(answer, **more):
    return checks.equations(answer, oracle=oracle, given=CASES, outputs=["h"], boundary={"h": "h0"}, **more)


RIGHT = pytest.mark.parametrize(
    "answer",
    [
        RNN,
        "h[b,t,k] = sigmoid(U[k,C] x[b,t,C] + W[k,A] h[b,t-1,A] - B[k])",
        "a[b,t,j] = U[j,K] x[b,t,K] - B[j]\nh[b,t,j] = sigmoid(W[j,I] h[b,t-1,I] + a[b,t,j])",
        "h[b,t,j] = 1/(1 + exp(B[j] - W[j,I] h[b,t-1,I] - U[j,K] x[b,t,K]))",
        r"h[b,t,j] = \sigma(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])",
    ],
    ids=["plain", "renamed", "in two steps", "rewritten", "LaTeX"],
)


@RIGHT
def test_right_equations_pass_in_every_form(answer):
    result = check(answer)
    assert result.ok, result


@pytest.mark.parametrize(
    "answer",
    [RNN.replace("- B", "+ B"), RNN.replace("sigmoid", "tanh"), RNN.replace("W[j,I]", "W[I,j]"),
     RNN.replace(" - B[j]", ""), RNN.replace("h[b,t-1,I]", "h[b,t-2,I]")],
    ids=["+B", "tanh", "transposed", "no bias", "two steps back"],
)  # fmt: skip
def test_wrong_equations_fail(answer):
    result = check(answer)
    assert not result.ok
    assert result.kind not in ("empty", "type")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (None, "empty", "no answer"), ("  ", "empty", "no answer"), (3, "type", "as text"),
        ("h[b,t,j] = sigmoid(W[j,I h[b,t-1,I])", "notation", "never closed"),
        (RNN.replace("W[", "Q["), "extra", "`Q` is not a tensor of this question"),
        (RNN.replace("h[", "g["), "missing", "`h` is asked for"),
        (RNN.replace("W[j,I]", "U[j,I]"), "notation", ""),
    ],
)  # fmt: skip
def test_equations_that_cannot_be_run_get_a_sentence(answer, kind, words):
    result = check(answer)
    assert (result.ok, result.kind) == (False, kind)
    assert words in result.sentence


def test_unreadable_equation_shows_its_line_and_a_caret():
    result = check("a[b,t,j] = U[j,K] x[b,t,K]\nh[b,t,j] = sigmoid(a[b,t,j]")
    assert "Line 2" in result.sentence
    assert "^" in result.block
    assert "h[b,t,j] = sigmoid(a[b,t,j]" in result.block


def test_named_wrong_equations_get_their_sentence():
    plus = Mistake("bias", "The course subtracts its biases.", RNN.replace("- B", "+ B"))
    odd = Mistake("odd", "Never said.", "h[b,t,j] = Z[j]")
    result = check("h[b,t,a] = sigmoid(B[a] + U[a,K] x[b,t,K] + W[a,I] h[b,t-1,I])", mistakes=[odd, plus])
    assert (result.sentence, result.mistake) == (plus.sentence, "bias")


def test_several_outputs_are_parts():
    both = lambda W, U, B, x, h0: {"a": torch.einsum("jk,btk->btj", U, x), "s": x.sum(-1)}
    answer = "a[b,t,j] = U[j,K] x[b,t,K]\ns[b,t] = 2 x[b,t,K]"
    result = checks.equations(answer, oracle=both, given=CASES)
    assert result.part("a").ok
    assert result.part("s").kind == "factor"


@RIGHT
def test_right_equations_agree_with_the_reference(answer):
    assert checks.equations(answer, RNN).ok


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(RNN.replace("- B", "+ B"), "sign"), (RNN.replace("W[j,I]", "W[I,j]"), "transpose"),
     (RNN.replace("sigmoid", "tanh"), "activation"), (RNN.replace(" - B[j]", ""), "missing term"),
     ("h[b,t,j] = sigmoid(W[j,I h[b,t-1,I])", "notation"), (RNN.replace("h[", "g["), "missing tensor")],
)  # fmt: skip
def test_wrong_equations_hear_how_they_differ_from_the_reference(answer, kind):
    result = checks.equations(answer, RNN)
    assert (result.ok, result.kind) == (False, kind)


def test_named_mistake_comes_before_the_languages_own_diagnosis():
    plus = Mistake("bias", "The course subtracts its biases.", RNN.replace("- B", "+ B"))
    odd = Mistake("odd", "Never said.", "h[b,t,j] = Z[j]")
    result = checks.equations(RNN.replace("- B", "+ B"), RNN, mistakes=[odd, plus])
    assert (result.sentence, result.mistake) == (plus.sentence, "bias")
    assert checks.equations(RNN.replace("sigmoid", "tanh"), RNN, mistakes=[odd, plus]).mistake == ""


def test_named_mistake_that_makes_no_sense_is_known_by_its_words():
    undefined = "h[b,t,j] = G[b,t,j] q"
    mistake = Mistake("undefined", "`q` has no indices here.", undefined + " + W[j,")
    result = checks.equations(" h[b,t,j]  = G[b,t,j] q + W[j,", RNN, mistakes=[mistake], hint="Close it.")
    assert (result.mistake, result.hint) == ("undefined", "Close it.")


def test_check_without_anything_to_compare_with_is_the_authors_error():
    with pytest.raises(ValueError, match="oracle or a reference"):
        checks.equations(RNN)


def test_under_an_oracle_an_answer_takes_over_what_the_reference_pads():
    reference = "pad x\ny[t] = x[t-1] + x[t]"
    case = {"x": torch.arange(1.0, 6.0, dtype=torch.float64)}
    oracle = lambda x: torch.nn.functional.pad(x, (1, 0))[:-1] + x
    answer = "y[t] = x[t] + x[t-1]"
    assert checks.equations(answer, reference, oracle=oracle, given=case, outputs=["y"]).ok
    assert not checks.equations(answer, oracle=oracle, given=case, outputs=["y"]).ok


def test_a_mistake_that_cannot_run_on_the_sizes_is_named():
    case = {"x": torch.ones(3, dtype=torch.float64), "W": torch.ones(2, 3, dtype=torch.float64)}
    oracle = lambda x, W: W @ x
    turned = Mistake("turned", "You multiplied by W transposed.", "y[j] = W[I,j] x[I]")
    result = checks.equations(
        "y[j] = W[I,j] x[I]", oracle=oracle, given=case, outputs=["y"], mistakes=[turned]
    )
    assert (result.mistake, result.sentence) == ("turned", "You multiplied by W transposed.")
