"""A tensor with a history keeps it on its own side.

`backward()` on the copy asks the other side for the rows of the Jacobian, one for each entry, so that no number of the
test's goes over; only where no argument asks for a gradient, and so the student's own parameters are all that could be
meant, the gradient itself is sent.
"""

from typing import Any

import torch
from torch.autograd.function import once_differentiable

ENTRIES = 4096  # of a result whose gradient is asked for: each is a backward pass of its own
AT_ONCE = 1 << 22  # numbers in one answer


def rows(tensor: torch.Tensor, leaves: list[torch.Tensor], first: int, last: int) -> list[Any]:
    """For each leaf, the derivatives of these entries of the tensor."""
    found = [
        torch.autograd.grad(entry, leaves, retain_graph=True, allow_unused=True)
        for entry in tensor.reshape(-1)[first:last]
    ]
    return [None if column[0] is None else torch.stack(column) for column in zip(*found, strict=True)]


class _Elsewhere(torch.autograd.Function):
    """y = f(x) was computed elsewhere. Its derivatives dy/dx come from there; (dL/dy) · dy/dx is computed here, since
    dL/dy may hold what the test expects."""

    @staticmethod
    def forward(ctx: Any, peer: Any, key: int, value: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.peer, ctx.key = peer, key
        ctx.forms = [(tensor.shape, tensor.dtype) for tensor in inputs]
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        peer, flat = ctx.peer, grad.reshape(-1)
        if not ctx.forms:
            peer.request("vjp", (ctx.key, grad.contiguous()), peer.deadline())
            return (None, None, None)
        if len(flat) > ENTRIES:
            raise peer.refuse("the test goes back through a value whose history stays with the student")
        step = max(1, AT_ONCE // max(1, sum(shape.numel() for shape, _ in ctx.forms)))
        totals: list[Any] = [None] * len(ctx.forms)
        for first in range(0, len(flat), step):
            weights = flat[first : first + step]
            found = peer.request("rows", (ctx.key, first, first + len(weights)), peer.deadline())
            if type(found) is not list or len(found) != len(ctx.forms):
                raise peer.misbehaved("gradients of the wrong number")
            for at, (row, (shape, dtype)) in enumerate(zip(found, ctx.forms, strict=True)):
                if row is None:
                    continue
                if (row.shape, row.dtype) != ((len(weights), *shape), dtype):
                    raise peer.misbehaved("a gradient of the wrong shape")
                part = torch.tensordot(weights.to(dtype), row.detach(), 1)
                totals[at] = part if totals[at] is None else totals[at] + part
        return (None, None, None, *totals)


def attached(peer: Any, key: int, value: torch.Tensor, inputs: list[torch.Tensor]) -> torch.Tensor:
    """`value` as a function of `inputs`, whatever the gradient mode: the other side knew it had a history."""
    with torch.enable_grad():
        made: torch.Tensor = _Elsewhere.apply(peer, key, value.requires_grad_(), *inputs)  # type: ignore[no-untyped-call]
        return made
