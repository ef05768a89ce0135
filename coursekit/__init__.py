"""Language Models by Hand: the course as software.

    from coursekit import checks, models
    from coursekit.notation import Equations

Importing this package is cheap: torch is imported by the parts that need it, when they are used.
"""

from typing import Any

from .version import __version__

__all__ = ["__version__", "device"]


def device() -> Any:
    """The device to compute on: CUDA where there is one, else MPS, else the CPU.

    The only place in the course that names a device; all other code takes it from its inputs.
    """
    from .runtime import best_device

    return best_device()
