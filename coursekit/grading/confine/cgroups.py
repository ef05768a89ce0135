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
            old = (
                kind == "cgroup" and controller in controllers.split(",") and controller in options.split(",")
            )
            new = kind == "cgroup2" and not controllers
            group = Path(where + path)
            if (old and group.is_dir()) or (new and _passes_on(group, controller)):
                return group
    return None


def _passes_on(group: Path, controller: str) -> bool:
    """Version 2: does the group give this controller to the groups inside it?"""
    with contextlib.suppress(OSError):
        return controller in (group / "cgroup.subtree_control").read_text().split()
    return False


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
        self.made: list[Path] = []
        memory = (PARENT + 2 * jobs * limits.memory) * MB
        tasks = 64 + 2 * jobs * limits.processes
        settings = {
            "memory": {"memory.max": memory, "memory.limit_in_bytes": memory, "memory.swap.max": 0},
            "pids": {"pids.max": tasks},
        }
        for controller, values in settings.items():
            with contextlib.suppress(OSError):
                own = _own_group(controller)
                if own is not None:
                    self._sweep(own)
                    self._make(own / f"coursekit-{pid}", values, pid)

    def _make(self, group: Path, values: dict[str, int], pid: int) -> None:
        if group not in self.made:
            group.mkdir()
            self.made.append(group)
        for name, value in values.items():
            if (group / name).exists():
                (group / name).write_text(str(value))
        (group / "cgroup.procs").write_text(str(pid))

    def _sweep(self, own: Path) -> None:
        """Remove what graders left that were killed before they could."""
        for group in own.glob("coursekit-*"):
            if not Path("/proc", group.name.removeprefix("coursekit-")).exists():
                with contextlib.suppress(OSError):
                    group.rmdir()

    def remove(self) -> None:
        """Once its processes have ended, which takes the system a moment."""
        end = time.monotonic() + PATIENCE
        while self.made and time.monotonic() < end:
            for group in list(self.made):
                try:
                    group.rmdir()
                except FileNotFoundError:
                    self.made.remove(group)
                except OSError:
                    time.sleep(0.02)
                else:
                    self.made.remove(group)
