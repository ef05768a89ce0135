"""Framed messages over a socket, and calls in both directions over one of them.

A frame is its length, a kind, a nonce and a payload of `wire`. A reply carries the nonce of its request. While
one side waits for a reply it serves the other side's requests (a test may pass a lambda, which the student's
function calls back), so calls nest.
"""

from __future__ import annotations

import secrets
import select
import socket
import struct
import time
from typing import Any

from .. import wire

HEADER = struct.Struct("<QBQ")  # length of the payload, kind, nonce
REQUEST, REPLY, ERROR = 1, 2, 3
NESTED = 16  # calls inside callbacks inside calls…


class ChannelError(BaseException):
    """The other side can no longer be talked to; `reason` says why in a few words.

    Not an Exception: a test that catches every Exception must not take a dead candidate for an answer.
    """

    def __init__(self, reason: str, status: str = "died"):
        super().__init__(reason)
        self.reason, self.status = reason, status


class Frames:
    """Whole frames over a stream socket, with a deadline and a size limit."""

    def __init__(self, sock: socket.socket, limit: int):
        sock.setblocking(False)
        self.sock, self.limit = sock, limit

    def _wait(self, event: int, deadline: float | None) -> None:
        poll = select.poll()
        poll.register(self.sock, event)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            raise ChannelError("no answer in time", "timeout")

    def send(self, kind: int, nonce: int, payload: bytes, deadline: float | None = None) -> None:
        view = memoryview(HEADER.pack(len(payload), kind, nonce) + payload)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except OSError as error:
                raise ChannelError(f"the pipe is closed ({error.strerror})") from None

    def _exactly(self, size: int, deadline: float | None) -> bytes:
        parts, left = [], size
        while left:
            if deadline is not None and time.monotonic() > deadline:
                raise ChannelError("no whole answer in time", "timeout")  # it may drip, or ask without an end
            try:
                part = self.sock.recv(min(left, 1 << 20))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except OSError as error:
                raise ChannelError(f"the pipe is closed ({error.strerror})") from None
            if not part:
                raise ChannelError("the pipe was closed")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def receive(self, deadline: float | None = None) -> tuple[int, int, bytes]:
        length, kind, nonce = HEADER.unpack(self._exactly(HEADER.size, deadline))
        if length > self.limit or kind not in (REQUEST, REPLY, ERROR):
            raise ChannelError("an answer that is none, or that is too large", "malformed")
        return kind, nonce, self._exactly(length, deadline)


class Channel:
    """Requests over frames. Subclasses say what they serve (`serve`) and what an error becomes (`failed`)."""

    passing: tuple[type[BaseException], ...] = (ChannelError,)  # never turned into a reply

    def __init__(self, sock: socket.socket, limit: int):
        self.frames = Frames(sock, limit)
        self.depth = 0
        self.until: float | None = None  # when to stop waiting: also for room to answer while we ask

    def serve(self, op: str, data: Any) -> Any:
        raise NotImplementedError

    def failed(self, data: Any) -> BaseException:
        """The exception that an ERROR reply stands for."""
        raise NotImplementedError

    def describe(self, error: BaseException) -> Any:
        """An exception of this side, as plain data."""
        raise NotImplementedError

    def encode(self, value: Any) -> bytes:
        return wire.encode(value)

    def decode(self, payload: bytes) -> Any:
        return wire.decode(payload)

    def request(self, op: str, data: Any, deadline: float | None = None) -> Any:
        """Ask the other side and wait; meanwhile serve what it asks."""
        nonce = secrets.randbits(64)
        self.until = deadline
        self.frames.send(REQUEST, nonce, self.encode((op, data)), deadline)
        while True:
            kind, echoed, payload = self.frames.receive(deadline)
            if kind == REQUEST:
                self.answer(echoed, payload)
                continue
            if echoed != nonce:
                raise ChannelError("an answer to a question that was not asked", "malformed")
            try:
                value = self.decode(payload)
            except wire.Malformed as error:
                raise ChannelError(f"a malformed answer: {error}", "malformed") from None
            if kind == ERROR:
                raise self.failed(value)
            return value

    def answer(self, nonce: int, payload: bytes) -> None:
        """Serve one request and send its reply."""
        self.depth += 1
        try:
            if self.depth > NESTED:
                raise RecursionError("calls and callbacks are nested too deep")
            op, data = self.decode(payload)
            kind, reply = REPLY, self.encode(self.serve(op, data))
        except self.passing:
            raise
        except BaseException as error:  # noqa: BLE001
            kind, reply = ERROR, wire.encode(self.describe(error))
        finally:
            self.depth -= 1
        self.reply(kind, nonce, reply)

    def reply(self, kind: int, nonce: int, data: bytes) -> None:
        self.frames.send(kind, nonce, data, self.until)
