"""Local attention is masked dense attention, in time and memory that grow like T."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from coursekit.models.guards import BadInput
from coursekit.models.local_attention import local_attention
from coursekit.models.patterns import LOCAL, attend, mask

D = torch.float64


def widths(pattern, T):
    return [w for w in (1, 2, 3, 4, 6, 20) if "block" not in pattern or T % w == 0]


@pytest.mark.parametrize("T", [1, 5, 12, 40])
@pytest.mark.parametrize("pattern", LOCAL)
def test_local_attention_equals_masked_dense_attention_forward_and_backward(pattern, T):
    for w in widths(pattern, T):
        QKV = [torch.randn(2, 3, T, 5, dtype=D, requires_grad=True) for _ in range(3)]
        local = local_attention(pattern, *QKV, w)
        dense, _ = attend(*QKV, mask(pattern, T, w))
        torch.testing.assert_close(local, dense, rtol=0, atol=1e-12)
        weight = torch.randn_like(local)
        for a, b in zip(
            torch.autograd.grad(local, QKV, weight), torch.autograd.grad(dense, QKV, weight), strict=True
        ):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pattern", LOCAL)
def test_local_attention_leaves_out_the_keys_that_are_not_allowed(pattern):
    QKV = [torch.randn(2, 3, 12, 5, dtype=D) for _ in range(3)]
    allowed = torch.rand(2, 12) < 0.6
    seen = mask(pattern, 12, 4) & allowed[:, None, None, :]
    dense, _ = attend(*QKV, seen)
    local = local_attention(pattern, *QKV, 4, allowed[:, None, :])
    rows = seen.any(-1).expand(2, 3, 12)  # a row that may look nowhere has no right answer
    assert rows.sum() > 0
    torch.testing.assert_close(local[rows], dense[rows], rtol=0, atol=1e-12)


class LargestTensor(TorchDispatchMode):
    """Remembers the most elements that any operation's result had."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.elements = max(self.elements, leaf.numel())
        return result


def largest(function, T):
    QKV = [torch.randn(1, 1, T, 4, requires_grad=True) for _ in range(3)]
    with LargestTensor() as seen:
        function(*QKV).sum().backward()
    return seen.elements


@pytest.mark.parametrize("pattern", LOCAL)
def test_no_tensor_of_local_attention_grows_faster_than_T(pattern):
    local = lambda *QKV: local_attention(pattern, *QKV, 8)
    small, large = largest(local, 256), largest(local, 1024)
    assert large <= 4.2 * small
    assert large <= 1024 * (4 * 8 + 2) * 1.1
    dense = lambda *QKV: attend(*QKV)[0]
    assert largest(dense, 1024) >= 15 * largest(dense, 256)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: local_attention("causal", *torch.randn(3, 1, 4, 2), 2), "it needs to be one of window"),
        (lambda: local_attention("window", *torch.randn(3, 1, 4, 2), -1), "w is -1"),
        (lambda: local_attention("block", *torch.randn(3, 1, 5, 2), 2), "pad to T=6"),
        (lambda: local_attention("window", torch.randn(4, 2), torch.randn(5, 2), torch.randn(5, 2), 2),
         "Key has shape (5, 2); it needs (..., T, I) with T=4, I=2"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
