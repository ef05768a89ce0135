"""One side of the pipe between examiner and candidate: objects that stay, operations on them, gradients.

A reply carries the nonce of its request. While one side waits for a reply it serves the other side's requests (a test
may pass a lambda, which the student's function calls back), so calls nest.

Arguments are copied. If a call that returns nothing changed a list, an array or a tensor that it was given, the new
content comes back and is put in place: that is all it could have given. A call that returns a value leaves the test's
own arguments as they are, or `f(x) == 2 * x` could be made true from its right side, unless the instructor's own answer
does both (`writes_back`). Which of them it changed in its copy is kept in `changed`.
"""

import random
import secrets
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import numpy

from .. import wire
from ..confine.limits import MB, Limits
from ..wire.channel import ERROR, REPLY, REQUEST, ChannelError, Frames
from .cells import Shell
from .handles import OPERATIONS, RESULTS

try:  # a course without torch is graded too
    import torch

    from .kept import attached, rows
except ImportError:
    torch = None  # type: ignore[assignment]

HAS_TORCH = torch is not None
TENSORS: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter) if HAS_TORCH else ()
# A result; or which argument it is; and the arguments that were changed, encoded.
Reply = tuple[bytes, Any, dict[Any, bytes]]
MUTABLE = (list, dict, set, bytearray, deque, numpy.ndarray, *TENSORS)
KEPT_GRAPHS = 10_000
NESTED = 16  # calls inside callbacks inside calls…


