"""The examiner: the process that runs the tests, and reaches the student's names through handles."""

import builtins
import importlib
import socket
import sys
import time
import types
from contextlib import suppress
from typing import Any

from .. import wire
from ..confine.limits import Limits
from ..wire.channel import ChannelError
from .cells import CellTimeout, Shell
from .handles import OPERATORS, Handle, NotRemote, is_remote
from .peer import HAS_TORCH, Peer, modes, random_states
from .verdict import oddities

if HAS_TORCH:
    from .kept import BY_HAND, Keeper, Kept

# Names under which a test may use a module that only the student's cell imported: the genuine one is taken.
CONVENTIONAL = {
    "np": "numpy", "plt": "matplotlib.pyplot", "F": "torch.nn.functional", "nn": "torch.nn", "optim": "torch.optim",
    "pd": "pandas",
}  # fmt: skip
_SERVED = {"call", "getattr", "getitem", "len", "iter", "next"}  # what a candidate may do to a test's object
_DRAWING = _SERVED - {"getattr", "len"}
_BUILT_IN = ("builtins", "numpy", "collections", "torch._C")


class ModuleName(str):
    """A module that the student's name is bound to."""


class Desk(Peer):
    """The examiner's end of the pipe to one candidate."""

    passing = (ChannelError, NotRemote, CellTimeout)

    def __init__(
        self, sock: socket.socket, shell: Shell, limits: Limits, given: set[str], seeded: dict[str, Any]
    ):
        super().__init__(sock, shell, limits)
        self.given = given
        self.handles: dict[int, Handle] = {}
        self.fault: BaseException | None = None  # remembered even if a test swallows it
        self.may: frozenset[str] = frozenset()  # what the reference leaned on
        self.leans: set[str] = set()  # what the test under way has leaned on (see TestOutcome)
        self.looks = 0  # operators of the test under way that were executed here
        self.methods: set[int] = set()  # keys of what was got as an attribute of a student's object
        self.yielded: set[int] = set()  # and of iterators that were asked before
        self.sent = seeded  # the random states that the candidate starts with
        self.saw_a_test = False  # a test's source was in that process: what it says is not passed on
        self.keeper: Any = None  # while a call is counted: its tensors, which stay here
        self.next_key = 1

    @property
    def lost(self) -> bool:
        return isinstance(self.fault, ChannelError) and self.fault.status != "slow"

    def deadline(self) -> float:
        """The candidate interrupts itself first; this is for one that does not."""
        return time.monotonic() + self.limits.cell_wall + self.limits.grace

    def request(self, op: str, data: Any) -> Any:
        if isinstance(self.fault, ChannelError):
            raise self.fault
        try:
            return super().request(op, data)
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
        except (Exception, NotRemote) as error:  # noqa: BLE001
            raise self.misbehaved(f"the process no longer works ({getattr(error, 'student', '')})") from None

    def run(self, source: str) -> dict[str, Any]:
        """Run a cell over there; its account of it is at least of the right form."""
        match reply := self.command("run", source):
            case {
                "status": "ok" | "error" | "timeout", "error": str(), "type": str(), "line": int(),
                "seconds": float(), "outputs": list(), "names": list(),
            } if type(reply) is dict:  # fmt: skip
                return reply
        raise self.misbehaved("an account of a cell of the wrong form")

    def misbehaved(self, why: str) -> BaseException:
        self.fault = ChannelError(why, "malformed")
        return self.fault

    def operate(self, op: str, /, *args: Any, **kwargs: Any) -> Any:
        try:
            apart = op == "call" and self.keeper is None
            if apart and _judging("counting", "is_counting"):
                value = self._counted(*args, **kwargs)
            elif apart and (seen := _judging("by_hand", "looked_into")) is not None:
                value = self._by_hand(seen, *args, **kwargs)
                self._confessed(seen)
            else:
                value = super().operate(op, *args, **kwargs)
            self._note(op, args, value)
            return value
        except wire.NotPlain as error:
            raise self.refuse(str(error)) from None

    def writes_back(self) -> bool:
        self.leans.add("changed")
        return not self.may.isdisjoint({"changed", "*"})

    def _note(self, op: str, args: tuple[Any, ...], value: Any) -> None:
        """A verdict should rest on plain data; where it rests on more, that is remembered."""
        if op == "getattr" and not args[1].startswith("__"):
            self.leans.add(f".{args[1]}")
            if is_remote(value):
                self.methods.add(value._key)
        elif op == "call" and type(value) is bool and is_remote(args[0]) and args[0]._key in self.methods:
            self.leans.add("judged")
        elif op in OPERATORS:  # two objects of the student's, compared by their own method
            self.leans.add(f".__{op}__")
        elif op == "next":
            self.leans |= {"empty"} if not value[0] and args[0]._key not in self.yielded else set()
            self.yielded.add(args[0]._key)
        elif op == "len" and value == 0:
            self.leans.add("empty")
        self.leans |= oddities(value)

    def _counted(self, target: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the student's function with tensors that stay here."""
        self.keeper = Keeper(self.next_key)
        try:
            lent, named = self.keeper.lend(args), self.keeper.lend(kwargs)
            return super().operate("call", target, *lent, **named)
        finally:
            self.looks += self.keeper.operators
            if self.keeper.seeded and _judging("by_hand", "looked_into") is not None:
                self.leans.add("traced")
            self.next_key, self.keeper = self.keeper.next, None

    def _by_hand(self, seen: set[str], /, *args: Any, **kwargs: Any) -> Any:
        """Call the student's function with tensors that autograd cannot follow; in the open only if it cannot work so,
        or after so much that what it does by hand has been seen."""
        before, why, profile = self.fault, "", sys.getprofile()
        if self.looks > LOOKS:
            return super().operate("call", *args, **kwargs)
        sys.setprofile(None)  # nothing of the student's runs here
        try:
            return self._counted(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it comes in the open as well
            why = getattr(error, "student", "")
        except NotRemote:
            self.fault = before
        except ChannelError as fault:
            if fault.status != "slow":
                raise
            self.fault = before
        finally:
            sys.setprofile(profile)
        if BY_HAND in why:
            seen.add(_judging("by_hand", "AUTOGRAD"))
        self.leans.add("unseen")
        return super().operate("call", *args, **kwargs)

    def _confessed(self, seen: set[str]) -> None:
        """What that process saw of itself: it can hide it, but what it says against itself is taken."""
        if type(told := self.command("seen", None)) is set:
            seen |= told & {_judging("by_hand", "AUTOGRAD"), _judging("by_hand", "COURSE")}
            self.leans |= told & {"traced"}

    def refuse(self, why: str) -> NotRemote:
        """The exception to raise for what does not work from here; it counts even if the test catches it."""
        refusal = NotRemote(why)
        self.fault = self.fault or refusal
        return refusal

    def serve(self, op: str, data: Any) -> Any:
        if self.keeper is not None and op in ("operator", "constant"):
            return self.keeper.operator(data) if op == "operator" else self.keeper.constant(data)
        return super().serve(op, data)

    def perform(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A callback. Only what the test itself passed can be reached, and nothing behind it: no globals,
        no code, no private attribute."""
        target = args[0]
        if op not in _SERVED or id(target) not in self.keys:
            raise PermissionError("a test's object allows no such operation")
        closed = op == "getattr" and (
            type(args[1]) is not str or args[1].startswith("_") or isinstance(target, _CLOSED)
        )
        if closed:
            raise AttributeError("a test's object has no such attribute")
        return super().perform(op, args, kwargs)

    def context(self, op: str) -> Any:
        """The gradient mode, the default dtype, and the random states that changed since the last call."""
        # A look at an attribute draws nothing. And while tensors stay here, so does the state that they may have been
        # drawn from: it could be turned back.
        known = modes() | {"by hand": _judging("by_hand", "looked_into") is not None}
        if self.keeper is not None or op not in _DRAWING:
            return known
        before, self.sent = self.sent, random_states()
        return known | {name: state for name, state in self.sent.items() if before.get(name) != state}

    # what crosses

    def export(self, value: Any) -> tuple[str, Any]:
        if self.keeper is not None and type(value) is Kept:
            return "kept", value.data
        if is_remote(value):
            if value._peer is not self:
                raise self.refuse("the test used an object of a process that has ended")
            return "own", value._key
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
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
        return ("ref", (module, path)) if _known(module, path) is value else None

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
        match kind, data:
            case "own", (int(key), str(label), tuple(bases)):
                if key not in self.handles:
                    self.handles[key] = Handle(self, key, label[:100], self._genuine(bases))
                return self.handles[key]
            case "kept", _ if self.keeper is not None:
                return self.keeper.find(data)
            case "yours", int() if data in self.exports:
                return self.exports[data]
            case "module", str():
                return ModuleName(data)
        raise wire.Malformed("an unknown kind of object")

    def _genuine(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Of the classes that an object claims to descend from, those known here that are not plain data."""
        found: list[type] = []
        for base in bases[:20]:
            module, _, path = str(base).partition(":")
            known: Any = None
            if module == "__main__" and path in self.given:
                known = self.shell.namespace.get(path)
            elif module.split(".")[0] in ("torch", "coursekit"):
                known = _known(module, path)
                # By its own name alone, and made in Python down to the ground: torch's C++ believes a claim to be
                # a tensor, and would read a handle as if it were one.
                if getattr(known, "__module__", "") != module:
                    continue
            inherited = known.__mro__[:-1] if isinstance(known, type) else ()
            if inherited and not any(c.__module__.startswith(_BUILT_IN) for c in inherited):
                found.append(known)
        return tuple(found)

    def describe(self, error: BaseException) -> Any:
        # The candidate learns that a callback failed, not how: a message could hold an expected value.
        return f"{type(error).__name__} in a function that the test passed"

    def failed(self, data: Any) -> BaseException:
        """What the student's code raised, as the nearest built-in exception."""
        if type(data) is not dict:
            return ChannelError("an error of the wrong form", "malformed")
        if data.get("control") == "timeout":
            return ChannelError("the call took too long", "slow")
        if data.get("control") == "not-plain":
            return NotRemote(f"an answer was not plain data: {_short(data.get('message'))}")
        error = self._builtin(data)
        error.student = _short(data.get("error"))  # type: ignore[attr-defined]
        error.missing = _short(data.get("missing"))  # type: ignore[attr-defined]
        return error

    @staticmethod
    def _builtin(data: dict[str, Any]) -> BaseException:
        bases = data.get("bases")
        for name in bases if type(bases) is list else []:
            cls = getattr(builtins, name, None) if type(name) is str else None
            # Not StopIteration: in `zip(map(f, inputs), answers)` it would end the test early, and rightly so.
            if isinstance(cls, type) and issubclass(cls, Exception) and not issubclass(cls, _ENDINGS):
                try:
                    args = wire.decode(data["args"])
                    made = cls(*args) if type(args) is tuple else cls(_short(data.get("message")))
                    # A test may print or compare its message: it must be one that can be read.
                    return made if len(str(made)) <= LONGEST_MESSAGE else cls(_short(data.get("message")))
                except Exception:  # noqa: BLE001 - its arguments are the student's
                    continue
        return RuntimeError(_short(data.get("error")))

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
            value = self.unpack(blob) if type(blob) is bytes else None
            if type(value) is ModuleName and CONVENTIONAL.get(name, name) == value:
                with suppress(ImportError):
                    value = importlib.import_module(value)
            if type(value) is ModuleName:
                blob = "it is a module under an unusual name"
            if type(blob) is bytes:
                values[name] = value
                self.leans |= oddities(value)
            elif type(blob) is str:
                refused[name] = _short(blob)
        return values, refused


# Never looked into on the candidate's behalf.
_CLOSED = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, types.GeneratorType,
    types.CoroutineType, types.AsyncGeneratorType, types.FrameType, types.CodeType, types.TracebackType,
    types.CellType, BaseException,
)  # fmt: skip
LONGEST_MESSAGE = 100_000
LOOKS = 300  # operators, of a third of a millisecond each
_ENDINGS = (StopIteration, StopAsyncIteration)


def _known(module: str, path: str) -> Any:
    """What this name stands for here, if it is already there."""
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _judging(module: str, name: str) -> Any:
    """What the check under way says of itself, if there is one."""
    found = getattr(sys.modules.get(f"coursekit.checks.judging.{module}"), name, None)
    return found() if callable(found) else found


def _short(text: Any) -> str:
    return text[:500] if type(text) is str else ""
