"""The focus and near losses: their values by hand, their properties, their gradients at the corners."""

import math

import pytest
import torch
from pretend_device import pretend_device

from coursekit.models.guards import BadInput
from coursekit.models.losses import FOCUS, NEAR, focus, near, near_printed, next_word_loss
from coursekit.notation import Equations

D = torch.float64


def rows(*weights):
    """alpha (1,1,T,T) with every row the same."""
    row = torch.tensor(weights, dtype=D)
    return row.expand(1, 1, len(row), len(row)).clone()


def at_distance(T, d, layers=1):
    """One-hot rows that look d to the right (to the left where there is no such place)."""
    t = torch.arange(T)
    target = torch.where(t + d < T, t + d, (t - d).clamp(min=0))
    return torch.nn.functional.one_hot(target, T).to(D).expand(layers, 1, T, T)


@pytest.mark.parametrize("pad", [None, 0])
def test_the_loss_of_the_next_word_agrees_with_torch(pad):
    logits, w = torch.randn(3, 5, 7, dtype=D), torch.randint(7, (3, 5))
    w[0, 3:] = 0
    expected = torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), w[:, 1:].flatten(), ignore_index=-100 if pad is None else pad
    )
    torch.testing.assert_close(next_word_loss(logits, w, pad), expected, rtol=0, atol=1e-12)


def test_focus_of_one_hot_two_and_all_words():
    assert focus(rows(1, 0, 0, 0)) == 0
    assert focus(rows(0.5, 0, 0.5, 0)) == pytest.approx(math.log(2), abs=1e-15)
    assert focus(rows(0.25, 0.25, 0.25, 0.25)) == pytest.approx(math.log(4), abs=1e-15)


def test_focus_does_not_care_where_the_words_stand():
    alpha = torch.softmax(torch.randn(2, 3, 5, 5, dtype=D), -1)
    assert focus(alpha[..., torch.randperm(5)]) == pytest.approx(float(focus(alpha)), abs=1e-15)


def test_focus_has_a_finite_gradient_on_one_hot_rows():
    alpha = rows(1, 0, 0).requires_grad_()
    (gradient,) = torch.autograd.grad(focus(alpha), alpha)
    assert torch.isfinite(gradient).all()
    naive = -(alpha * alpha.log()).sum(-1).mean()
    assert torch.isnan(naive)


def test_focus_agrees_with_torch_s_entropy():
    alpha = torch.softmax(torch.randn(2, 3, 5, 5, dtype=D), -1)
    expected = torch.distributions.Categorical(probs=alpha).entropy().mean()
    torch.testing.assert_close(focus(alpha), expected, rtol=0, atol=1e-12)


def test_the_equations_give_the_same_numbers():
    alpha = torch.softmax(torch.randn(2, 3, 5, 5, dtype=D), -1)
    run = Equations(FOCUS).run({"alpha": alpha})
    torch.testing.assert_close(run["focus"], focus(alpha), rtol=0, atol=1e-12)
    t = torch.arange(5, dtype=D)
    distance = (t[:, None] - t) ** 2
    run = Equations(NEAR).run({"alpha": alpha, "distance": distance, "c": torch.tensor(4.0, dtype=D)})
    torch.testing.assert_close(run["near"], near(alpha, 4), rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", [near, lambda alpha: near_printed(alpha.expand(2, -1, -1, -1))])
def test_near_grows_with_distance_up_to_a_bound_that_no_length_moves(loss):
    values = [float(loss(at_distance(64, d))) for d in (0, 1, 2, 3, 9)]
    assert values == pytest.approx([0, 1, 4, 9, 9], abs=1e-12)
    far = lambda T: float(loss(at_distance(T, T // 2)))
    assert far(1024) == far(64) == 9


def test_one_far_edge_does_not_silence_the_near_ones():
    """99 % at distance 1 and 1 % at distance 1000: the printed form has no gradient left."""
    T = 1001
    row = torch.zeros(T, dtype=D)
    row[1], row[1000] = 0.99, 0.01
    alpha = at_distance(T, 0, layers=2).clone()
    alpha[:, 0, 0] = row
    alpha.requires_grad_()
    (printed,) = torch.autograd.grad(near_printed(alpha), alpha)
    (clipped,) = torch.autograd.grad(near(alpha), alpha)
    assert printed[:, 0, 0].norm() == 0
    assert clipped[:, 0, 0].norm() > 0
    assert (row * near_costs(T)).sum() == pytest.approx(1.08)


def near_costs(T):
    return (torch.arange(T, dtype=D) ** 2).clamp(max=9)


def test_the_printed_form_does_not_see_the_last_layer():
    alpha = torch.cat([at_distance(8, 1), at_distance(8, 1), at_distance(8, 4)])
    assert near_printed(alpha) == 1
    assert near(alpha) == pytest.approx((1 + 1 + 9) / 3)


def test_no_code_names_a_device():
    alpha = torch.softmax(torch.randn(2, 3, 5, 5), -1)
    expected = [f(alpha) for f in (focus, near, near_printed)]
    with pretend_device() as device:
        there = [f(device.place(alpha)) for f in (focus, near, near_printed)]
        assert device.holds(there)
        torch.testing.assert_close(device.fetch(there), expected)
    assert focus(alpha.to("meta")).shape == near(alpha.to("meta")).shape == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: focus(torch.ones(2, 3, 4)), "alpha has shape (2, 3, 4); it needs (..., T, T)"),
        (lambda: focus(torch.ones(2, 0, 0)), "alpha is empty"),
        (lambda: near(torch.full((1, 2, 2), math.nan)), "alpha of shape (1, 2, 2) holds nan"),
        (lambda: next_word_loss(torch.ones(2, 3, 4), torch.ones(2, 4).long()), "w has shape (2, 4)"),
        (lambda: next_word_loss(torch.ones(2, 3, 4), torch.full((2, 3), 4)), "holds 4"),
        (lambda: next_word_loss(torch.ones(2, 1, 4), torch.ones(2, 1).long()), "T >= 2"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
