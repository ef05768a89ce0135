"""A student's function against a torch oracle; named mistakes as whole answer cells; other devices."""

import pytest
import torch
from pretend_device import pretend_device
from torch import nn

from coursekit import checks
from coursekit.checks import CheckFailed, Mistake, planted


def case(b, J, K, seed):
    g = torch.Generator().manual_seed(seed)
    r = lambda *shape: torch.randn(*shape, generator=g, dtype=torch.float64)
    return {"h": r(b, J), "x": r(b, K), "W": r(J, J), "U": r(J, K), "B": r(J)}


CASES = [case(2, 5, 3, 0), case(3, 4, 6, 1)]


def oracle(h, x, W, U, B):
    """torch's own cell, with its two biases."""
    cell = nn.RNNCell(x.shape[1], h.shape[1], device=h.device, dtype=h.dtype)
    zero = torch.zeros_like(B)
    return torch.func.functional_call(
        cell, {"weight_ih": U, "weight_hh": W, "bias_ih": -B, "bias_hh": zero}, (x, h)
    )


def cell(h, x, W, U, B):
    return torch.tanh(h @ W.T + x @ U.T - B)


def test_right_function_passes_in_every_form():
    for form in (lambda y: y, lambda y: y.numpy(), lambda y: y.tolist(), lambda y: y.float()):
        assert checks.function(lambda *a, form=form: form(cell(*a)), oracle, CASES).ok


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda h, x, W, U, B: torch.tanh(h @ W + x @ U.T - B), "other"),
        (lambda h, x, W, U, B: -cell(h, x, W, U, B), "sign"),
        (lambda h, x, W, U, B: 2 * cell(h, x, W, U, B), "factor"),
        (lambda h, x, W, U, B: cell(h, x, W, U, B).T, "shape"),
        (lambda h, x, W, U, B: cell(h, x, W, U, B)[0], "shape"),
        (lambda h, x, W, U, B: cell(h, x, W, U, B) / 0, "nan"),
        (lambda h, x, W, U, B: {"h": 3}, "missing"),
        (lambda h, x, W, U, B: x @ W, "error"),
        (lambda h, x: h, "error"),
        (None, "empty"),
    ],
)
def test_wrong_function_gets_its_kind(answer, kind):
    result = checks.function(answer, oracle, CASES)
    assert (result.ok, result.kind) == (False, kind)


def test_every_returned_value_is_a_part():
    both = lambda h, x, W, U, B: (h.sum(1), x.sum(1))
    result = checks.function(lambda h, x, W, U, B: (h.sum(1), -x.sum(1)), both, CASES, returns=["s", "u"])
    assert result.part("s").ok
    assert result.part("u").kind == "sign"
    short = checks.function(lambda *a: (1, 2, 3), both, CASES, returns=["s", "u"])
    assert short.kind == "type"
    assert "`s` and `u`" in short.sentence


def test_whole_numbers_and_truth_are_compared_too():
    mask = lambda x: (x > 0).long()
    assert checks.function(lambda x: mask(x), mask, {"x": torch.tensor([1.0, -1.0])}).ok
    assert not checks.function(lambda x: 1 - mask(x), mask, {"x": torch.tensor([1.0, -1.0])}).ok


def test_oracle_that_returns_too_little_is_the_authors_error():
    with pytest.raises(ValueError, match="oracle"):
        checks.function(cell, lambda *a: {"h": 1}, CASES, returns=["h", "c"])


def test_mistake_written_as_an_answer_cell_gets_its_sentence():
    text = "def cell(h, x, W, U, B):\n    return torch.tanh(h @ W.T + x @ U.T + B)\n"
    ran = {"torch": torch}
    mistakes = planted("cell", [("bias", "The course subtracts its biases.", text)], ran)
    result = checks.function(
        lambda h, x, W, U, B: torch.tanh(h @ W.T + x @ U.T + B), oracle, CASES, mistakes=mistakes
    )
    assert (result.sentence, result.mistake) == ("The course subtracts its biases.", "bias")
    assert "cell" not in ran, "what the cell defines stays apart"
    assert checks.function(cell, oracle, CASES, mistakes=mistakes).ok


def test_points_carry_their_sentence():
    both = lambda h, x, W, U, B: (h.sum(1), x.sum(1))
    half = checks.function(lambda h, x, W, U, B: (h.sum(1), -x.sum(1)), both, CASES, returns=["s", "u"])
    earned = half.score(4)
    assert earned == 2
    assert float(repr(earned)) == 2
    assert (earned.sentence, earned.kind) == (half.sentence, "sign")
    with pytest.raises(CheckFailed) as caught:
        checks.function(None, oracle, CASES).score(4)
    assert (caught.value.kind, caught.value.sentence) == ("empty", str(caught.value))


# ── other devices ────────────────────────────────────────────────────────────────────────────


def placed(device, cases):
    return [{k: device.place(v) if isinstance(v, torch.Tensor) else v for k, v in c.items()} for c in cases]


def linear(h, x, W, U, B):
    return torch.nn.functional.linear(h, W, -B) + torch.nn.functional.linear(x, U)


