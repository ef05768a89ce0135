"""A control group around the warm parent, where this user may make one: a bound on all submissions together.

It only adds to the limits of `limits.py`, which need no such right.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from .limits import MB, Limits

PATIENCE = 5.0  # seconds
PARENT = 1500  # MB for the warm parent itself and what it shares with its children


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


def offered() -> str:
    """ "yes", or why not."""
    with contextlib.suppress(OSError):
        group = _own_group("memory")
        if group is None:
            return "no: no group with a memory controller is given to this user"
        return "yes" if os.access(group, os.W_OK) else "no: the control group belongs to another user"
    return "no: this system has no control groups"


class Group:
    """The groups of one warm parent; empty where none can be made."""

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
                    _sweep(own)
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


def _sweep(own: Path) -> None:
    """Remove what graders left that were killed before they could."""
    for group in own.glob("coursekit-*"):
        if not Path("/proc", group.name.removeprefix("coursekit-")).exists():
            with contextlib.suppress(OSError):
                group.rmdir()
