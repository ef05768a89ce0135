"""Multi-head attention against nn.MultiheadAttention and against its own equations."""

import pytest
import torch
from closeness import close
from pretend_device import pretend_device
from torch import nn

from coursekit.models.attention import CAUSAL, CROSS, PATTERNS, SELF, Heads, mask
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

D = torch.float64


def matrices(heads):
    return {name: getattr(heads, name).detach() for name in ("W_Q", "W_K", "W_V", "W_O")}


def torch_heads(J=12, K=3, bias=True):
    """torch starts its attention biases at zero; random ones would show a wrong sign."""
    module = nn.MultiheadAttention(J, K, bias=bias, batch_first=True, dtype=D)
    if bias:
        nn.init.normal_(module.in_proj_bias)
        nn.init.normal_(module.out_proj.bias)
    return module


@pytest.mark.parametrize("bias", [False, True])
def test_self_attention_agrees_with_torch(bias):
    theirs, L = torch_heads(bias=bias), torch.randn(2, 7, 12, dtype=D)
    ours = Heads.from_torch(theirs)
    out, alpha = theirs(L, L, L, average_attn_weights=False)
    close(ours(L)[0], out)
    close(ours(L)[1], alpha)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_agrees_with_torch_and_its_mask(pattern):
    theirs, L = torch_heads(), torch.randn(2, 8, 12, dtype=D)
    out, _ = theirs(L, L, L, attn_mask=~mask(pattern, 8, 4))
    close(Heads.from_torch(theirs, pattern, 4)(L)[0], out)


@pytest.mark.parametrize("pattern", ["full", "causal"])
def test_cross_attention_and_padding_agree_with_torch(pattern):
    theirs, L = torch_heads(), torch.randn(2, 5, 12, dtype=D)
    M = torch.randn(2, 5, 12, dtype=D)
    allowed = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    out, _ = theirs(L, M, M, key_padding_mask=~allowed, attn_mask=~mask(pattern, 5))
    close(Heads.from_torch(theirs, pattern)(L, M, allowed)[0], out)


@pytest.mark.parametrize(("text", "pattern"), [(SELF, "full"), (CAUSAL, "causal")])
def test_the_equations_of_self_attention_give_the_same_numbers(text, pattern):
    heads, L = Heads(6, 3, size=4, pattern=pattern).to(D), torch.randn(2, 5, 6, dtype=D)
    run = Equations(text).run({"L": L, **matrices(heads)})
    L_SA, alpha = heads(L)
    close(run["alpha"], alpha)
    close(run["L_SA"], L_SA)


def test_the_equations_of_cross_attention_give_the_same_numbers():
    heads = Heads(6, 3, size=4).to(D)
    L, M = torch.randn(2, 5, 6, dtype=D), torch.randn(2, 7, 6, dtype=D)
    run = Equations(CROSS).run({"L": L, "M": M, **matrices(heads)})
    L_SA, alpha = heads(L, M)
    close(run["alpha"], alpha)
    close(run["L_SA"], L_SA)


def test_a_head_has_the_course_s_parameters_and_no_others():
    assert sum(p.numel() for p in Heads(6, 3, size=4).parameters()) == 4 * 3 * 4 * 6


def test_rows_of_alpha_sum_to_one_and_causal_ones_see_nothing_later():
    _, alpha = Heads(6, 2, pattern="causal").to(D)(torch.randn(2, 5, 6, dtype=D))
    close(alpha.sum(-1), torch.ones(2, 2, 5, dtype=D))
    assert alpha.triu(1).eq(0).all()


def test_a_local_pattern_shows_no_alpha():
    assert Heads(6, 2, pattern="window", w=2)(torch.randn(1, 5, 6))[1] is None


def test_stacked_windows_reach_back_layers_times_w_minus_one():
    L = torch.randn(1, 14, 6, dtype=D, requires_grad=True)
    x = L
    for _ in range(3):
        x = Heads(6, 2, pattern="window", w=4).to(D)(x)[0]
    (seen,) = torch.autograd.grad(x[0, 13].sum(), L)
    reached = seen[0].abs().sum(-1) > 0
    assert reached.nonzero().min() == 13 - 3 * (4 - 1)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_code_names_a_device(pattern):
    heads, L = Heads(6, 2, pattern=pattern, w=4), torch.randn(2, 8, 6)
    allowed = torch.tensor([[True] * 8, [True] * 5 + [False] * 3])
    expected = heads(L, allowed=allowed)[0].detach()
    with pretend_device() as device:
        there = device.place(heads)(device.place(L), allowed=device.place(allowed))[0]
        there.sum().backward()
        assert device.holds(there)
        torch.testing.assert_close(device.fetch(there), expected)
    assert Heads(6, 2, pattern=pattern, w=4).to("meta")(L.to("meta"))[0].shape == L.shape


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Heads(6, 2)(torch.randn(2, 5, 7)), "L has shape (2, 5, 7); it needs (B, T, J) with J=6"),
        (lambda: Heads(6, 2)(torch.randn(2, 0, 6)), "L is empty"),
        (lambda: Heads(6, 2)(torch.full((1, 2, 6), torch.inf)), "L of shape (1, 2, 6) holds inf"),
        (lambda: Heads(6, 2)(torch.randn(2, 5, 6), torch.randn(3, 5, 6)), "M has shape (3, 5, 6)"),
        (lambda: Heads(6, 2)(torch.randn(2, 3, 6), allowed=torch.tensor([[True] * 3, [False] * 3])),
         "allowed of shape (2, 3) is False in all of row 1"),
        (lambda: Heads(6, 2)(torch.randn(1, 3, 6), allowed=torch.ones(1, 3)), "allowed has dtype torch.float32"),
        (lambda: Heads(6, 2)(torch.randn(1, 3, 6), allowed=torch.ones(1, 4).bool()), "allowed has shape (1, 4)"),
        (lambda: Heads(6, 2)(torch.randn(1, 3, 6, dtype=D)), "L has dtype torch.float64; it needs torch.float32"),
        (lambda: Heads(6, 4), "width 6 is no multiple of 4 heads"),
        (lambda: Heads(6, 2, pattern="ring"), "pattern is 'ring'"),
        (lambda: Heads(6, 2, pattern="window")(torch.randn(2, 5, 6)), "w is None"),
        (lambda: Heads(6, 2, pattern="block", w=4)(torch.randn(2, 6, 6)), "pad to T=8"),
        (lambda: Heads.from_torch(nn.MultiheadAttention(6, 2, kdim=5)), "one width for all"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
