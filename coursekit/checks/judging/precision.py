"""Where a check computes, and how exactly: answers on the device of their cases, the truth in the host's memory.

Both are in float64. Cases leave a device that has none. An oracle need not ask where its case lives: it gets a copy
in ordinary memory, so a torch module that it makes fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

NOTE = " (gradient checks need float64, which this device does not have: they ran on one that has it)"


def float64(cases: list[dict[str, object]]) -> tuple[list[dict[str, object]], str]:
    """The cases in float64, and a note for the student where they had to leave their device."""
    tensors = [value for case in cases for value in _tensors(list(case.values()))]
    moved = bool(tensors) and not has_float64(tensors[0])

    def convert(tensor: Tensor) -> Tensor:
        tensor = _host(tensor) if moved else tensor.detach()
        return tensor.double() if tensor.is_floating_point() else tensor

    return [_changed(case, convert) for case in cases], NOTE if moved else ""


def on_host(cases: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Copies of the cases in the host's memory, for whoever computes the truth."""
    return [_changed(case, _host) for case in cases]


def has_float64(tensor: Tensor) -> bool:
    try:
        torch.zeros(1, dtype=torch.float64, device=tensor.device)
    except (TypeError, RuntimeError):
        return False
    return True


def _host(tensor: Tensor) -> Tensor:
    """NumPy's arrays live in the host's memory, which has float64 whatever the device."""
    return torch.from_numpy(tensor.numpy(force=True).copy())


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _changed(case: Mapping[str, object], change: Callable[[Tensor], Tensor]) -> dict[str, object]:
    return {name: _change(value, change) for name, value in case.items()}


def _change(value: object, change: Callable[[Tensor], Tensor]) -> object:
    if isinstance(value, Tensor):
        return change(value)
    if type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") == "f":
        return value.astype("float64")  # type: ignore[attr-defined]
    if isinstance(value, (list, tuple)):
        return type(value)(_change(item, change) for item in value)
    return value
