"""Hostile submissions, as data: what the tests grade, and what stock nbgrader is given for comparison.

Each has three questions: an honest one, the attacked one, another honest one. The attacked question asks for
`f(x) = 2x`, which no attack here implements: what an attack deserves is its two honest points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import small_course as small
from hostile_fresh import FRESH
from hostile_inside import HEAD
from hostile_inside import INSIDE as SPEAKING
from hostile_quiet import QUIET
from hostile_seams import SEAMS
from nbformat import NotebookNode
from traitlets.config import Config

from coursekit.grading import Task
from coursekit.grading.assignment import master
from coursekit.grading.facts import Assignment, Handed, Work
from coursekit.grading.pipeline import ready
from coursekit.grading.submissions.recognise import read_notebook

ROOT = Path(__file__).resolve().parents[2]
INSIDE = SPEAKING | FRESH | QUIET | SEAMS
HIDDEN = 7919  # an expected value that stands in the hidden test alone

GIVEN = "import math\nimport numpy as np\nimport torch\nfrom coursekit import checks\n"
TEST = f"""
from numpy.testing import assert_allclose
assert f(2) == 4
assert abs(f(21.0) - 42.0) < 1e-9
assert f({HIDDEN}) == {2 * HIDDEN}
assert_allclose(f(np.ones(3)), 2 * np.ones(3))
assert torch.allclose(f(torch.ones(3)), 2 * torch.ones(3))
assert len(f([1, 2])) == 4
"""
HONEST = "def honest(x):\n    return x + 1"
LATER = "def later(x):\n    return honest(x) + 1"
RIGHT = "def f(x):\n    return 2 * x"

FAMILIES: dict[str, dict[str, str]] = {
    "answers that compare as right": {
        "an object equal to everything": """
class Any:
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __abs__(self): return 0.0
    def __lt__(self, other): return True
    def __len__(self): return 4
    def __array__(self, *args, **kwargs): return 2 * np.ones(3)
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return True
def f(x): return Any()
""",
        "an int that is equal to everything": """
class Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
def f(x): return Any(0)
""",
        "a tensor subclass that answers for torch": """
class Any(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return True
    def __eq__(self, other): return True
def f(x): return torch.zeros(3).as_subclass(Any)
""",
        "a list of any length": """
class Any(list):
    def __len__(self): return 4
    def __eq__(self, other): return True
def f(x): return Any()
""",
        "an object that claims another class": """
class Any:
    __class__ = property(lambda self: int)
    __module__ = "torch"
    __qualname__ = "Tensor"
    def __eq__(self, other): return True
def f(x): return Any()
Any.__module__, Any.__qualname__ = "torch", "Tensor"
""",
        "a changed argument that poses as the expected value": """
def f(x):
    if isinstance(x, list): x[:] = [1, 1, 1, 1]
    return x
""",
        "an exception that poses as a verdict": """
class CheckFailed(Exception):
    sentence, kind, score, points = 'all right', 'correct', 1.0, 1.0
def f(x): raise CheckFailed('passed')
""",
        "SystemExit with success": """
import sys
def f(x): sys.exit(0)
""",
    },
    "replacing what the tests use": {
        "patched comparison helpers": """
import builtins, numpy.testing
torch.allclose = lambda *args, **kwargs: True
np.allclose = np.array_equal = lambda *args, **kwargs: True
numpy.testing.assert_allclose = lambda *args, **kwargs: None
math.isclose = lambda *args, **kwargs: True
builtins.abs = lambda x: 0
builtins.len = lambda x: 4
builtins.isinstance = lambda *args: True
builtins.AssertionError = type('Quiet', (Exception,), {})
def f(x): return 0
""",
        "names that shadow the test's helpers": """
def assert_allclose(*args, **kwargs): pass
def abs(x): return 0.0
def len(x): return 4
torch = type('Fake', (), {'allclose': staticmethod(lambda *a: True), 'ones': staticmethod(lambda n: 1)})
np = torch
def f(x): return 0
""",
        "patched coursekit checks": """
for name in dir(checks):
    if not name.startswith('_'):
        try: setattr(checks, name, lambda *args, **kwargs: True)
        except Exception: pass
import coursekit.grading.run.verdict, coursekit.grading.wire
coursekit.grading.run.verdict.credit = lambda *args: (1.0, 'passed')
def f(x): return 0
""",
        "pre-run hooks": """
def again(*args):
    get_ipython().user_ns['f'] = lambda x: 0
get_ipython().events.register('pre_run_cell', again)
get_ipython().events.register('post_run_cell', again)
""",
        "a replaced showtraceback": """
get_ipython().showtraceback = lambda *args, **kwargs: None
type(get_ipython()).showtraceback = lambda *args, **kwargs: None
def f(x): return 0
""",
        "an AST transformer that removes every assert": """
import ast
class NoAssert(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
get_ipython().ast_transformers.append(NoAssert())
def f(x): return 2 * np.ones(3)
""",
        "an input transformer that empties every cell": """
get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])
get_ipython().input_transformers_post.append(lambda lines: ['pass\\n'])
def f(x): return 0
""",
        "replaced run_cell and run_code": """
