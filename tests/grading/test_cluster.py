"""A real scheduler and worker processes on loopback; one worker is killed half-way."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from coursekit.grading import Cell, GradingError, Limits, Task

pytest.importorskip("distributed", reason="grading past one machine needs `distributed`")

from coursekit.grading.run.cluster import ATTEMPTS, Cluster

LIMITS = Limits(cell_cpu=5, cell_wall=10, notebook_wall=60)
QUIET = {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "None",
    "OMP_NUM_THREADS": "1",
}


def start(*words: str) -> subprocess.Popen:
    environment = {**os.environ, **QUIET}
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The scheduler's address and its worker processes, on loopback, without a dashboard."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    scheduler = start(
        "dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(file),
    )
    workers = [
        start(
            "dask_worker", "--scheduler-file", str(file), "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--local-directory", str(folder), "--name", f"worker{n}",
        )
        for n in range(2)
    ]  # fmt: skip
    deadline = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < deadline, "the scheduler did not start"
        time.sleep(0.1)
    time.sleep(0.2)
    yield json.loads(file.read_text())["address"], workers
    for process in [*workers, scheduler]:
        process.kill()
        process.wait()


def submissions(count: int, seconds: float = 0.0) -> list[Task]:
    """Submission number n earns n % 3 points."""
    return [
        Task(
            f"student {n}",
            (
                Cell(
                    f"import time\ntime.sleep({seconds})\nanswer = {n % 3}",
                    "solution",
                    "q",
                    reference="answer = 0",
                ),
                Cell("float(answer)", "test", "test_q", 2.0),
            ),
        )
        for n in range(count)
    ]


@pytest.mark.slow
def test_a_cluster_gives_what_one_machine_gives_and_a_lost_workers_submissions_run_again(cluster):
    address, workers = cluster
    with Cluster(address, LIMITS) as running:
        running.client.wait_for_workers(2, timeout=60)
        outcomes = {o.id: o for o in running.grade(submissions(6))}
        assert {o.id: o.score for o in outcomes.values()} == {f"student {n}": n % 3 for n in range(6)}
        assert all(test.max == 2.0 and not test.weaker for o in outcomes.values() for test in o.tests)

        again: list[str] = []
        scores = {}
        for outcome in running.grade(submissions(12, 0.2)):
            again.append(outcome.id)
            scores[outcome.id] = outcome.score
            if len(again) == 3:
                os.kill(workers[0].pid, signal.SIGKILL)
                workers[0].wait()
        assert sorted(again) == sorted({f"student {n}" for n in range(12)}), "each comes back once"
        assert scores == {f"student {n}": n % 3 for n in range(12)}


def test_a_scheduler_that_is_not_there_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setattr("coursekit.grading.run.cluster.PATIENCE", 0.5)
    with pytest.raises(GradingError, match=r"the Dask cluster at tcp://127\.0\.0\.1:9 cannot be used"):
        Cluster("tcp://127.0.0.1:9", LIMITS).__enter__()


def test_a_worker_that_is_lost_at_the_start_costs_another_attempt():
    class Client:
        def __init__(self, lost: int):
            self.lost, self.tried = lost, 0

        def wait_for_workers(self, *_, **__):
            pass

        def register_plugin(self, plugin):
            self.tried += 1
            if self.tried <= self.lost:
                raise OSError("the connection to a worker was closed")

    made = Cluster("tcp://nowhere")
    made.client = Client(lost=1)
    made._warm(ATTEMPTS)
    assert made.client.tried == 2
    made.client = Client(lost=ATTEMPTS)
    with pytest.raises(OSError, match="was closed"):
        made._warm(ATTEMPTS)