class Peer:
    """Subclasses say how values that are not plain are named (`export`) and found again (`imported`), what an
    exception of this side is to the other (`describe`), and what one of the other's becomes here (`failed`)."""

    passing: tuple[type[BaseException], ...] = (ChannelError,)  # never turned into a reply
    export: Callable[[Any], tuple[str, Any]]
    imported: Callable[[str, Any], Any]
    describe: Callable[[BaseException], Any]
    failed: Callable[[Any], BaseException]

    def __init__(self, sock: socket.socket, shell: Shell, limits: Limits):
        self.shell, self.limits, self.size = shell, limits, limits.answer * MB
        self.frames = Frames(sock, 4 * self.size)
        self.depth = 0
        self.until: float | None = None  # the deadline under way: also for room to answer while we ask
        self.exports: dict[int, Any] = {}
        self.keys: dict[int, int] = {}
        self.graphs: dict[int, tuple[Any, list[Any]]] = {}
        self.changed: tuple[int | str, ...] = ()  # the arguments that the last call changed in its own copy
        self.asking: list[list[Any]] = []  # the tensors that went out with each unanswered call

    def context(self, op: str) -> dict[str, Any]:  # noqa: ARG002
        """What else the other side should know before it works (the random state, the gradient mode)."""
        return {}

    def enter_context(self, context: Any) -> None:
        pass

    def perform(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return OPERATIONS[op](*args, **kwargs)

    def key_of(self, value: Any) -> int:
        """A key under which the other side may name this object; the object is kept, so its id stays its own."""
        key = self.keys.get(id(value))
        if key is None:
            key = self.keys[id(value)] = len(self.exports) + 1
            self.exports[key] = value
        return key

    # asking

    def deadline(self) -> float | None:
        """When to stop waiting."""

    def request(self, op: str, data: Any) -> Any:
        """Ask the other side and wait; meanwhile serve what it asks."""
        nonce = secrets.randbits(64)
        self.until = deadline = self.deadline()
        self.frames.send(REQUEST, nonce, wire.encode((op, data)), deadline)
        while True:
            kind, echoed, payload = self.frames.receive(deadline)
            if kind == REQUEST:
                self.answer(echoed, payload)
                continue
            if echoed != nonce:
                raise ChannelError("an answer to a question that was not asked", "malformed")
            try:
                value = wire.decode(payload)
            except wire.Malformed as error:
                raise ChannelError(f"a malformed answer: {error}", "malformed") from None
            if kind == ERROR:
                raise self.failed(value)
            return value

    def operate(self, op: str, /, *args: Any, **kwargs: Any) -> Any:
        """Do `op` in the other process."""
        encoder = wire.Encoder(self.export, None, self.size)  # an argument begins a history on the other side
        blobs = [encoder.encode(arg) for arg in args]
        named = {name: encoder.encode(arg) for name, arg in kwargs.items()}
        self.asking.append(encoder.tensors)
        originals: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        try:
            match self.request("operate", (op, blobs, named, self.context(op))):
                case (bytes(blob), int() | str() | None as same, dict(found)) if {same, *found} <= {
                    None,
                    *originals,
                }:
                    changed = {where: self.unpack(content) for where, content in found.items()}
                case _:
                    raise self.misbehaved("an answer of the wrong form")
            self.changed = tuple(w for w, new in changed.items() if not _alike(originals[w], new))
            if same is None:
                value = self.unpack(blob)
            else:
                value = originals[same] if same not in changed or self.writes_back() else changed[same]
            if value is None or (changed and self.writes_back()):
                for where, content in changed.items():
                    renewed(originals[where], content)
        finally:
            self.asking.pop()
        if op in RESULTS and type(value) is not RESULTS[op]:
            raise TypeError(f"{op} gave something that is not a {RESULTS[op].__name__}")
        return value

    def writes_back(self) -> bool:
        """May a call that returns a value also change its arguments?"""
        return True

    def misbehaved(self, why: str) -> BaseException:
        return ChannelError(why, "malformed")

    def unpack(self, blob: Any) -> Any:
        try:
            return wire.Decoder(blob, self.imported, self._attach).decode()
        except wire.Malformed as error:
            raise self.misbehaved(f"a malformed answer: {error}") from None

    # serving

    def answer(self, nonce: int, payload: bytes) -> None:
        """Serve one request and send its reply."""
        self.depth += 1
        try:
            if self.depth > NESTED:
                raise RecursionError("calls and callbacks are nested too deep")
            kind, reply = REPLY, wire.encode(self.serve(*wire.decode(payload)))
        except self.passing:
            raise
        except BaseException as error:  # noqa: BLE001
            kind, reply = ERROR, wire.encode(self.describe(error))
        finally:
            self.depth -= 1
        self.reply(kind, nonce, reply)

    def reply(self, kind: int, nonce: int, data: bytes) -> None:
        self.frames.send(kind, nonce, data, self.until)

    def serve(self, op: str, data: Any) -> Any:
        if op == "operate":
            return self._serve_operation(*data)
        if op == "rows":
            key, first, last = data
            return rows(*self.graphs[key], first, last)
        if op == "vjp":  # add to the gradients of every leaf on this side
            key, grad = data
            return self.graphs[key][0].backward(grad, retain_graph=True)
        raise ValueError("an unknown request")

    def _serve_operation(self, op: str, blobs: list[bytes], named: dict[str, bytes], context: Any) -> Reply:
        self.enter_context(context)
        leaves: list[Any] = []
        values: dict[int | str, Any] = {}
        packed: dict[Any, bytes] = {**dict(enumerate(blobs)), **named}
        for where, blob in packed.items():
            decoder = wire.Decoder(blob, self.imported, self._attach)
            values[where] = decoder.decode()
            leaves += decoder.tensors
        args = [values[where] for where in range(len(blobs))]
        result = self.perform(op, args, {name: values[name] for name in named})
        same = next((w for w, v in values.items() if v is result and type(v) in MUTABLE), None)
        encoder = wire.Encoder(self.export, self.graph_key(leaves), self.size)
        blob = encoder.encode(None if same is not None else result)
        changed = {}
        for where, value in values.items():
            if type(value) in MUTABLE:
                with suppress(wire.NotPlain):
                    again = wire.Encoder(self.export, None, self.size).encode(value)
                    if again != packed[where]:
                        changed[where] = again
        return blob, same, changed

    def graph_key(self, leaves: list[Any]) -> Callable[[Any], int]:
        def keep(tensor: Any) -> int:
            if len(self.graphs) >= KEPT_GRAPHS:
                self.graphs.pop(next(iter(self.graphs)))
            key = self.key_of(tensor)
            self.graphs[key] = (tensor, leaves)
            return key

        return keep

    def _attach(self, tensor: Any, key: int) -> Any:
        return attached(self, key, tensor, self.asking[-1] if self.asking else [])


def _alike(old: Any, new: Any) -> bool:
    """Tensors with the same numbers: that a gradient was asked for is no change."""
    tensors = isinstance(old, TENSORS) and isinstance(new, TENSORS)
    return tensors and old.shape == new.shape and bool(old.detach().equal(new.detach()))


def renewed(old: Any, new: Any) -> Any:
    """`old` with the content of `new` where it can be written in place, else `new`."""
    if type(old) is not type(new) or type(old) not in MUTABLE:
        return new
    if type(old) in (list, deque, bytearray):
        items = [renewed(*pair) for pair in zip_longest(old, new)][: len(new)]
        old.clear()
        old.extend(items)
    elif type(old) is dict:
        pairs = [(key, renewed(old.get(key), value)) for key, value in new.items()]
        old.clear()
        old.update(pairs)
    elif type(old) is set:
        old.clear()
        old.update(new)
    elif old.shape != new.shape or old.dtype != new.dtype:
        return new
    elif type(old) is numpy.ndarray:
        old[...] = new
    else:
        if not old.detach().equal(new.detach()):
            old.detach().copy_(new.detach())
        if old.is_leaf and old.requires_grad:
            old.grad = new.grad
    return old


# what the candidate takes over from the examiner before it works


def seed_everything(seed: int) -> None:
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    if HAS_TORCH:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed first writes three tracebacks: 9 ms


Way = tuple[Callable[[], Any], Callable[[Any], Any]]  # to read something, and to set it


def _as_bytes(get: Callable[[], Any], put: Callable[[Any], Any]) -> Way:
    """What has not changed is not sent again: it must compare at once."""
    return lambda: wire.encode(get()), lambda state: put(wire.decode(state))


_MODES: dict[str, Way] = {}
_STATES: dict[str, Way] = {
    "python": (random.getstate, random.setstate),
    "numpy": _as_bytes(numpy.random.get_state, numpy.random.set_state),
}
if HAS_TORCH:
    _STATES["torch"] = _as_bytes(torch.get_rng_state, torch.set_rng_state)
    _MODES["grad"] = torch.is_grad_enabled, torch.set_grad_enabled
    _MODES["dtype"] = torch.get_default_dtype, torch.set_default_dtype


def random_states() -> dict[str, Any]:
    return {name: get() for name, (get, _) in _STATES.items()}


def modes() -> dict[str, Any]:
    return {name: get() for name, (get, _) in _MODES.items()}


def take_over(context: dict[str, Any]) -> None:
    """Set what the context names."""
    for name, (get, put) in {**_STATES, **_MODES}.items():
        if name in context and context[name] != get():
            put(context[name])
