"""Plain data to bytes; what is not plain is left to a hook, or refused."""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from .plain import (
    DEPTH,
    HAS_GRAD,
    HAS_GRAPH,
    LARGEST_INT,
    NUMPY_KINDS,
    PARAMETER,
    REQUIRES_GRAD,
    NotPlain,
    numpy_module,
    torch_module,
)

PACKED = 16  # shorter lists of numbers are not worth packing
# The types that share one encoding: a tag, a count, the elements.
_SEQUENCES: dict[type, bytes] = {list: b"l", tuple: b"t", deque: b"q"}
_SETS: dict[type, bytes] = {set: b"S", frozenset: b"Z"}
_DICTS: dict[type, bytes] = {dict: b"d", OrderedDict: b"O", Counter: b"K", defaultdict: b"D"}


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
        if len(out) > self.limit:
            raise NotPlain(f"a value is larger than {self.limit >> 20} MB")
        kind = type(value)
        if value is None:
            out += b"N"
        elif kind is bool:
            out += b"T" if value else b"F"
        elif kind is int:
            self._int(out, value)
        elif kind is float:
            out += b"f" + struct.pack("<d", value)
        elif kind is str:
            self._block(out, b"s", value.encode("utf-8", "surrogatepass"))
        elif kind is bytes:
            self._block(out, b"b", value)
        elif kind in _SEQUENCES:
            self._sequence(out, value, depth)
        elif kind in _DICTS:
            out += _DICTS[kind] + struct.pack("<Q", len(value))
            for key, item in list(value.items()):
                self._write(out, key, depth + 1)
                self._write(out, item, depth + 1)
        elif kind in _SETS:
            # Sorted by their bytes, so that equal sets give equal messages.
            items = []
            for item in value:
                part = bytearray()
                self._write(part, item, depth + 1)
                items.append(bytes(part))
            out += _SETS[kind] + struct.pack("<Q", len(items)) + b"".join(sorted(items))
        elif kind is complex:
            out += b"c" + struct.pack("<dd", value.real, value.imag)
        elif kind is bytearray:
            self._block(out, b"B", bytes(value))
        elif kind is range or kind is slice:
            out += b"r" if kind is range else b"L"
            for part in (value.start, value.stop, value.step):
                self._write(out, part, depth + 1)
        elif value is Ellipsis:
            out += b"E"
        elif not self._array(out, value, depth):
            self._hook(out, value, depth)

    def _int(self, out: bytearray, value: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            out += b"i" + struct.pack("<q", value)
            return
        size = (value.bit_length() + 8) // 8
        if size > LARGEST_INT:
            raise NotPlain("an integer has more than 500,000 bits")
        self._block(out, b"I", value.to_bytes(size, "little", signed=True))

    @staticmethod
    def _block(out: bytearray, tag: bytes, data: bytes) -> None:
        out += tag + struct.pack("<Q", len(data)) + data

    def _sequence(self, out: bytearray, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is list and len(value) >= PACKED:
            kinds = set(map(type, value))
            try:
                if kinds == {float}:
                    return self._block(out, b"P", struct.pack(f"<{len(value)}d", *value))
                if kinds == {int}:
                    return self._block(out, b"Q", struct.pack(f"<{len(value)}q", *value))
            except struct.error:  # an int of more than 64 bits
                pass
        out += _SEQUENCES[kind] + struct.pack("<Q", len(value))
        for item in list(value):
            self._write(out, item, depth + 1)

    def _array(self, out: bytearray, value: Any, depth: int) -> bool:
        """Write a tensor, an array or one of their scalars; False if it is none."""
        kind, torch, numpy = type(value), torch_module(), numpy_module()
        if torch is not None:
            if kind is torch.Tensor or kind is torch.nn.Parameter:
                self._tensor(out, value, depth)
                return True
            if kind is torch.Size:
                out += b"z"
                self._write(out, tuple(value), depth + 1)
                return True
            if kind is torch.dtype:
                self._block(out, b"y", str(value).removeprefix("torch.").encode())
                return True
        if numpy is not None:
            scalar = isinstance(value, numpy.generic) and kind.__module__ == "numpy"
            if (kind is numpy.ndarray or scalar) and value.dtype.kind in NUMPY_KINDS:
                if value.nbytes > self.limit:
                    raise NotPlain(f"an array is larger than {self.limit >> 20} MB")
                array = numpy.ascontiguousarray(value)
                self._block(out, b"G" if scalar else b"A", array.dtype.str.encode())
                self._write(out, tuple(value.shape), depth + 1)
                self._block(out, b"b", array.tobytes())
                return True
        return False

    def _tensor(self, out: bytearray, value: Any, depth: int) -> None:
        torch = torch_module()
        if value.layout is not torch.strided or value.is_quantized:
            raise NotPlain("a tensor is sparse or quantized")
        if value.numel() * value.element_size() > self.limit:
            raise NotPlain(f"a tensor is larger than {self.limit >> 20} MB")
        flags = 0
        if value.requires_grad:
            flags |= REQUIRES_GRAD
            self.tensors.append(value)
        if isinstance(value, torch.nn.Parameter):
            flags |= PARAMETER
        grad = value.grad if value.is_leaf else None
        if grad is not None and grad.layout is torch.strided:
            flags |= HAS_GRAD
        history = value.requires_grad and not value.is_leaf and self.graph is not None
        if history:
            flags |= HAS_GRAPH
        plain = value.detach().cpu()
        if plain.is_conj() or plain.is_neg():
            plain = plain.resolve_conj().resolve_neg()
        if plain.dtype is torch.bfloat16 or (plain.is_floating_point() and plain.element_size() == 1):
            plain = plain.view(
                torch.int16 if plain.element_size() == 2 else torch.int8
            )  # numpy has no such type
        data = plain.numpy().tobytes()
        self._block(out, b"X", str(value.dtype).removeprefix("torch.").encode())
        out += struct.pack("<B", flags)
        self._write(out, tuple(value.shape), depth + 1)
        self._block(out, b"b", data)
        if flags & HAS_GRAPH:
            assert self.graph is not None
            out += struct.pack("<Q", self.graph(value))
        if flags & HAS_GRAD:
            assert grad is not None
            self._write(out, grad.detach(), depth + 1)

    def _hook(self, out: bytearray, value: Any, depth: int) -> None:
        fields = getattr(type(value), "_fields", None)
        if type(value).__bases__ == (tuple,) and isinstance(fields, tuple) and len(fields) == len(value):
            out += b"n"
            self._write(out, (type(value).__name__, *map(str, fields)), depth + 1)
            self._write(out, tuple(value), depth + 1)
            return
        if self.other is None:
            raise NotPlain(f"a value of type {type(value).__name__} is not plain data")
        kind, data = self.other(value)
        out += b"H"
        self._write(out, kind, depth + 1)
        self._write(out, data, depth + 1)
