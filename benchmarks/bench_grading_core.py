"""What the grader's core costs on top of the cells themselves.

    python benchmarks/bench_grading_core.py [--tasks 40] [--long 2000]

Measured side by side in one run: the same cells bare in this process, then through `Warm.grade` with one and with
two jobs; confining one process; the private memory of a submission; with --long N, that N submissions leave the
memory flat and the time linear.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import threading
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

from coursekit.grading import Cell, Task, Warm  # noqa: E402
from coursekit.grading.limits import private_memory  # noqa: E402

GIVEN = "import numpy as np\nimport torch\nfrom torch import nn"
LIGHT = [
    (
        "def softmax(x):\n    e = np.exp(x - x.max())\n    return e / e.sum()",
        "x = np.random.randn(20)\nassert abs(softmax(x).sum() - 1) < 1e-9\nassert softmax(x).argmax() == x.argmax()",
    ),
    (
        "def loss(W, x, y):\n    return nn.functional.cross_entropy(x @ W, y)",
        "W = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)\n"
        "x, y = torch.randn(3, 5, dtype=torch.float64), torch.tensor([0, 1, 2])\nloss(W, x, y).backward()\n"
        "p = torch.softmax(x @ W.detach(), 1)\np[range(3), y] -= 1\n"
        "torch.testing.assert_close(W.grad, x.T @ p / 3)",
    ),
    (
        "class Step(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.W = nn.Linear(2 * n, n)\n    def forward(self, h, x):\n"
        "        return torch.tanh(self.W(torch.cat([h, x], -1)))",
        "step = Step(8)\nh = torch.zeros(2, 8)\nfor t in range(10):\n    h = step(h, torch.ones(2, 8))\n"
        "assert h.shape == (2, 8)",
    ),
    (
        "def primes(n):\n    return [k for k in range(2, n) if all(k % d for d in range(2, int(k**0.5) + 1))]",
        "assert primes(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]\nassert len(primes(2000)) == 303",
    ),
]
WORK = "def work():\n    s = 0\n    for k in range({n}):\n        s += k * k % 7\n    return s"


def class_of(count: int, loops: int) -> list[Task]:
    cells = [Cell(GIVEN, "given")]
    for number, (answer, test) in enumerate([*LIGHT, (WORK.format(n=loops), "assert work() > 0")]):
        cells += [Cell(answer, "solution", reference=answer), Cell(test, "test", f"q{number}", 1.0)]
    return [Task(f"s{number}", tuple(cells)) for number in range(count)]


def bare(task: Task) -> float:
    """The cells in this process, one namespace, nothing around them."""
    start = time.perf_counter()
    namespace: dict = {"__name__": "bare"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in task.cells:
            exec(compile(cell.source, "<cell>", "exec"), namespace)
    return time.perf_counter() - start


def graded(warm: Warm, tasks: list[Task], jobs: int) -> tuple[float, float]:
    """Seconds a submission, and seconds to confine a process."""
    warm.jobs = jobs
    start, confining = time.perf_counter(), []
    for outcome in warm.grade(tasks):
        assert outcome.score == outcome.max, outcome
        confining.append(outcome.sandbox)
    return (time.perf_counter() - start) / len(tasks), statistics.median(confining)


def process_tree(pid: int) -> list[int]:
    """A process and all that descend from it, as far as they can be seen now."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def private_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


def private_of_one(warm: Warm) -> int:
    """Private bytes of both processes of a submission, after its last cell."""
    (task,) = class_of(1, 1000)
    waits = Task("waits", (*task.cells, Cell("import time; time.sleep(2)", "solution")))
    before = set(process_tree(warm.process.pid))
    grading = threading.Thread(target=lambda: list(warm.grade([waits])))
    grading.start()
    time.sleep(1.5)
    total = sum(private_bytes(pid) for pid in set(process_tree(warm.process.pid)) - before)
    grading.join()
    return total


def long_run(warm: Warm, count: int) -> None:
    pids = process_tree(warm.process.pid)
    for part in range(1, 11):
        seconds, _ = graded(warm, class_of(count // 10, 1000), jobs=2)
        held = sum(private_memory(pid) for pid in pids) / 1e6
        here = private_memory() / 1e6
        print(f"  {part * count // 10:5d} submissions: {1000 * seconds:5.0f} ms each; ", end="")
        print(f"warm parent {held:.1f} MB, grader {here:.1f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--long", type=int, default=0)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    start = time.perf_counter()
    with Warm() as warm:
        print(f"warm parent ready after {time.perf_counter() - start:.2f} s")
        print(f"private memory of a submission {private_of_one(warm) / 1e6:.1f} MB")
        for label, loops, count in (
            ("light", 1000, options.tasks),
            ("with work", 6_000_000, options.tasks // 4),
        ):
            tasks = class_of(max(4, count), loops)
            bare(tasks[0])
            alone = statistics.median(bare(task) for task in tasks[: max(3, count // 4)])
            graded(warm, tasks[:2], 1)
            one, confining = graded(warm, tasks, 1)
            two, _ = graded(warm, tasks, 2)
            print(f"{label}: bare {1000 * alone:.0f} ms, graded {1000 * one:.0f} ms, ", end="")
            print(
                f"so overhead {1000 * (one - alone):.0f} ms, of it {1000 * confining:.1f} ms to confine a process; ",
                end="",
            )
            print(f"two jobs {1000 * two:.0f} ms ({one / two:.2f} times)", flush=True)
        if options.long:
            long_run(warm, options.long)


if __name__ == "__main__":
    main()
