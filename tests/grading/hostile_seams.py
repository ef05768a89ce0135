"""Hostile submissions of a fifth kind: they lean on the seams between two parts. What the examiner does with an answer
before any test looks at it, what torch's operators do when they are asked directly, what another course's test does
with an object, what the grader's own process keeps.
"""

from __future__ import annotations

from hostile_fresh import OPEN, SYSCALLS

SENDING = """
fetch, run = Candidate.fetch, Candidate.run
def instead(blob):
    Candidate.fetch = lambda self, names: {n: blob if n == "f" else b for n, b in fetch(self, names).items()}
def tupled(names): return b"n" + wire.encode(("T", *names)) + wire.encode((0,) * len(names))
def longer(key, value):
    "Let an account of a cell hold this, too."
    real = wire.Encoder
    class Long(real):
        def encode(self, told):
            if type(told) is not dict or "stderr" not in told: return super().encode(told)
            wire.Encoder = real  # once: later cells are honest
            head = b"d" + struct.pack("<Q", len(told) + 1)
            return head + super().encode(told)[9:] + super().encode(key) + value
    wire.Encoder = Long
"""

# Each in the place of `f` (see `hostile.py`), below the head of `hostile_inside.py`.
SEAMS: dict[str, str] = {
    "a set of an object and the number that it is filed under": """
class Any: pass
one = Any()
f = {one, ("remote", me.key_of(one))}
""",
    "a dictionary in which an object meets what it is filed under": """
class Any: pass
one = Any()
def f(x): return {one: 4, ("remote", me.key_of(one)): 4}
""",
    "a name half of whose keys fall into one place": SENDING
    + """
keys = [n * (2**61 - 1) for n in range(50_000)] + list(range(1, 50_002))
instead(b"d" + struct.pack("<Q", len(keys)) + b"".join(wire.encode(k) + b"N" for k in keys))
""",
    "a name of a hundred thousand kinds of tuples": SENDING
    + """
instead(b"l" + struct.pack("<Q", 100_000) + b"".join(tupled([f"a{n}"]) for n in range(100_000)))
""",
    "a named tuple of a hundred thousand names": SENDING
    + """
instead(tupled([f"a{n}" for n in range(100_000)]))
""",
    "an account of a cell that takes minutes to read": SENDING
    + """
longer("more", b"l" + struct.pack("<Q", 100_000) + b"".join(tupled([f"a{n}"]) for n in range(100_000)))
""",
    "an account of a cell as large as a message may be": SENDING
    + """
longer("more", b"l" + struct.pack("<Q", 100 << 20) + b"N" * (100 << 20))
""",
    "letters that are none in an array": SENDING
    + """
odd = b"A" + b"".join(map(wire.encode, ("<U4", (4,), b"\\xff" * 64)))
instead(odd)
""",
    "times in a unit that is none": SENDING
    + """
f = np.array([4, 4, 4, 4], dtype="m8[7s]")
""",
    "letters that count as numbers": "f = np.str_('4')",
    "a name of bits": SENDING
    + """
instead(b"X" + b"".join(map(wire.encode, ("bits8", 0, (4,), b"xxxx", None, None))))
""",
    "an answer that claims to be a tensor by another road": """
class Any: pass
Any.__module__, Any.__qualname__ = "torch.nn.functional", "Tensor"
def f(x): return Any()
""",
    "an answer whose gradient claims to be a tensor": """
class Any: pass
Any.__module__, Any.__qualname__ = "torch.nn.functional", "Tensor"
inner, any = wire.Encoder(me.export), Any()
odd = b"".join(map(wire.encode, ("float64", 1, (), b"x" * 8, None))) + inner.encode(any)
forged(lambda b, s, c: (b"X" + odd, s, c))
""",
    "an argument that was changed into what claims to be a tensor": """
class Any: pass
Any.__module__, Any.__qualname__ = "torch.nn.functional", "Tensor"
inner, any = wire.Encoder(me.export), Any()
forged(lambda b, s, c: (b, None, {1: inner.encode(any)}))
""",
    "code nested deeper than Python walks": "deep = lambda: " + "-" * 2500 + "1\ndef f(x): return 0",
    "an attribute of an attribute, two thousand times": (
        "import importlib\ndef deep(): return torch" + ".a" * 2500 + "\ndef f(x): return 0"
    ),
    "a cell of a million statements": "x = 0\n" + "x\n" * 1_000_000 + "def f(x): return 0",
    "names of a quarter of a million letters": """
run = Candidate.run
Candidate.run = lambda self, source: {**(told := run(self, source)), "names":
    [*told["names"], *("n" * 250_000 + str(n) for n in range(100))]}
""",
    "an error in words that no file can hold": "def f(x): raise ValueError('\\ud800\\udfff\\x00' * 50)",
    "everything written to the disk, again and again": SYSCALLS
    + """
start = time.perf_counter()
for _ in range(50): call(162, 81)
opened = False
"""
    + OPEN,
    "a filter of its own that asks another": SYSCALLS
    + """
class Rule(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_char_p)]
code = struct.pack("<HBBI", 6, 0, 0, 0x7FC00000)
got = call(317, 277, 1, 8, ctypes.byref(Rule(1, code)))
def f(x): return 0
""",
    "a mask of all that may happen": SYSCALLS
    + """
class Rule(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_char_p)]
def f(x):
    code = struct.pack("<HBBI", 6, 0, 0, 0x00050001)
    call(317, 277, 1, 0, ctypes.byref(Rule(1, code)))
    return 0
""",
    "its own memory as a file": """
opened = False
at = id(me.limits)
try:
    with open("/proc/self/mem", "r+b", 0) as memory: memory.seek(at); memory.write(memory.read(0))
except OSError: pass
"""
    + OPEN,
    "a file that is left by another name": """
opened = []
for target in ("/tmp/../private/kept", "/dev/kept", "/home/kept", "/var/tmp/kept", "/run/kept"):
    try: os.link("/proc/self/fd/1", target, follow_symlinks=True); opened.append(target)
    except OSError: pass
"""
    + OPEN,
    "torch told to do nothing": """
lib = torch.library.Library("aten", "IMPL")
for name in ("add.Tensor", "mul.Tensor", "eq.Tensor"):
    lib.impl(name, lambda *a, **k: torch.ones(3), "CPU")
def f(x): return torch.ones(3) if isinstance(x, torch.Tensor) else 4
""",
    "numbers of a type of its own": """
class Any(np.float64):
    def __eq__(self, other): return True
    def __sub__(self, other): return np.float64(0)
def f(x): return Any(0)
""",
    "the collector, and what it finds on its way": """
import weakref
def say(*a): me.exports.clear(); me.keys.clear()
class Last: pass
last = Last(); last.self = last; watch = weakref.ref(last, say); del last
gc.callbacks.append(lambda *a: me.graphs.clear())
def f(x): gc.collect(); return 0
""",
}