def test_function_check_keeps_to_the_device_of_its_cases():
    with pretend_device() as device:
        cases = placed(device, CASES)
        assert checks.function(lambda h, x, W, U, B: h @ W.T + x @ U.T - B, linear, cases).ok
        assert checks.function(lambda h, x, W, U, B: h @ W.T + x @ U.T + B, linear, cases).kind == "other"
        forgetful = lambda h, x, W, U, B: h @ W.T + x @ U.T - B + torch.zeros(B.shape)
        assert checks.function(forgetful, linear, cases).kind == "error"


def test_gradient_check_keeps_to_the_device_of_its_cases(rnn):
    with pretend_device() as device:
        cases = placed(device, rnn.cases)
        result = checks.gradients(rnn.student(), rnn.loss, cases, rnn.wrt)
        assert result.ok, result
        spoilt = rnn.student(lambda g, v: g.update(H=torch.outer(v.h_prev, v.gh)))
        assert checks.gradients(spoilt, rnn.loss, cases, rnn.wrt).part("H").kind == "sigma-prime"
        mistake = Mistake("sigma", "You dropped h(1-h).", spoilt)
        assert checks.gradients(spoilt, rnn.loss, cases, rnn.wrt, mistakes=[mistake]).mistake == "sigma"


def _in_place(h, x, W, U, B):
    right = cell(h, x, W, U, B)
    W.zero_()
    return right


def _longer(words):
    words.append("end")
    return float(len(words))


def test_a_function_that_changes_what_it_is_given_is_told_so_and_loses_its_points():
    result = checks.function(_in_place, oracle, CASES)
    assert (result.ok, result.kind) == (False, "changed")
    assert result.sentence.startswith("`_in_place` changes its argument number 3 in place")
    assert checks.gradients(
        lambda w: w.mul_(2), lambda w: (w * w).sum(), {"w": torch.ones(3)}, ["w"]
    ).kind == "changed"  # fmt: skip
    long = checks.Property("long", "No.", lambda f: f(words=["a", "b"]) == 3)
    assert "argument `words`" in checks.properties(_longer, [long]).sentence
    kept = lambda h, x, W, U, B: cell(h, x.clone().add_(0), W, U, B)
    assert checks.function(kept, oracle, CASES).ok, "its own copy may change"
    assert checks.function(lambda x: x * 1, lambda x: x, {"x": torch.tensor([torch.nan, 1])}).kind == "nan"


def test_an_infinite_entry_is_asked_for_and_hides_none_of_the_others():
    """Measured against an infinite scale every answer was close, and the right one was refused."""

    def masked(scores):
        return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)

    cases = [{"scores": torch.randn(n, n, dtype=torch.float64)} for n in (3, 4)]
    assert checks.function(lambda scores: masked(scores), masked, cases).ok
    for wrong in (lambda scores: scores, lambda scores: masked(scores) + 1, lambda scores: -masked(-scores)):
        with pytest.raises(CheckFailed):
            checks.function(wrong, masked, cases).require()


def test_a_list_that_is_changed_in_place_is_told():
    def backwards(xs):
        xs.reverse()
        return torch.tensor(xs, dtype=torch.float64)

    result = checks.function(backwards, lambda xs: torch.tensor(xs[::-1]), {"xs": [3, 1, 2]})
    assert result.kind == "changed"
    assert "argument number 1 in place" in result.sentence


@pytest.mark.parametrize(
    ("bent", "words"),
    [
        (lambda p: p.log(), "holds logarithms"),
        (lambda p: p.log() + 3.0, "holds scores"),
        (lambda p: (p.log() + 9) / (p.log() + 9).sum(-1, keepdim=True), "shares out the scores themselves"),
        (
            lambda p: torch.where(p == p.amax(-1, keepdim=True), p, 0),
            "is zero at places where it must not be",
        ),
        (lambda p: p if len(p) == 2 else p * torch.arange(1, 6), "right in some of the cases"),
    ],
)
def test_what_stands_where_a_distribution_belongs(bent, words):
    rows = [torch.rand(T, 5, dtype=torch.float64) for T in (2, 3)]
    right = lambda z: torch.softmax(z, -1)
    result = checks.function(lambda z: bent(right(z)), right, [{"z": z} for z in rows])
    assert words in result.looked().sentence, result.looked().sentence


def test_a_scale_too_many_is_the_root_of_a_size():
    right = lambda q: 2 * q
    cases = [{"q": torch.rand(3, I, dtype=torch.float64)} for I in (4, 5)]
    result = checks.function(lambda q: right(q) / q.shape[1] ** 0.5, right, cases)
    assert "divided by the root of 4, the size of axis 1 of `q`" in result.sentence


def test_shares_that_do_not_add_up_to_one_are_told_so():
    oracle = lambda x: torch.softmax(x, 1)
    given = {"x": torch.randn(3, 4, generator=torch.Generator().manual_seed(0))}
    result = checks.function(lambda x: torch.sigmoid(x) ** 3, oracle, given)
    assert result.sentence.endswith("does not share out one: its sums over axis 1 must be 1.")
