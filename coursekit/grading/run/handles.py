"""A value that stayed in the other process, and the operations that reach it.

In the examiner a `Handle` stands for an object of the student's. Calls, attributes, items and iteration go to
the candidate. What would let the object judge itself does not: comparing it with plain data, arithmetic or `in`
with plain data, and its truth value are refused, since the expected value would go in and any answer come out.
Between two objects of the student's these operations are the student's own affair, and work.
"""

import builtins
import copy
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any


class NotRemote(BaseException):
    """A test did what only works in the student's process. Not an Exception, so that no test swallows it."""


def _next(iterator: Any) -> tuple[bool, Any]:
    try:
        return True, next(iterator)
    except StopIteration:
        return False, None


_SIGNS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
    "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
OPERATORS = {name: getattr(operator, f"__{name}__") for name in _SIGNS}  # between two values
_UNARY = ("neg", "pos", "abs", "invert")
# Each is the method of a handle that is called so, and this function of the object on its own side.
_ASKED: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, f"__{name}__") for name in ("index", "getitem", "setitem", "delitem", *_UNARY)},
    **{name: getattr(builtins, name) for name in ("setattr", "delattr", "len", "iter", "str", "repr", "float", "int")},
    "enter": lambda target: target.__enter__(),
    "copy": copy.copy,
}  # fmt: skip
OPERATIONS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    **_ASKED,
    "call": lambda target, /, *args, **kwargs: target(*args, **kwargs),
    "getattr": getattr,
    "next": _next,
    "exit": lambda target: target.__exit__(None, None, None),
    "deepcopy": copy.deepcopy,
    "kept": lambda model: import_module("coursekit.checks.asked.language_model").looked_through(
        model
    ),  # how many numbers: what a closure or a global holds can be seen there alone
    "isinstance": lambda target, value: isinstance(value, target),
}
# What an operation must give, whatever the other side says; every other operation may give anything plain.
RESULTS: dict[str, type] = {"len": int, "int": int, "index": int, "float": float, "str": str, "repr": str}
RESULTS |= {"isinstance": bool, "kept": int}
# Read over the wire like any other attribute; all other double-underscore names are not.
_READABLE = {
    f"__{name}__" for name in ("name", "qualname", "doc", "annotations", "dict", "defaults", "wrapped")
}


class Remote:
    """What both directions share. `_peer.operate(op, self, …)` does the work."""

    __slots__ = ("__weakref__", "_bases", "_key", "_peer", "_type")

    def __init__(self, peer: Any, key: int, type_name: str = "", bases: tuple[type, ...] = ()):
        for name, value in {"_peer": peer, "_key": key, "_type": type_name, "_bases": bases}.items():
            object.__setattr__(self, name, value)

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


def _delegated(op: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if not is_remote(other):
            if op in ("eq", "ne") and other is None:
                return op == "ne"
            raise self._peer.refuse(f"the test computed `{_SIGNS[op]}` between {_what(self)} and plain data")
        return self._peer.operate(op, self, other)

    return method


def _refused(what: str) -> Callable[..., Any]:
    def method(self: Any, *_: Any, **__: Any) -> Any:
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
    __array__ = _refused("made an array of")


Handle.__kept__ = _asked("kept")  # type: ignore[attr-defined]
for _op in _ASKED:
    setattr(Handle if _op in _UNARY else Remote, f"__{_op}__", _asked(_op))
for _op in OPERATORS:
    setattr(Handle, f"__{_op}__", _delegated(_op))
    if _op not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Handle, f"__r{_op}__", _delegated(_op))


class Proxy(Remote):
    """An object of a test's, seen from the candidate: a lambda that it passed, an object of its own class."""

    __slots__ = ()


def is_remote(value: Any) -> bool:
    """`isinstance` would ask the handle's claimed class."""
    return issubclass(type(value), Remote)
