"""Oracles: autograd with a copy of every parameter for each time step, central differences, and a
counter of floating-point operations. The wrong forms come from what students write."""

import pytest
import torch
import torch.nn.functional as F
from closeness import close
from pretend_device import pretend_device
from torch.utils.flop_counter import FlopCounterMode

from coursekit.models import bptt as by_hand
from coursekit.models import rnn_lm
from coursekit.models.guards import BadInput
from coursekit.models.rnn_lm import Params

V, d, D, T = 11, 4, 5, 4


def make(repeated: bool, batch: int | None = None, seed: int = 0):
    g = torch.Generator().manual_seed(seed)
    params = Params.random(V, d, D, generator=g, dtype=torch.float64)
    x = torch.tensor([3, 7, 2, 2] if repeated else [3, 7, 9, 2])
    y = torch.tensor([7, 1, 2, 5])
    shape = () if batch is None else (batch,)
    if batch is not None:
        x, y = torch.randint(V, (2, batch, T), generator=g)
    return x, y, params, torch.randn(*shape, D, generator=g, dtype=torch.float64)


def appearances(x, y, params, h0):
    """J(T) and, for every step, a copy of the parameters that only this step uses."""
    copies = [Params(*(p.clone().requires_grad_() for p in params)) for _ in range(T)]
    h = h0
    for t, (L, H, I, b1, U, b2) in enumerate(copies):
        h = torch.sigmoid(h @ H + L[x[t]] @ I + b1)
        loss = F.cross_entropy(h @ U + b2, y[t])
    loss.backward()
    return copies


def states(x, params, h0):
    h = [h0]
    for t in range(T):
        h.append(torch.sigmoid(h[-1] @ params.H + params.L[x[t]] @ params.I + params.b1))
    return h  # h[t] is the state after t steps


def far(a, b):
    """A wrong form must miss by far more than the tolerance, or have another shape."""
    return a.shape != b.shape or float((a - b).norm() / b.norm()) > 1e-3


both = pytest.mark.parametrize("repeated", [False, True])


@both
@pytest.mark.parametrize("tau", [1, 2, 3, 4, 9, None])
def test_bptt_of_one_loss_is_the_sum_of_its_last_tau_appearances(repeated, tau):
    x, y, params, h0 = make(repeated)
    copies = appearances(x, y, params, h0)
    got = by_hand.bptt(x, y[-1], params, h0, tau)
    for name in Params._fields:
        terms = [getattr(c, name).grad for c in copies[-(tau or T) :]]
        close(getattr(got, name), sum(t for t in terms if t is not None))


@pytest.mark.parametrize("tau", [1, 2, 3, 4, None])
def test_bptt_of_all_losses_is_the_sum_of_the_bptts_of_each(tau):
    x, y, params, h0 = make(False, batch=3)
    got = by_hand.bptt(x, y, params, h0, tau)
    parts = [
        by_hand.bptt(x[b, :t], y[b, t - 1], params, h0[b], tau) for b in range(3) for t in range(1, T + 1)
    ]
    for name in Params._fields:
        close(getattr(got, name), sum(getattr(p, name) for p in parts))


@pytest.mark.parametrize("one_loss", [False, True])
def test_bptt_matches_autograd(one_loss):
    x, y, params, h0 = make(False, batch=3)
    learned = Params(*(p.clone().requires_grad_() for p in params))
    loss = rnn_lm.losses(x, y, learned, h0)
    (loss[:, -1] if one_loss else loss).sum().backward()
    got = by_hand.bptt(x, y[:, -1] if one_loss else y, params, h0)
    for name in Params._fields:
        close(getattr(got, name), getattr(learned, name).grad)


def test_bptt_matches_central_differences():
    x, y, params, h0 = make(True)
    got = by_hand.bptt(x, y[-1], params, h0)

    def J(changed):
        return rnn_lm.losses(x[None], y[None], changed, h0[None])[0, -1]

    step = 1e-5
    for name, p in params._asdict().items():
        numeric = torch.empty_like(p)
        for i in range(p.numel()):
            nudge = torch.zeros_like(p).flatten()
            nudge[i] = step
            up, down = (params._replace(**{name: p + s * nudge.view_as(p)}) for s in (1, -1))
            numeric.view(-1)[i] = (J(up) - J(down)) / (2 * step)
        close(getattr(got, name), numeric, 1e-8)


