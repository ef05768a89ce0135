"""Gradient checks need float64: cases are converted, and leave a device that has none."""

from __future__ import annotations

import torch
from torch import Tensor

NOTE = " (gradient checks need float64, which this device does not have: they ran on one that has it)"


def float64(cases: list[dict[str, object]]) -> tuple[list[dict[str, object]], str]:
    """The cases in float64, and a note for the student where they had to leave their device."""
    tensors = [value for case in cases for value in _tensors(list(case.values()))]
    moved = bool(tensors) and not has_float64(tensors[0])
    converted = [{name: _convert(value, moved) for name, value in case.items()} for case in cases]
    return converted, NOTE if moved else ""


def has_float64(tensor: Tensor) -> bool:
    try:
        torch.zeros(1, dtype=torch.float64, device=tensor.device)
    except (TypeError, RuntimeError):
        return False
    return True


def _tensors(value: object):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _convert(value: object, move: bool) -> object:
    if isinstance(value, Tensor):
        # NumPy's arrays live in the host's memory, which has float64 whatever the device.
        value = torch.from_numpy(value.numpy(force=True).copy()) if move else value.detach()
        return value.double() if value.is_floating_point() else value
    if type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") == "f":
        return value.astype("float64")  # type: ignore[attr-defined]
    if isinstance(value, (list, tuple)):
        return type(value)(_convert(item, move) for item in value)
    return value
