"""Plain data as bytes, and back. Never pickle: what is not plain is left to a hook, or refused.

Plain is: None, bool, int, float, complex, str, bytes, bytearray, list, tuple, named tuple, dict (also Counter,
OrderedDict, defaultdict), set, frozenset, deque, range, slice, numpy arrays and scalars, torch tensors, dtypes,
sizes and devices. The type must be exact: a subclass may redefine `==`, so it is not plain.

Of bytes nothing is trusted: each claim (a length, a shape, a type) is checked against the bytes that are there before
anything is built, so a message costs no more than its own size.
"""

import struct
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from contextlib import suppress
from keyword import iskeyword
from math import prod
from typing import Any

import numpy

PACKED = 16  # shorter lists of numbers are not worth packing
DEPTH = 100  # a list inside a list inside a list…
LARGEST_INT = 1 << 16  # bytes
DIMENSIONS = 32
NAMES, KINDS = 256, 32  # of a named tuple; of named tuples in one message, for each is a class of its own
SAME = 100  # keys of one hash
NUMPY_KINDS = "biufcUSMm"  # of array elements; the rest are objects
REQUIRES_GRAD, PARAMETER = 1, 2  # flags of a tensor
Parts = tuple[bytes, tuple[Any, ...]]  # a tag, and what follows it

# The types that share one encoding: a tag, a count, the elements.
_SEQUENCES: dict[type, bytes] = {list: b"l", tuple: b"t", deque: b"q", set: b"S", frozenset: b"Z"}
_DICTS: dict[type, bytes] = {dict: b"d", OrderedDict: b"O", Counter: b"K", defaultdict: b"D"}
_SINGLE: dict[Any, bytes] = {None: b"N", True: b"T", False: b"F", Ellipsis: b"E"}


class NotPlain(TypeError):
    """A value that cannot cross as data; the message says what and why."""


class Malformed(ValueError):
    """Bytes that no honest encoder writes."""


def _must(fits: bool, why: str) -> None:
    if not fits:
        raise Malformed(why)


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
        elif kind in _SEQUENCES:
            self._sequence(out, value, depth)
        elif kind in _DICTS:
            out += _DICTS[kind] + struct.pack("<Q", len(value))
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
        out += _SEQUENCES[kind] + struct.pack("<Q", len(value))
        if kind in (set, frozenset):  # sorted by their bytes, so that equal sets give equal messages
            parts = [bytearray() for _ in value]
            for part, item in zip(parts, value, strict=True):
                self._write(part, item, depth + 1)
            out += b"".join(sorted(parts))
        else:
            self._all(out, list(value), depth)

    def _array(self, value: Any) -> Parts | None:
        kind = type(value)
        scalar = isinstance(value, numpy.generic) and kind.__module__ == "numpy"
        if not (scalar or kind is numpy.ndarray) or value.dtype.kind not in NUMPY_KINDS:
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
        flags = REQUIRES_GRAD * value.requires_grad | PARAMETER * (type(value) is not torch.Tensor)
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
    **dict.fromkeys((type(None), bool, type(Ellipsis)), _SINGLE.__getitem__),
    int: _int,
    float: lambda value: b"f" + struct.pack("<d", value),
    complex: lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
    str: lambda value: _block(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _block(b"b", value),
    bytearray: lambda value: _block(b"B", bytes(value)),
}


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
        self.kinds: dict[tuple[str, ...], Any] = {}

    def decode(self) -> Any:
        try:
            value = self._read(0)
        except Malformed:
            raise
        except Exception as error:  # noqa: BLE001 - numpy's reading of a type's name alone knows a dozen
            raise Malformed(f"bytes that mean nothing ({type(error).__name__})") from None
        _must(self.at == len(self.data), "bytes are left over")
        return value

    def _take(self, size: int) -> memoryview:
        _must(0 <= size <= len(self.data) - self.at, "a length goes past the end")
        self.at += size
        return self.data[self.at - size : self.at]

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _several(self, depth: int, each: int = 1) -> list[Any]:
        """As many elements, or `each` times as many, as is said here; each takes at least a byte."""
        (count,) = self._unpack("<Q")
        _must(count * each <= len(self.data) - self.at, "a count goes past the end")
        return [self._read(depth + 1) for _ in range(count * each)]

    def _read(self, depth: int) -> Any:
        _must(depth <= DEPTH + 2, "nested too deep")
        tag = bytes(self._take(1))
        if tag in _SINGLES:
            return _SINGLES[tag]
        if tag in _FORMS:
            return _FORMS[tag][1](*self._unpack(_FORMS[tag][0]))
        if tag in _BLOCKS:
            return _BLOCKS[tag](bytes(self._take(self._unpack("<Q")[0])))
        if tag in _LISTED:
            items = self._several(depth)
            return _LISTED[tag](_spread(items) if tag in b"SZ" else items)
        if tag in _PAIRED:
            parts = self._several(depth, 2)
            return _PAIRED[tag](list(zip(_spread(parts[::2]), parts[1::2], strict=True)))
        _must(tag in _PARTS and (tag != b"H" or self.hook is not None), "an unknown kind of value")
        kinds, build = _PARTS[tag]
        hook, self.hook = self.hook, None if tag == b"n" else self.hook  # no method among its entries
        parts = [self._read(depth + 1) for _ in kinds]
        self.hook = hook
        _must(all(map(isinstance, parts, kinds)), "a part of another kind")
        return build(self, *parts)