shell = type(get_ipython())
shell.run_cell = shell.run_code = shell.run_ast_nodes = shell.run_cell_async = lambda *args, **kwargs: None
def f(x): return 0
""",
        "shadowed modules": """
import os, sys, types
for name in ('numpy', 'torch', 'coursekit', 'random', 'ast'):
    open(name + '.py', 'w').write('allclose = lambda *a, **k: True')
    fake = types.ModuleType(name)
    fake.allclose = fake.assert_allclose = lambda *args, **kwargs: True
    sys.modules[name] = sys.modules[name + '.testing'] = fake
sys.path.insert(0, os.getcwd())
def f(x): return 0
""",
        "control of the test's random numbers": """
def f(x):
    torch.set_rng_state(torch.zeros_like(torch.get_rng_state()))
    torch.randn = torch.zeros; np.random.seed = lambda *a: None
    return 0
""",
    },
    "reading what is hidden": {
        "reading frames and code constants": f"""
import gc, sys
needle = int('{HIDDEN}') * len('ab')
def f(x):
    frame = sys._getframe().f_back
    while frame is not None:
        if needle in frame.f_code.co_consts or str(needle) in str(frame.f_locals.get('raw_cell')): return 2 * x
        frame = frame.f_back
    for thing in gc.get_objects():
        if needle in getattr(getattr(thing, '__code__', None), 'co_consts', ()): return 2 * x
    return 0
""",
        "the globals of a function that the test passes": """
def f(x):
    if callable(x):
        try: return x.__globals__
        except AttributeError: return x.__code__
""",
        "reading the course, the gradebook and the notebook": f"""
import glob, os
found = []
for place in ({str(ROOT)!r}, os.path.dirname({str(ROOT)!r}), os.getcwd(), '/tmp', '/root', '/home', '/mnt', '/srv'):
    for folder, _, names in os.walk(place):
        if 'site-packages' in folder or '/lib/' in folder: continue
        found += [n for n in names if n.endswith(('.ipynb', '.db', '.md'))]
        found += [n for n in names if 'solutions' in folder or 'tests' in folder.split('/')]
        if '.git' in folder: found.append(folder)
def f(x): return 2 * x if found else 0
""",
        "reading the environment and /proc of other processes": """
import glob, os
text = repr(os.environ)
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
    try: text += open(path).read()
    except OSError: pass
others = [p for p in os.listdir('/proc') if p.isdigit() and p != '1']
def f(x): return 2 * x if 'COURSEKIT_TEST_SECRET' in text or others else 0
""",
        "a submission that behaves otherwise when graded": """
import os
graded = os.getcwd() == '/home/student' or 'JPY_PARENT_PID' not in os.environ
def f(x): return 0 if not graded else 4
""",
    },
    "writing, breaking out": {
        "writing the system, Python and coursekit": """
import coursekit, os, sys
written = 0
for place in ('/', '/etc', '/usr', sys.prefix, os.path.dirname(coursekit.__file__), np.__path__[0], '/proc/sys/kernel'):
    try:
        open(os.path.join(place, 'forged'), 'w').close(); written += 1
    except OSError: pass
