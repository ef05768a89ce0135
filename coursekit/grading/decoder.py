"""Bytes to plain data. Nothing is trusted: each claim (a length, a shape, a type) is checked against the bytes that
are there before anything is built, so a message costs no more than its own size.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from .plain import (
    DEPTH,
    DIMENSIONS,
    HAS_GRAD,
    HAS_GRAPH,
    LARGEST_INT,
    NUMPY_KINDS,
    PARAMETER,
    REQUIRES_GRAD,
    Malformed,
    numpy_module,
    torch_module,
)


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
            return torch_module().Size(self._shape(depth))
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
        numpy = numpy_module()
        dtype = numpy.dtype(str(bytes(self._block()), "ascii"))
        if dtype.kind not in NUMPY_KINDS or dtype.subdtype is not None:
            raise Malformed("an array of objects")
        shape = self._shape(depth)
        data = self._filled(shape, dtype.itemsize, depth)
        if dtype.itemsize == 0:
            return numpy.zeros(shape if 0 in shape or not shape else _refuse("an array of nothing"), dtype)
        array = numpy.frombuffer(bytearray(data), dtype).reshape(shape)
        return array[()] if scalar else array

    def _tensor(self, depth: int) -> Any:
        torch = torch_module()
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
    dtype = getattr(torch_module(), str(bytes(decoder._block()), "ascii"), None)
    return dtype if isinstance(dtype, torch_module().dtype) else _refuse("an unknown dtype")


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
