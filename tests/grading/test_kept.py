"""Work is counted where the student's code is not: tensors stay with the examiner, and no test's source leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit.grading import Limits
from coursekit.grading.run.outcome import IN_CANDIDATE

ROOT = Path(__file__).resolve().parents[2]

GIVEN = """
import math
import numpy as np
import torch
import torch.nn.functional as F
from coursekit import checks

def qkv(seed, T, w, I=4, C=5):
    made = torch.Generator()
    normal = lambda n, *shape: torch.randn(*shape, generator=made.manual_seed(10 * seed + n), dtype=torch.float64)
    return {"q": normal(0, T, I), "k": normal(1, T, I), "v": normal(2, T, C), "w": w}

def dense_window(q, k, v, w):
    t = torch.arange(len(q))
    back = t[:, None] - t
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(back >= 0) & (back < w))
"""
SECRET = "a-sentence-of-the-hidden-test"
TEST = f"""
seed = checks.any_seed()
checks.operations(
    f, [qkv(seed, T=T, w=3) for T in (9, 18, 36)], grows=2.4, oracle=dense_window, hint={SECRET!r}
).require()
"""
LOOP = """
def f(q, k, v, w):
    out = []
    for t in range(len(q)):
        near = slice(max(0, t - w + 1), t + 1)
        out.append(torch.softmax(k[near] @ q[t] / q.shape[1] ** 0.5, 0) @ v[near])
    return torch.stack(out)
"""
HONEST = {
    "a loop": LOOP,
    "written in place into zeros": """
def f(q, k, v, w):
    out = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    for t in torch.arange(len(q)):
        t = t.item(); lo = max(0, t - w + 1)
        s = (k[lo:t + 1] * q[t]).sum(-1) / math.sqrt(q.shape[1])
        s = torch.exp(s - s.max())
        out[t] = (s / s.sum()) @ v[lo:t + 1]
    return out
""",
    "a growing cat": """
def f(q, k, v, w):
    out = v[:0]
    for t in range(len(q)):
        K, V = k[:t + 1][-w:], v[:t + 1][-w:]
        out = torch.cat([out, ((K @ q[t]).div(q.size(-1) ** 0.5).softmax(-1) @ V)[None]])
    return out
""",
    "gathered by indices of its own": """
def f(q, k, v, w):
    T, I = q.shape
    idx = torch.arange(T)[:, None] - torch.arange(w)[None, :]
    ok = idx >= 0
    idx = idx.clamp(min=0)
    s = (q[:, None] * k[idx]).sum(-1) / I ** 0.5
    s[~ok] = float("-inf")
    return torch.einsum("tw,twc->tc", torch.softmax(s, -1), v[idx])
""",
    "padded and unfolded": """
def f(q, k, v, w):
    T, I = q.shape
    K, V = F.pad(k, (0, 0, w - 1, 0)).unfold(0, w, 1), F.pad(v, (0, 0, w - 1, 0)).unfold(0, w, 1)
    s = torch.matmul(q[:, None, :], K).squeeze(1) / torch.sqrt(torch.tensor(float(I)))
    far = torch.arange(T)[:, None] + torch.arange(w) < w - 1
    return (s.masked_fill(far, -torch.inf).softmax(1)[:, None, :] * V).sum(-1)
""",
    "torch's attention on slices": """
def f(q, k, v, w):
    rows = []
    for t in range(len(q)):
        a = max(0, t - w + 1)
        rows.append(F.scaled_dot_product_attention(q[t:t + 1], k[a:t + 1], v[a:t + 1]))
    return torch.cat(rows)
""",
    "an argument changed in place": """
def f(q, k, v, w):
    q /= q.shape[1] ** 0.5
    near = lambda x, t: x[max(0, t - w + 1):t + 1]
    return torch.stack([torch.softmax(near(k, t) @ q[t], 0) @ near(v, t) for t in range(len(q))])
""",
    "numbers made into a tensor": """
