"""The 2-D RNN: the plain double loop, the anti-diagonals and the gradient by hand are one function."""

import pytest
import torch
from closeness import close
from pretend_device import pretend_device

from coursekit.models.grid import EQUATIONS, GridRNN, grid_gradient, grid_loop, grid_states
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

D = torch.float64


def grid(n, m, c=3, h=5, batch=2):
    x = torch.randn(batch, n, m, c, dtype=D)
    weights = [torch.randn(h, size, dtype=D, requires_grad=True) for size in (c, h, h)]
    return x.requires_grad_(), weights


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 6), (6, 1), (4, 4), (3, 7), (7, 3)])
def test_anti_diagonals_agree_with_the_double_loop_and_so_do_their_gradients(n, m):
    x, W = grid(n, m)
    loop, diagonals = grid_loop(x, *W), grid_states(x, *W)
    close(diagonals, loop)
    weight = torch.randn_like(loop)
    theirs = torch.autograd.grad(loop, [x, *W], weight, allow_unused=True, materialize_grads=True)
    ours = torch.autograd.grad(diagonals, [x, *W], weight)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 4), (3, 5)])
def test_the_gradient_by_hand_matches_autograd(n, m):
    x, W = grid(n, m)
    h = grid_loop(x, *W)
    dh = torch.randn_like(h)
    theirs = torch.autograd.grad(h, [*W, x], dh, allow_unused=True, materialize_grads=True)
    by_hand = grid_gradient(x.detach(), h.detach(), *(w.detach() for w in W), dh)
    for name, expected in zip(("W_in", "W_left", "W_top", "x"), theirs, strict=True):
        close(by_hand[name], expected)


def test_a_dropped_path_would_be_seen():
    x, W = grid(4, 4)
    h = grid_loop(x, *W)
    dh = torch.randn_like(h)
    right = torch.autograd.grad(h, W, dh)
    no_left = grid_gradient(x, h, W[0], torch.zeros_like(W[1]), W[2], dh)
    assert (no_left["W_in"] - right[0]).abs().max() > 1e-2


def test_left_is_the_neighbour_before_in_i_and_top_the_one_before_in_j():
    x, (W_in, W_left, W_top) = grid(4, 5)
    transposed = grid_loop(x.transpose(1, 2), W_in, W_top, W_left).transpose(1, 2)
    close(grid_loop(x, W_in, W_left, W_top), transposed)
    assert (grid_loop(x, W_in, W_top, W_left) - transposed).abs().max() > 1e-2


def test_every_place_sees_all_before_it_and_none_after():
    x, W = grid(4, 5, batch=1)
    (seen,) = torch.autograd.grad(grid_states(x, *W)[0, 2, 3].sum(), x)
    expected = torch.zeros(4, 5, dtype=torch.bool)
    expected[:3, :4] = True
    assert torch.equal(seen[0].abs().sum(-1) > 0, expected)


def test_the_equations_give_the_same_numbers():
    x, (W_in, W_left, W_top) = grid(3, 4)
    run = Equations(EQUATIONS).run({"x": x, "W_in": W_in, "W_left": W_left, "W_top": W_top})
    close(run["h"], grid_states(x, W_in, W_left, W_top))


@pytest.mark.parametrize("n", [4, 9])
def test_parameters_do_not_depend_on_the_grid(n):
    model = GridRNN(channels=3, hidden=5)
    assert model(torch.randn(1, n, n, 3)).shape == (1, n, n, 5)
    assert sum(p.numel() for p in model.parameters()) == 2 * 5**2 + 5 * 3


def test_no_code_names_a_device():
    model, x = GridRNN(3, 5), torch.randn(2, 4, 6, 3)
    expected = model(x).detach()
    with pretend_device() as device:
        there = device.place(model)(device.place(x))
        there.sum().backward()
        assert device.holds(there)
        torch.testing.assert_close(device.fetch(there), expected)
    assert GridRNN(3, 5).to("meta")(x.to("meta")).shape == (2, 4, 6, 5)


@pytest.mark.parametrize(
    ("shape", "words"),
    [((2, 4, 3), "x has shape (2, 4, 3); it needs (B, n, m, c) with c=3"), ((2, 0, 4, 3), "x is empty"),
     ((2, 4, 4, 7), "with c=3")],
)  # fmt: skip
def test_bad_input_is_named(shape, words):
    with pytest.raises(BadInput) as error:
        GridRNN(3, 5)(torch.zeros(shape))
    assert words in str(error.value)


def test_nan_is_named():
    with pytest.raises(BadInput, match=r"x of shape .* holds nan"):
        GridRNN(3, 5)(torch.full((1, 2, 2, 3), torch.nan))
