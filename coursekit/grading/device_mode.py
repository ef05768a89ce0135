"""The torch function mode behind `device.use_what_is_there`."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from coursekit.runtime import best_device


class Present(TorchFunctionMode):
    """Every device argument of another type than the best present one becomes that one."""

    def __init__(self) -> None:
        super().__init__()
        self.present = best_device()
        self.missing = {
            name for name in ("cuda", "mps", "xpu") if name != self.present.type
        }  # runtimes that students use

    def _change(self, value: Any) -> Any:
        if isinstance(value, torch.device):
            return self.present if value.type in self.missing else value
        if isinstance(value, str) and value.split(":")[0] in self.missing:
            return str(self.present)
        return value

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in self.missing and args:
            return args[0].to(self.present)  # x.cuda()
        kwargs = {name: self._change(value) for name, value in (kwargs or {}).items()}
        return func(*map(self._change, args), **kwargs)
