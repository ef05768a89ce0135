"""Who computes the values that are compared: torch, or plain Python where there is none.

Both are given the same numbers and give the same, so that a comparison has one verdict and one sentence.
"""

from __future__ import annotations

from ..errors import NotationError
from ..meaning.evaluate import Engine

_made: dict[str, Engine] = {"python": Engine()}


def engine(name: str | None = None) -> Engine:
    """The engine of that name, `"torch"` or `"python"`; without one, torch where it is installed."""
    if name not in (None, *_made, "torch"):
        raise NotationError(f'the engine is "torch" or "python", not {name!r}')
    if name != "python" and "torch" not in _made:
        try:
            from ..run.runner import Torch
        except ImportError:
            if name is not None:
                raise
            return _made["python"]
        _made["torch"] = Torch()
    return _made[name or "torch"]
