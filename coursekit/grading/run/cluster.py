"""Grading on a Dask cluster: the same submissions, the same outcomes, on other machines.

    with Cluster("tcp://10.0.0.1:8786", limits) as cluster:
        for outcome in cluster.grade(tasks):
            ...

Each worker starts a warm parent of its own, by exec and never by fork, for a worker has threads. A submission
travels as plain data. What a lost worker had under way is run again elsewhere; this side alone records, so that
every submission is recorded once.
"""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator
from typing import Any

from distributed import Client, Future, WorkerPlugin, as_completed, get_worker
from distributed.scheduler import KilledWorker

from ..confine.limits import Limits
from ..errors import CannotGrade, GradingError
from .outcome import CellOutcome, Outcome, Task, TestOutcome, output_from_plain
from .warm import LOST, Warm

PLUGIN = "coursekit-warm-parent"
ATTEMPTS = 3
PATIENCE = 30  # seconds to reach the scheduler, and for the first worker to be there
DEPTH = 2  # submissions given to each thread ahead of time, so that none waits for the network


class WarmParents(WorkerPlugin):
    """The warm parents of one worker: one, or as many as it has threads at work at a time."""

    name = PLUGIN

    def __init__(self, limits: Limits, unsafe: bool, device: str):
        self.options: dict[str, Any] = {"limits": limits, "unsafe": unsafe, "device": device}
        self.all: list[Warm] = []
        self.idle: queue.SimpleQueue[Warm] = queue.SimpleQueue()

    def __reduce__(self) -> Any:  # what travels to a worker: the options, not the processes
        return WarmParents, (self.options["limits"], self.options["unsafe"], self.options["device"])

    def setup(self, worker: Any) -> None:  # noqa: ARG002 - distributed names it
        self.idle.put(self._start())

    def teardown(self, worker: Any) -> None:  # noqa: ARG002
        for warm in self.all:
            warm.stop()

    def _start(self) -> Warm:
        warm = Warm(**self.options)
        self.all.append(warm)
        warm.start()
        return warm

    def grade(self, task: Task) -> Outcome:
        try:
            warm = self.idle.get_nowait()
        except queue.Empty:
            warm = self._start()
        try:
            return next(iter(warm.grade([task])))
        finally:
            self.idle.put(warm)


def grade_here(data: dict[str, Any], limits: dict[str, Any]) -> Any:
    """Grade one submission in this worker."""
    plugin: Any = get_worker().plugins[PLUGIN]
    return plugin.grade(Task.from_plain(data, Limits(**limits))).plain()


class Cluster:
    """Like `Warm`, on the workers of a Dask scheduler."""

    def __init__(self, address: str, limits: Limits | None = None, unsafe: bool = False, device: str = ""):
        self.address, self.limits, self.unsafe, self.device = address, limits or Limits(), unsafe, device
        self.client: Client | None = None

    def __enter__(self) -> Cluster:
        try:
            self.client = Client(self.address, timeout=PATIENCE, set_as_default=False)
            self._warm(ATTEMPTS)
        except (OSError, TimeoutError, ValueError) as error:
            self.__exit__()
            raise GradingError(f"the Dask cluster at {self.address} cannot be used: {error}") from error
        except CannotGrade as error:
            self.__exit__()
            raise GradingError(f"a worker of {self.address}: {error}") from error
        return self

    def _warm(self, attempts: int) -> None:
        """Start the warm parents; a worker that is lost meanwhile costs another attempt, not the run."""
        assert self.client is not None
        self.client.wait_for_workers(1, timeout=PATIENCE)
        try:
            self.client.register_plugin(WarmParents(self.limits, self.unsafe, self.device))
        except OSError:
            if attempts == 1:
                raise
            self._warm(attempts - 1)

    def __exit__(self, *exc: Any) -> None:
        if self.client is not None:
            self.client.close(timeout=5)
            self.client = None

    def grade(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """One outcome a task, as they finish; only a few tasks are on their way at a time."""
        assert self.client is not None, "use `with Cluster(address) as cluster:`"
        waiting, under_way = iter(tasks), {}
        finished = as_completed(loop=self.client.loop)

        def send() -> None:
            task = next(waiting, None)
            if task is not None:
                future = self._submit(task)
                under_way[future.key] = task
                finished.add(future)

        try:
            for _ in range(max(1, DEPTH * self._threads())):
                send()
            while under_way:
                future = next(finished)
                task = under_way.pop(future.key)
                send()
                yield self._outcome(task, future)
        finally:
            self.client.cancel(list(finished.futures))

    def _submit(self, task: Task) -> Future[Any]:
        assert self.client is not None
        limits = (task.limits or self.limits).plain()
        # Not pure: two students may have handed in the same, and each is graded.
        return self.client.submit(grade_here, task.plain(), limits, pure=False)

    def _threads(self) -> int:
        assert self.client is not None
        return sum(self.client.nthreads().values())

    def _outcome(self, task: Task, future: Future[Any]) -> Outcome:
        try:
            return outcome_from_plain(future.result())
        except KilledWorker:
            return _lost(task)
        except CannotGrade as error:
            raise GradingError(f"a worker of {self.address}: {error}") from error


def outcome_from_plain(data: dict[str, Any]) -> Outcome:
    """The outcome that `Outcome.plain` described."""
    more = {k: v for k, v in data.items() if k not in ("score", "max")}
    more["tests"] = [TestOutcome(**output_from_plain(test)) for test in data["tests"]]
    more["cells"] = [CellOutcome(**output_from_plain(cell)) for cell in data["cells"]]
    return Outcome(**more)


def _lost(task: Task) -> Outcome:
    """Several workers died over this submission."""
    tests = [
        TestOutcome(cell.id, 0.0, cell.points, "lost", LOST, weaker=cell.in_candidate)
        for cell in task.cells
        if cell.role == "test"
    ]
    return Outcome(task.id, "stopped", tests, flags=["not graded: every worker that tried was lost"])
