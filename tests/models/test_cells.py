import pytest
import torch
from closeness import close
from pretend_device import pretend_device
from torch import nn

from coursekit.models.cells import GRU, LSTM, UGRNN, TorchGRU, Vanilla
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

B, T, K, J = 3, 5, 4, 6
ALL = {
    "sigmoid": lambda **o: Vanilla(K, J, "sigmoid", **o),
    "tanh": lambda **o: Vanilla(K, J, "tanh", **o),
    "UGRNN": lambda **o: UGRNN(K, J, **o),
    "GRU": lambda **o: GRU(K, J, **o),
    "TorchGRU": lambda **o: TorchGRU(K, J, **o),
    "LSTM": lambda **o: LSTM(K, J, **o),
}
every_cell = pytest.mark.parametrize("name", ALL)


def make(name, **options):
    torch.manual_seed(0)
    cell = ALL[name](dtype=torch.float64, **options)
    for p in cell.parameters():  # unit scale
        p.data.normal_()
    state = torch.randn(B, J, dtype=torch.float64)
    state = (state, torch.randn(B, J, dtype=torch.float64)) if name == "LSTM" else state
    return cell, torch.randn(B, T, K, dtype=torch.float64), state


def torch_module(kind, **options):
    torch.manual_seed(1)
    module = kind(K, J, batch_first=True, dtype=torch.float64, **options)
    for p in module.parameters():
        p.data.normal_()
    return module


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("cell", "kind"), [(Vanilla, nn.RNN), (TorchGRU, nn.GRU), (LSTM, nn.LSTM)])
def test_cells_agree_with_torch(cell, kind, bias):
    module = torch_module(kind, bias=bias)
    ours = cell.from_torch(module)
    _, x, state = make("LSTM" if kind is nn.LSTM else "GRU")
    theirs = tuple(s[None] for s in state) if kind is nn.LSTM else state[None]
    for start, torch_start in ((None, None), (state, theirs)):
        h, last = ours(x, start)
        expected, expected_last = module(x, torch_start)
        close(h, expected)
        if kind is nn.LSTM:
            close(last[0], expected_last[0][0])
            close(last[1], expected_last[1][0])
        else:
            close(last, expected_last[0])


def test_the_courses_gru_is_torchs_where_the_candidate_matrix_is_diagonal():
    module = torch_module(nn.GRU)
    _, x, _ = make("GRU")
    with pytest.raises(BadInput, match="use TorchGRU"):
        GRU.from_torch(module)
    with torch.no_grad():
        module.weight_hh_l0[2 * J :] = torch.diag(module.weight_hh_l0[2 * J :].diagonal())
        module.bias_hh_l0[2 * J :] = 0
    close(GRU.from_torch(module)(x)[0], module(x)[0])


def test_reset_before_and_reset_after_differ():
    gru, x, state = make("GRU")
    after = TorchGRU(K, J, dtype=torch.float64)
    after.load_state_dict({**gru.state_dict(), "B_hR": torch.zeros(J, dtype=torch.float64)})
    a, b = gru(x, state)[0], after(x, state)[0]
    assert float((a - b).detach().norm() / a.detach().norm()) > 0.05


def test_a_closed_reset_gate_hides_the_state_from_the_candidate():
    gru, x, state = make("GRU")
    gru.B_G1.data.fill_(1e3)  # G1 = 0
    gru.B_G2.data.fill_(-1e3)  # G2 = 1: the new state is the candidate
    close(gru.step(x[:, 0], state)[0], gru.step(x[:, 0], -3 * state)[0], 0)


def test_the_source_scalar_case_of_the_gru():
    gru = GRU(1, 1, dtype=torch.float64)
    for name, p in gru.named_parameters():
        p.data.fill_(0.0 if name.startswith("B") else 1.0)
    h, _ = gru.step(torch.tensor([[-2.0]], dtype=torch.float64), torch.tensor([[1.0]], dtype=torch.float64))
    # G1 = G2 = sigmoid(-1), R = tanh(G1 - 2)
    assert h.item() == pytest.approx(0.478474, abs=1e-6)


