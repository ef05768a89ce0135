"""The two-dimensional RNN: a hidden state at each place of a grid, fed by its two earlier neighbours.

Place (i,j) waits for (i-1,j) and (i,j-1), so all places with the same i+j are ready at the same time:
the anti-diagonals are the parallel steps, n+m-1 of them for n x m places. `grid_loop` is the equation
read aloud; `grid_states` does one matrix product per anti-diagonal; `grid_gradient` is the hand-derived
backward pass, once through the places in the opposite order.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .guards import need_tensors

EQUATIONS = """
pad h
h[b,i,j,a] = sigmoid(W_in[a,C] x[b,i,j,C] + W_left[a,D] h[b,i-1,j,D] + W_top[a,D] h[b,i,j-1,D])
"""
TENSORS = "W_in h c, W_left h h, W_top h h, x B n m c"


def grid_loop(x: Tensor, W_in: Tensor, W_left: Tensor, W_top: Tensor) -> Tensor:
    """`EQUATIONS`, place by place. x (B,n,m,c), W_in (h,c), W_left and W_top (h,h) -> (B,n,m,h)."""
    size, _, batch, n, m = need_tensors(TENSORS, W_in, W_left, W_top, x)
    zero = x.new_zeros(batch, size)
    h: dict[tuple[int, int], Tensor] = {}
    for i in range(n):
        for j in range(m):
            left, top = h.get((i - 1, j), zero), h.get((i, j - 1), zero)
            h[i, j] = torch.sigmoid(x[:, i, j] @ W_in.T + left @ W_left.T + top @ W_top.T)
    return torch.stack([torch.stack([h[i, j] for j in range(m)], 1) for i in range(n)], 1)


def grid_states(x: Tensor, W_in: Tensor, W_left: Tensor, W_top: Tensor) -> Tensor:
    """The same states by anti-diagonals: one product of [x; left; top] for all places that are ready."""
    size, _, batch, n, m = need_tensors(TENSORS, W_in, W_left, W_top, x)
    W = torch.cat([W_in, W_left, W_top], 1).T  # (c+2h, h)
    place = torch.arange(n * m, device=x.device)
    order = ((place // m + place % m) * n + place // m).argsort()  # by anti-diagonal, and then by row
    lengths = [min(n, d + 1) - max(0, d - m + 1) for d in range(n + m - 1)]
    diagonals = x.permute(1, 2, 0, 3).flatten(0, 1)[order].split(lengths)  # of (length, B, c)
    before = x.new_zeros(2, batch, size)  # the last anti-diagonal, with the zeros of the border around it
    states = []
    for d, x_d in enumerate(diagonals):
        h = torch.sigmoid(torch.cat([x_d, before[:-1], before[1:]], -1) @ W)
        states.append(h)
        before = F.pad(h, (0, 0, 0, 0, int(d < m - 1), int(d < n - 1)))
    return torch.cat(states)[order.argsort()].view(n, m, batch, size).permute(2, 0, 1, 3)


def grid_gradient(
    x: Tensor, h: Tensor, W_in: Tensor, W_left: Tensor, W_top: Tensor, dh: Tensor
) -> dict[str, Tensor]:
    """The backward pass by hand: the chain rule at each place, from the last place to the first.

        g[i,j] = dh[i,j] + W_leftᵀ a[i+1,j] + W_topᵀ a[i,j+1]      what arrives at h[i,j]
        a[i,j] = g[i,j] ∘ h[i,j] ∘ (1 - h[i,j])                    before the sigmoid
        dW_in = Σ a[i,j] x[i,j]ᵀ    dW_left = Σ a[i,j] h[i-1,j]ᵀ    dW_top = Σ a[i,j] h[i,j-1]ᵀ

    h (B,n,m,h) are the states of x; dh (B,n,m,h) is dJ/dh where only the loss is looked at.
    Returns dJ for `W_in`, `W_left`, `W_top` and `x`, each of its own shape.
    """
    size, _, batch, n, m = need_tensors(TENSORS, W_in, W_left, W_top, x)
    need_tensors("h B n m h, dh B n m h", h, dh, B=batch, n=n, m=m, h=size)
    a = torch.zeros_like(F.pad(h, (0, 0, 0, 1, 0, 1)))  # one border of zeros below and to the right
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            g = dh[:, i, j] + a[:, i + 1, j] @ W_left + a[:, i, j + 1] @ W_top
            a[:, i, j] = g * h[:, i, j] * (1 - h[:, i, j])
    a = a[:, :n, :m]
    outer = "bijp,bijq->pq"  # after, before
    return {
        "W_in": torch.einsum(outer, a, x),
        "W_left": torch.einsum(outer, a[:, 1:], h[:, :-1]),
        "W_top": torch.einsum(outer, a[:, :, 1:], h[:, :, :-1]),
        "x": a @ W_in,
    }


class GridRNN(nn.Module):
    """The 2-D RNN: hc + 2h² parameters, whatever the grid. forward: x (B,n,m,c) -> (B,n,m,h)."""

    def __init__(self, channels: int, hidden: int):
        super().__init__()
        self.W_in = nn.Parameter(torch.randn(hidden, channels) * channels**-0.5)
        self.W_left = nn.Parameter(torch.randn(hidden, hidden) * (2 * hidden) ** -0.5)
        self.W_top = nn.Parameter(torch.randn(hidden, hidden) * (2 * hidden) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        return grid_states(x, self.W_in, self.W_left, self.W_top)
