import pytest
import torch
from closeness import close
from pretend_device import pretend_device
from torch import nn

from coursekit.models.cells import GRU, LSTM, UGRNN, TorchGRU, Vanilla
from coursekit.models.guards import BadInput
from coursekit.models.stacked import STACKED, Bidirectional, Stacked
from coursekit.notation import Equations

B, T, K, J = 3, 5, 4, 6


def seeded(kind, *args, **options):
    cell = kind(*args, dtype=torch.float64, **options)
    for p in cell.parameters():
        p.data.normal_()
    return cell


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(4)


def test_a_plain_stack_agrees_with_torch():
    module = nn.GRU(K, J, num_layers=2, batch_first=True, dtype=torch.float64)
    cells = []
    for layer, width in enumerate((K, J)):
        one = nn.GRU(width, J, batch_first=True, dtype=torch.float64)
        one.load_state_dict({n: module.state_dict()[n.replace("l0", f"l{layer}")] for n in one.state_dict()})
        cells.append(TorchGRU.from_torch(one))
    x = torch.randn(B, T, K, dtype=torch.float64)
    h, last = Stacked(cells, residual=False)(x)
    expected, expected_last = module(x)
    close(h, expected)
    close(torch.stack(last), expected_last)


@pytest.mark.parametrize("kind", [UGRNN, GRU, Vanilla])
def test_the_equations_and_the_residual_stack_give_the_same_numbers(kind):
    cells = [seeded(kind, J, J) for _ in range(2)]
    x = torch.randn(B, T, J, dtype=torch.float64)
    zero = torch.zeros(B, J, dtype=torch.float64)
    one = lambda cell: lambda h, x: cell.step(x, h)[0]
    result = Equations(STACKED).run(
        {"x": x},
        boundary={"h1": zero, "h2": zero},
        functions={"CELL1": one(cells[0]), "CELL2": one(cells[1])},
    )
    h, last = Stacked(cells)(x)
    close(h, result["L2"])
    close(last[1], result["h2"][:, -1])


def test_the_residual_goes_around_layers_that_keep_the_width():
    first, second = seeded(GRU, K, J), seeded(GRU, J, J)
    x = torch.randn(B, T, K, dtype=torch.float64)
    below = first(x)[0]
    close(Stacked([first, second])(x)[0], below + second(below)[0])
    close(Stacked([first, second], residual=False)(x)[0], second(below)[0])


def bidirectional():
    return Bidirectional(seeded(UGRNN, K, J), seeded(UGRNN, K, J))


def test_it_agrees_with_torchs_bidirectional_rnn():
    module = nn.RNN(K, J, bidirectional=True, batch_first=True, dtype=torch.float64)
    cells = []
    for suffix in ("", "_reverse"):
        one = nn.RNN(K, J, batch_first=True, dtype=torch.float64)
        one.load_state_dict({n: module.state_dict()[n + suffix] for n in one.state_dict()})
        cells.append(Vanilla.from_torch(one))
    x = torch.randn(B, T, K, dtype=torch.float64)
    close(torch.cat(Bidirectional(*cells)(x), -1), module(x)[0])


def test_each_state_depends_on_its_own_side():
    both = bidirectional()
    x = torch.randn(B, T, K, dtype=torch.float64, requires_grad=True)
    for states, seen in ((both(x)[0], range(3)), (both(x)[1], range(2, T))):
        (g,) = torch.autograd.grad(states[:, 2].sum(), x)
        assert {t for t in range(T) if bool(g[:, t].any())} == set(seen)


def test_they_keep_to_the_device_of_their_inputs():
    stack, both = Stacked([seeded(LSTM, K, J), seeded(GRU, J, J)]), bidirectional()
    x = torch.randn(B, T, K, dtype=torch.float64)
    expected = stack(x)[0], *both(x)
    with pretend_device() as device:
        placed = device.place(x)
        got = device.place(stack)(placed)[0], *device.place(both)(placed)
        assert device.holds(got)
        for a, b in zip(got, expected, strict=True):
            close(device.fetch(a), b.detach())
    meta = Stacked([GRU(K, J, device="meta"), GRU(J, J, device="meta")])
    assert meta(torch.zeros(B, T, K, device="meta"))[0].shape == (B, T, J)


def test_bad_input_is_named():
    stack, both = Stacked([GRU(K, J), GRU(J, J)]), Bidirectional(GRU(K, J), GRU(K, J))
    x = torch.zeros(B, T, K)
    for call, message in [
        (lambda: stack(x[..., :2]), r"x has shape \(3, 5, 2\); it needs \(B, T, K\) with K=4"),
        (lambda: stack(x / 0), "x of shape .* holds nan"),
        (lambda: both(x[:, :0]), "x is empty"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()