for path in ('/etc/passwd', coursekit.__file__, np.__file__, '/proc/sys/kernel/core_pattern', '/proc/1/mem'):
    try:
        with open(path, 'r+') as file: file.write(''); written += path != '/proc/1/mem'
    except OSError: pass
def f(x): return 2 * x if written else 0
""",
        "writing the gradebook": """
import os, sqlite3
place = os.getcwd()
while not os.path.exists(os.path.join(place, 'gradebook.db')) and place != '/':
    place = os.path.dirname(place)
def f(x): return 0
for event in ('insert', 'update'):
    with sqlite3.connect(os.path.join(place, 'gradebook.db'), timeout=10) as book:
        book.execute(f'create trigger forged_{event} after {event} on grade '
                     'begin update grade set auto_score = 1, needs_manual_grade = 0; end')
""",
        "writing other submissions": """
import os
def f(x): return 0
for place in (os.path.abspath('../../..'), '/home', '/tmp'):
    for folder, _, names in os.walk(place):
        for name in names:
            if name.endswith('.ipynb') and folder != os.getcwd():
                open(os.path.join(folder, name), 'w').write('{}')
""",
        "new namespaces, mounts and privileges": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
worked = [libc.unshare(0x10000000) == 0, libc.unshare(0x20000) == 0, libc.mount(b'a', b'/tmp', b'tmpfs', 0, None) == 0]
worked += [libc.chroot(b'/tmp') == 0, libc.setuid(0) == 0, libc.prctl(38, 0, 0, 0, 0) == 0]
worked += [libc.syscall(435, None, 0) >= 0, libc.syscall(321, 0, None, 0) >= 0, libc.syscall(425, 1, None) >= 0]
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
caps = sum(int(status[name], 16) for name in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb'))
# What is left in the bounding set comes back by running a file that carries it, and then only without this mark.
caps += int(status['CapBnd'], 16) if status['NoNewPrivs'].strip() == '0' else 0
def f(x): return 2 * x if any(worked) or caps else 0
""",
        "ptrace, and signals to everyone": """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
reached = []
for pid in range(2, 400):
    try: os.kill(pid, signal.SIGKILL); reached.append(pid)
    except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: reached.append(pid)
for group in (-1, 0, os.getppid(), os.getpid()):
    try: os.kill(group, signal.SIGKILL)
    except OSError: pass
def f(x): return 2 * x if reached else 0
""",
        "detached processes": """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
def f(x): return 0
""",
        "script in the output": """
from IPython.display import HTML, display
display(HTML('<script>document.title = "owned"</script>'))
def f(x): return '<script>alert(1)</script>'
""",
    },
    "forging the grader's own messages": {
        "results printed and written as if graded": """
import json, os
line = json.dumps({'id': 'test4', 'score': 1.0, 'max': 1.0, 'status': 'passed'})
print(line); os.write(1, line.encode()); os.write(2, line.encode())
for name in ('results.json', 'gradebook.db', 'outcome.json'):
    open(name, 'w').write(line)
def f(x): return line
""",
        "frames forged on the pipe": """
import os, struct
from coursekit.grading import wire
good = wire.encode({'status': 'ok', 'error': '', 'seconds': 0.0, 'outputs': [], 'names': ['f', 'len', 'abs']})
os.write(3, struct.pack('<QBQ', len(good), 2, 0) + good)
def f(x): return 0
""",
        "bytes that mean nothing on the pipe": """
import os
def f(x):
    os.write(3, os.urandom(4096))
    return 0
""",
        "an answer that claims to be endless": """
import os, struct
def f(x):
    os.write(3, struct.pack('<QBQ', 1 << 62, 2, 0))
    return 0
""",
        "an answer that comes a byte at a time": """
import os, struct, time
def f(x):
    for byte in struct.pack('<QBQ', 1 << 20, 2, 0) + bytes(1 << 20):
        os.write(3, bytes([byte])); time.sleep(0.01)
""",
        "questions without an end": """
import os, struct
from coursekit.grading import wire
question = wire.encode(('operate', ('call', [], {}, None)))
def f(x):
    while True: os.write(3, struct.pack('<QBQ', len(question), 1, 0) + question)
""",
        "questions without an end in the cell": """
import os, struct
from coursekit.grading import wire
question = wire.encode(('operate', ('call', [], {}, None)))
def f(x): return 0
while True: os.write(3, struct.pack('<QBQ', len(question), 1, 0) + question)
""",
        "a closed pipe": """
import os
def f(x): os.close(3)
""",
        "a pipe closed in the cell": """
import os
os.closerange(3, 100)
def f(x): return 0
""",
        "a pipe that stalls": """
import signal, time
def f(x):
    signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.signal(signal.SIGPROF, signal.SIG_IGN)
    time.sleep(1000)
""",
    },
    "answers that are too much": {
        "a small message that is a large value": """
def f(x): return [None] * (30 << 20)
""",
        "a tensor that lies about its shape": """
from coursekit.grading import wire
truth = wire.Encoder._numbers
def lie(self, value):
    tag, (kind, flags, shape, *rest) = truth(self, value)
    return tag, (kind, flags, (1 << 39,), *rest)
def f(x):
    wire.Encoder._numbers = lie
    return torch.zeros(3)
""",
        "a cyclic list": """
def f(x):
    loop = []; loop.append(loop); loop.append({'again': loop})
    return loop
""",
        "a list that doubles forty times": """
def f(x):
    item = [0]
    for _ in range(40): item = [item, item]
    return item
""",
        "a huge answer": """
def f(x): return torch.zeros(1).expand(10**11)
""",
        "a huge string": """
def f(x): return 'x' * (200 << 20)
""",
        "an iterator without an end": """
class Endless:
    def __iter__(self): return self
    def __next__(self): return 1
    def __len__(self): return 10**18
    def __getitem__(self, i): return 1
def f(x): return Endless()
""",
    },
    "ending or hanging the process": {
        "an exception whose message never ends": """
class Slow(Exception):
    def __str__(self):
        while True: pass
def f(x): raise Slow()
""",
        "os._exit in the function": """
import os
def f(x): os._exit(0)
""",
        "os._exit in the cell": """
import os
def f(x): return 0
os._exit(0)
""",
        "a crash in C": """
import ctypes
def f(x): ctypes.string_at(0)
""",
        "a loop in the cell": """
def f(x): return 0
while True: pass
""",
        "a loop in the function": """
def f(x):
    while True: pass
""",
        "a loop that swallows every interrupt": """
def f(x):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
        "sleeping for ever": """
import time
def f(x): time.sleep(10**6)
""",
        "a hang in __repr__": """
class Slow:
    def __repr__(self):
        while True: pass
def f(x): return 0
Slow()
""",
        "a hang in __del__ and atexit": """
import atexit, time
class Slow:
    def __del__(self): time.sleep(1000)
keep = Slow()
atexit.register(time.sleep, 1000)
def f(x): return 0
""",
        "an ignored kill": """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def f(x):
    while True: pass
""",
    },
    "exhausting the machine": {
        "a fork bomb": """
import os
for _ in range(100):
    try:
        while os.fork() >= 0: pass
    except OSError: pass
def f(x): return 0
""",
        "a thread bomb": """
import threading, time
try:
    while True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError: pass
def f(x): return 0
""",
        "a memory bomb": """
def f(x): return len([bytearray(1 << 24) for _ in range(10**5)])
""",
        "a memory bomb in the cell": """
def f(x): return 0
hoard = [list(range(10**6)) for _ in range(10**5)]
""",
        "a disk bomb": """
def f(x):
    for number in range(10**4):
        with open(f'/tmp/{number}', 'wb') as file: file.write(bytes(1 << 22))
""",
        "an output bomb": """
def f(x): return 0
while True: print('x' * 10**6)
""",
        "an output bomb past Python": """
import os
def f(x): return 0
while True: os.write(1, b'x' * 10**6)
""",
        "a descriptor bomb": """
def f(x): return 0
files = []
while True: files.append(open('/dev/null'))
""",
    },
}

ATTACKS: dict[str, str] = {name: source for family in FAMILIES.values() for name, source in family.items()}

# This rewrites the student's own later cells. That is theirs to do; it moves no verdict.
BREAKS_ITS_OWN_CELLS = {"an input transformer that empties every cell"}
DESERVED = {name: 1.0 if name in BREAKS_ITS_OWN_CELLS else 2.0 for name in ATTACKS}


def instructors() -> NotebookNode:
    """The instructor's notebook, worth three points."""
    return small.notebook(
        small.text("# Three questions\nAdd one, double, add two."),
        small.code(GIVEN, "given", locked=True),
        small.answer("honest", "def honest(x):", "return x + 1"),
        small.check("before", 1, "assert honest(1) == 2"),
        small.answer("f", "def f(x):", "return 2 * x"),
        small.check("attacked", 1, "assert f(2) == 4", TEST),
        small.answer("later", "def later(x):", "return honest(x) + 1"),
        small.check("after", 1, "assert later(1) == 3"),
    )


def submission(source: str) -> NotebookNode:
    """A student's notebook with this answer to the attacked question."""
    return small.solved(instructors(), honest=HONEST, f=source, later=LATER)


def _tests(made: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade")]


def _skipped() -> NotebookNode:
    made = submission("def f(x): return 0")
    for cell in _tests(made):
        cell.metadata["tags"] = ["skip-execution"]
    return made


def _edited() -> NotebookNode:
    made = submission("def f(x): return 0")
    for cell in _tests(made):
        cell.source = "pass"
    return made


def _repriced() -> NotebookNode:
    made = submission("def f(x): return 0")
    for cell in _tests(made):
        marks = cell.metadata["nbgrader"]
        marks["points"] = 0 if marks["grade_id"] == "attacked" else 10
    return made


def _unmarked() -> NotebookNode:
    made = submission("def f(x): return 0")
    for cell in _tests(made):
        cell.metadata["nbgrader"]["grade"] = cell.metadata["nbgrader"]["locked"] = False
        cell.source = "1"
    return made


def _deleted() -> NotebookNode:
    made = submission("def f(x): return 0")
    tests = {id(cell) for cell in _tests(made) if cell.metadata["nbgrader"]["grade_id"] == "attacked"}
    made.cells = [cell for cell in made.cells if id(cell) not in tests]
    return made


def _shadowed_test() -> NotebookNode:
    """A second cell under the test's name, before it."""
    made = submission("def f(x): return 0")
    at = next(
        n for n, c in enumerate(made.cells) if c.metadata.get("nbgrader", {}).get("grade_id") == "attacked"
    )
    made.cells.insert(at, small.code("1", "attacked", grade=True, locked=True, points=1))
    return made


# What is done to the notebook file itself. Each deserves its two honest points.
NOTEBOOKS: dict[str, Callable[[], NotebookNode]] = {
    "tests tagged skip-execution": _skipped,
    "edited tests": _edited,
    "edited points": _repriced,
    "tests that are no longer marked as tests": _unmarked,
    "a deleted test": _deleted,
    "a second cell under a test's name": _shadowed_test,
}
DESERVED |= dict.fromkeys([*NOTEBOOKS, *INSIDE], 2.0)


def notebook_of(attack: str) -> NotebookNode:
    if attack in INSIDE:
        return submission(HEAD + INSIDE[attack])
    return NOTEBOOKS[attack]() if attack in NOTEBOOKS else submission(ATTACKS[attack])


def family_of(attack: str) -> str:
    """What the attack tries."""
    return next(
        (family for family, members in FAMILIES.items() if attack in members), "changing the notebook"
    )


ASSIGNMENT = Assignment("hostile", (master("hostile", instructors(), Config()),))


def task(student: str, made: NotebookNode) -> Task:
    """The notebook as our grader runs it: read, repaired."""
    cells, _ = read_notebook(small.saved(made))
    work = Work(student, ASSIGNMENT, None, "here", [Handed("hostile.ipynb", ASSIGNMENT.masters[0], cells)])
    return replace(ready(work, {})["hostile"], id=student)
