"""Cells on top of each other, with residual connections, and cells in both directions."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .cells import Cell, State
from .guards import need_shape

STACKED = """
    h1[b,t,J] = CELL1(h1[b,t-1,J], x[b,t,J])
    L1[b,t,j] = x[b,t,j] + h1[b,t,j]
    h2[b,t,J] = CELL2(h2[b,t-1,J], L1[b,t,J])
    L2[b,t,j] = L1[b,t,j] + h2[b,t,j]
"""


class Stacked(nn.Module):
    """Layers of cells, each reading what the layer below gives out; `STACKED` shows two.

    With `residual`, a layer whose input is as wide as its state adds its state to its input (a first
    layer that changes the width cannot). Like a cell it has `inputs`, `hidden` and `forward`.
    """

    def __init__(self, cells: Iterable[Cell], residual: bool = True):
        super().__init__()
        cells = list(cells)
        self.layers, self.residual = nn.ModuleList(cells), residual
        self.inputs, self.hidden = cells[0].inputs, cells[-1].hidden

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[State, ...]]:
        """All steps of the first layer, then all of the next: x (B, T, K) -> (B, T, J), and the last states."""
        after = []
        for layer in self.layers:
            h, last = layer(x)
            x = x + h if self.residual and x.shape == h.shape else h
            after.append(last)
        return x, tuple(after)


class Bidirectional(nn.Module):
    """One cell from left to right and one from right to left, over the same inputs.

    hf[b,t] has seen x[b,0..t], hb[b,t] has seen x[b,t..T-1]: both have seen x[b,t].
    """

    def __init__(self, forward: Cell, backward: Cell):
        super().__init__()
        self.forward_cell, self.backward_cell = forward, backward
        self.inputs, self.hidden = forward.inputs, forward.hidden

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, K) -> hf (B, T, J), hb (B, T, J)."""
        need_shape("x", x, "B T K", K=self.inputs)
        hf, _ = self.forward_cell(x)
        hb, _ = self.backward_cell(torch.flip(x, [1]))
        return hf, torch.flip(hb, [1])
