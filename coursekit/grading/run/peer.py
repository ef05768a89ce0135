"""One side of the pipe between examiner and candidate: objects that stay, operations on them, gradients.

Arguments are copied. If a call that returns nothing changed a list, an array or a tensor that it was given, the new
content comes back and is put in place: that is all it could have given. A call that returns a value leaves the test's
own arguments as they are, or `f(x) == 2 * x` could be made true from its right side, unless the instructor's own answer
does both (`writes_back`). Which of them it changed in its copy is kept in `changed`.

A tensor with a history keeps it on its own side. `backward()` on the copy asks the other side for the rows of the
Jacobian, one for each entry, so that no number of the test's goes over; only where no argument asks for a gradient,
and so the student's own parameters are all that could be meant, the gradient itself is sent.
"""

from __future__ import annotations

import copy
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch.autograd.function import once_differentiable

from .. import wire
from ..wire.channel import Channel, ChannelError
from .handles import is_remote

# A result; or which argument it is; and the arguments that were changed, encoded.
Reply = tuple[bytes, Any, dict[Any, bytes]]
_MUTABLE = (list, dict, set, bytearray, deque)
KEPT_GRAPHS = 10_000
ENTRIES = 4096  # of a result whose gradient is asked for: each is a backward pass of its own
AT_ONCE = 1 << 22  # numbers in one answer
BY_HAND = "autograd is switched off for this question: write the gradient by hand"


def _next(iterator: Any) -> tuple[bool, Any]:
    try:
        return True, next(iterator)
    except StopIteration:
        return False, None


# Between two values; `and` and `or` are words of Python.
OPERATORS = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul")},
    **{name: getattr(operator, name) for name in ("truediv", "floordiv", "mod", "pow", "matmul", "xor")},
    "and": operator.and_,
    "or": operator.or_,
}
OPERATIONS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    "call": lambda target, /, *args, **kwargs: target(*args, **kwargs),
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "len": len,
    "iter": iter,
    "next": _next,
    "enter": lambda target: target.__enter__(),
    "exit": lambda target: target.__exit__(None, None, None),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "str": str,
    "repr": repr,
    "float": float,
    "int": int,
    "index": operator.index,
    "isinstance": lambda target, value: isinstance(value, target),
    **{name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert")},
}
# What an operation must give, whatever the other side says; every other operation may give anything plain.
RESULTS: dict[str, type] = {"len": int, "int": int, "index": int, "float": float, "str": str, "repr": str}
RESULTS |= {"isinstance": bool}


class Peer(Channel):
    """Subclasses say how values that are not plain are named (`export`) and found again (`imported`)."""

    def __init__(self, sock: Any, limit: int):
        super().__init__(sock, limit)
        self.size = limit // 2
        self.exports: dict[int, Any] = {}
        self.keys: dict[int, int] = {}
        self.graphs: dict[int, tuple[Any, list[Any]]] = {}
        self.changed: tuple[int | str, ...] = ()  # the arguments that the last call changed in its own copy
        self.asking: list[list[Any]] = []  # the tensors that went out with each unanswered call

    def export(self, value: Any) -> tuple[str, Any]:
        raise NotImplementedError

    def imported(self, kind: str, data: Any) -> Any:
        raise NotImplementedError

    def context(self, op: str) -> Any:  # noqa: ARG002
        """What else the other side should know before it works (the random state, the gradient mode)."""
        return None

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

    def operate(self, op: str, /, *args: Any, **kwargs: Any) -> Any:
        """Do `op` in the other process."""
        encoder = wire.Encoder(self.export, None, self.size)  # an argument begins a history on the other side
        blobs = [encoder.encode(arg) for arg in args]
        named = {name: encoder.encode(arg) for name, arg in kwargs.items()}
        self.asking.append(encoder.tensors)
        try:
            reply = self.request("operate", (op, blobs, named, self.context(op)))
            blob, same, changed = self._reply_of(reply, len(args), kwargs)
            originals: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
            self.changed = tuple(changed)
            if same is None:
                value = self.unpack(blob)
            else:
                kept = same not in changed or self.writes_back()
                value = originals[same] if kept else self.unpack(changed[same])
            if value is None or (changed and self.writes_back()):
                for where, content in changed.items():
                    restore(originals[where], self.unpack(content))
        finally:
            self.asking.pop()
        if op in RESULTS and type(value) is not RESULTS[op]:
            raise TypeError(f"{op} gave something that is not a {RESULTS[op].__name__}")
        return value

    def _reply_of(self, reply: Any, count: int, kwargs: dict[str, Any]) -> Reply:
        if type(reply) is tuple and len(reply) == 3:
            blob, same, changed = reply
            places = {None, *range(count), *kwargs}
            if type(blob) is bytes and type(changed) is dict and {same, *changed} <= places:
                return blob, same, changed
        raise self.misbehaved("an answer of the wrong form")

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

    def serve(self, op: str, data: Any) -> Any:
        if op == "operate":
            return self._serve_operation(*data)
        if op in ("rows", "vjp"):
            return (self._serve_rows if op == "rows" else self._serve_vjp)(*data)
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
        same = next((w for w, v in values.items() if v is result and _mutable(v)), None)
        encoder = wire.Encoder(self.export, self.graph_key(leaves), self.size)
        blob = encoder.encode(None if same is not None else result)
        return blob, same, self._changed(values, packed)

    def _changed(self, values: dict[Any, Any], packed: dict[Any, bytes]) -> dict[Any, bytes]:
        """The arguments that the call changed in place, encoded anew."""
        changed = {}
        for where, value in values.items():
            if _mutable(value):
                try:
                    again = wire.Encoder(self.export, None, self.size).encode(value)
                except wire.NotPlain:
                    continue
                if again != packed[where]:
                    changed[where] = again
        return changed

    def graph_key(self, leaves: list[Any]) -> Callable[[Any], int]:
        def keep(tensor: Any) -> int:
            if len(self.graphs) >= KEPT_GRAPHS:
                self.graphs.pop(next(iter(self.graphs)))
            key = self.key_of(tensor)
            self.graphs[key] = (tensor, leaves)
            return key

        return keep

    def _serve_vjp(self, key: int, grad: Any) -> None:
        """Add to the gradients of every leaf on this side."""
        self.graphs[key][0].backward(grad, retain_graph=True)

    def _serve_rows(self, key: int, first: int, last: int) -> list[Any]:
        """For each tensor that came in, the derivatives of these entries of the result."""
        tensor, leaves = self.graphs[key]
        rows = [
            torch.autograd.grad(entry, leaves, retain_graph=True, allow_unused=True)
            for entry in tensor.reshape(-1)[first:last]
        ]
        return [None if column[0] is None else torch.stack(column) for column in zip(*rows, strict=True)]

    def _attach(self, tensor: Any, key: int) -> Any:
        return attached(self, key, tensor, self.asking[-1] if self.asking else [])


