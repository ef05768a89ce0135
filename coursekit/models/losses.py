"""Losses that shape attention: heads that look at few words (focus), and at near ones (near).

Each takes alpha (...,T,T), with any axes in front (layer, batch, head), and is a mean over them and
over t1, so that its weight in `L_LM + weight * L_focus` does not depend on the size of the model.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .guards import BadInput, need_finite, need_shape

FOCUS = """
H[l,k,t1] = -sum[t2](alpha[l,k,t1,t2] log(alpha[l,k,t1,t2]))
focus = 1/(L K T1) sum[l,k,t1](H[l,k,t1])
"""

NEAR = """
near = 1/(L K T1) sum[l,k,t1,t2](alpha[l,k,t1,t2] min(c, distance[t1,t2]))
"""


def focus(alpha: Tensor) -> Tensor:
    """`FOCUS`, the mean entropy of the rows in nats, with 0 ln 0 = 0.

    The logarithm is held at the smallest positive number: a one-hot row has entropy 0 and a finite
    gradient, where `alpha.log()` would give NaN.
    """
    _check(alpha)
    smallest = torch.finfo(alpha.dtype).tiny
    return -(alpha * alpha.clamp_min(smallest).log()).sum(-1).mean()


def near(alpha: Tensor, c: float = 9.0) -> Tensor:
    """`NEAR` with distance[t1,t2] = (t1-t2)²: each edge costs its squared distance, and never more than c.

    At most c whatever T is; one far edge neither dominates the loss nor stops the gradient of the others.
    """
    d2 = _squared_distance(alpha, c)
    return (alpha * d2.clamp(max=c)).sum(-1).mean()


def near_printed(alpha: Tensor, c: float = 9.0) -> Tensor:
    """The problem set's own form: the *expected* squared distance is clipped, and the last layer left out.

    alpha (L,...,T,T) with at least two layers. A row beyond c has no gradient at all: compare `near`.
    """
    d2 = _squared_distance(alpha, c)
    if alpha.dim() < 3 or len(alpha) < 2:
        raise BadInput(f"alpha has shape {tuple(alpha.shape)}; it needs (L, ..., T, T) with L of at least 2")
    return (alpha * d2).sum(-1).clamp(max=c)[:-1].mean()


def _squared_distance(alpha: Tensor, c: float) -> Tensor:
    T = _check(alpha)
    if not c > 0:
        raise BadInput(f"c is {c}; the largest cost of an edge needs to be above 0")
    t = torch.arange(T, device=alpha.device, dtype=alpha.dtype)
    return (t[:, None] - t[None, :]) ** 2


def _check(alpha: Tensor) -> int:
    (T,) = need_shape("alpha", alpha, "... T T")
    need_finite("alpha", alpha)
    return T
