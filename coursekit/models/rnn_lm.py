"""The recurrent language model of Mikolov et al. (2010), in row vectors.

    e(t) = x(t) L                        the row of L for the word x(t)
    h(t) = sigmoid(h(t-1) H + e(t) I + b1)
    ŷ(t) = softmax(h(t) U + b2)          the distribution of the next word
    J(t) = −ln ŷ(t)[y(t)]                y(t) is the word that came next

V words, embeddings of size d, states of size D. `bptt` has the gradients, derived by hand.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.types import Device

from .guards import need_finite, need_ids, need_shape, need_tensors

EQUATIONS = """
    e[b,t,i] = L[x[b,t],i]
    h[b,t,j] = sigmoid(h[b,t-1,K] H[K,j] + e[b,t,I] I[I,j] + b1[j])
    yhat[b,t,v] = softmax[v](h[b,t,J] U[J,v] + b2[v])
    loss[b,t] = -log(yhat[b,t,y[b,t]])
"""
Word = int | Tensor  # a whole number, or a tensor of no dimension


class Params(NamedTuple):
    """The parameters, and (in the same six fields) the gradients by them."""

    L: Tensor  # (V, d)
    H: Tensor  # (D, D)
    I: Tensor  # (d, D)
    b1: Tensor  # (D,)
    U: Tensor  # (D, V)
    b2: Tensor  # (V,)

    @classmethod
    def random(
        cls, V: int, d: int, D: int, *,
        generator: torch.Generator | None = None, device: Device = None, dtype: torch.dtype | None = None,
    ) -> "Params":  # fmt: skip
        """Parameters of unit scale: large enough that no mistake in a gradient hides."""
        shapes = ((V, d), (D, D), (d, D), (D,), (D, V), (V,))
        return cls(*(torch.randn(s, generator=generator, device=device, dtype=dtype) for s in shapes))

    def check(self) -> tuple[int, ...]:
        """V, d, D, once every shape fits the others."""
        L, H, I, b1, U, b2 = self
        return need_tensors("L V d, b1 D, H D D, I d D, U D V, b2 V", L, b1, H, I, U, b2)


class Step(NamedTuple):
    """One step of the model."""

    e: Tensor  # (d,)
    h: Tensor  # (D,)
    y_hat: Tensor  # (V,)
    J: Tensor  # ()


class Run(NamedTuple):
    """The model over whole sequences."""

    e: Tensor  # (B, T, d)
    h: Tensor  # (B, T, D)
    z: Tensor  # (B, T, V), the scores: y_hat = softmax(z)

    @property
    def y_hat(self) -> Tensor:
        return self.z.softmax(-1)


def forward(
    x: Word, h_prev: Tensor, L: Tensor, H: Tensor, I: Tensor, b1: Tensor, U: Tensor, b2: Tensor, target: Word
) -> Step:
    """One step: the word x and the state h(t-1) (D,), then the loss of the word `target`.

    `forward(x, h_prev, *params, target)`; words are whole numbers or 0-dimensional tensors.
    """
    params = Params(L, H, I, b1, U, b2)
    V, _, D = params.check()
    x, target = torch.as_tensor(x, device=L.device), torch.as_tensor(target, device=L.device)
    need_ids("x", x, "", below=V)
    need_ids("target", target, "", below=V)
    need_shape("h_prev", h_prev, "D", D=D)
    e, h, z = (found[0, 0] for found in run(x[None, None], params, h_prev[None]))
    return Step(e, h, z.softmax(-1), F.cross_entropy(z, target))


def run(x: Tensor, params: Params, h0: Tensor) -> Run:
    """The words x (B, T) from the states h0 (B, D); the products without a state are done at once."""
    V, _, D = params.check()
    batch, _ = need_ids("x", x, "B T", below=V)
    need_shape("h0", h0, "B D", B=batch, D=D)
    need_finite("h0", h0)
    L, H, I, b1, U, b2 = params
    e = F.embedding(x, L)
    h, states = h0, []
    for drive in (e @ I + b1).unbind(1):
        h = torch.sigmoid(torch.addmm(drive, h, H))
        states.append(h)
    h = torch.stack(states, dim=1)
    return Run(e, h, h @ U + b2)


def losses(x: Tensor, y: Tensor, params: Params, h0: Tensor) -> Tensor:
    """J(t) for every word: x and y (B, T) -> (B, T), in nats."""
    need_ids("y", y, "B T", below=len(params.L), B=x.shape[0], T=x.shape[-1])
    return F.cross_entropy(run(x, params, h0).z.movedim(-1, 1), y, reduction="none")
