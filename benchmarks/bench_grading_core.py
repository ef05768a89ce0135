"""What the grader's core costs on top of the cells themselves.

    python benchmarks/bench_grading_core.py [--tasks 40] [--long 0]

Measured side by side in one run: the same cells bare in this process, then through `Warm.grade` with one and
two jobs; the sandbox alone; the private memory of a submission; with --long N, that N submissions leave
memory flat and time linear.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

from coursekit.grading import Cell, Task, Warm  # noqa: E402
from coursekit.grading.limits import private_memory  # noqa: E402

SETUP = "import math\nimport numpy as np\nimport torch\nfrom torch import nn\n"
LIGHT = [
    ("given", SETUP),
    ("solution", "def softmax(x):\n    e = np.exp(x - x.max())\n    return e / e.sum()"),
    ("test", "x = np.random.randn(20)\nassert abs(softmax(x).sum() - 1) < 1e-9\nassert softmax(x).argmax() == x.argmax()"),
    ("solution", "def loss(W, x, y):\n    return nn.functional.cross_entropy(x @ W, y)"),
    (
        "test",
        "W = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)\n"
        "x, y = torch.randn(3, 5, dtype=torch.float64), torch.tensor([0, 1, 2])\nloss(W, x, y).backward()\n"
        "p = torch.softmax(x @ W.detach(), 1)\np[range(3), y] -= 1\ntorch.testing.assert_close(W.grad, x.T @ p / 3)",
    ),
    ("solution", "class Cell(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.W = nn.Linear(2 * n, n)\n"
                 "    def forward(self, h, x): return torch.tanh(self.W(torch.cat([h, x], -1)))"),
    ("test", "cell = Cell(8)\nh = torch.zeros(2, 8)\nfor t in range(10):\n    h = cell(h, torch.ones(2, 8))\nassert h.shape == (2, 8)"),
    ("solution", "def primes(n):\n    return [k for k in range(2, n) if all(k % d for d in range(2, int(k**0.5) + 1))]"),
    ("test", "assert primes(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]\nassert len(primes(2000)) == 303"),
]  # fmt: skip
WORK = "def work():\n    s = 0\n    for k in range({n}):\n        s += k * k % 7\n    return s\n"


def class_of(count: int, loops: int) -> list[Task]:
    cells = [*LIGHT, ("solution", WORK.format(n=loops)), ("test", "assert work() > 0")]
    made = tuple(Cell(source, role, f"c{at}", 1.0) for at, (role, source) in enumerate(cells))
    return [Task(f"s{number}", made) for number in range(count)]


def bare(task: Task) -> float:
    """The cells in this process, one namespace, nothing around them."""
    start = time.perf_counter()
    namespace: dict = {"__name__": "bare"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in task.cells:
            exec(compile(cell.source, "<cell>", "exec"), namespace)
    return time.perf_counter() - start


def graded(warm: Warm, tasks: list[Task]) -> float:
    start = time.perf_counter()
    for outcome in warm.grade(tasks):
        assert outcome.score == outcome.max, outcome
    return (time.perf_counter() - start) / len(tasks)


def process_tree(pid: int) -> list[int]:
    found = [pid]
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) in found:
                found.append(int(path.parent.name))
    return found


def smaps(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}


SANDBOX_TIME = """
import time
start = time.perf_counter()
"""


def sandbox_seconds(warm: Warm, repeat: int) -> float:
    """A submission with no cells, confined, minus the same without a sandbox."""
    empty = [Task(str(number), ()) for number in range(repeat)]
    graded(warm, empty[:3])
    confined = graded(warm, empty)
    import coursekit.grading.sandbox as sandbox

    real = sandbox.capabilities
    sandbox.capabilities = lambda: sandbox.Capabilities(False, "for comparison")  # type: ignore[assignment]
    try:
        with Warm(unsafe=True) as open_warm:
            graded(open_warm, empty[:3])
            return (confined - graded(open_warm, empty)) / 2  # two processes a submission
    finally:
        sandbox.capabilities = real  # type: ignore[assignment]


def private_of_one(warm: Warm) -> int:
    """Private bytes of both processes of a submission, while it waits."""
    waits = Task("waits", (*class_of(1, 1000)[0].cells, Cell("import time; time.sleep(1.5)", "solution"), Cell("1", "test", points=1)))
    before = set(process_tree(warm.process.pid))
    grading = warm.grade([waits])
    import threading

    done = threading.Thread(target=lambda: list(grading))
    done.start()
    time.sleep(1.0)
    new = set(process_tree(warm.process.pid)) - before
    total = sum(smaps(pid)["Private_Dirty"] + smaps(pid)["Private_Clean"] for pid in new)
    done.join()
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--long", type=int, default=0)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    start = time.perf_counter()
    with Warm(jobs=1) as one:
        print(f"warm parent ready after        {time.perf_counter() - start:7.2f} s")
        print(f"sandbox, a process             {1000 * sandbox_seconds(one, options.tasks):7.2f} ms")
        print(f"private memory, a submission   {private_of_one(one) / 1e6:7.1f} MB")
        for label, loops in (("light class", 1000), ("class with work", 6_000_000)):
            count = options.tasks if loops < 10**6 else max(4, options.tasks // 5)
            tasks = class_of(count, loops)
            bare(tasks[0])
            alone = statistics.median(bare(task) for task in tasks[: max(3, count // 4)])
            one.jobs = 1
            graded(one, tasks[:2])
            single = graded(one, tasks)
            one.jobs = 2
            double = graded(one, tasks)
            print(f"{label}: bare {1000 * alone:.0f} ms, graded {1000 * single:.0f} ms (overhead {1000 * (single - alone):.0f} ms), two jobs {1000 * double:.0f} ms ({single / double:.2f}x)")
        if options.long:
            tasks = class_of(options.long // 10, 1000)
            pids = process_tree(one.process.pid)
            for part in range(10):
                seconds = graded(one, tasks)
                held = sum(private_memory(pid) for pid in pids) / 1e6
                print(f"  {(part + 1) * len(tasks):5d} submissions: {1000 * seconds:.0f} ms each, warm parent {held:.1f} MB, this process {private_memory() / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
