"""What this runtime offers: torch, a device."""

import os
import sysconfig
from typing import Any

from .expected import Expected


class MissingTorch(Expected, ImportError):
    """torch is not installed; the message says how to get it."""


def require_torch() -> Any:
    """The torch module, or one sentence that says how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingTorch(
            "this part of coursekit needs PyTorch: install it with `pip install coursekit[torch]` "
            "(Google Colab already has it)"
        ) from error
    return torch


def best_device() -> Any:
    torch = require_torch()
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def find_own_scripts() -> None:
    """Put this Python's scripts on the PATH: nbgrader calls `alembic` by its bare name."""
    scripts = sysconfig.get_path("scripts")
    path = os.environ.get("PATH", "")
    if scripts not in path.split(os.pathsep):
        os.environ["PATH"] = scripts + os.pathsep + path
