"""From logits to words: temperature, its inverse, sampling and the limit of zero temperature.

P(w) = softmax[w](beta z[w]) with beta = 1 / temperature. The problem sets call beta a temperature;
it is the inverse: beta -> 0 gives the uniform distribution, and beta -> infinity (temperature 0) puts all
on the largest logit. Where several are largest, the one with the smallest id is taken, so that zero
temperature is deterministic.
"""

from collections.abc import Callable
from math import inf

import torch
from torch import Tensor

from .guards import need, need_finite, need_ids, need_shape

TEMPERED = "P[b,w] = softmax[w](beta z[b,w])"


def inverse_temperature(temperature: float | None = None, beta: float | None = None) -> float:
    """beta, from one of the two names of the same number; 1 if neither is given."""
    need(temperature is None or beta is None, "give one of temperature and beta, which is 1/temperature")
    if temperature is not None:
        beta = 1 / temperature if temperature else inf
    need(beta is None or beta >= 0, f"beta, which is 1/temperature, is {beta}; it needs to be 0 or more")
    return 1.0 if beta is None else beta


def probabilities(z: Tensor, temperature: float | None = None, beta: float | None = None) -> Tensor:
    """`TEMPERED`: logits z (...,V) -> P (...,V). Zero temperature puts probability 1 on `greedy(z)`."""
    (V,) = need_shape("z", z, "... V")
    need_finite("z", z)
    beta = inverse_temperature(temperature, beta)
    if beta == 0:
        return torch.full_like(z, 1 / V)
    if beta > torch.finfo(z.dtype).max:
        return (greedy(z)[..., None] == torch.arange(V, device=z.device)).to(z.dtype)
    # The largest logit becomes 0 first, so that no beta makes it infinite.
    return torch.softmax(beta * (z - z.detach().amax(-1, keepdim=True)), -1)


def greedy(z: Tensor) -> Tensor:
    """The id of the largest logit, the smallest id among equals: (...,V) -> (...) whole numbers.

    >>> greedy(torch.tensor([1.0, 3.0, 3.0]))
    tensor(1)
    """
    (V,) = need_shape("z", z, "... V")
    ids = torch.arange(V, device=z.device)
    return torch.where(z == z.amax(-1, keepdim=True), ids, V).amin(-1)


def sample(z: Tensor, temperature: float | None = None, generator: torch.Generator | None = None) -> Tensor:
    """One word from `probabilities(z, ...)` for each row: (...,V) -> (...) whole numbers."""
    P = probabilities(z, temperature)
    words = torch.multinomial(P.reshape(-1, P.shape[-1]), 1, generator=generator)
    return words.reshape(z.shape[:-1])


def generate(
    model: Callable[[Tensor], Tensor],
    w: Tensor,
    steps: int,
    temperature: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Ancestral sampling: w (B,T) and up to `steps` words more, each from the model given all before it.

    `model` maps words (B,T) to logits (B,T,V), the last of which are those of the next word.
    """
    need_shape("w", w, "B T")
    for _ in range(steps):
        z = model(w)
        need_ids("w", w, "B T", below=z.shape[-1])
        w = torch.cat([w, sample(z[:, -1], temperature, generator=generator)[:, None]], 1)
    return w
