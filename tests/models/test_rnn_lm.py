import pytest
import torch
import torch.nn.functional as F
from closeness import close
from pretend_device import pretend_device

from coursekit.models import rnn_lm
from coursekit.models.guards import BadInput
from coursekit.models.rnn_lm import Params
from coursekit.notation import Equations

V, d, D, B, T = 11, 4, 5, 3, 6


@pytest.fixture
def case():
    g = torch.Generator().manual_seed(1)
    params = Params.random(V, d, D, generator=g, dtype=torch.float64)
    x, y = torch.randint(V, (2, B, T), generator=g)
    return x, y, params, torch.randn(B, D, generator=g, dtype=torch.float64)


def test_one_step_is_the_source_written_with_one_hot_rows(case):
    x, y, (L, H, I, b1, U, b2), h0 = case
    one_hot, k = F.one_hot(x[0, 0], V).double(), int(y[0, 0])
    e = one_hot @ L
    h = 1 / (1 + torch.exp(-(h0[0] @ H + e @ I + b1)))
    scores = torch.exp(h @ U + b2)
    step = rnn_lm.forward(int(x[0, 0]), h0[0], L, H, I, b1, U, b2, k)
    close(step.e, e)
    close(step.h, h)
    close(step.y_hat, scores / scores.sum())
    close(step.J, -torch.log(scores[k] / scores.sum()))


def test_the_equations_and_the_module_give_the_same_numbers(case):
    x, y, params, h0 = case
    result = Equations(rnn_lm.EQUATIONS).run({**params._asdict(), "x": x, "y": y}, boundary={"h": h0})
    run = rnn_lm.run(x, params, h0)
    close(run.e, result["e"])
    close(run.h, result["h"])
    close(run.y_hat, result["yhat"])
    close(rnn_lm.losses(x, y, params, h0), result["loss"])


def test_a_run_is_its_steps_and_agrees_with_torch(case):
    x, y, params, h0 = case
    result, loss = rnn_lm.run(x, params, h0), rnn_lm.losses(x, y, params, h0)
    for b in range(B):
        h = h0[b]
        for t in range(T):
            step = rnn_lm.forward(x[b, t], h, *params, y[b, t])
            h = step.h
            close(result.e[b, t], step.e)
            close(result.h[b, t], h)
            close(result.y_hat[b, t], step.y_hat)
            close(loss[b, t], step.J)
    assert loss.shape == (B, T)


def test_bad_input_is_named(case):
    x, y, params, h0 = case
    for change, message in [
        (lambda: rnn_lm.run(x + V, params, h0), "x of shape .* needs ids from 0 to 10"),
        (lambda: rnn_lm.run(x[:, :0], params, h0), r"x is empty: its shape is \(3, 0\)"),
        (lambda: rnn_lm.run(x[:0], params, h0), r"x is empty: its shape is \(0, 6\)"),
        (lambda: rnn_lm.run(x, params, h0[:2]), r"h0 has shape \(2, 5\); it needs \(B, D\) with B=3, D=5"),
        (lambda: rnn_lm.run(x, params._replace(I=params.I.T), h0), r"I has shape \(5, 4\)"),
        (lambda: rnn_lm.run(x, params._replace(H=params.H / 0), h0), "H of shape .* finite"),
        (lambda: rnn_lm.losses(x, y[:, 1:], params, h0), r"y has shape \(3, 5\)"),
        (lambda: rnn_lm.forward(V, h0[0], *params, 0), "holds 11"),
        (lambda: rnn_lm.forward(0, h0[0], *params, -1), "target .* holds -1"),
        (lambda: rnn_lm.forward(0, h0, *params, 1), r"h_prev has shape \(3, 5\); it needs \(D,\)"),
    ]:
        with pytest.raises(BadInput, match=message):
            change()


def test_it_keeps_to_the_device_of_its_inputs(case):
    expected = rnn_lm.losses(*case)
    with pretend_device() as device:
        x, y, params, h0 = device.place(case)
        result = rnn_lm.losses(x, y, params, h0)
        assert device.holds(result)
        assert device.holds(rnn_lm.forward(3, h0[0], *params, 4))
        close(device.fetch(result), expected)


def test_it_runs_on_meta():
    params = Params.random(V, d, D, device="meta")
    x = torch.zeros(B, T, dtype=torch.long, device="meta")
    assert rnn_lm.losses(x, x, params, torch.zeros(B, D, device="meta")).shape == (B, T)
