"""What both ends of the wire agree on: what counts as plain data, its bounds, and the two ways to fail."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

DEPTH = 100  # a list inside a list inside a list…
LARGEST_INT = 1 << 16  # bytes

NUMPY_KINDS = "biufcUSMm"  # of array elements; the rest are objects

# The types that share one encoding: a tag, a count, the elements.
SEQUENCES: dict[type, bytes] = {list: b"l", tuple: b"t", deque: b"q", set: b"S", frozenset: b"Z"}
DICTS: dict[type, bytes] = {dict: b"d", OrderedDict: b"O", Counter: b"K", defaultdict: b"D"}
SINGLE: dict[Any, bytes] = {None: b"N", True: b"T", False: b"F", Ellipsis: b"E"}


class Flag:
    """Of a tensor."""

    REQUIRES_GRAD, PARAMETER = 1, 2


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
