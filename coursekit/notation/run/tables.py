"""Running a system on tables of numbers: the engine of `compare` where there is torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..meaning.evaluate import Engine, Opaque
from ..meaning.table import Table
from ..system import System
from .runner import run

Given = Mapping[str, Any]  # by the name of a tensor, a dimension, a function


class Torch(Engine):
    def give(self, table: Table) -> Tensor:
        whole = bool(table.flat) and isinstance(table.flat[0], int)
        return torch.tensor(table.flat, dtype=torch.long if whole else torch.float64).reshape(table.shape)

    def run(
        self, system: System, inputs: Given, edges: Given, sizes: Given, opaque: Given, functions: Given
    ) -> dict[str, Table]:
        known = {name: partial(_on_tensors, function) for name, function in opaque.items()}
        boundary = {name: tuple(parts) for name, parts in edges.items()}
        with torch.no_grad():
            found = run(system, inputs, boundary, sizes, {**known, **functions})
        return {n: Table(x.shape, x.flatten().tolist()) for n, x in found.items()}

    def on_lists(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: function(*(torch.tensor(a, dtype=torch.float64) for a in args)).tolist()


def _on_tensors(function: Opaque, *args: Tensor) -> Tensor:
    """A function of lists, at every value of the axes that stand before those of its arguments."""
    ranks = [*function.ranks, *[1] * len(args)]
    lead = args[0].shape[: args[0].ndim - ranks[0]]
    rows = [a.reshape(-1, *a.shape[a.ndim - rank :]) for a, rank in zip(args, ranks, strict=False)]
    found = [function(*(row[k].tolist() for row in rows)) for k in range(lead.numel())]
    return torch.tensor(found, dtype=torch.float64).reshape(*lead, *function.shape)
