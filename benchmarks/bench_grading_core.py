"""What the grader's parts cost by themselves: confining a process, memory, a gradebook entry, a task on Dask."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

from coursekit.grading import Cell, Task, Warm  # noqa: E402
from coursekit.grading.facts import Entry, Verdict  # noqa: E402
from coursekit.grading.gradebook.record import Record  # noqa: E402

from .grading_class import LIGHT, QUESTIONS, make_class, task  # noqa: E402
from .measure import Row, ms  # noqa: E402


def bare(one: Task, times: int) -> float:
    """Seconds of the cells in this process, one namespace, nothing around them."""
    import torch

    torch.set_num_threads(1)
    taken = []
    for _ in range(times + 1):
        start = time.perf_counter()
        namespace: dict = {"__name__": "bare"}
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in one.cells:
                exec(compile(cell.source, "<cell>", "exec"), namespace)
        taken.append(time.perf_counter() - start)
    return median(taken[1:])


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


def processor_time(pid: int) -> float:
    """Seconds that a process, all below it, and all that have ended there have used."""
    ticks = 0
    for one in process_tree(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # its own and its children's, of the user and of the system
    return ticks / os.sysconf("SC_CLK_TCK")


def private_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


def private_of_one() -> float:
    """Private MB of both processes of a submission, after its last cell. A Warm's first: no other pair is there."""
    waits = Task("waits", (*task(LIGHT).cells, Cell("import time; time.sleep(3)", "solution")))
    with Warm() as warm:
        before = set(process_tree(warm.process.pid))
        grading = threading.Thread(target=lambda: list(warm.grade([waits])))
        grading.start()
        time.sleep(2)
        total = sum(private_bytes(pid) for pid in set(process_tree(warm.process.pid)) - before)
        grading.join()
    return total / 1e6


def each(runner, count: int) -> tuple[float, float]:
    """Seconds a submission, and seconds to confine a process."""
    list(runner.grade(task(LIGHT, f"warm-up {n}") for n in range(2)))
    start = time.perf_counter()
    confining = [outcome.sandbox for outcome in runner.grade(task(LIGHT, f"s{n}") for n in range(count))]
    return (time.perf_counter() - start) / count, median(confining)


def on_dask(count: int, rounds: int = 3) -> Row:
    """A worker process with one thread, against the same warm parent without a cluster; by turns."""
    from distributed import LocalCluster

    from coursekit.grading.run.cluster import Cluster

    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**settings) as local, Cluster(local.scheduler_address) as cluster, Warm() as warm:
        here, there = [], []
        for _ in range(rounds):
            here.append(each(warm, count)[0])
            there.append(each(cluster, count)[0])
    over = median(1e3 * (a - b) for a, b in zip(there, here, strict=True))
    return Row("a task on a Dask worker, on top", ms(there), ms(here), over, 10, unit="ms")


def recorded(count: int) -> Row:
    """One submission's grades into nbgrader's gradebook, committed to the disk."""
    from coursekit.grading.assignment import load

    with tempfile.TemporaryDirectory() as folder:
        root = make_class(Path(folder), "light", LIGHT, 1)
        verdicts = tuple(Verdict(f"test_{name}", "light", 1.0, 1.0, "passed") for name in QUESTIONS)
        times = []
        with Record(f"sqlite:///{root / 'ours.db'}") as record:
            record.enter(load(root, "light")[0])
            for n in range(count):
                start = time.perf_counter()
                record.write(Entry(f"s{n}", "light", verdicts), "digest")
                times.append(time.perf_counter() - start)
    return Row("an entry in the gradebook", ms(times), "", 1e3 * median(times), 10, unit="ms")


def rows(count: int = 40) -> list[Row]:
    with Warm() as warm:
        _, confining = each(warm, count)
    memory = private_of_one()
    return [
        Row("confining one process", ms([confining]), "", 1e3 * confining, 5, unit="ms"),
        Row("private memory of a further submission", f"{memory:.0f} MB", "", memory, 60, unit="MB"),
        recorded(count),
        on_dask(count),
    ]
