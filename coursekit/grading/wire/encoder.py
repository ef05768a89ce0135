"""Plain data to bytes; what is not plain is left to a hook, or refused."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from .plain import DEPTH, DICTS, LARGEST_INT, NUMPY_KINDS, SEQUENCES, SINGLE, Flag, NotPlain, module

PACKED = 16  # shorter lists of numbers are not worth packing


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
        if kind in _SIMPLE:
            out += _SIMPLE[kind](value)
        elif kind in SEQUENCES:
            self._sequence(out, value, depth)
        elif kind in DICTS:
            out += DICTS[kind] + struct.pack("<Q", len(value))
            self._all(out, (part for pair in list(value.items()) for part in pair), depth)
        elif kind is range or kind is slice:
            out += b"r" if kind is range else b"L"
            self._all(out, (value.start, value.stop, value.step), depth)
        elif not self._tensor(out, value, depth) and not self._array(out, value, depth):
            self._hook(out, value, depth)

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

    def _array(self, out: bytearray, value: Any, depth: int) -> bool:
        """Write an array or one of its scalars; False if it is none."""
        kind, numpy = type(value), module("numpy")
        if numpy is None:
            return False
        scalar = isinstance(value, numpy.generic) and kind.__module__ == "numpy"
        if not (kind is numpy.ndarray or scalar) or value.dtype.kind not in NUMPY_KINDS:
            return False
        if value.nbytes > self.limit:
            raise NotPlain(f"an array is larger than {self.limit >> 20} MB")
        array = numpy.ascontiguousarray(value)
        out += _block(b"G" if scalar else b"A", array.dtype.str.encode())
        self._all(out, (tuple(value.shape), array.tobytes()), depth)
        return True

    def _tensor(self, out: bytearray, value: Any, depth: int) -> bool:
        """Write a tensor, a size, a dtype or a device; False if it is none."""
        kind, torch = type(value), module("torch")
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            self._numbers(out, value, depth)
        elif torch is not None and kind is torch.Size:
            out += b"z"
            self._write(out, tuple(value), depth + 1)
        elif torch is not None and kind in (torch.dtype, torch.device):
            out += _block(b"y" if kind is torch.dtype else b"v", str(value).removeprefix("torch.").encode())
        else:
            return False
        return True

    def _numbers(self, out: bytearray, value: Any, depth: int) -> None:
        torch = module("torch")
        if value.layout is not torch.strided or value.is_quantized:
            raise NotPlain("a tensor is sparse or quantized")
        if value.numel() * value.element_size() > self.limit:
            raise NotPlain(f"a tensor is larger than {self.limit >> 20} MB")
        if value.requires_grad:
            self.tensors.append(value)
        grad = value.grad if value.is_leaf and value.grad is not None else None
        kept = grad is not None and grad.layout is torch.strided
        history = value.requires_grad and not value.is_leaf and self.graph is not None
        flags = Flag.REQUIRES_GRAD * value.requires_grad | Flag.PARAMETER * isinstance(
            value, torch.nn.Parameter
        )
        flags |= Flag.HAS_GRAD * kept | Flag.HAS_GRAPH * history
        plain = value.detach().cpu().resolve_conj().resolve_neg()
        if plain.dtype is torch.bfloat16 or (plain.is_floating_point() and plain.element_size() == 1):
            plain = plain.view(
                torch.int16 if plain.element_size() == 2 else torch.int8
            )  # numpy has no such type
        try:
            data = plain.numpy().tobytes()
        except TypeError:
            raise NotPlain(f"a tensor has numbers of type {value.dtype}") from None
        out += _block(b"X", str(value.dtype).removeprefix("torch.").encode()) + struct.pack("<B", flags)
        self._all(out, (tuple(value.shape), data), depth)
        if history and self.graph is not None:
            out += struct.pack("<Q", self.graph(value))
        if kept and grad is not None:
            self._write(out, grad.detach(), depth + 1)

    def _hook(self, out: bytearray, value: Any, depth: int) -> None:
        fields = getattr(type(value), "_fields", None)
        if type(value).__bases__ == (tuple,) and isinstance(fields, tuple) and len(fields) == len(value):
            # Plain to its last entry: one that holds a function would be an object with a method of its own.
            whole, apart = bytearray(b"n"), Encoder(None, self.graph, self.limit)
            try:
                apart._all(whole, ((type(value).__name__, *map(str, fields)), tuple(value)), depth)
                out += whole
                return
            except NotPlain:
                if self.other is None:
                    raise
        if self.other is None:
            raise NotPlain(f"a value of type {type(value).__name__} is not plain data")
        out += b"H"
        self._all(out, self.other(value), depth)


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
    type(None): SINGLE.__getitem__,
    bool: SINGLE.__getitem__,
    type(Ellipsis): SINGLE.__getitem__,
    int: _int,
    float: lambda value: b"f" + struct.pack("<d", value),
    complex: lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
    str: lambda value: _block(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _block(b"b", value),
    bytearray: lambda value: _block(b"B", bytes(value)),
}
