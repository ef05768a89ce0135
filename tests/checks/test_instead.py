"""A slip in one variable is told as such: the answer is right for another value of it."""

import pytest
import torch

from coursekit import checks

torch.manual_seed(0)


def oracle(x, W, b, k):
    return torch.tanh(W @ x + b).cumsum(0)[k:]


CASES = [
    {"x": torch.randn(3).double(), "W": torch.randn(3, 3).double(), "b": torch.randn(3).double(), "k": 1},
    {"x": torch.randn(5).double(), "W": torch.randn(5, 5).double(), "b": torch.randn(5).double(), "k": 2},
]
SLIPS = {
    "`b` were zero": lambda x, W, b, k: oracle(x, W, 0 * b, k),
    "`b` had the opposite sign": lambda x, W, b, k: oracle(x, W, -b, k),
    "`x` were counted twice": lambda x, W, b, k: oracle(2 * x, W, b, k),
    "`W` were transposed": lambda x, W, b, k: oracle(x, W.T, b, k),
    "`x` were `b`": lambda x, W, b, k: oracle(b, W, b, k),
    "`x` were read from its end": lambda x, W, b, k: oracle(x.flip(0), W, b, k),
    "`x` were one place later": lambda x, W, b, k: oracle(x.roll(1), W, b, k),
    "only the first of `x` counted": lambda x, W, b, k: oracle(x * torch.eye(len(x))[0], W, b, k),
    "`b` were positive everywhere": lambda x, W, b, k: oracle(x, W, b.abs(), k),
}


@pytest.mark.parametrize("words", SLIPS)
def test_a_slip_in_one_variable_is_named(words):
    result = checks.function(SLIPS[words], oracle, CASES).looked()
    assert result.sentence == f"What your function returns is what it would be if {words}."
    assert result.own == result.sentence, "it speaks of the student's own answer alone"


def test_what_no_change_explains_is_not_explained():
    result = checks.function(lambda x, W, b, k: oracle(x, W, b, k) ** 2, oracle, CASES).looked()
    assert result.sentence == "What your function returns is not right."


def test_a_slip_that_shows_in_one_case_only_is_not_named():
    twice = lambda x, W, b, k: oracle(x, W, -b if k == 1 else b + 1, k)
    assert "opposite" not in checks.function(twice, oracle, CASES).looked().sentence


def test_words_of_a_sentence_may_be_shifted_or_left_out():
    def total(words, table):
        return sum((n + 1) * table[w] for n, w in enumerate(words))

    cases = [
        {"words": [0, 2, 1], "table": torch.rand(4, 3)},
        {"words": [3, 1, 1, 0], "table": torch.rand(4, 2)},
    ]
    backwards = checks.function(lambda words, table: total(words[::-1], table), total, cases)
    assert backwards.looked().sentence.endswith("if `words` were read from its end.")
    short = checks.function(lambda words, table: total(words[:-1], table), total, cases)
    assert short.looked().sentence.endswith("if the last of `words` were left out.")


def test_a_gradient_and_an_equation_hear_it_too():
    def loss(z, k):
        return torch.logsumexp(z, 0) - z[k]

    def before(z, k):
        return torch.softmax(z, 0) - torch.eye(len(z))[k - 1]

    cases = [{"z": torch.randn(5).double(), "k": 2}, {"z": torch.randn(4).double(), "k": 3}]
    told = checks.gradients(before, loss, cases, ["z"]).looked()
    assert told.sentence == "The gradient of `z` is what it would be if `k` were one smaller."

    given = {"x": torch.randn(4, 3).double(), "c": torch.randn(3).double()}
    doubled = checks.equations(
        "y[b,k] = exp(x[b,k]) + 2 c[k]", oracle=lambda x, c: x.exp() + c, given=given, outputs=["y"]
    )
    assert doubled.looked().sentence == "`y` is what it would be if `c` were counted twice."


def test_a_variable_that_is_not_needed_is_not_missed():
    given = {"x": torch.randn(3).double(), "idle": torch.randn(3).double(), "c": torch.randn(3).double()}
    told = checks.equations(
        "y[k] = exp(exp(x[k])) \n z[k] = x[k]",
        oracle=lambda x, idle, c: {"y": x.exp() * c.cosh(), "z": x},
        given=given,
    ).looked()
    assert told.sentence == "`y` is not right, and `c` is never read."
    assert "`c`" not in told.own
