"""One Python program in the grader's sandbox, but with a loopback: what a Jupyter kernel needs, and nothing more.

    python -m benchmarks.confined FD < job

The job, as `wire` writes it, has `files` for its working directory and `program`, the source to run; what the
program prints comes out here. It sees the system and this Python, read-only, a private home and /tmp, and no
network but its own 127.0.0.1. When this process ends, all of it ends.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys

from coursekit.grading import wire
from coursekit.grading.confine import limits as rlimits
from coursekit.grading.confine import namespaces
from coursekit.grading.confine.limits import Limits
from coursekit.grading.confine.sandbox import plan
from coursekit.grading.run.cells import put_files
from coursekit.grading.run.warm import environment

SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))


def serve(job: dict) -> None:
    """As the first process of the confined system: run the program in namespaces of its own."""
    pid = namespaces.fork_inside()
    if pid:
        os.waitpid(pid, 0)
        return
    limits = Limits(**job["limits"])
    os.setsid()
    namespaces.inner(limits.disk)
    raise_loopback()
    os.chdir("/home/student")
    namespaces.become_student()
    rlimits.apply(limits)
    namespaces.empty_bounding_set()
    namespaces.drop_capabilities()
    put_files(job["files"])
    os.execve(sys.executable, [sys.executable, "-c", job["program"]], environment())


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    job = wire.decode(sys.stdin.buffer.read())
    namespaces.outer(control, plan(), lambda: serve(job))


if __name__ == "__main__":
    main()
