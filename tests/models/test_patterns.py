"""Attention patterns: masks by enumeration, counts in closed form, dense attention against torch."""

import pytest
import torch
import torch.nn.functional as F

from coursekit.models.guards import BadInput
from coursekit.models.patterns import PATTERNS, attend, mask, pairs

D = torch.float64

SEES = {
    "full": lambda t1, t2, w: True,
    "causal": lambda t1, t2, w: t2 <= t1,
    "window": lambda t1, t2, w: t1 - w < t2 <= t1,
    "two-sided": lambda t1, t2, w: abs(t1 - t2) <= w,
    "block": lambda t1, t2, w: t1 // w == t2 // w,
    "causal-block": lambda t1, t2, w: t1 // w == t2 // w and t2 <= t1,
}


def widths(pattern, T):
    return [w for w in (1, 2, 3, 4, 6, 20) if "block" not in pattern or T % w == 0]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("T", [1, 2, 7, 12])
def test_masks_and_counts_agree_with_enumeration(pattern, T):
    for w in widths(pattern, T):
        expected = torch.tensor([[SEES[pattern](t1, t2, w) for t2 in range(T)] for t1 in range(T)])
        assert torch.equal(mask(pattern, T, w), expected)
        assert pairs(pattern, T, w) == int(expected.sum())
        assert expected.any(1).all()


@pytest.mark.parametrize(
    ("pattern", "small", "large"),
    [("full", 144, 16384), ("causal", 78, 8256), ("window", 42, 996), ("two-sided", 88, 2104),
     ("block", 48, 1024), ("causal-block", 30, 576)],
)  # fmt: skip
def test_counts_are_those_of_the_table(pattern, small, large):
    assert (pairs(pattern, 12, 4), pairs(pattern, 128, 8)) == (small, large)


def test_dense_attention_agrees_with_torch():
    Q, K, V = (torch.randn(2, 3, 7, 5, dtype=D) for _ in range(3))
    torch.testing.assert_close(
        attend(Q, K, V)[0], F.scaled_dot_product_attention(Q, K, V), rtol=0, atol=1e-12
    )
    causal = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
    torch.testing.assert_close(attend(Q, K, V, mask("causal", 7))[0], causal, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mask("spiral", 4), "pattern is 'spiral'; it needs to be one of full"),
        (lambda: mask("window", 4), "w is None"),
        (lambda: mask("window", 4, 0), "w is 0"),
        (lambda: pairs("block", 10, 4), "T is 10, which is no multiple of the block w=4; pad to T=12"),
        (lambda: attend(*torch.randn(3, 1, 4, 2), torch.ones(4, 3, dtype=torch.bool)), "mask has shape (4, 3)"),
        (lambda: attend(*torch.randn(3, 1, 0, 2)), "Query is empty"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
