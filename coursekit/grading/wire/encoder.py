"""Plain data to bytes; what is not plain is left to a hook, or refused. What counts as plain, its bounds, and the two
ways to fail are for both ends."""

from __future__ import annotations

import struct
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

PACKED = 16  # shorter lists of numbers are not worth packing
Parts = tuple[bytes, tuple[Any, ...]]  # a tag, and what follows it
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


class Encoder:
    """`other(value) -> (kind, data)` is asked for what is not plain; it raises NotPlain to refuse.

    `graph(tensor) -> int` gives a key for a tensor that has a history, `tensors` collects the tensors that
    ask for a gradient, in the order in which they were written.
    """

    def __init__(
        self,
        other: Callable[[Any], tuple[str, Any]] | None = None,
        graph: Callable[[Any], int] | None = None,
        limit: int = 1 << 28,
    ):
        self.other, self.graph, self.limit = other, graph, limit
        self.tensors: list[Any] = []

    def encode(self, value: Any) -> bytes:
        out = bytearray()
        self._write(out, value, 0)
        return bytes(out)

    def _write(self, out: bytearray, value: Any, depth: int) -> None:
        if depth > DEPTH:
            raise NotPlain(f"a value is nested more than {DEPTH} deep, or contains itself")
        self._fits(len(out), "a value")
        kind = type(value)
        if kind in _SIMPLE:
            out += _SIMPLE[kind](value)
        elif kind in SEQUENCES:
            self._sequence(out, value, depth)
        elif kind in DICTS:
            out += DICTS[kind] + struct.pack("<Q", len(value))
            self._all(out, (part for pair in list(value.items()) for part in pair), depth)
        else:
            tag, parts = self._torch(value) or self._array(value) or self._other(value)
            out += tag
            self._all(out, parts, depth)

    def _fits(self, size: int, what: str) -> None:
        if size > self.limit:
            raise NotPlain(f"{what} is larger than {self.limit >> 20} MB")

    def _all(self, out: bytearray, items: Iterable[Any], depth: int) -> None:
        for item in items:
            self._write(out, item, depth + 1)

    def _sequence(self, out: bytearray, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is list and len(value) >= PACKED:
            kinds = set(map(type, value))
            with suppress(struct.error):  # an int of more than 64 bits
                for every, tag, letter in ((float, b"P", "d"), (int, b"Q", "q")):
                    if kinds == {every}:
                        out += _block(tag, struct.pack(f"<{len(value)}{letter}", *value))
                        return
        out += SEQUENCES[kind] + struct.pack("<Q", len(value))
        if kind in (set, frozenset):  # sorted by their bytes, so that equal sets give equal messages
            parts = [bytearray() for _ in value]
            for part, item in zip(parts, value, strict=True):
                self._write(part, item, depth + 1)
            out += b"".join(sorted(parts))
        else:
            self._all(out, list(value), depth)

    def _array(self, value: Any) -> Parts | None:
        kind, numpy = type(value), module("numpy")
        scalar = numpy is not None and isinstance(value, numpy.generic) and kind.__module__ == "numpy"
        if (
            not (scalar or (numpy is not None and kind is numpy.ndarray))
            or value.dtype.kind not in NUMPY_KINDS
        ):
            return None
        self._fits(value.nbytes, "an array")
        array = numpy.ascontiguousarray(value)
        return b"G" if scalar else b"A", (array.dtype.str, tuple(value.shape), array.tobytes())

    def _torch(self, value: Any) -> Parts | None:
        kind, torch = type(value), module("torch")
        if torch is None:
            return None
        if kind is torch.Size:
            return b"z", (tuple(value),)
        if kind in (torch.dtype, torch.device):
            return b"y" if kind is torch.dtype else b"v", (_name(value),)
        return self._numbers(value) if kind in (torch.Tensor, torch.nn.Parameter) else None

    def _numbers(self, value: Any) -> Parts:
        torch = module("torch")
        if value.layout is not torch.strided or value.is_quantized:
            raise NotPlain("a tensor is sparse or quantized")
        self._fits(value.numel() * value.element_size(), "a tensor")
        if value.requires_grad:
            self.tensors.append(value)
        grad = value.grad if value.is_leaf else None
        grad = grad.detach() if grad is not None and grad.layout is torch.strided else None
        history = value.requires_grad and not value.is_leaf and self.graph is not None
        flags = Flag.REQUIRES_GRAD * value.requires_grad | Flag.PARAMETER * (type(value) is not torch.Tensor)
        plain = value.detach().cpu().resolve_conj().resolve_neg()
        if plain.dtype is torch.bfloat16 or (plain.is_floating_point() and plain.element_size() == 1):
            # numpy has no such type
            plain = plain.view(torch.int16 if plain.element_size() == 2 else torch.int8)
        try:
            data = plain.numpy().tobytes()
        except TypeError:
            raise NotPlain(f"a tensor has numbers of type {value.dtype}") from None
        key = self.graph(value) if history and self.graph is not None else None
        return b"X", (_name(value.dtype), flags, tuple(value.shape), data, key, grad)

    def _other(self, value: Any) -> Parts:
        kind = type(value)
        if kind is range or kind is slice:
            return b"r" if kind is range else b"L", (value.start, value.stop, value.step)
        fields = getattr(kind, "_fields", None)
        if kind.__bases__ == (tuple,) and isinstance(fields, tuple) and len(fields) == len(value):
            # Plain to its last entry: one that holds a function would be an object with a method of its own.
            parts = (kind.__name__, *map(str, fields)), tuple(value)
            with suppress(NotPlain):
                Encoder(None, self.graph, self.limit).encode(parts)
                return b"n", parts
        if self.other is None:
            raise NotPlain(f"a value of type {kind.__name__} is not plain data")
        return b"H", self.other(value)


def _name(value: object) -> str:
    return str(value).removeprefix("torch.")


def _block(tag: bytes, data: bytes) -> bytes:
    return tag + struct.pack("<Q", len(data)) + data


def _int(value: int) -> bytes:
    if -(1 << 63) <= value < 1 << 63:
        return b"i" + struct.pack("<q", value)
    size = (value.bit_length() + 8) // 8
    if size > LARGEST_INT:
        raise NotPlain("an integer has more than 500,000 bits")
    return _block(b"I", value.to_bytes(size, "little", signed=True))


_SIMPLE: dict[type, Callable[[Any], bytes]] = {
    **dict.fromkeys((type(None), bool, type(Ellipsis)), SINGLE.__getitem__),
    int: _int,
    float: lambda value: b"f" + struct.pack("<d", value),
    complex: lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
    str: lambda value: _block(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _block(b"b", value),
    bytearray: lambda value: _block(b"B", bytes(value)),
}
