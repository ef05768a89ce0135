"""The loss of a language model, and losses that shape attention: few words (focus), near words (near).

    loss = next_word_loss(logits, w) + weight * focus(alpha)

`focus` and `near` take alpha (...,T,T), with any axes in front (layer, batch, head). Each is a mean over
them and over t1, so that its weight does not depend on the size of the model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .guards import need, need_finite, need_ids, need_shape

FOCUS = """
H[l,k,t1] = -sum[t2](alpha[l,k,t1,t2] log(alpha[l,k,t1,t2]))
focus = 1/(L K T1) sum[l,k,t1](H[l,k,t1])
"""

NEAR = """
near = 1/(L K T1) sum[l,k,t1,t2](alpha[l,k,t1,t2] min(c, distance[t1,t2]))
"""


def word_losses(logits: Tensor, w: Tensor, pad: int | None = None) -> Tensor:
    """−ln softmax(logits)[w], zero where w is `pad`: (B, T, V), (B, T) -> (B, T)."""
    ignored = -100 if pad is None else pad
    return F.cross_entropy(logits.movedim(-1, 1), w, ignore_index=ignored, reduction="none")


def next_word_loss(logits: Tensor, w: Tensor, pad: int | None = None) -> Tensor:
    """The mean of -ln P(w[t+1] | w[0..t]) over the words that are not `pad`.

    logits (B,T,V), those at t of the word t+1; w (B,T), which begins with a start word.

    >>> round(next_word_loss(torch.zeros(1, 3, 8), torch.tensor([[0, 5, 2]])).item(), 4)  # ln 8
    2.0794
    """
    B, T, V = need_shape("logits", logits, "B T V")
    need_ids("w", w, "B T", below=V, B=B, T=T)
    need(T >= 2, f"w has shape {tuple(w.shape)}; it needs (B, T) with T >= 2, a start and a word")
    losses = word_losses(logits[:, :-1], w[:, 1:], pad)
    if pad is None:
        return losses.mean()
    return losses.sum() / (w[:, 1:] != pad).sum()


class Predictor(nn.Module):
    """A model whose forward gives the logits of the next word, alone or before its attention."""

    def loss(self, *given: Tensor, pad: int | None = None) -> Tensor:
        """`next_word_loss` of the last that is given, the text; `pad` is its word that does not count."""
        made = self(*given)
        return next_word_loss(made[0] if isinstance(made, tuple) else made, given[-1], pad)


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

    >>> near(torch.eye(4)).item(), near(torch.eye(4).flip(0)).item()
    (0.0, 5.0)
    """
    return (alpha * _squared_distance(alpha).clamp(max=c)).sum(-1).mean()


def near_printed(alpha: Tensor, c: float = 9.0) -> Tensor:
    """The problem set's own form: the *expected* squared distance is clipped, and the last layer left out.

    alpha (L,...,T,T) with at least two layers. A row beyond c has no gradient at all: compare `near`.
    """
    return (alpha * _squared_distance(alpha)).sum(-1).clamp(max=c)[:-1].mean()


def _squared_distance(alpha: Tensor) -> Tensor:
    T = _check(alpha)
    t = torch.arange(T, device=alpha.device, dtype=alpha.dtype)
    return (t[:, None] - t[None, :]) ** 2


def _check(alpha: Tensor) -> int:
    (T,) = need_shape("alpha", alpha, "... T T")
    need_finite("alpha", alpha)
    return T
