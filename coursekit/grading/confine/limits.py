"""What one submission may use. Plain numbers, so that they travel and print."""

import contextlib
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

MB = 1 << 20
PATIENCE = 5.0  # seconds
PARENT = 1500  # MB for the warm parent itself and what it shares with its children


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; times in seconds, sizes in MB.

    Processor time is what a cell is charged for: on a busy machine the clock on the wall runs on while
    the cell waits. The wall limit only catches what sleeps or waits.
    """

    cell_cpu: float = 30.0  # processor time of one cell or of one call from a test
    cell_wall: float = 60.0  # and its time on the wall
    notebook_wall: float = 600.0  # the whole submission, restarts included
    memory: int = 2048  # what its processes may grow by together, beyond what they inherit
    processes: int = 32  # processes and threads
    files: int = 256  # open files
    disk: int = 64  # the private /tmp and home together; also the largest file
    output: int = 200_000  # characters kept of what one cell prints
    answer: int = 64  # the largest value that may come back from a call
    restarts: int = 3  # how often a candidate that died is started again
    grace: float = 1.0  # after the limit the cell is interrupted; after this it is killed


def own_memory(pid: int | str = "self") -> int:
    """Bytes of a process that belong to no file, private, shared or swapped out; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status") as status:
            rows = dict(line.split(":", 1) for line in status)
        return sum(int(rows[kind].split()[0]) for kind in ("RssAnon", "RssShmem", "VmSwap")) << 10
    except (OSError, ValueError, KeyError):
        return 0


def apply(limits: Limits, address_space: bool = True, others: int = 0) -> None:
    """Set the rlimits of this process, for good.

    Address space is counted from what the warm parent already mapped, which is shared and costs nothing. It is
    the limit of one process; the warm parent watches over the sum. `others` are the processes and threads that this
    user has already, outside: where there are no namespaces, the system counts them all.
    """
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    wanted = {
        resource.RLIMIT_AS: mapped + limits.memory * MB,
        resource.RLIMIT_NPROC: limits.processes + others,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_FSIZE: limits.disk * MB,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: int(limits.notebook_wall) + 1,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_SIGPENDING: 1024,  # timers too
    }
    if not address_space:
        del wanted[resource.RLIMIT_AS]
    for which, value in wanted.items():
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def _own_group(controller: str) -> Path | None:
    """The directory of our own group in the hierarchy that has this controller."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for _, where, kind, options, *_ in mounts:
            group = Path(where + path)
            if kind == "cgroup" and group.is_dir():
                if controller in controllers.split(",") and controller in options.split(","):
                    return group
            elif kind == "cgroup2" and not controllers:
                passed_on = group / "cgroup.subtree_control"  # to the groups inside it
                if passed_on.is_file() and controller in passed_on.read_text().split():
                    return group
    return None


def groups_offered() -> str:
    """ "yes", or why not."""
    with contextlib.suppress(OSError):
        group = _own_group("memory")
        if group is None:
            return "no: no group with a memory controller is given to this user"
        return "yes" if os.access(group, os.W_OK) else "no: the control group belongs to another user"
    return "no: this system has no control groups"


class Group:
    """The control groups around a warm parent, where this user may make some: a bound on all submissions together,
    beside the limits of each. Empty where none can be made."""

    def __init__(self, pid: int, limits: Limits, jobs: int):
        self.made: set[Path] = set()
        memory = (PARENT + 2 * jobs * limits.memory) * MB
        tasks = 64 + 2 * jobs * limits.processes
        settings = {
            "memory.max": memory,
            "memory.limit_in_bytes": memory,
            "memory.swap.max": 0,
            "pids.max": tasks,
        }
        for controller in ("memory", "pids"):
            with contextlib.suppress(OSError):
                if own := _own_group(controller):
                    for left in own.glob("coursekit-*"):  # by graders that were killed before they could
                        if not Path("/proc", left.name.removeprefix("coursekit-")).exists():
                            with contextlib.suppress(OSError):
                                left.rmdir()
                    group = own / f"coursekit-{pid}"
                    group.mkdir(exist_ok=True)
                    self.made.add(group)
                    for file in filter(Path.exists, (group / name for name in settings)):
                        file.write_text(str(settings[file.name]))
                    (group / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Once its processes have ended, which takes the system a moment."""
        end = time.monotonic() + PATIENCE
        while (left := [group for group in self.made if group.exists()]) and time.monotonic() < end:
            for group in left:
                with contextlib.suppress(OSError):
                    group.rmdir()
            time.sleep(0.02 if any(map(Path.exists, left)) else 0)
