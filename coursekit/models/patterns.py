"""Attention patterns: which position may look at which, and how many pairs that makes.

full            everyone at everyone
causal          t2 <= t1
window          the last w positions, itself included
two-sided       w to the left and w to the right
block           the w positions of its own block
causal-block    those of its own block that are not later
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from .guards import BadInput, need, need_one_of, need_shape, need_shapes


class Pattern(NamedTuple):
    sees: Callable[[Tensor, Tensor, int], Tensor]  # from how far t2 lies behind t1, and whether in its block
    pairs: Callable[[int, int], int]  # from T and w


PATTERNS = {
    "full": Pattern(lambda back, same, w: back == back, lambda T, w: T * T),
    "causal": Pattern(lambda back, same, w: back >= 0, lambda T, w: T * (T + 1) // 2),
    "window": Pattern(lambda back, same, w: (back >= 0) & (back < w), lambda T, w: w * T - w * (w - 1) // 2),
    "two-sided": Pattern(lambda back, same, w: abs(back) <= w, lambda T, w: (2 * w + 1) * T - w * (w + 1)),
    "block": Pattern(lambda back, same, w: same, lambda T, w: T * w),
    "causal-block": Pattern(lambda back, same, w: same & (back >= 0), lambda T, w: T * (w + 1) // 2),
}
LOCAL = tuple(PATTERNS)[2:]  # those with a width


def check_pattern(pattern: str, T: int, w: int | None) -> int:
    """The width w of a pattern over T positions (0 for a pattern that has none), if it makes sense."""
    need_one_of("pattern", pattern, PATTERNS)
    if pattern not in LOCAL:
        return 0
    if w is None or w < 1:
        raise BadInput(f"w is {w}; the pattern {pattern!r} needs a whole number w of at least 1")
    whole = "block" not in pattern or T % w == 0
    need(whole, f"T is {T}, which is no multiple of the block w={w}; pad to T={T + -T % w}")
    return w


def mask(pattern: str, T: int, w: int | None = None, device: torch.device | None = None) -> Tensor:
    """(T,T) bool: True at [t1,t2] where t1 looks at t2."""
    w = check_pattern(pattern, T, w)
    t = torch.arange(T, device=device)
    back = t[:, None] - t[None, :]  # how far t2 lies behind t1
    block = t // max(w, 1)
    return PATTERNS[pattern].sees(back, block[:, None] == block[None, :], w)


def pairs(pattern: str, T: int, w: int | None = None) -> int:
    """The number of (query, key) pairs, in closed form.

    >>> pairs("causal", 4), pairs("window", 4, w=2)
    (10, 7)
    """
    w = check_pattern(pattern, T, w)
    widest = {"window": T, "two-sided": T - 1}  # a window may be wider than the text
    return PATTERNS[pattern].pairs(T, min(w, widest.get(pattern, w)))


def need_allowed(allowed: Tensor, B: int, S: int) -> None:
    """`allowed` (B,S) says which keys may be looked at: each row needs one."""
    need_shape("allowed", allowed, "B S", B=B, S=S)
    need(allowed.dtype == torch.bool, f"allowed has dtype {allowed.dtype}; it needs torch.bool")
    if not allowed.is_meta and not bool(allowed.any(1).all()):
        row = int((~allowed.any(1)).nonzero()[0])
        raise BadInput(f"allowed of shape ({B}, {S}) is False in all of row {row}; a row needs one True")


def attend(Query: Tensor, Key: Tensor, Value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """alpha[t1,t2] = softmax[t2](1/sqrt(I) Query[t1,I] Key[t2,I]) and h[t,i] = alpha[t,T] Value[T,i].

    Query (...,T1,I), Key and Value (...,T2,I), mask broadcastable to (...,T1,T2) -> h (...,T1,I), alpha.
    """
    _, I, T2, _ = need_shapes("Query ... T1 I, Key ... T2 I, Value ... T2 C", Query, Key, Value)
    scores = (Query / sqrt(I)) @ Key.transpose(-1, -2)
    if mask is not None:
        need_shape("mask", mask, "... T1 T2", T2=T2)
        # The lowest finite number and not -inf: a row that is all masked stays free of NaN.
        scores = scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    alpha = torch.softmax(scores, -1)
    return alpha @ Value, alpha