def f(q, k, v, w):
    rows = []
    for t in range(len(q)):
        lo = max(0, t - w + 1)
        s = torch.tensor([q[t] @ k[j] / q.shape[1] ** 0.5 for j in range(lo, t + 1)])
        rows.append(s.softmax(0) @ v[lo:t + 1])
    return torch.stack(rows)
""",
}


def before_the_end(line: str) -> str:
    return LOOP.replace("    return", f"    {line}\n    return")


# Each with a word of the sentence that it must hear.
WRONG = {
    "all scores by squares": ("grows", """
def f(q, k, v, w):
    T, I = q.shape
    a, b = q[:, None, :], k[None, :, :]
    scores = ((((a + b) ** 2 - (a - b) ** 2) / 4) @ torch.ones(I, 1, dtype=q.dtype))[..., 0] / I ** 0.5
    t = torch.arange(T); back = t[:, None] - t
    p = torch.softmax(scores.masked_fill((back < 0) | (back >= w), -torch.inf), -1)
    a, b = p[:, :, None], v[None]
    return (((a + b).square() - (a - b).square()) / 4).sum(1)
"""),
    "all scores by logarithms": ("grows", """
def f(q, k, v, w):
    T, I = q.shape
    a, b = q[:, None, :], k[None, :, :]
    scores = (torch.exp(a.abs().log() + b.abs().log()) * a.sign() * b.sign()).sum(-1) / I ** 0.5
    t = torch.arange(T); back = t[:, None] - t
    p = torch.softmax(scores.masked_fill((back < 0) | (back >= w), -torch.inf), -1)
    return p @ v
"""),
    "right at small sizes only": ("every size", LOOP.replace("(out)", "(out) if len(q) <= 11 else v")),
    "the given quadratic function": ("times", "def f(q, k, v, w): return dense_window(q, k, v, w)"),
    "numbers read one by one": ("stay with torch", LOOP.replace("out.append(", "float(q[t, 0]); out.append(")),
    "numpy": ("stay with torch", "def f(q, k, v, w): return torch.tensor(q.numpy())"),
    "a branch on a hidden number": ("stay with torch", before_the_end("if out[0][0] > 0: pass")),
    "a mask of hidden numbers": ("stay with torch", before_the_end("v[v > 0]")),
    "autograd": ("by hand", before_the_end("q.requires_grad_()")),
    "too large": ("far more work", before_the_end("torch.outer(torch.ones(10**6), torch.ones(10**6))")),
    "far too large": ("far more work", before_the_end("torch.zeros(10**12)")),
    "a repetition too large": ("far more work", before_the_end("q.repeat(10**6, 10**6)")),
    "numbers of its own": ("of your own", before_the_end("torch.tensor([[1.0] * 4] * 9000)")),
    "an operator out of the table": ("not among", before_the_end("torch.linalg.inv(torch.eye(3) * q[0, 0])")),
}  # fmt: skip


@pytest.fixture(scope="module")
def graded(warm, task_of):
    limits = Limits(cell_cpu=20, cell_wall=60, memory=1024)
    sources = HONEST | {name: source for name, (_, source) in WRONG.items()}
    tasks = [
        task_of(("given", GIVEN), ("solution", source), ("test", TEST), limits=limits, id=name)
        for name, source in sources.items()
    ]  # fmt: skip
    return {outcome.id: outcome.tests[0] for outcome in warm.grade(tasks)}


@pytest.mark.parametrize("style", HONEST)
def test_an_honest_style_notices_nothing_of_it(graded, style):
    assert graded[style].score == 1, graded[style]
    assert not graded[style].weaker


@pytest.mark.parametrize("attempt", WRONG)
def test_what_is_wrong_or_evades_the_count_loses_its_points_and_hears_why(graded, attempt):
    assert graded[attempt].score == 0, graded[attempt]
    assert WRONG[attempt][0] in graded[attempt].sentence, graded[attempt]


def test_the_source_of_a_counting_test_never_enters_the_candidate(warm, task_of):
    """The whole writable memory is searched from inside the counted call, which then fails if it finds the sentence."""
    halves = SECRET[:10], SECRET[10:]
    look = f"""
