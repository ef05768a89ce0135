"""The candidate: the process that runs the student's cells and answers the examiner's questions.

Nothing here is trusted by anyone. The student's code shares this process and may change all of it; what it
can gain is to send other data than an honest answer, and that is only a wrong answer.
"""

import builtins
import contextlib
import copy
import importlib
import os
import socket
import types
from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from .. import wire
from ..confine.limits import Limits
from ..wire.channel import ERROR, REQUEST, ChannelError
from .cells import CellTimeout, Shell, heed_timers, put_files, stopped_after, told_of
from .handles import Proxy
from .peer import HAS_TORCH, Peer, seed_everything, take_over

if HAS_TORCH:
    from coursekit.checks.judging.by_hand import looking

    from .device import use_what_is_there
    from .lent import TRACED, Lent, counted, notice_tracers


class Candidate(Peer):
    def __init__(self, sock: socket.socket, shell: Shell, limits: Limits):
        super().__init__(sock, shell, limits)
        self.pid = os.getpid()
        self.lending = False  # tensors of this call are with the examiner
        self.looking = False  # this call is to be done by hand
        self.seen: set[str] = set()  # and what was seen of it

    def loop(self) -> None:
        while True:
            kind, nonce, payload = self.frames.receive()
            if kind == REQUEST:
                self.answer(nonce, payload)

    def serve(self, op: str, data: Any) -> Any:
        own: dict[str, Callable[[Any], Any]] = {
            "start": self.start, "run": self.run, "fetch": self.fetch, "seen": self.confess,
        }  # fmt: skip
        return own[op](data) if op in own else super().serve(op, data)

    def start(self, data: dict[str, Any]) -> None:
        put_files(data["files"])
        seed_everything(data["seed"])
        heed_timers()
        if HAS_TORCH:
            notice_tracers(self.seen)

    def confess(self, _: None) -> set[str]:
        """What was seen that is not by hand. Whoever rewrites this process can hide it; a spelling cannot."""
        told = set(self.seen)
        self.seen &= {TRACED}
        return told

    def run(self, source: str) -> dict[str, Any]:
        """Run a cell; also a test that asks for this process, whose value then is its partial credit."""
        if HAS_TORCH:
            use_what_is_there(source)
        done = self.shell.run(source, self.limits)
        failed = "timeout" if isinstance(done.error, CellTimeout) else "error"
        return {
            **told_of(done.error),
            "status": "ok" if done.error is None else failed,
            "shown": done.shown[:1000],
            "seconds": done.seconds,
            "stderr": done.stderr[:2000],
            "outputs": [asdict(output) for output in done.outputs],
            "names": done.names,
        }

    def fetch(self, names: list[str]) -> dict[str, Any]:
        """The values of these names, each on its own: one that cannot cross does not take the others along."""
        found: dict[str, Any] = {}
        for name in names:
            if name in self.shell.namespace:
                value = self.shell.namespace[name]
                try:
                    found[name] = wire.Encoder(self.export, self.graph_key([]), self.size).encode(value)
                except (wire.NotPlain, MemoryError) as error:
                    found[name] = str(error)
        return found

    def answer(self, nonce: int, payload: bytes) -> None:
        """Everything is on the clock: the call, and also what a value does while it is written or described."""
        if self.depth:
            super().answer(nonce, payload)
            return
        try:
            with stopped_after(self.limits):
                super().answer(nonce, payload)
        except CellTimeout:
            self.frames.send(ERROR, nonce, wire.encode({"control": "timeout"}))

    def reply(self, kind: int, nonce: int, data: bytes) -> None:
        if os.getpid() != self.pid:
            os._exit(0)  # a process that the student's code forked has come back here: it has nothing to say
        super().reply(kind, nonce, data)

    def enter_context(self, context: Any) -> None:
        self.looking = context.get("by hand", False)
        take_over(context)

    def perform(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        with contextlib.ExitStack() as around:
            if op == "call" and self.looking:
                around.enter_context(looking(self.seen))
            if op == "call" and self.lending:
                self.lending = False
                around.enter_context(counted(self))
            return super().perform(op, args, kwargs)

    def export(self, value: Any) -> tuple[str, Any]:
        if HAS_TORCH and type(value) is Lent:
            return "kept", value.key
        if type(value) is Proxy:
            return "yours", value._key
        if isinstance(value, types.ModuleType):
            return "module", str(value.__name__)
        cls = value if isinstance(value, type) else type(value)
        bases = tuple(f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__[:20])
        label = "type" if isinstance(value, type) else cls.__name__
        return "own", (self.key_of(value), str(label), bases)

    def imported(self, kind: str, data: Any) -> Any:
        match kind:
            case "own":
                return self.exports[data]
            case "kept":
                self.lending = True
                return Lent(*data)
            case "proxy":
                return Proxy(self, data)
            case "given":
                return self.shell.namespace[data]
            case "ref":
                module, path = data
                return attrgetter(path)(importlib.import_module(module))
            case "module":
                return importlib.import_module(data)
            case "reduce":
                return copy.copy(_Parts(data))
        raise wire.Malformed("an unknown kind of object")

    def failed(self, data: Any) -> BaseException:
        """A callback into the test failed; here it is the student's caller that sees it."""
        return RuntimeError(str(data))

    def describe(self, error: BaseException) -> Any:
        bases = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
        plain = not isinstance(error, (wire.NotPlain, wire.Malformed))
        control = "timeout" if isinstance(error, CellTimeout) else "" if plain else "not-plain"
        try:
            args = wire.encode(error.args[:5])
        except Exception:  # noqa: BLE001 - a student's own class may raise anything
            args = b""
        return {**told_of(error), "bases": bases, "args": args, "control": control}


class _Parts:
    """An object of a library class, taken apart: a copy of it is the object."""

    def __init__(self, parts: tuple[Any, ...]):
        self.parts = parts

    def __reduce_ex__(self, _: Any) -> Any:
        return self.parts


def main(sock: socket.socket, shell: Shell, limits: Limits) -> None:
    with contextlib.suppress(ChannelError):
        Candidate(sock, shell, limits).loop()
    os._exit(0)  # no atexit, no __del__: nothing of the student's runs after the last answer
