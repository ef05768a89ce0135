"""A tensor whose history is in the other process: its gradient is asked for there."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable


class _Remote(torch.autograd.Function):
    """y = f(x) was computed elsewhere; (dL/dy) -> (dL/dy) · dy/dx is computed there too."""

    @staticmethod
    def forward(ctx: Any, peer: Any, key: int, value: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.peer, ctx.key = peer, key
        ctx.forms = [(tensor.shape, tensor.dtype) for tensor in inputs]
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:  # type: ignore[override]
        found = ctx.peer.request("vjp", (ctx.key, grad.contiguous()), ctx.peer.deadline())
        if type(found) is not list or len(found) != len(ctx.forms):
            raise ctx.peer.misbehaved("gradients of the wrong number")
        for gradient, (shape, dtype) in zip(found, ctx.forms, strict=True):
            if gradient is not None and (gradient.shape, gradient.dtype) != (shape, dtype):
                raise ctx.peer.misbehaved("a gradient of the wrong shape")
        return (None, None, None, *found)


def attach(peer: Any, key: int, value: torch.Tensor, inputs: list[torch.Tensor]) -> torch.Tensor:
    """`value` as a function of `inputs`, whatever the gradient mode: the other side knew it had a history."""
    with torch.enable_grad():
        return _Remote.apply(peer, key, value.requires_grad_(), *inputs)