def found():
    needle = b''.join(part.encode() for part in {halves!r})
    hits = 0
    with open('/proc/self/mem', 'rb', 0) as memory:
        for line in list(open('/proc/self/maps')):
            span, mode, *rest = line.split()
            start, end = (int(part, 16) for part in span.split('-'))
            if mode.startswith('rw') and rest[-1] != '[vvar]':
                memory.seek(start)
                hits += memory.read(end - start).count(needle)
    return hits
seen = []
""" + before_the_end("if not seen: seen.append(found())")
    limits = Limits(cell_cpu=40, cell_wall=90, memory=2048)
    cells = [("given", GIVEN), ("solution", look), ("test", TEST), ("test", "assert seen[0] == 1, seen")]
    (outcome,) = warm.grade([task_of(*cells, limits=limits)])
    # One hit is the needle that the search itself has made.
    assert [t.score for t in outcome.tests] == [1, 1], [(t.sentence, t.detail) for t in outcome.tests]


def test_white_box_requests_are_refused_or_end_the_call(warm, task_of):
    """The student's code speaks the protocol itself."""
    head = """
import gc, json, torch
from coursekit.grading.run import lent
def ask(name, args, kwargs={}):
    return lent.line().peer.request("operator", json.dumps([name, args, kwargs]))
"""
    tries = {
        "another name": 'ask("__import__.default", ["os"])',
        "a dunder": 'ask("mm.__globals__", [])',
        "a stale key": 'ask("neg.default", [{"$k": 1}]); keep.append(q.key); ask("neg.default", [{"$k": 999999}])',
        "a backward operator": 'ask("sigmoid_backward.default", [{"$k": q.key}, {"$k": q.key}])',
        "a scalar": 'told.append(ask("_local_scalar_dense.default", [{"$k": q[0, 0].key}]))',
        "memory that is not its own": 'told.append(ask("as_strided.default", [{"$k": q.key}, [10**7], [1], 0]))',
        "uninitialised memory": 'told.append(ask("empty.memory_format", [[100]]))',
        "not even JSON": 'lent.line().peer.request("operator", "{")',
        "a constant that is none": 'lent.line().peer.request("constant", "x")',
    }
    for name, attempt in tries.items():
        source = (
            head
            + "keep, told = [], []\n"
            + LOOP.replace(
                "    out = []",
                f"    out = []\n    try:\n        {attempt}\n    except Exception as error: told.append(str(error))",
            )
        )
        cells = [("given", GIVEN), ("solution", source), ("test", TEST), ("test", "print(told)")]
        (outcome,) = warm.grade(
            [task_of(*cells, limits=Limits(cell_cpu=20, cell_wall=60, memory=1024), id=name)]
        )
        printed = "".join(str(o.data) for o in outcome.tests[1].outputs)
        assert '"ok"' not in printed or name == "uninitialised memory", (name, printed)
        assert outcome.tests[0].status in ("passed", "failed", "died"), (name, outcome.tests[0])


def test_no_test_of_this_course_runs_in_the_students_process():
    for path in sorted((ROOT / "solutions").glob("*/*.md")):
        assert not IN_CANDIDATE.search(path.read_text(encoding="utf-8")), path.name


