"""The examiner: the process that runs the tests, and reaches the student's names through handles."""

from __future__ import annotations

import builtins
import importlib
import random
import socket
import sys
import time
import types
from typing import Any

from . import wire
from .cells import CellTimeout, Shell
from .channel import ChannelError
from .handles import Handle, NotRemote, is_remote
from .limits import MB, Limits
from .peer import OPERATIONS, Peer

# Names under which a test may use a module that only the student's cell imported: the genuine one is taken.
CONVENTIONAL = {
    "np": "numpy",
    "plt": "matplotlib.pyplot",
    "F": "torch.nn.functional",
    "nn": "torch.nn",
    "optim": "torch.optim",
    "pd": "pandas",
}
_SERVED = {"call", "getattr", "getitem", "len", "iter", "next"}  # what a candidate may do to a test's object
_PLAIN_MODULES = {"builtins", "numpy", "collections", "torch", "torch._tensor", "torch.nn.parameter"}


class ModuleName(str):
    """A module that the student's name is bound to."""


class Desk(Peer):
    """The examiner's end of the pipe to one candidate."""

    passing = (ChannelError, NotRemote, CellTimeout)

    def __init__(
        self, sock: socket.socket, shell: Shell, limits: Limits, given: set[str], seeded: dict[str, Any]
    ):
        super().__init__(sock, 4 * limits.answer * MB)
        self.size = limits.answer * MB
        self.shell, self.limits, self.given = shell, limits, given
        self.handles: dict[int, Handle] = {}
        self.fault: BaseException | None = None  # remembered even if a test swallows it
        self.sent = seeded  # the random states that the candidate starts with

    def deadline(self) -> float:
        """When to stop waiting. The candidate interrupts itself first; this is for one that does not."""
        return time.monotonic() + self.limits.cell_wall + self.limits.grace

    def request(self, op: str, data: Any, deadline: float | None = None) -> Any:
        if isinstance(self.fault, ChannelError):
            raise self.fault
        try:
            return super().request(op, data, deadline or self.deadline())
        except (ChannelError, NotRemote) as fault:
            self.fault = self.fault or fault
            raise
        except CellTimeout:
            # The test's own time was up while it waited: nobody can say any more which answer belongs to what.
            self.fault = ChannelError("no answer while the test had time", "timeout")
            raise

    def command(self, op: str, data: Any) -> Any:
        """A request that an honest candidate always answers; an error means that it no longer works."""
        try:
            return self.request(op, data)
        except Exception as error:
            raise self.misbehaved(f"the process no longer works ({getattr(error, 'student', '')})") from None

    def misbehaved(self, why: str) -> BaseException:
        self.fault = ChannelError(why, "malformed")
        return self.fault

    def operate(self, op: str, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().operate(op, *args, **kwargs)
        except wire.NotPlain as error:
            raise self.refuse(str(error)) from None

    def refuse(self, why: str) -> NotRemote:
        """The exception to raise for what does not work from here; it counts even if the test catches it."""
        refusal = NotRemote(why)
        self.fault = self.fault or refusal
        return refusal

    def serve(self, op: str, data: Any) -> Any:
        if op not in ("operate", "vjp"):
            raise ValueError("an unknown request")
        return super().serve(op, data)

    def perform(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A callback. Only what the test itself passed can be reached, and nothing behind it: no globals,
        no code, no private attribute."""
        target = args[0]
        if op not in _SERVED or id(target) not in self.keys:
            raise PermissionError("a test's object allows no such operation")
        if op == "getattr":
            name = args[1]
            if type(name) is not str or name.startswith("_") or isinstance(target, _CLOSED):
                raise AttributeError("a test's object has no such attribute")
        return OPERATIONS[op](*args, **kwargs)

    def context(self) -> Any:
        """The gradient mode, the default dtype, and the random states that changed since the last call."""
        torch = wire.module("torch")
        if torch is None:
            return None
        states = random_states()
        changed = []
        for name, state in states.items():
            old = self.sent.get(name)
            same = old is not None and _same_state(old, state)
            changed.append(None if same else state)
        self.sent = states
        return torch.is_grad_enabled(), torch.get_default_dtype(), tuple(changed)

    # what crosses

    def export(self, value: Any) -> tuple[str, Any]:
        if is_remote(value):
            if value._peer is not self:
                raise self.refuse("the test used an object of a process that has ended")
            return "own", value._key
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        torch = wire.module("torch")
        if torch is not None and type(value) is torch.device:
            return "device", str(value)
        if isinstance(value, (type, *_CLOSED)):
            return self._reference(value) or ("proxy", self.key_of(value))
        return self._parts(value) or ("proxy", self.key_of(value))

    def _reference(self, value: Any) -> tuple[str, Any] | None:
        """A library's function or class by its name; one of a given cell too: the candidate has its own."""
        name = getattr(value, "__name__", "")
        if name in self.given and self.shell.namespace.get(name) is value:
            return "given", name
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if not isinstance(module, str) or module == "__main__" or "<" in path:
            return None
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        return ("ref", (module, path)) if found is value else None

    def _parts(self, value: Any) -> tuple[str, Any] | None:
        """An object of a library's or a given class, by its parts; it goes to the candidate, never back."""
        if self._reference(type(value)) is None or hasattr(value, "__next__"):
            return None
        try:
            reduced = value.__reduce_ex__(4)
            make, args, state, items, pairs = (*reduced, None, None, None)[:5]
            data = (make, args, state, list(items or ()), list(pairs or ()))
            if self._reference(make) is None:
                return None
            wire.Encoder(self.export, None, self.size).encode(data)
            return "reduce", data
        except (TypeError, ValueError, AttributeError, RecursionError):
            return None

    def imported(self, kind: str, data: Any) -> Any:
        if kind == "own" and type(data) is tuple and len(data) == 3:
            key, label, bases = data
            if type(key) is int and type(label) is str and type(bases) is tuple:
                if key not in self.handles:
                    self.handles[key] = Handle(self, key, label[:100], self._genuine(bases))
                return self.handles[key]
        if kind == "yours" and type(data) is int and data in self.exports:
            return self.exports[data]
        if kind == "module" and type(data) is str:
            return ModuleName(data)
        if kind == "device" and type(data) is str:
            return wire.module("torch").device(data)
        raise wire.Malformed("an unknown kind of object")

    def _genuine(self, bases: tuple) -> tuple[type, ...]:
        """Of the classes that an object claims to descend from, those known here that are not plain data."""
        found = []
        for base in bases[:20]:
            module, _, path = str(base).partition(":")
            if module == "__main__":
                known = self.shell.namespace.get(path) if path in self.given else None
            elif module.split(".")[0] in ("torch", "coursekit") and module not in _PLAIN_MODULES:
                known = sys.modules.get(module)
                for part in path.split("."):
                    known = getattr(known, part, None)
            else:
                known = None
            if isinstance(known, type) and not issubclass(known, BaseException):
                found.append(known)
        return tuple(found)

    def describe(self, error: BaseException) -> Any:
        # The candidate learns that a callback failed, not how: a message could hold an expected value.
        return f"{type(error).__name__} in a function that the test passed"

    def failed(self, data: Any) -> BaseException:
        """What the student's code raised, as the nearest built-in exception."""
        if type(data) is not dict:
            return ChannelError("an error of the wrong form", "malformed")
        control = data.get("control")
        if control == "timeout":
            return ChannelError("the call took too long", "slow")
        if control == "not-plain":
            return NotRemote(f"an answer was not plain data: {_short(data.get('message'))}")
        error = self._builtin(data)
        error.student = _short(data.get("words"))  # type: ignore[attr-defined]
        return error

    @staticmethod
    def _builtin(data: dict) -> BaseException:
        bases = data.get("bases")
        for name in bases if type(bases) is list else []:
            cls = getattr(builtins, name, None) if type(name) is str else None
            if isinstance(cls, type) and issubclass(cls, Exception):
                try:
                    args = wire.decode(data["args"])
                    return cls(*args) if type(args) is tuple else cls(_short(data.get("message")))
                except Exception:
                    continue
        return RuntimeError(_short(data.get("words")))

    # the student's names

    def fetch(self, names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
        """The values of these names, and for those that could not come, why."""
        reply = self.command("fetch", names)
        values: dict[str, Any] = {}
        refused: dict[str, str] = {}
        if type(reply) is not dict:
            raise self.misbehaved("names of the wrong form")
        for name in names:
            blob = reply.get(name)
            if type(blob) is bytes:
                value = self.unpack(blob)
                if type(value) is ModuleName:
                    value = genuine_module(name, value)
                    if value is None:
                        refused[name] = "it is a module under an unusual name"
                        continue
                values[name] = value
            elif type(blob) is str:
                refused[name] = _short(blob)
        return values, refused


# Never looked into on the candidate's behalf.
_CLOSED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type)


def genuine_module(name: str, module: str) -> Any:
    if name == module.split(".")[0] == module or CONVENTIONAL.get(name) == module:
        try:
            return importlib.import_module(module)
        except ImportError:
            return None
    return None


def random_states() -> dict[str, Any]:
    torch, numpy = wire.module("torch"), wire.module("numpy")
    version, numbers, gauss = random.getstate()
    return {
        "torch": torch.get_rng_state() if torch is not None else None,
        "numpy": numpy.random.get_state() if numpy is not None else None,
        "python": (version, list(numbers), gauss),  # a list of numbers crosses in one piece
    }


def _short(text: Any) -> str:
    return text[:500] if type(text) is str else ""


def _same_state(old: Any, new: Any) -> bool:
    if hasattr(old, "equal"):
        return old.equal(new)
    if isinstance(old, tuple) and len(old) == 5:  # numpy: a name, the key, position, …
        return old[2:] == new[2:] and bool((old[1] == new[1]).all())
    return old == new