def _mutable(value: Any) -> bool:
    return type(value) in (*_MUTABLE, numpy.ndarray, torch.Tensor, torch.nn.Parameter)


def restore(old: Any, new: Any) -> None:
    """Give `old` the content of `new`, keeping the objects inside it where they can be kept."""
    if type(old) is not type(new) or is_remote(old):
        return
    if type(old) in (list, deque):
        items = list(new)
        for at, (before, after) in enumerate(zip(old, items, strict=False)):
            items[at] = _kept(before, after)
        old.clear()
        old.extend(items)
    elif type(old) is bytearray:
        old[:] = new
    elif isinstance(old, dict):
        items = [(key, _kept(old[key], value) if key in old else value) for key, value in new.items()]
        old.clear()
        old.update(items)
    elif type(old) is set:
        old.clear()
        old.update(new)
    else:
        _kept(old, new)


def _kept(old: Any, new: Any) -> Any:
    """`old` with new content if it can be written in place, else `new`."""
    if type(old) is not type(new) or not _mutable(old):
        return new
    if type(old) in _MUTABLE:
        restore(old, new)
        return old
    if old.shape != new.shape or old.dtype != new.dtype:
        return new
    if hasattr(old, "detach"):
        if not old.detach().equal(new.detach()):
            old.detach().copy_(new.detach())
        if old.is_leaf and old.requires_grad:
            old.grad = new.grad
        return old
    old[...] = new
    return old


class _Elsewhere(torch.autograd.Function):
    """y = f(x) was computed elsewhere. Its derivatives dy/dx come from there; (dL/dy) · dy/dx is computed here, since
    dL/dy may hold what the test expects."""

    @staticmethod
    def forward(ctx: Any, peer: Any, key: int, value: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.peer, ctx.key = peer, key
        ctx.forms = [(tensor.shape, tensor.dtype) for tensor in inputs]
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        peer, flat = ctx.peer, grad.reshape(-1)
        if not ctx.forms:
            peer.request("vjp", (ctx.key, grad.contiguous()), peer.deadline())
            return (None, None, None)
        if len(flat) > ENTRIES:
            raise peer.refuse(
                "the test goes back through a value whose history stays in the student's process"
            )
        step = max(1, AT_ONCE // max(1, sum(shape.numel() for shape, _ in ctx.forms)))
        totals: list[Any] = [None] * len(ctx.forms)
        for first in range(0, len(flat), step):
            weights = flat[first : first + step]
            rows = peer.request("rows", (ctx.key, first, first + len(weights)), peer.deadline())
            if type(rows) is not list or len(rows) != len(ctx.forms):
                raise peer.misbehaved("gradients of the wrong number")
            for at, (row, (shape, dtype)) in enumerate(zip(rows, ctx.forms, strict=True)):
                if row is None:
                    continue
                if (row.shape, row.dtype) != ((len(weights), *shape), dtype):
                    raise peer.misbehaved("a gradient of the wrong shape")
                part = torch.tensordot(weights.to(dtype), row.detach(), 1)
                totals[at] = part if totals[at] is None else totals[at] + part
        return (None, None, None, *totals)


def attached(peer: Any, key: int, value: torch.Tensor, inputs: list[torch.Tensor]) -> torch.Tensor:
    """`value` as a function of `inputs`, whatever the gradient mode: the other side knew it had a history."""
    with torch.enable_grad():
        made: torch.Tensor = _Elsewhere.apply(peer, key, value.requires_grad_(), *inputs)  # type: ignore[no-untyped-call]
        return made
