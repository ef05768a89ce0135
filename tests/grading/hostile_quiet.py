"""Hostile submissions of a fourth kind: they lean on what is there already. What an earlier submission left, the
process's own memory and descriptors, the shell around the cells, the kernel's knobs.

Each stands in the place of `f` (see `hostile.py`), below the head of `hostile_inside.py`. One that only looks whether
something is open answers rightly if it is: it must find it shut.
"""

from __future__ import annotations

from hostile_fresh import OPEN, SYSCALLS

QUIET: dict[str, str] = {
    "what the last submission left": """
from multiprocessing import shared_memory
folders = ("/tmp", "/dev/shm", "/var/tmp", os.getcwd(), os.environ["HOME"], "/")
places = [os.path.join(p, "left-behind") for p in folders]
opened = [p for p in places if os.path.exists(p)]
opened += [m for m in list(sys.modules) if m == "left_behind"]
for p in places:
    try: open(p, "w").write("here")
    except OSError: pass
sys.modules["left_behind"] = sys
torch.left_behind = wire.left_behind = True
""" + OPEN,
    "what the last submission left in torch and the wire": """
opened = getattr(torch, "left_behind", False) or getattr(wire, "left_behind", False)
""" + OPEN,
    "the expected value in what comes over the pipe": """
heard, receive = [], channel.Frames.receive
def receiving(self, *a):
    got = receive(self, *a); heard.append(got[2]); return got
channel.Frames.receive = receiving
def f(x): return 2 * x if any(struct.pack("<q", 2 * (7900 + 19)) in h or b"15838" in h for h in heard) else 0
""",
    "its own line opened a second time": """
opened = False
try:
    again = os.open("/proc/self/fd/3", os.O_RDWR); opened = True
except OSError: pass
""" + OPEN,
    "the way up from a descriptor": """
opened = []
for n in (n for n in range(300) if os.path.lexists(f"/proc/self/fd/{n}")):
    for up in ("..", "../..", "../../.."):
        try: opened += {"submitted", "solutions", "root"}.intersection(os.listdir(f"/proc/self/fd/{n}/{up}"))
        except OSError: pass
""" + OPEN,
    "the knobs of the kernel": """
opened = []
for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/sys/kernel/mm",
             "/proc/self/uid_map", "/proc/self/setgroups", "/proc/1/environ", "/proc/1/mem", "/proc/kcore", "/dev/mem"):
    try: os.close(os.open(path, os.O_RDWR)); path.startswith("/proc/1/") or opened.append(path)
    except OSError: pass
opened = [p for p in opened if not p.startswith("/proc/self/")]
""" + OPEN,
    "a map of users of its own": """
opened = []
for name in ("uid_map", "gid_map"):
    try: os.write(os.open(f"/proc/self/{name}", os.O_WRONLY), b"0 0 1"); opened.append(name)
    except OSError: pass
""" + OPEN,
    "limits raised again": """
import resource
opened = []
for which in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
    try: resource.setrlimit(which, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); opened.append(which)
    except (OSError, ValueError): pass
""" + OPEN,
    "every signal blocked, and a loop": """
import signal
def f(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True: pass
""",
    "timers turned off, and a loop": """
import signal
def f(x):
    for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF): signal.setitimer(timer, 0)
    while True: pass
""",
    "a clock that stands": """
time.monotonic = time.perf_counter = time.time = lambda: 0.0
def f(x): return 0
""",
    "a number that Python writes for an hour": """
sys.set_int_max_str_digits(0)
class Long(Exception):
    def __str__(self): return str(7 ** 4_000_000)
def f(x): raise Long()
""",
    "a recursion without a floor": """
sys.setrecursionlimit(10**8)
def f(x): return f(x)
""",
    "a switch that never comes": """
sys.setswitchinterval(1e6)
def again():
    while True: pass
threading.Thread(target=again, daemon=True).start()
def f(x): return 0
""",
    "another letter of the same name": "def \uff46(x): return 0",
    "text that runs backwards": "def f(x): return 0  # \u202e x * 2 nruter \u2066\n'\u202e'",
    "a page feed and a vertical tab": "\x0cdef f(x):\n\x0c    return 0\n\x0b",
    "a cell of half letters": "f = lambda x: 0\ns = '\\ud83d'\nprint(s.encode('utf-8', 'surrogatepass'))\nprint(s)",
    "magics of every kind": """
shell = get_ipython()
for magic, line in (("logstart", "/tmp/log"), ("store", "f"), ("autosave", "1"), ("run", "-i /etc/passwd"),
                    ("load", "/etc/passwd"), ("debug", ""), ("prun", "f(1)"), ("reset", "-f out"),
                    ("edit", "f"), ("notebook", "/tmp/x.ipynb")):
    try: shell.run_line_magic(magic, line)
    except BaseException: pass
def f(x): return 0
""",
    "an answer by an exception hook": """
shell = get_ipython()
shell.set_custom_exc((AssertionError, Exception), lambda *a, **k: None)
sys.excepthook = threading.excepthook = lambda *a: None
def f(x): return 0
""",
    "ten thousand displays": """
for n in range(10_000): display({"text/html": "<script>alert(1)</script>" * 50, "text/plain": "x"}, raw=True)
def f(x): return 0
""",
    "a picture that is none": """
forms = {"image/png": b"<script>" * 10**6, "image/svg+xml": "<svg onload=alert(1)>", "application/javascript": "1"}
display(forms, raw=True)
def f(x): return 0
""",
    "terminal sequences in an error": "def f(x): raise ValueError('\\x1b]0;passed\\x07\\x1b[2J\\x9b31m\\x00 1/1')",
    "a sentence of the grader's own in an error": """
class CheckFailed(AssertionError):
    own = sentence = "Your answer is right."; kind = "correct"; points = score = 1.0
CheckFailed.__module__ = "coursekit.checks.shown.result"
def f(x): raise CheckFailed("passed: 1/1")
""",
    "modules replaced for whoever imports them next": """
import importlib.abc, importlib.machinery
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None): return None
sys.meta_path.insert(0, Finder()); sys.path_hooks.clear(); sys.path_importer_cache.clear()
for name in ("json", "struct", "select", "socket"): sys.modules[name] = type(sys)(name)
def f(x): return 0
""",
    "a dtype that answers for itself": """
class Odd(np.ndarray):
    def __array_ufunc__(self, *a, **k): return True
    def __array_function__(self, *a, **k): return True
def f(x): return np.zeros(4).view(Odd)
""",
    "times that are none": "def f(x): return np.array(['NaT'] * 4, dtype='M8[s]')",
    "a mode of torch that answers for it": """
from torch.overrides import TorchFunctionMode
class Yes(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None): return True
Yes().__enter__()
def f(x): return torch.zeros(3)
""",
    "words of every process": """
opened = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != os.getpid():
        try: opened += [word for word in open(f"/proc/{pid}/cmdline").read().split("\\0") if "submi" in word]
        except OSError: pass
""" + OPEN,
    "locks on what is installed": """
import fcntl
opened = []
file = open(torch.__file__)
try: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
except OSError: pass
try: fcntl.fcntl(file, 1024, fcntl.F_RDLCK); opened = fcntl.fcntl(file, 1025) != fcntl.F_UNLCK
except OSError: pass
""" + OPEN,
    "the number of what is watched": SYSCALLS + "opened = call(253, 26, 0) >= 0 or call(300, 262, 0, 0) >= 0\n" + OPEN,
}  # fmt: skip
