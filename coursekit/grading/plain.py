"""What both ends of the wire agree on: what counts as plain data, its bounds, and the two ways to fail."""

from __future__ import annotations

import sys
from typing import Any

DEPTH = 100  # a list inside a list inside a list…
LARGEST_INT = 1 << 16  # bytes
DIMENSIONS = 32

NUMPY_KINDS = "biufcUSMm"  # of array elements; the rest are objects
REQUIRES_GRAD, PARAMETER, HAS_GRAD, HAS_GRAPH = 1, 2, 4, 8


class NotPlain(TypeError):
    """A value that cannot cross as data; the message says what and why."""


class Malformed(ValueError):
    """Bytes that no honest encoder writes."""


_found: dict[str, Any] = {}


def module(name: str) -> Any:
    """A module if it was ever imported; the one that came first, whatever stands in sys.modules later."""
    if name not in _found and name in sys.modules:
        _found[name] = sys.modules[name]
    return _found.get(name)


def torch_module() -> Any:
    return module("torch")


def numpy_module() -> Any:
    return module("numpy")
