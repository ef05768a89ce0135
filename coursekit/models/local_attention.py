"""Local attention in O(T w) time and memory: no T x T matrix is ever made.

The queries are cut into chunks. A chunk needs only the keys near it, so the whole layer is one dense
attention per chunk, all chunks in one batched product:

    blocks   chunk n sees the keys of chunk n                      w x w scores per chunk
    bands    chunk n of c queries sees c + left + right keys       a band of those is kept by a mask

A chunk of c = left + right + 1 queries computes at most twice the scores that the band has.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from .guards import need_one_of, need_shape, need_shapes
from .patterns import LOCAL, attend, check_pattern


def local_attention(
    pattern: str, Query: Tensor, Key: Tensor, Value: Tensor, w: int | None, allowed: Tensor | None = None
) -> Tensor:
    """What `attend(Query, Key, Value, mask(pattern, T, w))` gives, for one of the `LOCAL` patterns.

    Query, Key and Value (...,T,I) -> (...,T,I). `allowed` (...,T) is False at keys nobody looks at.
    """
    need_one_of("the pattern of local attention", pattern, LOCAL)
    T, _, _ = need_shapes("Query ... T I, Key ... T I, Value ... T C", Query, Key, Value)
    w = check_pattern(pattern, T, w)
    if allowed is None:
        allowed = torch.ones(T, dtype=torch.bool, device=Query.device)
    need_shape("allowed", allowed, "... T", T=T)
    if pattern == "window":
        return band_attention(Query, Key, Value, allowed, left=min(w, T) - 1, right=0)
    if pattern == "two-sided":
        return band_attention(Query, Key, Value, allowed, left=min(w, T - 1), right=min(w, T - 1))
    return block_attention(Query, Key, Value, allowed, w, causal=pattern == "causal-block")


def block_attention(
    Query: Tensor, Key: Tensor, Value: Tensor, allowed: Tensor, w: int, causal: bool
) -> Tensor:
    """Each position looks at its own block of w positions (`causal`: at those that are not later)."""
    Query, Key, Value = (X.unflatten(-2, (-1, w)) for X in (Query, Key, Value))  # (..., T/w, w, I)
    seen = allowed.unflatten(-1, (-1, w))[..., None, :].expand(*allowed.shape[:-1], -1, w, w)
    h, _ = attend(Query, Key, Value, seen.tril() if causal else seen)
    return h.flatten(-3, -2)


def band_attention(
    Query: Tensor, Key: Tensor, Value: Tensor, allowed: Tensor, left: int, right: int
) -> Tensor:
    """Position t looks at t-left, ..., t+right, as far as these exist."""
    T = Query.shape[-2]
    c = left + right + 1  # queries in a chunk
    span = c + left + right  # keys in its reach: key s of chunk n stands at position n c + s - left
    rest = -T % c  # the last chunk is filled up with zeros, which are cut off again
    chunks = F.pad(Query, (0, 0, 0, rest)).unflatten(-2, (-1, c))  # (..., n, c, I)
    near = [F.pad(X, (0, 0, left, right + rest)).unfold(-2, span, c).transpose(-1, -2) for X in (Key, Value)]
    inside = F.pad(allowed, (left, right + rest)).unfold(-1, span, c)  # (..., n, span)
    band = torch.ones(c, span, dtype=torch.bool, device=Query.device).triu().tril(left + right)
    h, _ = attend(chunks, near[0], near[1], band & inside[..., None, :])
    return h.flatten(-3, -2)[..., :T, :]
