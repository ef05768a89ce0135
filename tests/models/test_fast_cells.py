"""The fast path against the plain loop (values, gradients) and against finite differences."""

import pytest
import torch
from closeness import close
from torch.utils.flop_counter import FlopCounterMode

from coursekit.models.cells import GRU, LSTM, UGRNN, Vanilla

B, T, K, J = 2, 4, 3, 5
FAST = {
    "sigmoid": lambda **o: Vanilla(K, J, "sigmoid", **o),
    "tanh": lambda **o: Vanilla(K, J, "tanh", **o),
    "UGRNN": lambda **o: UGRNN(K, J, **o),
    "GRU": lambda **o: GRU(K, J, **o),
    "LSTM": lambda **o: LSTM(K, J, **o),
}
every_cell = pytest.mark.parametrize("name", FAST)


def make(name, T=T, fast=True):
    torch.manual_seed(2)
    cell = FAST[name](dtype=torch.float64, fast=fast)
    for p in cell.parameters():
        p.data.normal_()
    new = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    return cell, new(B, T, K), [new(B, J) for _ in range(2 if name == "LSTM" else 1)]


def run(cell, x, parts):
    h, last = cell(x, tuple(parts) if len(parts) == 2 else parts[0])
    return h, *(last if isinstance(last, tuple) else (last,))


@every_cell
@pytest.mark.parametrize("T", [1, 2, 7])
@pytest.mark.parametrize("used", ["all", "h", "last"])
def test_the_fast_path_is_the_plain_loop(name, T, used):
    cell, x, parts = make(name, T)
    values, gradients = [], []
    for fast in (True, False):
        cell.fast = fast
        outputs = run(cell, x, parts)
        used_outputs = {"all": outputs, "h": outputs[:1], "last": outputs[-1:]}[used]
        torch.manual_seed(3)  # the same weights of the sum for both
        loss = sum((torch.randn(o.shape, dtype=o.dtype) * o).sum() for o in used_outputs)
        wanted = [x, *parts, *cell.parameters()]
        gradients.append(torch.autograd.grad(loss, wanted, materialize_grads=True))
        values.append(outputs)
    for a, b in zip(*values, strict=True):
        close(a, b)
    for a, b in zip(*gradients, strict=True):
        close(a, b)


@every_cell
def test_the_hand_derived_backward_passes_gradcheck(name):
    cell, x, parts = make(name)
    names = [n for n, _ in cell.named_parameters()]

    def function(x, *rest):
        state, weights = rest[: len(parts)], dict(zip(names, rest[len(parts) :], strict=True))
        start = state if len(parts) == 2 else state[0]
        h, last = torch.func.functional_call(cell, weights, (x, start))
        return h, *(last if isinstance(last, tuple) else (last,))

    assert torch.autograd.gradcheck(function, (x, *parts, *cell.parameters()))


@every_cell
def test_a_second_derivative_is_refused_by_the_fast_path_and_given_by_the_plain_loop(name):
    cell, x, parts = make(name)
    loss = run(cell, x, parts)[0].pow(2).sum()
    with pytest.raises(RuntimeError, match="fast=False"):
        torch.autograd.grad(loss, x, create_graph=True)
    cell.fast = False
    (gx,) = torch.autograd.grad(run(cell, x, parts)[0].pow(2).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(gx.sum(), x)
    assert gg.abs().sum() > 0


@every_cell
def test_input_gradients_are_skipped_where_nobody_asks(name):
    cell, x, parts = make(name)
    state = [p.detach() for p in parts]

    def multiplies(x):
        with FlopCounterMode(display=False) as counter:
            run(cell, x, state)[0].sum().backward()
        return counter.get_total_flops() // 2

    gates = len(cell.parts)
    assert multiplies(x) - multiplies(x.detach()) == T * B * gates * J * K


@every_cell
def test_forward_multiplies_what_the_equations_say(name):
    cell, x, parts = make(name)
    for fast in (True, False):
        cell.fast = fast
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            run(cell, x, parts)
        assert counter.get_total_flops() == 2 * T * B * len(cell.parts) * (J * J + J * K)


@every_cell
def test_the_inputs_are_left_as_they_were(name):
    cell, x, parts = make(name)
    before = [t.detach().clone() for t in (x, *parts, *cell.parameters())]
    run(cell, x, parts)[0].sum().backward()
    for a, b in zip((x, *parts, *cell.parameters()), before, strict=True):
        close(a.detach(), b, 0)


@every_cell
def test_changing_the_states_in_place_is_noticed(name):
    cell, x, parts = make(name)
    h = run(cell, x, parts)[0]
    with pytest.raises(RuntimeError, match="is being modified inplace"):
        h.mul_(2).sum().backward()


@every_cell
def test_two_backward_passes_give_the_same_gradient(name):
    cell, x, parts = make(name)
    loss = run(cell, x, parts)[0].pow(2).sum()
    first = torch.autograd.grad(loss, x, retain_graph=True)[0]
    close(torch.autograd.grad(loss, x)[0], first, 0)


@every_cell
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_precisions_work(name, dtype):
    cell, x, parts = make(name)
    expected = run(cell, x, parts)[0]
    h = run(cell.to(dtype), x.to(dtype), [p.to(dtype) for p in parts])[0]
    assert h.dtype == dtype
    torch.testing.assert_close(h.double(), expected, rtol=0, atol=1e-5 if dtype == torch.float32 else 0.15)


@every_cell
def test_strided_inputs_give_the_same(name):
    cell, x, parts = make(name)
    strided = x.detach().transpose(0, 1).contiguous().transpose(0, 1)
    assert not strided.is_contiguous()
    close(run(cell, strided, parts)[0], run(cell, x, parts)[0])
