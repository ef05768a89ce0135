"""Hostile submissions that know the grader's own code: they rewrite their side of the pipe, and speak its language.

Each is a cell in the place of `f` (see `hostile.py`), which none of them implements: what each deserves is its two
honest points, at every level of the sandbox.
"""

from __future__ import annotations

HEAD = """
import gc, math, os, struct, sys, threading, time
import numpy as np, torch
from coursekit.grading import wire
from coursekit.grading.run import candidate, handles, peer
from coursekit.grading.wire import channel
Candidate = candidate.Candidate
me = next(o for o in gc.get_objects() if type(o) is Candidate)
def f(x): return 0
def forged(change):
    "Let `change(op, value)` decide what an operation on f gives; the honest questions are left alone."
    serve = Candidate._serve_operation
    def serving(self, op, blobs, named, context):
        blob, same, changed = serve(self, op, blobs, named, context)
        value = wire.Decoder(blob, lambda kind, data: ("hook", kind, data)).decode() if same is None else None
        return change(blob, same, changed) if value == 0 and type(value) is int else (blob, same, changed)
    Candidate._serve_operation = serving
"""

INSIDE: dict[str, str] = {
    "every operation answers true": "forged(lambda b, s, c: (wire.encode(True), s, c))",
    "every operation answers not-a-number": "forged(lambda b, s, c: (wire.encode(math.nan), s, c))",
    "every operation answers an empty array": "forged(lambda b, s, c: (wire.encode(np.zeros(0)), s, c))",
    "the function itself is sent back as its result": "forged(lambda b, s, c: (b, 0, {}))",
    "the argument is sent back as the result": "forged(lambda b, s, c: (b, 1, {}))",
    "the argument is changed into what the test may expect":
        "forged(lambda b, s, c: (wire.encode(None), None, {1: wire.encode([0, 0, 0, 0])}))",
    "a place that is no argument is changed": "forged(lambda b, s, c: (b, None, {7: wire.encode([4])}))",
    "the function is changed in the test": "forged(lambda b, s, c: (b, None, {0: wire.encode(4)}))",
    "an object that claims to be earned points": """
class Any: pass
Any.__module__, Any.__qualname__ = "coursekit.checks.shown.result", "Earned"
def f(x): return Any()
""",
    "an object that claims to be a handle": """
class Any: pass
Any.__module__, Any.__qualname__ = "coursekit.grading.run.handles", "Remote"
def f(x): return Any()
""",
    "an object that claims a thousand bases": """
Any = type("Any", (), {})
for n in range(200): Any = type(f"Any{n}", (Any,), {"__module__": "torch", "__qualname__": "Tensor"})
def f(x): return Any()
""",
    "a module in place of a number": "def f(x): return math",
    "a device in place of a number": "def f(x): return torch.device('meta')",
    "a named tuple of functions": """
from collections import namedtuple
Any = namedtuple("Any", "all any tolist")
def f(x): return Any(*[lambda *a: True] * 3)
""",
    "a named tuple with hooks in its bytes": """
blob = bytearray(b"n"); inner = wire.Encoder(me.export)
inner._write(blob, ("Any", "all"), 0); inner._write(blob, (f,), 0)
forged(lambda b, s, c: (bytes(blob), s, c))
""",
    "answers to questions that were not asked": """
for nonce in (0, 1, 2**64 - 1): me.frames.send(channel.REPLY, nonce, wire.encode((wire.encode(4), None, {})))
""",
    "a flood of requests": """
def f(x):
    for _ in range(3000):
        try: me.request("operate", ("call", [], {}, None))
        except RuntimeError: pass
    return 0
""",
    "operators where nothing is counted": """
def f(x):
    try: return me.request("operator", '["ones.default", [[4]], {}]')
    except RuntimeError: return 0
""",
    "requests inside requests": """
def f(x):
    try: return me.request("operate", ("call", [wire.Encoder(me.export).encode(f)], {}, None))
    except RuntimeError: return 0
""",
    "another's key": """
def f(x):
    for key in range(64):
        for name in ("__globals__", "f_locals", "gi_frame", "tb_frame", "__self__", "func"):
            blob = bytearray(b"H"); e = wire.Encoder(); e._write(blob, "yours", 0); e._write(blob, key, 0)
            try: return me.request("operate", ("getattr", [bytes(blob), wire.encode(name)], {}, None))
            except RuntimeError: pass
    return 0
""",
    "bytes that nest without an end": "forged(lambda b, s, c: (b'l' + struct.pack('<Q', 1) + b'l' * 10**6, s, c))",
    "a length of all memory": "forged(lambda b, s, c: (b's' + struct.pack('<Q', 2**62), s, c))",
    "an array of objects": """
forged(lambda b, s, c: (b'A' + b''.join(map(wire.encode, ('|O', (1,), b'x' * 8))), s, c))
""",
    "a tensor whose type is a function": """
forged(lambda b, s, c: (b'X' + b''.join(map(wire.encode, ('load', 0, (1,), b'x', None, None))), s, c))
""",
    "a tensor with a history that is none": """
forged(lambda b, s, c: (b'X' + b''.join(map(wire.encode, ('float64', 1, (), b'x' * 8, 12345, None))), s, c))
""",
    "an integer of a million digits": "def f(x): return 10 ** 150_000",
    "an error of a million digits": "def f(x): raise ValueError(10 ** 150_000)",
    "an error that poses as the grader's own": """
describe = Candidate.describe
Candidate.describe = lambda self, error: {**describe(self, error), "control": "not-plain", "bases": ["AssertionError"]}
def f(x): raise AssertionError
""",
    "an error made of every built-in class": """
Candidate.describe = lambda self, error: {"bases": dir(__builtins__), "args": b"", "error": "x" * 10**6, "message": ""}
def f(x): raise ValueError
""",
    "a million objects": """
class Any: pass
forged(lambda b, s, c: (wire.Encoder(me.export).encode([Any() for _ in range(200_000)]), s, c))
""",
    "an account of a cell with a line that cannot be written": """
run = Candidate.run
Candidate.run = lambda self, source: {**run(self, source), "line": 10 ** 20_000, "seconds": math.nan, "status": "error"}
""",
    "an account of a cell with bytes for text": """
run = Candidate.run
odd = [{"kind": kind, "data": data} for kind in ("stdout", "stderr", "text/plain", "text/html", "image/png")
       for data in (b"\\xff\\x00", "\\x1b]0;x\\x07", "x" * 10**6)]
Candidate.run = lambda self, source: {**run(self, source), "outputs": odd, "error": "\\x00\\ud800" * 100}
""",
    "an account of a cell that says it is not plain": """
reply = Candidate.reply
def replying(self, kind, nonce, data):
    Candidate.reply = reply
    reply(self, channel.ERROR, nonce, wire.encode({"control": "not-plain"}))
Candidate.reply = replying
""",
    "names that were not asked for": """
fetch = Candidate.fetch
more = {name: wire.encode(4) for name in ("len", "abs", "np", "f")}
Candidate.fetch = lambda self, names: {**fetch(self, names), **more}
""",
    "names of the test's own": """
run = Candidate.run
def running(self, source):
    done = run(self, source)
    return {**done, "names": [*done["names"], "assert_allclose", "abs", "len", "np", "torch", "f"]}
Candidate.run = running
def assert_allclose(*a, **k): pass
def abs(x): return 0
def len(x): return 4
""",
    "an answer that drips": """
send = me.frames.sock.send
def drip(data):
    time.sleep(0.05); return send(data[:1])
class Slow:
    def __init__(self, sock): self.sock = sock
    def __getattr__(self, name): return getattr(self.sock, name)
    def send(self, data): time.sleep(0.05); return self.sock.send(bytes(data)[:1])
def f(x): me.frames.sock = Slow(me.frames.sock); return 0
""",
    "a thread that answers before the function does": """
def early():
    while True:
        time.sleep(0.001)
        try: me.frames.sock.send(struct.pack("<QBQ", 1, 2, 0) + b"T")
        except OSError: return
def f(x): threading.Thread(target=early, daemon=True).start(); time.sleep(0.1); return 0
""",
    "a socket that is shut in the middle": """
import socket
def f(x): me.frames.sock.send(struct.pack("<QBQ", 100, 2, 0)); me.frames.sock.shutdown(socket.SHUT_RDWR); return 0
""",
}  # fmt: skip
