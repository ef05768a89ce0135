"""A value that stayed in the other process, and the operations that reach it.

In the examiner a `Handle` stands for an object of the student's. Calls, attributes, items and iteration go to
the candidate. What would let the object judge itself does not: comparing it with plain data, arithmetic or `in`
with plain data, and its truth value are refused, since the expected value would go in and any answer come out.
Between two objects of the student's these operations are the student's own affair, and work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NotRemote(BaseException):
    """A test did what only works in the student's process. Not an Exception, so that no test swallows it."""


# Read over the wire like any other attribute; all other double-underscore names are not.
_READABLE = (
    "__name__",
    "__qualname__",
    "__doc__",
    "__annotations__",
    "__dict__",
    "__defaults__",
    "__wrapped__",
)


class Remote:
    """What both directions share. `_peer.operate(op, self, …)` does the work."""

    __slots__ = ("__weakref__", "_bases", "_key", "_peer", "_type")

    def __init__(self, peer: Any, key: int, type_name: str = "", bases: tuple[type, ...] = ()):
        object.__setattr__(self, "_peer", peer)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_type", type_name)
        object.__setattr__(self, "_bases", bases)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in _READABLE:
            raise AttributeError(f"an object in the other process has no {name}")
        return self._peer.operate("getattr", self, name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._peer.operate("call", self, *args, **kwargs)

    def __next__(self) -> Any:
        more, value = self._peer.operate("next", self)
        if not more:
            raise StopIteration
        return value

    def __exit__(self, *exc: object) -> Any:
        self._peer.operate("exit", self)

    def __deepcopy__(self, memo: object) -> Any:
        return self._peer.operate("deepcopy", self)

    def __hash__(self) -> int:
        return hash(("remote", self._key))


def _asked(op: str) -> Callable[..., Any]:
    return lambda self, *args: self._peer.operate(op, self, *args)


_ASKED = ("setattr", "delattr", "getitem", "setitem", "delitem", "len", "iter", "enter")
for _op in (*_ASKED, "copy", "str", "repr", "float", "int", "index"):
    setattr(Remote, f"__{_op}__", _asked(_op))


def _delegated(op: str, sign: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if not is_remote(other):
            if op in ("eq", "ne") and other is None:
                return op == "ne"
            raise self._peer.refuse(f"the test computed `{sign}` between {_what(self)} and plain data")
        return self._peer.operate(op, self, other)

    return method


def _refused(what: str) -> Callable[..., Any]:
    def method(self: Any, *_: Any) -> Any:
        raise self._peer.refuse(f"the test {what} {_what(self)}")

    return method


def _what(handle: Any) -> str:
    return f"an object of the student's class {handle._type or '?'}"


class Handle(Remote):
    """An object of the student's, seen from the examiner."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance(model, nn.Module)`: the first genuine library class that it descends from.
        return self._bases[0] if self._bases and self._type != "type" else Handle

    @property
    def __changed__(self) -> tuple[int | str, ...]:
        """Which of its arguments the last call in that process changed: places, and names of named ones."""
        return tuple(at - 1 if isinstance(at, int) else at for at in self._peer.changed)

    @property
    def __bases__(self) -> tuple[type, ...]:
        if self._type != "type":
            raise AttributeError("__bases__")
        return self._bases or (object,)

    def __instancecheck__(self, instance: Any) -> bool:
        return is_remote(instance) and self._peer.operate("isinstance", self, instance)

    __hash__ = Remote.__hash__
    __bool__ = _refused("asked for the truth value of")
    __contains__ = _refused("used `in` on")


_SIGNS = """eq == ne != lt < le <= gt > ge >=
add + sub - mul * truediv / floordiv // mod % pow ** matmul @ and & or | xor ^"""
for _op, _sign in zip(_SIGNS.split()[::2], _SIGNS.split()[1::2], strict=True):
    setattr(Handle, f"__{_op}__", _delegated(_op, _sign))
    if _op not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Handle, f"__r{_op}__", _delegated(_op, _sign))
for _op in ("neg", "pos", "abs", "invert"):
    setattr(Handle, f"__{_op}__", _asked(_op))


class Proxy(Remote):
    """An object of a test's, seen from the candidate: a lambda that it passed, an object of its own class."""

    __slots__ = ()


def is_remote(value: Any) -> bool:
    """`isinstance` would ask the handle's claimed class."""
    return issubclass(type(value), Remote)