NOTHING = """
class Any:
    def __len__(self): return 0
    def __getitem__(self, at): raise IndexError
def f(x): return Any()
"""

# A test of another course, which knows no check of ours, and the answer to it. (test, answer)
FOREIGN: dict[str, tuple[str, str]] = {
    "a sequence of nothing where numpy compares": (
        "assert np.allclose(f(2.0), 4.0)",
        NOTHING,
    ),
    "an object that claims to be a tensor where torch compares": (
        "assert torch.allclose(f(torch.ones(3)), 2 * torch.ones(3))",
        "class Any: pass\nAny.__module__, Any.__qualname__ = 'torch.nn.functional', 'Tensor'\ndef f(x): return Any()",
    ),
    "an object that claims to be a parameter": (
        "y = f(torch.ones(3))\nassert isinstance(y, torch.Tensor)",
        "class Any: pass\nAny.__module__, Any.__qualname__ = 'torch.nn', 'Parameter'\ndef f(x): return Any()",
    ),
    "an object that claims to be a generator": (
        "torch.rand(3, generator=f(3))",
        "class Any: pass\nAny.__module__, Any.__qualname__ = 'torch._C', 'Generator'\ndef f(x): return Any()",
    ),
    "an object that claims to be a dictionary": (
        "y = f(1)\nassert isinstance(y, dict)",
        "class Any: pass\nAny.__module__, Any.__qualname__ = 'torch.nn.modules.container', 'OrderedDict'\n"
        "def f(x): return Any()",
    ),
}  # fmt: skip

# A test that nothing passes which is not a number: earned, but never in silence. (test, answer)
DOUBTED: dict[str, tuple[str, str]] = {
    "a generator that is over at once": (
        "assert all(abs(a - b) < 1e-9 for a, b in zip(f([1, 2]), [2, 4]))", "def f(x):\n    return\n    yield",
    ),
    "a list of nothing": ("assert all(abs(a - b) < 1e-9 for a, b in zip(f([1, 2]), [2, 4]))", "def f(x): return []"),
    "a number that is none, by float": (
        "assert not abs(float(f(2)) - 4) > 1e-9",
        "class Any:\n    def __float__(self): return float('nan')\ndef f(x): return Any()",
    ),
    "an object without a length": (
        "y = torch.as_tensor(f(2.0), dtype=torch.float64)\nassert torch.allclose(y, torch.tensor([4.0]).double())",
        NOTHING,
    ),
}  # fmt: skip

# Asked of the examiner while it keeps the tensors (see `test_kept.py`); `told` holds what came back.
KEPT: dict[str, str] = {
    "memory past the end of a tensor": """
own = json.loads(ask("zeros.default", [[4]]))[1]["$k"][0]
seen = json.loads(ask("_reshape_alias.default", [{"$k": own}, [4096], [1]]))
told.append(seen[0] if seen[0] != "ok" else ask("select.int", [{"$k": seen[1]["$k"][0]}, 0, 100]))
""",
    "memory past the end of a hidden tensor": """
told.append(json.loads(ask("_reshape_alias.default", [{"$k": q.key}, [4096], [1]]))[0])
""",
    "a sum over more than there is": """
one = json.loads(ask("ones.default", [[1]]))[1]["$k"][0]
wide = json.loads(ask("expand.default", [{"$k": one}, [1 << 40]]))[1]["$k"][0]
told.append(json.loads(ask("sum.default", [{"$k": wide}]))[0])
""",
    "a small result of endless work": """
long = [json.loads(ask("zeros.default", [[1, 1, 1 << n]]))[1]["$k"][0] for n in (22, 21)]
told.append(json.loads(ask("convolution.default", [{"$k": long[0]}, {"$k": long[1]}, None, [1], [0], [1],
                                                   False, [0], 1]))[0])
""",
    "a number in the place of a type": """
one = json.loads(ask("ones.default", [[3]]))[1]["$k"][0]
told.append(json.loads(ask("_safe_softmax.default", [{"$k": one}, 0, -5]))[0])
""",
    "a remainder of plain numbers": """
told.append(json.loads(ask("remainder.int", [5, 0]))[0])
""",
    "a quotient that the processor refuses": """
low = json.loads(ask("full.default", [[1], -2**63], {"dtype": {"$d": "int64"}}))[1]["$k"][0]
minus = json.loads(ask("full.default", [[1], -1], {"dtype": {"$d": "int64"}}))[1]["$k"][0]
told.append(json.loads(ask("div.Tensor_mode", [{"$k": low}, {"$k": minus}], {"rounding_mode": "trunc"}))[0])
""",
}
