"""Where a check computes, and how exactly: answers on the device of their cases, the truth in the host's memory.

Both are in float64. Cases leave a device that has none. An oracle need not ask where its case lives: it gets a copy
in ordinary memory, so a torch module that it makes fits.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

NOTE = " (gradient checks need float64, which this device does not have: they ran on one that has it)"


def float64(cases: Sequence[Mapping[str, object]]) -> tuple[list[dict[str, object]], str]:
    """The cases in float64, and a note for the student where they had to leave their device."""
    tensors = (value for value in tree_leaves(list(cases)) if isinstance(value, Tensor))
    moved = not has_float64(next(tensors, None))

    def convert(value: Any) -> object:
        if isinstance(value, Tensor):
            value = _host(value) if moved else value.detach()
            return value.double() if value.is_floating_point() else value
        real = type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") == "f"
        return value.astype("float64") if real else value

    return [tree_map(convert, dict(case)) for case in cases], NOTE if moved else ""


def on_host(cases: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Copies of the cases in the host's memory, for whoever computes the truth."""
    return [tree_map(lambda v: _host(v) if isinstance(v, Tensor) else v, dict(case)) for case in cases]


def has_float64(tensor: Tensor | None) -> bool:
    try:
        torch.zeros(1, dtype=torch.float64, device=None if tensor is None else tensor.device)
    except (TypeError, RuntimeError):
        return False
    return True


def _host(tensor: Tensor) -> Tensor:
    """NumPy's arrays live in the host's memory, which has float64 whatever the device."""
    return torch.from_numpy(tensor.numpy(force=True).copy())
