"""The grader's own side: start a warm parent, give it submissions, collect outcomes.

    with Warm(jobs=2, limits=Limits(cell_cpu=10)) as warm:
        for outcome in warm.grade(tasks):        # in the order in which they finish

The examiner gets the task over a socket that only it holds, and the candidate the student's cells from the examiner.
Whatever they do, `grade` gives one `Outcome` a task: a process that dies or hangs costs its own submission points, and
never the batch. A Warm belongs to one thread at a time.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Self

from .. import wire
from ..confine import sandbox
from ..confine.limits import Group, Limits
from ..errors import CannotGrade
from ..wire.channel import MESSAGE, REQUEST, ChannelError, Frames
from .outcome import CellOutcome, Outcome, Task, TestOutcome, output_from_plain

# What submissions use, imported once.
PRELOAD = (
    "torch", "torch.nn.functional", "torch.optim", "torch.func", "torch.testing", "torch.autograd.gradcheck", "numpy",
    "matplotlib.pyplot", "coursekit.checks", "coursekit.models", "coursekit.notation",
)  # fmt: skip
# Of these, what only some courses use, and takes as long as all the rest: torch's optimisers bring its compiler along.
MENTIONED = {
    "torch.optim": "optim", "matplotlib.pyplot": "matplotlib|coursekit", "coursekit.checks": "coursekit",
    "coursekit.models": "coursekit", "coursekit.notation": "coursekit",
}  # fmt: skip
START_UP = 120.0  # seconds for the warm parent to import everything
MARGIN = 5.0  # beyond a notebook's own limit, before its examiner is given up
FLAGS = {
    "lost": "not graded: the grader's process stopped",
    "not-plain": "an object of the student's class stood where plain data was needed",
    "broken": "the test itself could not run",
}
WEAKER = "this verdict rests on the student's own process, where it could be forged"
BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from coursekit.grading.run.forkserver import main; main()"


_Line = tuple[int, socket.socket]  # a process by its token, and our end of its socket


@dataclass
class _Job:
    """One submission under way."""

    task: Task
    limits: Limits
    frames: Frames
    examiner: int
    candidate: int
    outcome: Outcome
    start: float = field(default_factory=time.monotonic)
    done: bool = False  # no more will come
    complete: bool = False  # and the examiner said so itself

    @property
    def late(self) -> bool:
        limits = self.limits
        longest = limits.notebook_wall + limits.cell_wall + limits.grace + MARGIN
        return time.monotonic() > self.start + longest


class Warm:
    """A warm parent and the submissions that run in its children, `jobs` at a time.

    `unsafe` grades without a sandbox, where the system offers none. The sandbox lets in the files of `device`. `level`
    asks for this one of the sandbox's levels; after the start it is the one that was found. `hidden` are directories
    that no submission may see even if they lie inside Python's or the system's own.
    """

    def __init__(
        self,
        preload: Iterable[str] | None = None,
        jobs: int = 1,
        limits: Limits | None = None,
        unsafe: bool = False,
        device: str = "",
        hidden: Iterable[str | os.PathLike[str]] = (),
        level: str = "",
    ):
        self.jobs, self.limits, self.unsafe, self.device = max(1, jobs), limits or Limits(), unsafe, device
        self.preload = list(PRELOAD if preload is None else preload)
        self.hidden = [os.path.realpath(path) for path in hidden]
        self.token = 0
        self.ahead: list[list[_Line]] = []  # the next submission's processes, forked while others run
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None
        self.scratch = ""  # without namespaces: where submissions write
        self.held = contextlib.ExitStack()  # what `stop` ends, the latest first
        self.wanted, self.level = level, ""

    # the warm parent

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def start(self) -> None:
        offered = sandbox.capabilities()
        if self.wanted and offered.parts.get(self.wanted) != "yes":
            raise CannotGrade(f"there is no {self.wanted} here: {offered.parts.get(self.wanted)}")
        self.level = self.wanted or (offered.level if offered.enough else "none")
        if not offered.enough and not self.unsafe:
            raise CannotGrade(
                f"student code cannot be confined here: {offered.why}. "
                "Grade on a system that can, or accept the risk with --unsafe."
            )
        if self.level != "namespaces":
            folder = tempfile.TemporaryDirectory(prefix="coursekit-", ignore_cleanup_errors=True)
            self.scratch = self.held.enter_context(folder)
            os.chmod(self.scratch, 0o711)  # another user's folder lies in it, and nobody may list it
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = {"preload": self.preload, "level": self.level, "scratch": self.scratch}
        options |= sandbox.plan(self.device, self.hidden)
        package = str(Path(__file__).resolve().parents[3])  # a Python that is told nothing else needs it
        command = [sys.executable, "-I", "-c", BOOT, package, str(theirs.fileno()), json.dumps(options)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()], env=environment(self.device, self.scratch), cwd="/", start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self.group = Group(self.process.pid, self.limits, self.jobs)
        self.held.callback(self.group.remove)
        self.held.enter_context(self.process)
        self.held.callback(self.process.kill)
        self.control = self.held.enter_context(ours)
        ours.settimeout(START_UP)
        try:
            status, told = json.loads(ours.recv(65536) or b'["failed", "it ended without a word"]')
        except TimeoutError:
            status, told = "failed", f"it was not ready after {START_UP:.0f} s"
        ours.settimeout(None)
        if status != "ready":
            self.process.kill()
            _, errors = self.process.communicate()
            self.stop()
            raise CannotGrade(f"the warm parent did not start: {told}\n{errors.decode()[-2000:]}")

    def stop(self) -> None:
        """End the warm parent, and with it every process of every submission."""
        for _, sock in chain(*self.ahead):
            sock.close()
        self.ahead.clear()
        self.held.close()
        self.control = None

    def _tell(self, *message: Any, descriptor: int | None = None) -> None:
        assert self.control is not None, "use `with Warm() as warm:`"
        data = json.dumps(message).encode()
        with contextlib.suppress(OSError):  # `_listen` notices a warm parent that is gone
            socket.send_fds(self.control, [data], [] if descriptor is None else [descriptor])

    def _fork(self, role: str, limits: Limits) -> _Line:
        ours, theirs = socket.socketpair()
        self.token += 1
        self._tell("fork", self.token, role, asdict(limits), descriptor=theirs.fileno())
        theirs.close()
        return self.token, ours

    # grading

    def grade(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """One outcome a task, as they finish."""
        waiting: Iterator[Task] = iter(tasks)
        again: deque[Task] = deque()  # under way when the warm parent was lost
        retried: set[str] = set()
        running: list[_Job] = []
        try:
            while True:
                while len(running) < self.jobs:
                    task = again.popleft() if again else next(waiting, None)
                    if task is None:
                        break
                    running.append(self._begin(task))
                if not running:
                    return
                if self._listen(running):
                    for job in running:
                        job.frames.sock.close()
                        if job.task.id in retried:
                            raise CannotGrade(f"the warm parent ended twice while {job.task.id} was graded")
                        retried.add(job.task.id)
                        again.append(job.task)
                    running.clear()
                    self.stop()
                    self.start()
                for job in [job for job in running if job.done or job.late]:
                    running.remove(job)
                    yield self._finish(job)
        finally:
            for job in running:
                self._end(job)

    def _listen(self, running: list[_Job]) -> bool:
        """Wait for news and take it in; True if the warm parent is gone, and all of these jobs with it."""
        assert self.control is not None, "use `with Warm() as warm:`"
        ready = wait([self.control, *(job.frames.sock for job in running)], timeout=0.5)
        for job in [job for job in running if job.frames.sock in ready]:
            try:
                for name, data in wire.decode(job.frames.receive(time.monotonic() + 10)[2]):
                    self._take(job, name, data)
            except (ChannelError, wire.Malformed):
                job.done = True
        # An examiner falls silent when it ends, and when the warm parent takes it along, which says no more till then.
        silent = any(job.done and not job.complete for job in running)
        return self.control in ready or bool(silent and wait([self.control], timeout=0.2))

    def _pair(self, limits: Limits) -> list[_Line]:
        return [self._fork(role, limits) for role in ("session", "candidate")]

    def _begin(self, task: Task) -> _Job:
        limits = task.limits or self.limits
        usual = limits == self.limits
        (examiner, sock), (candidate, line) = self.ahead.pop() if usual and self.ahead else self._pair(limits)
        if usual and self.token > 2 and not self.ahead:  # from the second on: one alone has no next
            self.ahead.append(self._pair(limits))
        job = _Job(task, limits, Frames(sock, MESSAGE), examiner, candidate, Outcome(task.id))
        data = wire.encode(asdict(replace(task, limits=None)))
        with contextlib.suppress(ChannelError):  # an examiner that is gone is found by its silence
            job.frames.send(REQUEST, 0, data, time.monotonic() + 30)
            self._hand_over(job, line)
        return job

    def _hand_over(self, job: _Job, line: socket.socket) -> None:
        with line, contextlib.suppress(OSError):
            socket.send_fds(job.frames.sock, [b"c"], [line.fileno()])

    def _take(self, job: _Job, name: str, data: Any) -> None:
        """News from an examiner."""
        outcome = job.outcome
        if name == "test":
            outcome.tests.append(TestOutcome(**output_from_plain(data)))
        elif name == "cell":
            outcome.cells.append(CellOutcome(**output_from_plain(data)))
        elif name == "log":
            outcome.log.append(data)
        elif name == "candidate":
            self._tell("kill", job.candidate)
            job.candidate, line = self._fork("candidate", job.limits)
            self._hand_over(job, line)
        elif name == "done":
            outcome.restarts, outcome.sandbox = data
            job.done = job.complete = True

    def _end(self, job: _Job) -> None:
        self._tell("kill", job.examiner)
        self._tell("kill", job.candidate)
        job.frames.sock.close()

    def _finish(self, job: _Job) -> Outcome:
        """End both processes and fill in what was not reached."""
        self._end(job)
        outcome = job.outcome
        outcome.seconds, outcome.level = time.monotonic() - job.start, self.level
        outcome.fill(job.task)
        outcome.flags += [f"{t.id}: {FLAGS[t.status]}" for t in outcome.tests if t.status in FLAGS]
        if any(cell.mode != "own" for cell in job.task.cells if cell.role == "test"):
            outcome.flags += [f"{t.id}: {WEAKER}" for t in outcome.tests if t.weaker]
        outcome.flags += [f"{t.id}: {doubt}" for t in outcome.tests for doubt in t.doubts]
        if outcome.restarts:
            outcome.log.append(f"the student's process was started again {outcome.restarts} times")
        return outcome


def preload_for(sources: Iterable[str]) -> list[str]:
    """What cells like these will import. Whatever else a student imports is imported then, by that student alone."""
    text = "\n".join(sources)
    return [name for name in PRELOAD if name not in MENTIONED or re.search(MENTIONED[name], text)]


def environment(device: str = "", scratch: str = "") -> dict[str, str]:
    """The whole environment of the warm parent and its children: nothing of the instructor's."""
    private = scratch or "/tmp"  # in the sandbox every submission has a /tmp of its own
    found = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": scratch or "/home/student",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": f"{private}/matplotlib",
        "IPYTHONDIR": f"{private}/ipython",
        "XDG_CACHE_HOME": f"{private}/cache",  # fontconfig's, which matplotlib asks for fonts
        "PYTHONDONTWRITEBYTECODE": "1",
        "NBGRADER_EXECUTION": "autograde",  # as stock nbgrader says it to a notebook
        **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")},
    }
    if not device:
        found["CUDA_VISIBLE_DEVICES"] = ""
    return found


def grade(task: Task, **options: Any) -> Outcome:
    """Grade one submission; `options` are those of Warm."""
    with Warm(**options) as warm:
        return next(iter(warm.grade([task])))
