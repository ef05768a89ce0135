"""Bytes to plain data. Nothing is trusted: each claim (a length, a shape, a type) is checked against the bytes that
are there before anything is built, so a message costs no more than its own size.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable
from keyword import iskeyword
from math import prod
from typing import Any

from .encoder import DEPTH, DICTS, LARGEST_INT, NUMPY_KINDS, SEQUENCES, SINGLE, Flag, Malformed, module

DIMENSIONS = 32
NAMES, KINDS = 256, 32  # of a named tuple; of named tuples in one message, for each is a class of its own
SAME = 100  # keys of one hash
_SEQUENCES: dict[bytes, Callable[..., Any]] = {tag: kind for kind, tag in SEQUENCES.items()}
_DICTS: dict[bytes, Callable[..., Any]] = {tag: kind for kind, tag in DICTS.items()}
_DICTS |= {b"D": lambda pairs: defaultdict(None, pairs), b"K": lambda pairs: Counter(dict(pairs))}
_SINGLE = {tag: value for value, tag in SINGLE.items()}


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
        if self.at != len(self.data):
            raise Malformed("bytes are left over")
        return value

    def _take(self, size: int) -> memoryview:
        if size < 0 or size > len(self.data) - self.at:
            raise Malformed("a length goes past the end")
        self.at += size
        return self.data[self.at - size : self.at]

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _several(self, depth: int, each: int = 1) -> list[Any]:
        """As many elements, or `each` times as many, as is said here; each takes at least a byte."""
        (count,) = self._unpack("<Q")
        if count * each > len(self.data) - self.at:
            raise Malformed("a count goes past the end")
        return [self._read(depth + 1) for _ in range(count * each)]

    def _read(self, depth: int) -> Any:
        if depth > DEPTH + 2:
            raise Malformed("nested too deep")
        tag = bytes(self._take(1))
        if tag in _SINGLE:
            return _SINGLE[tag]
        if tag in _FORMS:
            return _FORMS[tag][1](*self._unpack(_FORMS[tag][0]))
        if tag in _BLOCKS:
            return _BLOCKS[tag](bytes(self._take(self._unpack("<Q")[0])))
        if tag in _SEQUENCES:
            items = self._several(depth)
            return _SEQUENCES[tag](_spread(items) if tag in b"SZ" else items)
        if tag in _DICTS:
            parts = self._several(depth, 2)
            return _DICTS[tag](list(zip(_spread(parts[::2]), parts[1::2], strict=True)))
        if tag not in _PARTS or (tag == b"H" and self.hook is None):
            raise Malformed("an unknown kind of value")
        count, build = _PARTS[tag]
        hook, self.hook = self.hook, None if tag == b"n" else self.hook  # no method among its entries
        parts = [self._read(depth + 1) for _ in range(count)]
        self.hook = hook
        return build(self, *parts)


def _named_tuple(message: Decoder, names: Any, values: Any) -> Any:
    if type(names) is not tuple or type(values) is not tuple or len(names) != len(values) + 1:
        raise Malformed("a named tuple whose names do not fit")
    if not all(type(name) is str and name.isidentifier() and not iskeyword(name) for name in names):
        raise Malformed("a named tuple with a bad name")
    if names not in message.kinds:
        if len(names) > NAMES or len(message.kinds) >= KINDS:
            raise Malformed("named tuples that take long to make")
        message.kinds[names] = namedtuple(names[0], names[1:], rename=True)
    return message.kinds[names](*values)


def _shape(shape: Any) -> tuple[int, ...]:
    if type(shape) is not tuple or len(shape) > DIMENSIONS:
        raise Malformed("a shape that is none")
    if not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
        raise Malformed("a shape with an impossible size")
    return shape


def _fits(shape: Any, data: Any, itemsize: int) -> None:
    """The raw elements must be exactly as many as the shape says."""
    if type(data) is not bytes or len(data) != itemsize * prod(_shape(shape)):
        raise Malformed("an array whose shape does not fit its bytes")


def _array(_: Decoder, name: Any, shape: Any, data: Any) -> Any:
    numpy = module("numpy")
    dtype = numpy.dtype(_text(name))
    if dtype.kind not in NUMPY_KINDS or dtype.subdtype is not None:
        raise Malformed("an array of objects")
    _fits(shape, data, dtype.itemsize)
    if dtype.itemsize == 0:
        if shape and 0 not in shape:
            raise Malformed("an array of nothing")
        return numpy.zeros(shape, dtype)
    return numpy.frombuffer(bytearray(data), dtype).reshape(shape)


def _tensor(message: Decoder, name: Any, flags: Any, shape: Any, data: Any, key: Any, grad: Any) -> Any:
    torch, dtype = module("torch"), _dtype(message, name)
    if type(flags) is not int or type(key) not in (int, type(None)):
        raise Malformed("a tensor of no known kind")
    _fits(shape, data, torch.empty((), dtype=dtype).element_size())
    if data:
        tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype).reshape(shape)
    else:
        tensor = torch.empty(shape, dtype=dtype)
    if flags & Flag.PARAMETER:
        tensor = torch.nn.Parameter(tensor, requires_grad=bool(flags & Flag.REQUIRES_GRAD))
    elif flags & Flag.REQUIRES_GRAD and key is None:
        tensor.requires_grad_()
    if key is not None and message.attach is not None:
        return message.attach(tensor, key)
    if flags & Flag.REQUIRES_GRAD:
        message.tensors.append(tensor)
    if grad is not None:
        tensor.grad = grad
    return tensor


def _spread(keys: list[Any]) -> list[Any]:
    """Keys of one hash are compared each with each: of many, few may share one."""
    if len(keys) > 10 * SAME and max(Counter(map(hash, keys)).values()) > SAME:
        raise Malformed("keys that were chosen to be slow")
    return keys


def _text(name: Any) -> str:
    if type(name) is not str:
        raise Malformed("a name that is none")
    return name


def _dtype(_: Decoder, name: Any) -> Any:
    torch = module("torch")
    dtype = vars(torch).get(_text(name))  # not by getattr, which imports what it is asked for
    if not isinstance(dtype, torch.dtype) or name.startswith("q"):
        raise Malformed("a tensor of an unknown type")
    return dtype


def _large_int(data: bytes) -> int:
    if len(data) > LARGEST_INT:
        raise Malformed("an integer is too large")
    return int.from_bytes(data, "little", signed=True)


_FORMS: dict[bytes, tuple[str, Callable[..., Any]]] = {
    b"i": ("<q", int),
    b"f": ("<d", float),
    b"c": ("<dd", complex),
}
_BLOCKS: dict[bytes, Callable[[bytes], Any]] = {
    b"I": _large_int,
    b"s": lambda data: str(data, "utf-8", "surrogatepass"),
    b"b": bytes,
    b"B": bytearray,
    b"P": lambda data: list(struct.unpack(f"<{len(data) // 8}d", data)),
    b"Q": lambda data: list(struct.unpack(f"<{len(data) // 8}q", data)),
}
# Of so many parts each.
_PARTS: dict[bytes, tuple[int, Callable[..., Any]]] = {
    b"r": (3, lambda _, *ends: range(*ends)),
    b"L": (3, lambda _, *ends: slice(*ends)),
    b"n": (2, _named_tuple),
    b"A": (3, _array),
    b"G": (3, lambda *parts: _array(*parts)[()]),
    b"z": (1, lambda _, shape: module("torch").Size(_shape(shape))),
    b"y": (1, _dtype),
    b"v": (1, lambda _, name: module("torch").device(_text(name))),
    b"X": (6, _tensor),
    b"H": (2, lambda message, kind, data: message.hook(kind, data)),
}
