"""Running a system on tables of numbers: the engine of `compare` where there is torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from ..meaning.evaluate import Engine
from ..meaning.table import Table
from .runner import run


class Torch(Engine):
    def give(self, table: Table) -> Tensor:
        whole = bool(table.flat) and isinstance(table.flat[0], int)
        return torch.tensor(table.flat, dtype=torch.long if whole else torch.float64).reshape(table.shape)

    def run(self, system, inputs, edges, sizes, opaque, functions) -> dict[str, Table]:
        known = {name: partial(_on_tensors, function) for name, function in opaque.items()}
        boundary = {name: tuple(parts) for name, parts in edges.items()}
        with torch.no_grad():
            found = run(system, inputs, boundary, sizes, {**known, **functions})
        return {n: Table(x.shape, x.flatten().tolist()) for n, x in found.items()}

    def on_lists(self, function: Callable) -> Callable:
        return lambda *args: function(*(torch.tensor(a, dtype=torch.float64) for a in args)).tolist()


def _on_tensors(function, *args: Tensor) -> Tensor:
    """A function of lists, at every value of the axes that stand before those of its arguments."""
    ranks = [*function.ranks, *[1] * len(args)]
    lead = args[0].shape[: args[0].ndim - ranks[0]]
    rows = [a.reshape(-1, *a.shape[a.ndim - rank :]) for a, rank in zip(args, ranks, strict=False)]
    found = [function(*(row[k].tolist() for row in rows)) for k in range(lead.numel())]
    return torch.tensor(found, dtype=torch.float64).reshape(*lead, *function.shape)
