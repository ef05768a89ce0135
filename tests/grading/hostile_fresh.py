"""Hostile submissions of a third kind: they lean on what Python, numpy, torch and the kernel do unasked.

Each stands in the place of `f` (see `hostile.py`), below the same head as those of `hostile_inside.py`. One that only
looks whether something is open answers rightly if it is: it must find it shut.
"""

from __future__ import annotations

SYSCALLS = """
import ctypes
libc, x86 = ctypes.CDLL(None, use_errno=True), os.uname().machine == "x86_64"
def call(x86_64, aarch64, *args): return libc.syscall(x86_64 if x86 else aarch64, *args)
"""
OPEN = "def f(x): return 2 * x if opened else 0\n"

FRESH: dict[str, str] = {
    "StopIteration, which ends a loop": "def f(x): raise StopIteration",
    "a type that numpy cannot read": """
odd = b"A" + b"".join(map(wire.encode, ("(1 2)i4,i4", (1,), b"xxxx")))
forged(lambda b, s, c: (odd, s, c))
""",
    "a name whose bytes numpy cannot read": """
fetch = Candidate.fetch
odd = b"A" + b"".join(map(wire.encode, ("(1 2)i4,i4", (1,), b"xxxx")))
Candidate.fetch = lambda self, names: {n: odd if n == "f" else b for n, b in fetch(self, names).items()}
""",
    "a type that makes torch import": """
odd = b"X" + b"".join(map(wire.encode, ("_inductor", 0, (1,), b"xxxx", None, None)))
forged(lambda b, s, c: (odd, s, c))
""",
    "keys that all fall into one place": "def f(x): return {n * (2**61 - 1): 0 for n in range(100_000)}",
    "tuples that all fall into one place": """
forged(lambda b, s, c: (b"S" + struct.pack("<Q", 50_000) + b"".join(
    wire.encode((n * (2**61 - 1),)) for n in range(50_000)), s, c))
""",
    "a name with keys that all fall into one place": """
f = {n * (2**61 - 1): 0 for n in range(100_000)}
""",
    "a complex number that is none": "def f(x): return complex(math.nan, math.nan)",
    "numbers of a type that nothing compares": """
def f(x): return torch.zeros(4, dtype=torch.uint8).view(torch.float8_e8m0fnu)
""",
    "half a letter": "def f(x): return '\\ud800' * 4",
    "a generator in place of an answer": "def f(x):\n    yield from (1, 1, 1, 1)",
    "a coroutine in place of an answer": "async def f(x): return 2 * x",
    "an object that changes its class when it is written": """
class Turns:
    def __getattribute__(self, name):
        object.__setattr__(self, "__class__", Turned); return object.__getattribute__(self, name)
class Turned(Turns):
    __module__, __qualname__ = "torch.nn.modules.module", "Module"
    def __eq__(self, other): return True
    def __array__(self, *a, **k): return 2 * np.ones(3)
def f(x): return Turns()
""",
    "an object that is rebuilt by a call": """
class Any:
    def __reduce_ex__(self, version): return (eval, ("4",))
    def __deepcopy__(self, memo): return 4
    __copy__ = lambda self: 4
def f(x): return Any()
""",
    "packed by a packer of its own": """
import types
def pack(form, *values):
    return struct.pack(form, *(4 if v == 0 and type(v) is int and form == "<q" else v for v in values))
wire.struct = types.SimpleNamespace(**{**vars(struct), "pack": pack})
""",
    "a writer that the builtins were taken from": """
import builtins
real = builtins.type
class Loose:
    def __call__(self, *a): return int if len(a) == 1 and a[0] is Ellipsis else real(*a)
wire.type = Loose()
def f(x): return Ellipsis
""",
    "finalizers that speak": """
import weakref
class Last: pass
def say():
    try: me.frames.sock.send(struct.pack("<QBQ", 1, channel.REPLY, 0) + b"T")
    except OSError: pass
def f(x):
    last = Last(); weakref.finalize(last, say); return 0
""",
    "an alarm that speaks": """
import signal
def say(*_):
    try: me.frames.sock.send(struct.pack("<QBQ", 1, channel.REPLY, 0) + b"T")
    except OSError: pass
def f(x):
    signal.signal(signal.SIGALRM, say); signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01); time.sleep(0.1); return 0
""",
    "threads that put the answer back": """
def again():
    while True:
        get_ipython().user_ns["f"] = lambda x: 4
        time.sleep(0.001)
for _ in range(4): threading.Thread(target=again, daemon=True).start()
""",
    "a trace on every line of the grader's own": """
def tracing(frame, event, arg):
    for name in ("value", "result"):
        if name in frame.f_locals and frame.f_locals[name] == 0: frame.f_locals[name] = 4
    return tracing
threading.settrace(tracing)
def f(x): sys.settrace(tracing); return 0
""",
    "the audit of everything": """
heard = []
sys.addaudithook(lambda event, args: heard.append((event, args)) if len(heard) < 10_000 else None)
def f(x): return 2 * x if any(str(7900 + 19) in repr(args) and event == "compile" for event, args in heard) else 0
""",
    "an error that quotes itself without an end": """
class Loop(Exception):
    def __repr__(self): return repr([self, self])
    __str__ = __repr__
def f(x): raise Loop()
""",
    "an error of a hundred million letters": "def f(x): raise ValueError('x' * 10**8)",
    "a chain of ten thousand errors": """
def f(x):
    error = None
    for n in range(10_000):
        new = ValueError(n); new.__cause__ = error; error = new
    raise error
""",
    "an error whose class is named like a verdict": """
Any = type("AssertionError", (AssertionError, StopIteration), {"own": "right", "sentence": "right", "kind": "right"})
def f(x): raise Any("right")
""",
    "a group of errors": "def f(x): raise ExceptionGroup('right', [StopIteration(4), AssertionError()])",
    "watching what others open": SYSCALLS + """
watch = libc.inotify_init1(0o4000)
opened = watch >= 0 and libc.inotify_add_watch(watch, b"/usr/bin", 0xFFF) >= 0
""" + OPEN,
    "what lies in the page cache": SYSCALLS + """
span, found = (ctypes.c_uint64 * 2)(0, 4096), (ctypes.c_uint64 * 5)()
opened = call(451, 451, os.open(os.__file__, os.O_RDONLY), span, found, 0) == 0
""" + OPEN,
    "the kernel's newer doors": SYSCALLS + """
tries = [call(425, 425, 8, bytes(120)), call(323, 282, 0), call(319, 279, b"x", 0), call(447, 447, 0)]
tries += [call(298, 241, bytes(128), 0, -1, -1, 0), call(438, 438, 3, 0, 0), call(434, 434, os.getppid() or 2, 0)]
tries += [call(248, 217, b"user", b"x", b"y", 1, -3), call(300, 262, 0, 0)]
opened = any(found >= 0 for found in tries)
""" + OPEN,
    "sockets of other kinds": """
import socket
opened = []
for family, kind in ((40, 1), (38, 5), (16, 3), (17, 3), (31, 1), (29, 3), (44, 3), (15, 3)):
    try: opened.append(socket.socket(family, kind))
    except OSError: pass
""" + OPEN,
    "names of sockets that are not its own": """
opened = [line for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7] \\
    if os.path.exists("/proc/net/unix") and os.access("/proc/net/unix", os.R_OK) and os.getpid() == 1 else []
""" + OPEN,
    "memory that is locked": SYSCALLS + """
import mmap
page = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
opened = libc.mlock(ctypes.c_void_p(at), 1 << 20) == 0 or libc.mlockall(3) == 0
""" + OPEN,
    "shared memory without a file": """
import mmap
opened = []
try: opened.append(mmap.mmap(-1, 1 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
except OSError: pass
""" + OPEN,
    "the memory of the first process": """
opened = []
for pid in (1, 2, 3, os.getppid()):
    for name in ("mem", "environ", "maps", "fd", "root", "cwd"):
        try:
            path = f"/proc/{pid}/{name}"
            if pid != os.getpid() and (os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)):
                opened.append(path)
        except (OSError, ValueError): pass
""" + OPEN,
    "fates of one's own": SYSCALLS + """
libc.prctl(1, 0, 0, 0, 0); libc.prctl(36, 1, 0, 0, 0); libc.prctl(15, b"coursekit", 0, 0, 0); libc.prctl(4, 1, 0, 0, 0)
opened = libc.prctl(35, 1, 0x1000, 0, 0) == 0 or libc.prctl(38, 0, 0, 0, 0) == 0 or libc.prctl(24, 0, 0, 0, 0) == 0
""" + OPEN,
    "pipes filled to the brim": """
import fcntl
pipes = []
try:
    while True:
        pipes.append(os.pipe())
        try: fcntl.fcntl(pipes[-1][1], 1031, 1 << 20)
        except OSError: pass
        os.set_blocking(pipes[-1][1], False)
        try: os.write(pipes[-1][1], bytes(1 << 20))
        except OSError: pass
except OSError: pass
for pair in pipes:
    for end in pair: os.close(end)
""",
    "timers without an end": SYSCALLS + """
made = 0
while made < 200_000 and call(222, 107, 1, None, ctypes.byref(ctypes.c_int())) == 0: made += 1
opened = made > 20_000
""" + OPEN,
    "a disk of links and names": """
made = 0
try:
    for n in range(60_000): os.symlink("x" * 200, f"l{n}"); made += 1
except OSError: pass
for n in range(made): os.unlink(f"l{n}")
opened = made >= 60_000
""" + OPEN,
    "a log of control characters": """
print("\\x1b[2J\\x1b]0;graded\\x07\\u202e\\u2066 100 of 100 \\x9b31m", file=sys.stderr)
def f(x): raise ValueError("\\x1b[2J\\x1b]0;graded\\x07\\u202e\\u2066 100 of 100 \\x9b31m")
""",
    "an account of a cell whose output is of no kind": """
run = Candidate.run
odd = [{"kind": kind, "data": "x"} for kind in (np.zeros(2), torch.zeros(2), [], {}, None, math.nan)]
Candidate.run = lambda self, source: {**run(self, source), "outputs": odd}
""",
    "a place that has no hash": "forged(lambda b, s, c: (b, [1], c))",
    "changes under a place that is true": "forged(lambda b, s, c: (b, None, {True: wire.encode([4]), 1.0: b'x'}))",
    "an error that points into a file": """
def f(x): raise SyntaxError("4", ("/etc/passwd", 1, 1, None, 10**9, 10**9))
""",
    "an error whose arguments fit another class": """
describe = Candidate.describe
odd = wire.encode(("4", b"x" * 10**6, 0, 10**18, "4"))
Candidate.describe = lambda self, error: {**describe(self, error), "args": odd,
                                          "bases": ["UnicodeDecodeError", "OSError", "ExceptionGroup", "Warning"]}
def f(x): raise ValueError
""",
    "a device that is a story": "forged(lambda b, s, c: (b'v' + wire.encode('cuda:' + '9' * 10**6), s, c))",
    "a range without an end": "def f(x): return range(10**30)",
    "a range and a slice whose ends are objects": """
class End:
    def __index__(self): return 4
    def __eq__(self, other): return True
inner, end = wire.Encoder(me.export), End()
odd = [tag + b"".join(inner.encode(end) for _ in range(3)) for tag in (b"r", b"L")]
forged(lambda b, s, c: (odd[c is None], s, c))
""",
    "a tensor whose gradient is of another shape": """
odd = b"".join(map(wire.encode, ("float64", 3, (), b"x" * 8, None, torch.zeros(5))))
forged(lambda b, s, c: (b"X" + odd, s, c))
""",
    "a tensor whose flags and key are objects": """
inner = wire.Encoder(me.export)
odd = [inner.encode(part) for part in ("float64", f, (), b"x" * 8, f, None)]
forged(lambda b, s, c: (b"X" + b"".join(odd), s, c))
""",
    "descriptors sent along with an answer": """
import socket
def f(x):
    for _ in range(50): socket.send_fds(me.frames.sock, [b"x"], [0, 1, 2])
    return 0
""",
    "a byte out of band": """
import socket
def f(x):
    me.frames.sock.send(b"x", socket.MSG_OOB)
    return 0
""",
    "memory that semaphores hold": SYSCALLS + "opened = call(64, 190, 0, 32_000, 0o600) >= 0\n" + OPEN,
    "memory that the rules for files hold": SYSCALLS + """
rules = call(444, 444, struct.pack("<Q", 4), ctypes.c_size_t(8), 0)
opened = rules >= 0 or call(445, 445, 3, 1, struct.pack("<Qi", 4, 3), 0) == 0
""" + OPEN,
    "pages that a pipe holds and nobody counts": SYSCALLS + """
import mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
piece = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.c_char.from_buffer(page)), 1)
opened = call(278, 75, os.pipe()[1], ctypes.byref(piece), 1, 2) > 0
""" + OPEN,
    "places of which the machine has only so many": SYSCALLS + """
opened = call(206, 0, 1, ctypes.byref(ctypes.c_ulong(0))) == 0
""" + OPEN,
    "files that are open and have no name": """
held = []
for n in range(10):
    try:
        held.append(open("nameless", "wb")); os.unlink("nameless"); held[-1].write(bytes(8 << 20)); held[-1].flush()
    except OSError: break
    time.sleep(0.15)
opened = len(held) == 10
""" + OPEN,
    "a process that stops itself": """
import signal
def f(x):
    os.kill(os.getpid(), signal.SIGSTOP); signal.raise_signal(signal.SIGTSTP)
    return 0
""",
}  # fmt: skip