BY_HAND = """
cases = [{"w": torch.linspace(-1, 1, n), "x": torch.linspace(2, 3, n)} for n in (4, 7)]
checks.gradients(slope, lambda w, x: (w * x).tanh().sum(), cases, ["w"]).require()
"""
BY = {
    "the formula": ("", "def slope(w, x): return (1 - (w * x).tanh() ** 2) * x"),
    "the formula, its numbers out of torch": (
        "could not be seen",
        "def slope(w, x): return np.asarray(((1 - (w * x).tanh() ** 2) * x).tolist())",
    ),
    "backward": (
        "autograd",
        "def slope(w, x):\n    w = w.clone().requires_grad_(); (w * x).tanh().sum().backward(); return w.grad",
    ),
    "the engine behind backward": ("autograd", """
def slope(w, x):
    run = torch.autograd.Variable._execution_engine.run_backward
    w = w.clone().requires_grad_(); y = (w * x).tanh().sum()
    return run((y,), (torch.ones_like(y),), False, False, (w,), False, False)[0]
"""),
    "torch.func": ("autograd", "def slope(w, x): return torch.func.grad(lambda w: (w * x).tanh().sum())(w)"),
    "a dual number": ("autograd", """
from torch.autograd import forward_ad as fwd
def slope(w, x):
    with fwd.dual_level(): return fwd.unpack_dual((fwd.make_dual(w, torch.ones_like(w)) * x).tanh()).tangent
"""),
    "a function of its own for autograd": ("autograd", """
class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z): ctx.save_for_backward(z.tanh()); return z.tanh()
    @staticmethod
    def backward(ctx, g): return g * (1 - ctx.saved_tensors[0] ** 2)
def slope(w, x):
    w = w.detach().clone().requires_grad_(); Tanh.apply(w * x).sum().backward(); return w.grad
"""),
    "backward, where the tensors are in the open": ("autograd", """
def slope(w, x):
    w = torch.tensor(w.tolist(), dtype=torch.float64).requires_grad_()
    (w * x).tanh().sum().backward()
    return w.grad
"""),
    "the course's own gradient, by a name in pieces": ("course's own code", """
import importlib
notation = importlib.import_module(".".join(["course" + "kit", "nota" + "tion"]))
def slope(w, x):
    notation.Equations("z[i] = w[i] x[i]")
    return (1 - (w * x).tanh() ** 2) * x
"""),
    "a gradient traced ahead, by a name in pieces": ("could not be seen", """
tracer = getattr(getattr(getattr(torch, "f" + "x"), "experi" + "mental"), "proxy_" + "tensor")
trace = getattr(tracer, "make_" + "f" + "x")
def loss(w, x):
    e = (2 * w * x).exp()
    return ((e - 1) / (e + 1)).sum()
ahead = {n: trace(torch.func.grad(loss))(torch.rand(n).double(), torch.rand(n).double()) for n in (4, 7)}
def slope(w, x): return ahead[len(w)](w, x)
"""),
    "a gradient traced ahead, by a process that keeps silent": ("could not be seen", """
from coursekit.grading.run.candidate import Candidate
Candidate.confess = lambda self, _: set()
from torch.fx.experimental.proxy_tensor import make_fx
def loss(w, x):
    e = (2 * w * x).exp()
    return ((e - 1) / (e + 1)).sum()
ahead = {n: make_fx(torch.func.grad(loss))(torch.rand(n).double(), torch.rand(n).double()) for n in (4, 7)}
def slope(w, x): return ahead[len(w)](w, x)
"""),
    "a script of torch's own": ("could not be seen", """
jit = getattr(torch, "j" + "it")
@jit.script
def formula(w, x): return (1 - (w * x).tanh() ** 2) * x
def slope(w, x): return (1 - (w * x).tanh() ** 2) * x
"""),
    "a gradient traced ahead": ("could not be seen", """
from torch.fx.experimental.proxy_tensor import make_fx
def loss(w, x):
    e = (2 * w * x).exp()
    return ((e - 1) / (e + 1)).sum()
ahead = {n: make_fx(torch.func.grad(loss))(torch.rand(n).double(), torch.rand(n).double()) for n in (4, 7)}
def slope(w, x): return ahead[len(w)](w, x)
"""),
}  # fmt: skip


@pytest.mark.parametrize("way", BY)
def test_by_hand_is_seen_where_the_student_is_not(grade_cells, way):
    heard, source = BY[way]
    limits = Limits(cell_cpu=20, cell_wall=60, memory=1024)
    outcome = grade_cells(
        ("given", GIVEN), ("solution", source), ("test", BY_HAND, {"leans": ()}), limits=limits
    )
    (test,) = outcome.tests
    assert test.score == (heard in ("", "could not be seen")), test
    assert heard in test.sentence + "".join(outcome.flags), (test, outcome.flags)
    assert bool(outcome.flags) == (heard == "could not be seen"), outcome.flags