@every_cell
def test_the_slide_has_the_old_state_where_the_gate_says_so(name):
    cell, x, state = make(name)
    if name == "UGRNN":
        cell.B_G.data.fill_(-1e3)  # G = 1 keeps
    elif "GRU" in name:
        cell.B_G2.data.fill_(1e3)  # G2 = 0 keeps
    elif name == "LSTM":
        cell.B_Gf.data.fill_(-1e3)
        cell.B_Gi.data.fill_(1e3)
        _, (_, c) = cell(x, state)
        close(c, state[1], 0)
        return
    else:
        h, _ = cell.step(x[:, 0], state)
        pre = state @ cell.W_hh.T + x[:, 0] @ cell.W_xh.T - cell.B_h
        close(h, 1 / (1 + torch.exp(-pre)) if name == "sigmoid" else torch.tanh(pre))
        return
    close(cell(x, state)[1], state, 0)


@every_cell
@pytest.mark.parametrize("fast", [True, False])
def test_the_equations_and_the_module_give_the_same_numbers(name, fast):
    cell, x, state = make(name, fast=fast)
    boundary = dict(zip("hc", state, strict=True)) if name == "LSTM" else {"h": state}
    result = Equations(cell.equations).run({**cell.state_dict(), "x": x}, boundary=boundary)
    h, last = cell(x, state)
    close(h, result["h"])
    if name == "LSTM":
        close(last[1], result["c"][:, -1])


@every_cell
def test_all_steps_are_the_steps_one_by_one(name):
    cell, x, state = make(name)
    h, last = cell(x, state)
    assert h.shape == (B, T, J)
    for t in range(T):
        h_t, state = cell.step(x[:, t], state)
        close(h[:, t], h_t)
    close(last, state)


@every_cell
def test_a_sequence_may_be_cut_in_two(name):
    cell, x, state = make(name)
    whole, last = cell(x, state)
    first, middle = cell(x[:, :2], state)
    second, end = cell(x[:, 2:], middle)
    close(torch.cat([first, second], 1), whole)
    close(end, last)


@every_cell
def test_parameter_counts(name):
    count = sum(p.numel() for p in ALL[name]().parameters())
    gates = {"sigmoid": 1, "tanh": 1, "UGRNN": 2, "GRU": 3, "TorchGRU": 3, "LSTM": 4}[name]
    assert count == gates * (J * J + J * K + J) + (J if name == "TorchGRU" else 0)


@every_cell
@pytest.mark.parametrize("fast", [True, False])
def test_it_keeps_to_the_device_of_its_inputs(name, fast):
    cell, x, _ = make(name, fast=fast)
    expected, _ = cell(x)
    expected.sum().backward()
    gradients = [p.grad.clone() for p in cell.parameters()]
    with pretend_device() as device:
        cell = device.place(cell)
        h, last = cell(device.place(x))
        h.sum().backward()
        assert device.holds([h, last])
        assert device.holds([p.grad for p in cell.parameters()])
        close(device.fetch(h), expected.detach())
        for p, gradient in zip(cell.parameters(), gradients, strict=True):
            close(device.fetch(p.grad), gradient)


@every_cell
@pytest.mark.parametrize("fast", [True, False])
def test_it_runs_on_meta(name, fast):
    cell = ALL[name](device="meta", fast=fast)
    h, _ = cell(torch.zeros(B, T, K, device="meta"))
    assert h.shape == (B, T, J)
    assert h.is_meta


@every_cell
def test_bad_input_is_named(name):
    cell, x, state = make(name)
    nan = x.clone()
    nan[1, 2, 3] = torch.nan
    short = tuple(s[:2] for s in state) if name == "LSTM" else state[:2]
    for call, message in [
        (lambda: cell(x[..., :2]), r"x has shape \(3, 5, 2\); it needs \(B, T, K\) with K=4"),
        (lambda: cell(x[0]), r"x has shape \(5, 4\)"),
        (lambda: cell(x[:0]), r"x is empty: its shape is \(0, 5, 4\)"),
        (lambda: cell(x[:, :0]), r"x is empty: its shape is \(3, 0, 4\)"),
        (lambda: cell(nan), r"x of shape \(3, 5, 4\) holds nan at \[1, 2, 3\]"),
        (lambda: cell(x.float()), "x has dtype torch.float32; it needs torch.float64"),
        (lambda: cell(x, short), r"the state h has shape \(2, 6\); it needs \(B, J\) with B=3, J=6"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()


def test_bad_arguments_are_named():
    for call, message in [
        (lambda: Vanilla(2, 3, "relu"), "one of sigmoid, tanh"),
        (lambda: LSTM.from_torch(nn.GRU(2, 3)), "LSTM is a torch.nn.LSTM"),
        (lambda: TorchGRU.from_torch(nn.GRU(2, 3, num_layers=2)), "one layer"),
        (lambda: Vanilla.from_torch(nn.RNN(2, 3, nonlinearity="relu")), "with tanh"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()
