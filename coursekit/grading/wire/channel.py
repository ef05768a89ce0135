"""Framed messages over a socket: a frame is its length, a kind, a nonce and a payload of `wire`."""

from __future__ import annotations

import select
import socket
import struct
import time

HEADER = struct.Struct("<QBQ")  # length of the payload, kind, nonce
REQUEST, REPLY, ERROR = 1, 2, 3


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
