"""Grading on a Dask cluster: the same submissions, the same outcomes, on other machines.

Each worker starts a warm parent of its own, by exec and never by fork, for a worker has threads. What a lost worker
had under way is run again elsewhere; this side alone records, so that every submission is recorded once.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import Any, Self, cast

from distributed import Client, WorkerPlugin, as_completed, get_worker
from distributed.scheduler import KilledWorker

from ..confine.limits import Limits
from ..errors import CannotGrade, GradingError
from .outcome import Outcome, Task
from .warm import Warm

PLUGIN = "coursekit-warm-parent"
ATTEMPTS = 3
PATIENCE = 30  # seconds to reach the scheduler, and for the first worker to be there
DEPTH = 2  # submissions given to each thread ahead of time, so that none waits for the network


class WarmParents(WorkerPlugin):
    """The warm parents of one worker: one, or as many as it has threads at work at a time."""

    name = PLUGIN

    def __init__(self, **options: Any):
        self.options = options  # of Warm

    def setup(self, worker: Any) -> None:  # noqa: ARG002 - distributed names it
        self.all = ExitStack()
        self.idle = [self.all.enter_context(Warm(**self.options))]

    def teardown(self, worker: Any) -> None:  # noqa: ARG002
        self.all.close()

    def grade(self, task: Task) -> Outcome:
        try:
            warm = self.idle.pop()
        except IndexError:
            warm = self.all.enter_context(Warm(**self.options))
        try:
            return next(iter(warm.grade([task])))
        finally:
            self.idle.append(warm)


def grade_here(task: Task) -> Outcome:
    """Grade one submission in this worker."""
    return cast(WarmParents, get_worker().plugins[PLUGIN]).grade(task)


class Cluster:
    """Like `Warm`, on the workers of a Dask scheduler."""

    def __init__(self, address: str, limits: Limits | None = None, unsafe: bool = False, device: str = ""):
        self.address, self.limits = address, limits or Limits()
        self.options = {"limits": self.limits, "unsafe": unsafe, "device": device}
        self.client: Client | None = None

    def __enter__(self) -> Self:
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
            self.client.register_plugin(WarmParents(**self.options))
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
        client = self.client
        assert client is not None, "use `with Cluster(address) as cluster:`"
        waiting, under_way = iter(tasks), {}
        finished = as_completed(loop=client.loop)

        def send() -> None:
            for task in islice(waiting, 1):
                sent = replace(task, limits=task.limits or self.limits)
                # Not pure: two students may have handed in the same, and each is graded.
                future = client.submit(grade_here, sent, pure=False)
                under_way[future.key] = task
                finished.add(future)

        try:
            for _ in range(max(1, DEPTH * sum(client.nthreads().values()))):
                send()
            while under_way:
                future = next(finished)
                task = under_way.pop(future.key)
                send()
                try:
                    yield future.result()
                except KilledWorker:
                    yield Outcome.lost(task, ["not graded: every worker that tried was lost"])
        except CannotGrade as error:
            raise GradingError(f"a worker of {self.address}: {error}") from error
        finally:
            client.cancel(list(finished.futures))
