"""The torch function mode behind `device.use_what_is_there`."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from coursekit.runtime import best_device

from .device import device_named


class Present(TorchFunctionMode):
    """Every device argument of another type than the best present one becomes that one."""

    def __init__(self) -> None:
        super().__init__()
        self.present = best_device()
        self.fine = {self.present.type, torch.empty(()).device.type, "meta"}

    def is_missing(self, device: Any) -> bool:
        return isinstance(device, torch.device) and device.type not in self.fine

    def _change(self, value: Any) -> Any:
        device = device_named(value) if isinstance(value, str) else value
        return self.present if self.is_missing(device) else value

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if args and self.is_missing(device_named(name)):  # a method named after a device
            return args[0].to(self.present)
        kwargs = {
            key: self._change(value) if key == "device" else value for key, value in (kwargs or {}).items()
        }
        return func(*map(self._change, args), **kwargs)
