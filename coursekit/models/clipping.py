"""Gradient clipping: a gradient that is too long is shortened, its direction kept.

The slide clips each tensor by its own norm; torch clips all tensors by one norm, that of all their
entries together, and divides by that norm + 1e-6. Both leave short gradients as they are.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from .guards import need, need_finite


def clip_each(gradients: Iterable[Tensor], n_max: float) -> list[Tensor]:
    """g if ‖g‖ <= n_max, else n_max g/‖g‖, for each tensor by itself (the slide).

    >>> clip_each([torch.tensor([6.0, 8.0])], 5.0)
    [tensor([3., 4.])]
    """
    gradients = _checked(gradients, n_max)
    return [n_max / g.norm().clamp(min=n_max) * g for g in gradients]


def clip_global(gradients: Iterable[Tensor], n_max: float, epsilon: float = 1e-6) -> list[Tensor]:
    """Every g times one factor, min(1, n_max / (norm + ε)), norm that of all entries together.

    With torch's ε this is `torch.nn.utils.clip_grad_norm_`; with ε = 0 it is exact.

    >>> clip_global([torch.tensor([6.0]), torch.tensor([8.0])], 5.0, epsilon=0.0)
    [tensor([3.]), tensor([4.])]
    """
    gradients = _checked(gradients, n_max)
    norm = torch.stack([g.norm() for g in gradients]).norm() + epsilon
    return [n_max / norm.clamp(min=n_max) * g for g in gradients]


def _checked(gradients: Iterable[Tensor], n_max: float) -> list[Tensor]:
    gradients = [gradients] if isinstance(gradients, Tensor) else list(gradients)
    need(n_max > 0, f"n_max is {n_max}; it needs to be a positive number")
    need(len(gradients) > 0, "there are no gradients to clip: call backward() first")
    for n, g in enumerate(gradients):
        need_finite(f"gradient {n}", g)
    return gradients
