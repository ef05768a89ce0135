"""Framed messages over a socket: a frame is its length, a kind, a nonce and a payload of `wire`."""

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

HEADER = struct.Struct("<QBQ")  # length of the payload, kind, nonce
REQUEST, REPLY, ERROR = 1, 2, 3
MESSAGE = 1 << 32  # bytes, at the most, between the grader's own processes


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
        self.sock, self.limit = sock, limit

    def _timely(self, deadline: float | None, call: Callable[[Any], Any], data: Any) -> Any:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise ChannelError("no whole answer in time", "timeout")  # it may drip, or ask without an end
        try:
            self.sock.settimeout(left)
            return call(data)
        except TimeoutError:
            raise ChannelError("no answer in time", "timeout") from None
        except OSError as error:
            raise ChannelError(f"the pipe is closed ({error.strerror})") from None

    def send(self, kind: int, nonce: int, payload: bytes, deadline: float | None = None) -> None:
        view = memoryview(HEADER.pack(len(payload), kind, nonce) + payload)
        while view:
            view = view[self._timely(deadline, self.sock.send, view) :]

    def _exactly(self, size: int, deadline: float | None) -> bytes:
        parts, left = [], size
        while left:
            part = self._timely(deadline, self.sock.recv, min(left, 1 << 20))
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
