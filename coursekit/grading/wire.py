"""Plain data as bytes, and back. Never pickle: what is not plain is left to a hook, or refused.

Plain is: None, bool, int, float, complex, str, bytes, bytearray, list, tuple, named tuple, dict (also Counter,
OrderedDict, defaultdict), set, frozenset, deque, range, slice, numpy arrays and scalars, torch tensors, dtypes
and sizes. The type must be exact: a subclass may redefine `==`, so it is not plain.

The decoder trusts nothing. Each claim (a length, a shape, a type) is checked against the bytes that are
there before anything is built, so a message costs no more than its own size.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

DEPTH = 100  # a list inside a list inside a list…
PACKED = 16  # shorter lists of numbers are not worth packing
LARGEST_INT = 1 << 16  # bytes
DIMENSIONS = 32

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


def _torch() -> Any:
    return module("torch")


def _numpy() -> Any:
    return module("numpy")


# The types that share one encoding: a tag, a count, the elements.
_SEQUENCES: dict[type, bytes] = {list: b"l", tuple: b"t", deque: b"q"}
_SETS: dict[type, bytes] = {set: b"S", frozenset: b"Z"}
_DICTS: dict[type, bytes] = {dict: b"d", OrderedDict: b"O", Counter: b"K", defaultdict: b"D"}
_NUMPY_KINDS = "biufcUSMm"


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
        kind, torch, numpy = type(value), _torch(), _numpy()
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
            if (kind is numpy.ndarray or scalar) and value.dtype.kind in _NUMPY_KINDS:
                if value.nbytes > self.limit:
                    raise NotPlain(f"an array is larger than {self.limit >> 20} MB")
                array = numpy.ascontiguousarray(value)
                self._block(out, b"G" if scalar else b"A", array.dtype.str.encode())
                self._write(out, tuple(value.shape), depth + 1)
                self._block(out, b"b", array.tobytes())
                return True
        return False

    def _tensor(self, out: bytearray, value: Any, depth: int) -> None:
        torch = _torch()
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


class Decoder:
    """`hook(kind, data) -> value` builds what was not plain; `attach(tensor, key)` gives a tensor its history."""

    def __init__(
        self,
        data: bytes,
        hook: Callable[[str, Any], Any] | None = None,
        attach: Callable[[Any, int], Any] | None = None,
    ):
        self.data, self.at = memoryview(data), 0
        self.hook, self.attach = hook, attach
        self.tensors: list[Any] = []

    def decode(self) -> Any:
        try:
            value = self._read(0)
        except Malformed:
            raise
        except (struct.error, ValueError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
            raise Malformed(f"bytes that mean nothing ({type(error).__name__})") from None
        if self.at != len(self.data):
            raise Malformed("bytes are left over")
        return value

    def _take(self, size: int) -> memoryview:
        if size < 0 or size > len(self.data) - self.at:
            raise Malformed("a length goes past the end")
        self.at += size
        return self.data[self.at - size : self.at]

    def _block(self) -> memoryview:
        return self._take(struct.unpack("<Q", self._take(8))[0])

    def _count(self, least: int = 1) -> int:
        """A number of elements, each of which takes at least `least` bytes."""
        (count,) = struct.unpack("<Q", self._take(8))
        if count * least > len(self.data) - self.at:
            raise Malformed("a count goes past the end")
        return count

    def _read(self, depth: int) -> Any:
        if depth > DEPTH + 2:
            raise Malformed("nested too deep")
        tag = bytes(self._take(1))
        simple = _SIMPLE.get(tag)
        if simple is not None:
            return simple(self)
        if tag in b"ltq":
            items = [self._read(depth + 1) for _ in range(self._count())]
            return items if tag == b"l" else tuple(items) if tag == b"t" else deque(items)
        if tag in b"SZ":
            items = [self._read(depth + 1) for _ in range(self._count())]
            return (set if tag == b"S" else frozenset)(items)
        if tag in b"dOKD":
            pairs = [(self._read(depth + 1), self._read(depth + 1)) for _ in range(self._count(2))]
            if tag == b"D":
                return defaultdict(None, pairs)
            return _counter(pairs) if tag == b"K" else OrderedDict(pairs) if tag == b"O" else dict(pairs)
        if tag in b"rL":
            parts = [self._read(depth + 1) for _ in range(3)]
            return (range if tag == b"r" else slice)(*parts)
        if tag == b"n":
            return self._named_tuple(depth)
        if tag == b"z":
            return _torch().Size(self._shape(depth))
        if tag == b"X":
            return self._tensor(depth)
        if tag in b"AG":
            return self._array(depth, scalar=tag == b"G")
        if tag == b"H" and self.hook is not None:
            kind = self._read(depth + 1)
            return self.hook(kind, self._read(depth + 1))
        raise Malformed("an unknown kind of value")

    def _named_tuple(self, depth: int) -> Any:
        names, values = self._read(depth + 1), self._read(depth + 1)
        if type(names) is not tuple or type(values) is not tuple or len(names) != len(values) + 1:
            raise Malformed("a named tuple whose names do not fit")
        if not all(type(name) is str and name.isidentifier() and not iskeyword(name) for name in names):
            raise Malformed("a named tuple with a bad name")
        return namedtuple(names[0], names[1:], rename=True)(*values)  # type: ignore[misc]

    def _shape(self, depth: int) -> tuple[int, ...]:
        shape = self._read(depth + 1)
        if type(shape) is not tuple or len(shape) > DIMENSIONS:
            raise Malformed("a shape that is none")
        if not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
            raise Malformed("a shape with an impossible size")
        return shape

    def _filled(self, shape: tuple[int, ...], itemsize: int, depth: int) -> bytes:
        """The raw elements, exactly as many as the shape says."""
        data = self._read(depth + 1)
        total = itemsize
        for size in shape:
            total *= size
        if type(data) is not bytes or len(data) != total:
            raise Malformed("an array whose shape does not fit its bytes")
        return data

    def _array(self, depth: int, scalar: bool) -> Any:
        numpy = _numpy()
        dtype = numpy.dtype(str(bytes(self._block()), "ascii"))
        if dtype.kind not in _NUMPY_KINDS or dtype.subdtype is not None:
            raise Malformed("an array of objects")
        shape = self._shape(depth)
        data = self._filled(shape, dtype.itemsize, depth)
        if dtype.itemsize == 0:
            return numpy.zeros(shape if 0 in shape or not shape else _refuse("an array of nothing"), dtype)
        array = numpy.frombuffer(bytearray(data), dtype).reshape(shape)
        return array[()] if scalar else array

    def _tensor(self, depth: int) -> Any:
        torch = _torch()
        name = str(bytes(self._block()), "ascii")
        dtype = getattr(torch, name, None)
        if not isinstance(dtype, torch.dtype) or name.startswith("q"):
            raise Malformed("a tensor of an unknown type")
        (flags,) = struct.unpack("<B", self._take(1))
        shape = self._shape(depth)
        data = self._filled(shape, torch.empty((), dtype=dtype).element_size(), depth)
        if data:
            tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(shape)
        else:
            tensor = torch.empty(shape, dtype=dtype)
        key = struct.unpack("<Q", self._take(8))[0] if flags & HAS_GRAPH else None
        grad = self._read(depth + 1) if flags & HAS_GRAD else None
        if flags & PARAMETER:
            tensor = torch.nn.Parameter(tensor, requires_grad=bool(flags & REQUIRES_GRAD))
        elif flags & REQUIRES_GRAD and key is None:
            tensor.requires_grad_()
        if key is not None and self.attach is not None:
            return self.attach(tensor, key)
        if flags & REQUIRES_GRAD:
            self.tensors.append(tensor)
        if grad is not None:
            tensor.grad = grad
        return tensor


def _refuse(why: str) -> Any:
    raise Malformed(why)


def _counter(pairs: list[tuple[Any, Any]]) -> Counter:
    return Counter(dict(pairs))


def _dtype(decoder: Decoder) -> Any:
    dtype = getattr(_torch(), str(bytes(decoder._block()), "ascii"), None)
    return dtype if isinstance(dtype, _torch().dtype) else _refuse("an unknown dtype")


def _large_int(decoder: Decoder) -> int:
    block = decoder._block()
    if len(block) > LARGEST_INT:
        raise Malformed("an integer is too large")
    return int.from_bytes(block, "little", signed=True)


def _packed(letter: str) -> Callable[[Decoder], list]:
    def unpack(decoder: Decoder) -> list:
        block = decoder._block()
        return list(struct.unpack(f"<{len(block) // 8}{letter}", block))

    return unpack


_SIMPLE: dict[bytes, Callable[[Decoder], Any]] = {
    b"N": lambda decoder: None,
    b"T": lambda decoder: True,
    b"F": lambda decoder: False,
    b"E": lambda decoder: Ellipsis,
    b"i": lambda decoder: struct.unpack("<q", decoder._take(8))[0],
    b"I": _large_int,
    b"f": lambda decoder: struct.unpack("<d", decoder._take(8))[0],
    b"c": lambda decoder: complex(*struct.unpack("<dd", decoder._take(16))),
    b"s": lambda decoder: str(bytes(decoder._block()), "utf-8", "surrogatepass"),
    b"b": lambda decoder: bytes(decoder._block()),
    b"B": lambda decoder: bytearray(decoder._block()),
    b"P": _packed("d"),
    b"Q": _packed("q"),
    b"y": _dtype,
}


def encode(value: Any) -> bytes:
    """Plain data as bytes; NotPlain for anything else."""
    return Encoder().encode(value)


def decode(data: bytes) -> Any:
    return Decoder(data).decode()