def _named_tuple(message: Decoder, names: Any, values: Any) -> Any:
    _must(len(names) == len(values) + 1, "a named tuple whose names do not fit")
    good = (type(name) is str and name.isidentifier() and not iskeyword(name) for name in names)
    _must(all(good), "a named tuple with a bad name")
    if names not in message.kinds:
        _must(len(names) <= NAMES and len(message.kinds) < KINDS, "named tuples that take long to make")
        message.kinds[names] = namedtuple(names[0], names[1:], rename=True)
    return message.kinds[names](*values)


def _shape(shape: Any) -> tuple[int, ...]:
    sizes = all(type(size) is int and 0 <= size < 1 << 40 for size in shape)
    _must(sizes and len(shape) <= DIMENSIONS, "an impossible shape")
    return tuple(shape)


def _fits(shape: Any, data: Any, itemsize: int) -> None:
    """The raw elements must be exactly as many as the shape says."""
    _must(len(data) == itemsize * prod(_shape(shape)), "an array whose shape does not fit its bytes")


def _array(_: Decoder, name: Any, shape: Any, data: Any) -> Any:
    dtype = numpy.dtype(name)
    _must(dtype.kind in NUMPY_KINDS and dtype.subdtype is None, "an array of objects")
    _fits(shape, data, dtype.itemsize)
    if dtype.itemsize == 0:
        _must(not shape or 0 in shape, "an array of nothing")
        return numpy.zeros(shape, dtype)
    return numpy.frombuffer(bytearray(data), dtype).reshape(shape)


def _tensor(message: Decoder, name: Any, flags: Any, shape: Any, data: Any, key: Any, grad: Any) -> Any:
    torch, dtype = module("torch"), _dtype(message, name)
    _fits(shape, data, torch.empty((), dtype=dtype).element_size())
    if data:
        tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(shape)
    else:
        tensor = torch.empty(shape, dtype=dtype)
    if flags & PARAMETER:
        tensor = torch.nn.Parameter(tensor, requires_grad=bool(flags & REQUIRES_GRAD))
    elif flags & REQUIRES_GRAD and key is None:
        tensor.requires_grad_()
    if key is not None and message.attach is not None:
        return message.attach(tensor, key)
    if flags & REQUIRES_GRAD:
        message.tensors.append(tensor)
    if grad is not None:
        tensor.grad = grad
    return tensor


def _spread(keys: list[Any]) -> list[Any]:
    """Keys of one hash are compared each with each: of many, few may share one."""
    if len(keys) > 10 * SAME and max(Counter(map(hash, keys)).values()) > SAME:
        raise Malformed("keys that were chosen to be slow")
    return keys


def _dtype(_: Decoder, name: Any) -> Any:
    torch = module("torch")
    dtype = vars(torch).get(name)  # not by getattr, which imports what it is asked for
    _must(isinstance(dtype, torch.dtype) and not name.startswith("q"), "a tensor of an unknown type")
    return dtype


def _large_int(data: bytes) -> int:
    _must(len(data) <= LARGEST_INT, "an integer is too large")
    return int.from_bytes(data, "little", signed=True)


_LISTED: dict[bytes, Callable[..., Any]] = {tag: kind for kind, tag in _SEQUENCES.items()}
_PAIRED: dict[bytes, Callable[..., Any]] = {tag: kind for kind, tag in _DICTS.items()}
_PAIRED |= {b"D": lambda pairs: defaultdict(None, pairs), b"K": lambda pairs: Counter(dict(pairs))}
_SINGLES = {tag: value for value, tag in _SINGLE.items()}
_FORMS: dict[bytes, tuple[str, Any]] = {b"i": ("<q", int), b"f": ("<d", float), b"c": ("<dd", complex)}
_BLOCKS: dict[bytes, Callable[[bytes], Any]] = {
    b"I": _large_int,
    b"s": lambda data: str(data, "utf-8", "surrogatepass"),
    b"b": bytes,
    b"B": bytearray,
    b"P": lambda data: list(struct.unpack(f"<{len(data) // 8}d", data)),
    b"Q": lambda data: list(struct.unpack(f"<{len(data) // 8}q", data)),
}
# Of parts of these kinds.
_PARTS: dict[bytes, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    b"r": ((int, int, int), lambda _, *ends: range(*ends)),
    b"L": ((object, object, object), lambda _, *ends: slice(*ends)),
    b"n": ((tuple, tuple), _named_tuple),
    b"A": ((str, tuple, bytes), _array),
    b"G": ((str, tuple, bytes), lambda *parts: _array(*parts)[()]),
    b"z": ((tuple,), lambda _, shape: module("torch").Size(_shape(shape))),
    b"y": ((str,), _dtype),
    b"v": ((str,), lambda _, name: module("torch").device(name)),
    b"X": ((str, int, tuple, bytes, (int, type(None)), object), _tensor),
    b"H": ((str, object), lambda message, kind, data: message.hook(kind, data)),
}


def encode(value: Any) -> bytes:
    """Plain data as bytes; NotPlain for anything else."""
    return Encoder().encode(value)


def decode(data: bytes) -> Any:
    return Decoder(data).decode()
