"""Cells on top of each other, with residual connections, and cells in both directions."""

from collections.abc import Iterable
from itertools import pairwise

import torch
from torch import Tensor, nn

from .cells import Cell, State
from .guards import BadInput, need_shape

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
        self.layers = nn.ModuleList(cells)
        if not cells:
            raise BadInput("a stack needs at least one cell")
        self.residual = residual
        widths = [(cell.inputs, cell.hidden) for cell in cells]
        for n, ((_, below), (above, _)) in enumerate(pairwise(widths), start=1):
            if below != above:
                raise BadInput(f"layer {n + 1} reads {above} numbers; layer {n} below it gives {below}")
        self.inputs, self.hidden = widths[0][0], widths[-1][1]

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[State, ...]]:
        """All steps of the first layer, then all of the next: x (B, T, K) -> (B, T, J), and the last states."""
        need_shape("x", x, "B T K", K=self.inputs)
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
        if (forward.inputs, forward.hidden) != (backward.inputs, backward.hidden):
            raise BadInput(
                f"the forward cell has inputs={forward.inputs}, hidden={forward.hidden}; the backward cell "
                f"needs the same, not inputs={backward.inputs}, hidden={backward.hidden}"
            )
        self.forward_cell, self.backward_cell = forward, backward
        self.inputs, self.hidden = forward.inputs, forward.hidden

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, K) -> hf (B, T, J), hb (B, T, J)."""
        need_shape("x", x, "B T K", K=self.inputs)
        hf, _ = self.forward_cell(x)
        hb, _ = self.backward_cell(torch.flip(x, [1]))
        return hf, torch.flip(hb, [1])
