"""A whole class through `coursekit grade`, against stock `nbgrader autograde` and `otter run`; and what it costs.

The same submissions of the same release, on the same machine, in one run, by turns. Ours is measured from the files
that were handed in to the recorded grade and the written page, in one session with one warm parent. The peers are
measured as they are used, one command for the class; nbgrader's is the marginal time of a submission, the difference
between a run of several and a run of one, so that starting up counts for neither.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

from coursekit.grading import Limits, Warm  # noqa: E402
from coursekit.grading.assignment import load  # noqa: E402
from coursekit.grading.command import Options  # noqa: E402
from coursekit.grading.confine.limits import own_memory  # noqa: E402
from coursekit.grading.gradebook.record import Record  # noqa: E402
from coursekit.grading.pages.shelf import Shelf  # noqa: E402
from coursekit.grading.pipeline import Grading, works  # noqa: E402
from coursekit.grading.submissions.collect import collect  # noqa: E402

from . import bench_grading_core as core  # noqa: E402
from . import otter  # noqa: E402
from .grading_class import HEAVY, LIGHT, QUESTIONS, make_class, nbgrader, task  # noqa: E402
from .measure import Row, figures, ms  # noqa: E402

PEERS = 3  # rounds in which stock nbgrader takes its turn: it takes as long as all else


def graded(root: Path, name: str, jobs: int) -> tuple[list[float], list[float], float]:
    """When each submission was done (seconds from the start), the MB that our processes then held themselves, and the
    processor time that all of them used."""
    options = Options(root, out=Path(tempfile.mkdtemp(dir=root)))
    assignments = load(root, name)
    times, held = [], []
    with (
        Warm(jobs=jobs, limits=Limits()) as warm,
        Record(f"sqlite:///{options.folder / 'gradebook.db'}") as record,
        collect([root / "submitted"]) as found,
    ):
        record.enter(assignments[0])
        ours = [os.getpid(), *core.process_tree(warm.process.pid)]

        class Timed(Grading):
            def _show(self, *work) -> None:
                super()._show(*work)
                times.append(time.perf_counter() - start)
                held.append(sum(map(own_memory, ours)) / 1e6)

        shelf = Shelf(options.folder, root, options.folder)
        grading = Timed(warm.grade, record, shelf=shelf)
        used = core.processor_time(os.getpid())
        start = time.perf_counter()
        grading.grade(works(found.submissions, assignments))
        used = core.processor_time(os.getpid()) - used
        scores = {entry.score for entry in record.entries(name)}
    assert scores == {len(QUESTIONS)}, grading.problems
    return times, held, used


def each(root: Path, name: str, jobs: int) -> tuple[float, float]:
    """Seconds a submission, on the clock and of processors: read, recognised, repaired, run, recorded, its page
    written."""
    times, _, used = graded(root, name, jobs)
    return times[-1] / len(times), used / len(times)


def stock(root: Path, name: str, count: int) -> float:
    """nbgrader's marginal seconds a submission."""
    one = nbgrader(root, "autograde", name, "--student=student0000", "--force")
    several = nbgrader(root, "autograde", name, f"--student=student000[0-{count}]", "--force")
    return (several - one) / count


def spread(times: list[float]) -> str:
    """The middle one of the rounds, and in brackets the quickest and the slowest."""
    return f"{ms(times)} ({figures(1e3 * min(times))} to {figures(1e3 * max(times))})"


