"""One matrix for query and key, there and back."""

import math

import pytest
import torch
from closeness import close
from pretend_device import pretend_device

from coursekit.models.attention import Heads
from coursekit.models.guards import BadInput
from coursekit.models.merged import (
    ATTENTION,
    MERGE,
    merge,
    merged_attention,
    multiply_adds,
    parameters,
    split,
)
from coursekit.notation import Equations

D = torch.float64


def test_the_merged_form_gives_the_same_attention():
    heads, L = Heads(6, 3, size=4).to(D), torch.randn(2, 5, 6, dtype=D)
    close(merged_attention(L, merge(heads.W_Q, heads.W_K)), heads(L)[1])


def test_the_equations_give_the_same_numbers():
    W_Q, W_K = torch.randn(2, 3, 4, 6, dtype=D)
    L = torch.randn(2, 5, 6, dtype=D)
    W = Equations(MERGE).run({"W_Q": W_Q, "W_K": W_K})["W"]
    close(W, merge(W_Q, W_K))
    close(Equations(ATTENTION).run({"L": L, "W": W})["alpha"], merged_attention(L, W))


@pytest.mark.parametrize("size", [4, 5, 6])
def test_split_is_exact_where_the_rank_allows(size):
    W = merge(*torch.randn(2, 3, 4, 6, dtype=D))  # rank 4
    W_Q, W_K = split(W, size)
    assert W_Q.shape == W_K.shape == (3, size, 6)
    close(merge(W_Q, W_K), W)


def test_below_the_rank_split_errs_by_the_singular_values_it_drops():
    W = torch.randn(3, 6, 6, dtype=D)
    error = torch.linalg.matrix_norm(merge(*split(W, 4)) - W)
    close(error, torch.linalg.svdvals(W)[:, 4:].norm(dim=-1))
    assert error.min() > 0.01


def test_parameter_counts_are_those_of_the_tensors():
    W_Q, W_K = torch.randn(2, 3, 4, 6, dtype=D)
    assert parameters(K=3, I=4, J=6) == {
        "apart": W_Q.numel() + W_K.numel(),
        "merged": merge(W_Q, W_K).numel(),
    }
    assert parameters(96, 128, 12288) == {"apart": 301_989_888, "merged": 14_495_514_624}
    assert len(set(parameters(5, 8, 16).values())) == 1


def test_merging_costs_compute_too():
    for sizes, ratio in {(128, 16, 64): 3.0, (1024, 64, 768): 8.4, (2048, 128, 12288): 51.7}.items():
        count = multiply_adds(*sizes)
        assert count["merged"] / count["apart"] == pytest.approx(ratio, abs=0.05)


def test_no_code_names_a_device():
    W_Q, W_K, L = torch.randn(3, 4, 6), torch.randn(3, 4, 6), torch.randn(2, 5, 6)
    expected = merged_attention(L, merge(W_Q, W_K))
    with pretend_device() as device:
        W = merge(device.place(W_Q), device.place(W_K))
        alpha = merged_attention(device.place(L), W)
        assert device.holds([alpha, *split(W, 4)])
        torch.testing.assert_close(device.fetch(alpha), expected)
    assert split(torch.empty(3, 6, 6, device="meta"), 2)[0].shape == (3, 2, 6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: merge(torch.randn(3, 4, 6), torch.randn(3, 5, 6)), "W_K has shape (3, 5, 6)"),
        (lambda: split(torch.randn(3, 6, 5), 2), "W has shape (3, 6, 5); it needs (K, J, J)"),
        (lambda: split(torch.full((1, 2, 2), math.nan), 1), "W of shape (1, 2, 2) holds nan"),
        (lambda: merged_attention(torch.randn(2, 5, 4), torch.randn(3, 6, 6)), "L has shape (2, 5, 4)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