@both
def test_wrong_forms_differ(repeated):
    x, y, params, h0 = make(repeated)
    L, H, _, _, U, b2 = params
    h = states(x, params, h0)
    e, h_t, h_m1, h_m2 = L[x[-1]], h[-1], h[-2], h[-3]
    copies = appearances(x, y, params, h0)
    right, back = ({n: p.grad for n, p in c._asdict().items()} for c in copies[-1:-3:-1])
    yh = torch.softmax(h_t @ U + b2, -1)
    d1 = yh - F.one_hot(y[-1], V)
    gh, sp = d1 @ U.T, h_t * (1 - h_t)
    delta = gh * sp @ H.T
    full = by_hand.bptt(x, y[-1], params, h0)
    assert far(torch.outer(h_m1, gh), right["H"])  # sigma prime missing
    assert far(torch.outer(h_t, gh * sp), right["H"])  # h(t) for h(t-1)
    assert far(torch.outer(e, -gh * sp), right["I"])  # sign
    assert far(torch.outer(h_t, yh), right["U"])  # y forgotten
    assert far(full.L[x[-1]], right["L"][x[-1]]) == repeated  # seen if the word repeats
    assert far(torch.outer(h_m2, gh * sp @ H * h_m1 * (1 - h_m1)), back["H"])  # H for its transpose
    assert far(torch.outer(h_m2, delta), back["H"])  # delta taken for a pre-activation error
    assert far(torch.outer(h_m1, delta * h_m1 * (1 - h_m1)), back["H"])  # h(t-1) for h(t-2)
    assert far(by_hand.bptt(x, y[-1], params, h0, tau=T - 1).b1, full.b1)  # stops at s=2
    assert far(by_hand.bptt(x, y, params, h0).H, full.H)  # all losses for one
    assert far(full.I / T, full.I)  # mean over time


SIZES = [(11, 4, 5), (30, 7, 6)]


@pytest.mark.parametrize(("V", "d", "D"), SIZES)
@pytest.mark.parametrize("tau", [1, 3, 5])
def test_counts_are_what_the_code_multiplies(V, d, D, tau):
    params = Params.random(V, d, D)
    x, h0 = torch.randint(V, (1, tau)), torch.randn(1, D)
    for losses, targets in (("one", x[:, -1]), ("each", x)):
        with FlopCounterMode(display=False) as forward:
            rnn_lm.run(x[:, :], params, h0)
        with FlopCounterMode(display=False) as total:
            by_hand.bptt(x, targets, params, h0)
        backward = (total.get_total_flops() - forward.get_total_flops()) // 2
        paid = (
            tau if losses == "each" else 1
        )  # the two readings of the question: U is met once, or at each step
        assert backward == paid * 2 * V * D + tau * (2 * D * D + 2 * d * D) - D * D
    assert forward.get_total_flops() == 2 * tau * (V * D + D * D + d * D)


@pytest.mark.parametrize("h_prev_learned", [False, True])
def test_counts_of_one_step_are_those_of_autograd(h_prev_learned):
    V, d, D = 2000, 50, 100
    L, H, I, b1, U, b2 = (p.requires_grad_() for p in Params.random(V, d, D))
    h = torch.randn(1, D, requires_grad=h_prev_learned)
    with FlopCounterMode(display=False) as counter:
        loss = F.cross_entropy(torch.sigmoid(h @ H + L[[7]] @ I + b1) @ U + b2, torch.tensor([3]))
    assert counter.get_total_flops() == 2 * (V * D + D * D + d * D) == 430_000
    with FlopCounterMode(display=False) as counter:
        loss.backward()
    expected = 860_000 if h_prev_learned else 840_000
    assert counter.get_total_flops() == expected


def test_bad_input_is_named():
    x, y, params, h0 = make(False, batch=3)
    for call, message in [
        (lambda: by_hand.bptt(x, y, params, h0, 0), "tau is 0; it needs to be at least 1"),
        (lambda: by_hand.bptt(x, y + V, params, h0), "targets of shape .* needs ids from 0 to 10"),
        (lambda: by_hand.bptt(x, y[:2], params, h0), r"targets has shape \(2, 4\); it needs \(B, T\)"),
        (lambda: by_hand.bptt(x, y[:2, 0], params, h0), r"targets has shape \(2,\); it needs \(B,\)"),
        (lambda: by_hand.bptt(x, y, params, h0[0]), r"h0 has shape \(5,\)"),
        (lambda: by_hand.bptt(x[:, :0], y[:, :0], params, h0), "x is empty"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()


@pytest.mark.parametrize("tau", [None, 2])
def test_it_keeps_to_the_device_of_its_inputs(tau):
    x, y, params, h0 = make(False, batch=3)
    expected = by_hand.bptt(x, y, params, h0, tau)
    with pretend_device() as device:
        x, y, params, h0 = device.place((x, y, params, h0))
        got = by_hand.bptt(x, y, params, h0, tau)
        assert device.holds(got)
        for name in Params._fields:
            close(device.fetch(getattr(got, name)), getattr(expected, name))
    meta = Params.random(V, d, D, device="meta")
    words = torch.zeros(3, T, dtype=torch.long, device="meta")
    assert by_hand.bptt(words, words, meta, torch.zeros(3, D, device="meta"), tau).U.shape == (D, V)