def compared(name: str, loops: int, count: int, peers: int, rounds: int, targets: tuple) -> list[Row]:
    """One class, graded by turns with one worker, with two, and by stock nbgrader."""
    times: dict[object, list[float]] = {1: [], 2: [], "nbgrader": [], "bare": []}
    used: dict[int, list[float]] = {1: [], 2: []}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        root = make_class(Path(folder), name, loops, max(count, peers + 1))
        nbgrader(root, "autograde", name, "--student=student0000")  # warms the disk's cache
        for number in range(rounds):
            times["bare"].append(core.bare(task(loops), 5))
            for jobs in (1, 2):
                for kept, seconds in zip((times, used), each(root, name, jobs), strict=True):
                    kept[jobs].append(seconds)
            if number < PEERS:
                times["nbgrader"].append(stock(root, name, peers))
        for jobs, target in zip((1, 2), targets, strict=True):
            what = f"{name} class, {jobs} worker{'s' * (jobs > 1)}: nbgrader's time, times ours"
            value = median(times["nbgrader"]) / median(times[jobs])
            words = spread(times[jobs]), spread(times["nbgrader"])
            found.append(Row(what, *words, value, target, at_most=False))
        value = median(a / b for a, b in zip(times[1], times[2], strict=True))
        what = f"{name} class: two workers against one"
        found.append(Row(what, spread(times[2]), spread(times[1]), value, 1.7, at_most=False))
        found += utilised(name, times, used)
        if name == "light":
            found.append(_otter(Path(folder) / "otter", times[1], peers))
            over = [1e3 * (a - b) for a, b in zip(times[1], times["bare"], strict=True)]
            what = "on top of the cells, from file to grade and page"
            found.append(Row(what, spread(times[1]), spread(times["bare"]), median(over), 40, unit="ms"))
    return found


def utilised(name: str, times: dict[object, list[float]], used: dict[int, list[float]]) -> list[Row]:
    """How many cores one worker already uses, for a submission's two processes and the clerk overlap; and so what two
    could gain at most, were every core busy all the time."""
    cores, rounds = os.cpu_count() or 1, range(len(used[1]))
    busy = [used[1][n] / times[1][n] for n in rounds]
    most = [cores * times[1][n] / used[2][n] for n in rounds]
    words = f"{figures(median(busy))} ({figures(min(busy))} to {figures(max(busy))}) cores"
    bounds = f"{figures(min(most))} to {figures(max(most))}"
    return [
        Row(f"{name} class: cores that one worker uses", words, spread(used[1]), median(busy), unit="cores"),
        Row(
            f"{name} class: the most that two could gain on {cores} cores",
            bounds,
            spread(used[2]),
            median(most),
        ),
    ]


def _otter(folder: Path, ours: list[float], peers: int) -> Row:
    theirs = otter.seconds_each(folder, LIGHT, peers)
    what = "light class, 1 worker: `otter run`'s time, times ours"
    if theirs is None:
        return Row(what, ms(ours), "not measured: otter-grader cannot be installed", float("nan"))
    return Row(what, spread(ours), ms([theirs]), theirs / median(ours), 40, at_most=False)


def long_run(count: int) -> list[Row]:
    """Many submissions in one run: the last tenth takes no longer than the first, and no more memory."""
    with tempfile.TemporaryDirectory() as folder:
        root = make_class(Path(folder), "long", LIGHT, count)
        times, held, _ = graded(root, "long", jobs=2)
    tenth = count // 10
    first, last = times[2 * tenth] - times[tenth], times[-1] - times[-1 - tenth]
    words = [f"{1e3 * t / tenth:.0f} ms each" for t in (last, first)]
    mine, before = median(held[-tenth:]), median(held[tenth : 2 * tenth])
    return [
        Row(f"{count:,} submissions: the last tenth's time against the second's", *words, last / first, 1.15),
        Row(
            f"{count:,} submissions: memory grown since the second tenth", f"{mine:.0f} MB", f"{before:.0f} MB",
            mine - before, 20, unit="MB",
        ),
    ]  # fmt: skip


def rows(light: int = 40, work: int = 10, peers: int = 2, rounds: int = 5, long: int = 1000) -> list[Row]:
    return [
        *compared("light", LIGHT, light, peers, rounds, (25, 35)),
        *compared("work", HEAVY, work, peers, rounds, (5.5, 10)),
        *core.rows(light),
        *long_run(long),
    ]
