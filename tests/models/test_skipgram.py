"""Oracles: autograd, and the expectation over all subsets of a small vocabulary."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from closeness import close
from pretend_device import pretend_device
from torch.utils.flop_counter import FlopCounterMode

from coursekit.models import skipgram
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

h, d, i, j = 4, 7, 2, 5


@pytest.fixture
def words():
    torch.manual_seed(10)
    return torch.randn(h, d, dtype=torch.float64), torch.randn(h, d, dtype=torch.float64)


def subsets(size):
    return [torch.tensor(s) for s in itertools.combinations(range(d), size)]


def test_gradients_match_autograd(words):
    U, V = (m.clone().requires_grad_() for m in words)
    loss = skipgram.loss(U, V, i, j)
    close(loss, F.cross_entropy((U.T @ V[:, i])[None], torch.tensor([j])))
    loss.backward()
    dv, dU = skipgram.gradients(*words, i, j)
    close(dv, V.grad[:, i])
    close(dU, U.grad)
    close(dU.sum(1), torch.zeros(h, dtype=torch.float64))  # softmax ignores a common shift
    assert bool((dU != 0).all())


def test_the_printed_solution_is_another_gradient(words):
    U, V = words
    v, yh = V[:, i], skipgram.predictions(U, V[:, i])
    _, dU = skipgram.gradients(U, V, i, j)
    k = 0
    for printed in (v, V @ yh):  # both of its lines for a word that is not j
        assert (printed - dU[:, k]).norm() / dU[:, k].norm() > 0.1
    assert (V @ yh - v - dU[:, j]).norm() / dU[:, j].norm() > 0.1


def test_the_equations_and_the_code_give_the_same_numbers(words):
    U, V = words
    y = F.one_hot(torch.tensor(j), d).double()
    result = Equations(skipgram.SKIPGRAM).run({"U": U, "v": V[:, i], "y": y})
    dv, dU = skipgram.gradients(U, V, i, j)
    close(skipgram.predictions(U, V[:, i]), result["yhat"])
    close(dv, result["dv"])
    close(dU, result["dU"])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("estimator", [skipgram.sampled_grad, skipgram.sampled_grad_keeping_positive])
def test_with_exact_predictions_the_estimators_are_unbiased(words, estimator, size):
    U, V = words
    v = V[:, i]
    y_hat = skipgram.predictions(U, v)
    mean = torch.stack([estimator(U, v, j, S, y_hat) for S in subsets(size)]).mean(0)
    close(mean, skipgram.gradients(U, V, i, j)[0])


def test_an_estimated_normaliser_makes_a_bias_that_shrinks_to_nothing(words):
    U, V = words
    v = V[:, i]
    exact, bias = skipgram.gradients(U, V, i, j)[0], []
    for size in (1, 2, 3, 6, 7):
        estimates = [
            skipgram.sampled_grad(U, v, j, S, skipgram.estimated_predictions(U, v, S)) for S in subsets(size)
        ]
        bias.append(float((torch.stack(estimates).mean(0) - exact).norm() / exact.norm()))
    assert bias == sorted(bias, reverse=True)
    assert bias[0] > 0.05
    assert bias[-1] < 1e-12


def test_wrong_scales_are_biased(words):
    U, V = words
    v, size = V[:, i], 3
    y_hat = skipgram.predictions(U, v)
    mean = torch.stack([skipgram.sampled_grad(U, v, j, S, y_hat) for S in subsets(size)]).mean(0)
    for factor in (1 / d, size, (size / d) ** 2, size / d):  # no d; no 1/|S|; |S|/d for d/|S|; plain sum
        assert (factor * mean - mean).norm() / mean.norm() > 0.5


def test_keeping_the_positive_word_lowers_the_variance():
    """The relative error is that of the variance, computed exactly, of a mean of |S| words out of d."""
    torch.manual_seed(11)
    d, h, size = 2000, 30, 50
    U, v = torch.randn(h, d, dtype=torch.float64) / h**0.5, torch.randn(h, dtype=torch.float64)
    y_hat = skipgram.predictions(U, v)
    j = int(y_hat.argsort()[d // 2])
    error = y_hat - F.one_hot(torch.tensor(j), d)
    exact = U @ error

    def relative_rmse(terms):  # the terms that are averaged, one a word: (h, d)
        variance = terms.var(1, correction=1).sum() / size * (1 - size / d)
        return float(variance.sqrt() / exact.norm())

    plain, kept = relative_rmse(d * U * error), relative_rmse(d * U * y_hat)
    draws = [torch.randperm(d)[:size] for _ in range(400)]
    for estimator, predicted in (
        (skipgram.sampled_grad_keeping_positive, kept),
        (skipgram.sampled_grad, plain),
    ):
        estimates = torch.stack([estimator(U, v, j, S, y_hat) for S in draws])
        measured = float((estimates - exact).square().sum(1).mean().sqrt() / exact.norm())
        assert measured == pytest.approx(predicted, rel=0.6)
    assert kept < plain / 5


@pytest.mark.parametrize("m", [1, 5])
def test_negative_sampling_is_its_formula(words, m):
    U, V = words
    given = [U[:, j], V[:, i], U[:, :m]]
    u, v, negatives = given
    p = lambda z: 1 / (1 + torch.exp(-z))
    close(skipgram.negative_sampling(*given), -p(u @ v).log() - sum(p(-n @ v).log() for n in negatives.T))


def test_full_softmax_costs_3dh():
    d, h = 1000, 64
    U, v = torch.randn(h, d), torch.randn(h)
    with FlopCounterMode(display=False) as counter:
        error = torch.softmax(v[None] @ U, -1)
        error @ U.T
        v[:, None] @ error
    assert counter.get_total_flops() == 2 * 3 * d * h


def test_it_keeps_to_the_device_of_its_inputs(words):
    dv, dU = skipgram.gradients(*words, i, j)
    with pretend_device() as device:
        U, V = device.place(words)
        got = skipgram.gradients(U, V, i, j)
        assert device.holds(got)
        close(device.fetch(got[0]), dv)
        close(device.fetch(got[1]), dU)
        S = device.place(torch.tensor([1, 3]))
        v = V[:, i]
        estimated = skipgram.estimated_predictions(U, v, S)
        assert device.holds(estimated)
        assert device.holds(skipgram.sampled_grad(U, v, j, S, estimated))
        assert device.holds(skipgram.sampled_grad_keeping_positive(U, v, j, S, estimated))
        assert device.holds(skipgram.negative_sampling(U[:, j], v, U[:, :3]))
        assert device.holds(skipgram.loss(U, V, i, j))
    meta = torch.empty(h, d, device="meta")
    assert skipgram.gradients(meta, meta, i, j)[1].shape == (h, d)


def test_bad_input_is_named(words):
    U, V = words
    v, y_hat = V[:, i], skipgram.predictions(U, V[:, i])
    for call, message in [
        (lambda: skipgram.loss(U, V.T, i, j), r"V has shape \(7, 4\); it needs \(h, d\) with h=4, d=7"),
        (lambda: skipgram.loss(U, V, d, j), "i of shape .* holds 7"),
        (lambda: skipgram.gradients(U, V, i, -1), "j of shape .* holds -1"),
        (lambda: skipgram.gradients(U, V / 0, i, j), "V of shape .* finite"),
        (lambda: skipgram.sampled_grad(U, v, j, torch.tensor([], dtype=torch.long), y_hat), "S is empty"),
        (lambda: skipgram.sampled_grad(U, v, j, torch.tensor([1, 1]), y_hat), "holds a word twice"),
        (lambda: skipgram.sampled_grad(U, v, j, torch.tensor([d]), y_hat), "S of shape .* holds 7"),
        (lambda: skipgram.sampled_grad(U, v, j, torch.tensor([1]), y_hat[:3]), r"y_hat has shape \(3,\)"),
        (lambda: skipgram.negative_sampling(v, v[:2], U), r"u_j has shape \(4,\)"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()
