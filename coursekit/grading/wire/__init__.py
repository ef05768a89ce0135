"""Plain data as bytes, and back. Never pickle: what is not plain is left to a hook, or refused.

Plain is: None, bool, int, float, complex, str, bytes, bytearray, list, tuple, named tuple, dict (also Counter,
OrderedDict, defaultdict), set, frozenset, deque, range, slice, numpy arrays and scalars, torch tensors, dtypes,
sizes and devices. The type must be exact: a subclass may redefine `==`, so it is not plain.
"""

from __future__ import annotations

from typing import Any

from .decoder import Decoder
from .encoder import Encoder, Malformed, NotPlain, module

__all__ = ["Decoder", "Encoder", "Malformed", "NotPlain", "decode", "encode", "module"]


def encode(value: Any) -> bytes:
    """Plain data as bytes; NotPlain for anything else."""
    return Encoder().encode(value)


def decode(data: bytes) -> Any:
    return Decoder(data).decode()
