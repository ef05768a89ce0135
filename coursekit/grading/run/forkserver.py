"""The warm parent: imports everything once, then forks a process whenever it is asked.

It is started as a clean Python, never by fork, and what it is told is a role and limits. Submissions and tests go
over sockets of their own, straight to the children: nothing that this process has ever held is worth reading.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .. import wire
from ..confine import namespaces, sandbox
from ..confine.landlock import too_much, unused_users
from ..confine.limits import MB, Limits, own_memory

MADV_COLLAPSE, LARGE = 25, 2 << 20
USERS = 1024  # user numbers for submissions, as root and without namespaces: one for each process at a time
WATCH = 0.2  # seconds between two looks at the memory of the children


def preload(modules: list[str]) -> None:
    """Import what submissions will use, and is there."""
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # Every module of the packages that were asked for: they open their rooms on first use, which is here.
    for name in [n for n in sys.modules if re.fullmatch(r"coursekit\.(?!grading)\w+", n)]:
        for room in pkgutil.walk_packages(getattr(sys.modules[name], "__path__", []), f"{name}."):
            with contextlib.suppress(ImportError):  # scikit-learn, say, may not be there
                importlib.import_module(room.name)
    if "torch" in sys.modules:
        with contextlib.suppress(Exception):
            _first_uses(sys.modules["torch"], "torch.optim" in modules)


def _first_uses(torch: Any, optimisers: bool) -> None:
    """Pay here for what torch, and the language's grammar, do once. No backward pass, and nothing large enough for a
    second thread: neither survives a fork."""
    torch.set_num_threads(1)
    functional = torch.nn.functional
    if optimisers:
        weight = torch.zeros(2, requires_grad=True)
        weight.grad = torch.zeros(2)
        torch.optim.SGD([weight], lr=0.1).step()
    x = torch.randn(3, 2, dtype=torch.float64)
    y = torch.tanh(torch.cat([x @ x.mT, torch.softmax(x, 1)], -1)).sum()
    functional.cross_entropy(functional.linear(x, x), torch.tensor([0, 1, 2]))
    torch.testing.assert_close(y, y.clone())
    assert torch.allclose(x, wire.decode(wire.encode({"x": x, "y": x.numpy()}))["x"])
    if "coursekit.notation" in sys.modules:
        first = sys.modules["coursekit.notation"].Equations("h[t,j] = tanh(W[j,I] h[t-1,I])")
        first.compare(r"h[t,j] = \tanh(\sum_{i} W[j,i] h[t-1,i])")


def gather_memory() -> None:
    """Put the memory of this process on large pages, where Linux (6.1) can: a fork then copies hundreds of entries
    instead of tens of thousands, and takes a tenth of the time."""
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps") as maps:
        regions = [line.split() for line in maps]
    for span, mode, _, _, _, *path in regions:
        start, end = (int(edge, 16) for edge in span.split("-"))
        start, end = -(-start // LARGE) * LARGE, end // LARGE * LARGE
        if mode == "rw-p" and start < end and path in ([], ["[heap]"]):
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)


@dataclass
class Child:
    """One forked process: what it may hold, and without namespaces its folder and its user."""

    pid: int
    limits: Limits
    home: str
    user: int


class Server:
    def __init__(self, control: socket.socket, options: namespaces.Options):
        self.control, self.options = control, options
        self.children: dict[int, Child] = {}  # by token
        self.apart = options["level"] == "namespaces"
        self.users = unused_users(USERS) if options["level"] == "landlock" else []
        self.lends = bool(self.users)
        self.inherited = own_memory()
        self.watched = 0.0

    def loop(self) -> None:
        while True:
            ready, _, _ = select.select([self.control], [], [], WATCH if self.children else None)
            self._reap()
            if time.monotonic() - self.watched > WATCH:
                self._watch()
            if ready:
                data, descriptors, _, _ = socket.recv_fds(self.control, 65536, 1)
                if not data:
                    return
                op, token, *rest = json.loads(data)
                if op == "fork":
                    self._fork(token, rest[0], rest[1], descriptors[0])
                    os.close(descriptors[0])
                elif token in self.children:
                    os.kill(self.children[token].pid, signal.SIGKILL)

    def _fork(self, token: int, role: str, plain: dict[str, Any], descriptor: int) -> None:
        limits, home, user = Limits(**plain), "", 0
        if self.lends and not self.users:  # never as root: its line is closed
            print("no user number is left", file=sys.stderr)
            return
        if not self.apart:
            home, user = f"{self.options['scratch']}/{token}", self.users.pop() if self.lends else 0
            os.mkdir(home, 0o700)
            os.chown(home, user or -1, user or -1)
        own = self.options | {"home": home, "user": user, "parent": os.getpid()}
        try:
            pid = namespaces.fork_inside() if self.apart else os.fork()
        except OSError as error:
            # The machine is full: this one finds its line closed, the next may have luck.
            print(f"could not fork: {error}", file=sys.stderr)
            return
        if pid == 0:
            try:
                become(role, limits, descriptor, own)
            finally:
                os._exit(70)
        self.children[token] = Child(pid, limits, home, user)

    def _watch(self) -> None:
        """Kill every submission whose processes together hold too much; a limit of the system is for one each."""
        self.watched, held = time.monotonic(), Counter[str]()
        pids = os.listdir("/proc") if self.apart else [str(child.pid) for child in self.children.values()]
        for pid in filter(str.isdigit, pids):
            with contextlib.suppress(OSError):
                held[self._space(pid)] += max(0, own_memory(pid) - self.inherited)
        for child in self.children.values():
            with contextlib.suppress(OSError):
                much = held[self._space(child.pid)] > child.limits.memory * MB
                if much or (child.home and too_much(child.pid, child.home, child.limits.disk)):
                    os.kill(child.pid, signal.SIGKILL)

    def _space(self, pid: int | str) -> str:
        """What all processes of a submission have in common."""
        return os.readlink(f"/proc/{pid}/ns/pid") if self.apart else str(pid)

    def _reap(self) -> None:
        """Forget who has ended, remove what they have left, and give their user's number to the next."""
        pid = 1
        while self.children and pid:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            for token in [token for token, child in self.children.items() if child.pid == pid]:
                child = self.children.pop(token)
                if child.user:
                    self.users.insert(0, child.user)
                if child.home:
                    # By a process of its own, for thousands of files take seconds; nobody reads its words.
                    quiet = [(os.POSIX_SPAWN_DUP2, 1, 2)]
                    os.posix_spawnp("rm", ["rm", "-rf", "--", child.home], os.environ, file_actions=quiet)


def become(role: str, limits: Limits, descriptor: int, options: namespaces.Options) -> None:
    """What a forked process does; it never returns."""
    os.setsid()  # a signal to "my process group" must not reach the warm parent
    os.dup2(descriptor, 3)
    for last, next_one in pairwise((3, *options["held"], 4096)):
        os.closerange(last + 1, next_one)
    sandbox.enter(limits, options)
    sock = socket.socket(fileno=3)
    gc.enable()
    sys.modules[f"{__package__}.{role}"].main(sock, SHELL, limits)


SHELL: Any = None


def serve(control: socket.socket, options: namespaces.Options) -> None:
    """Warm up, say so, and fork on demand until the other end is closed."""
    global SHELL
    preload(options["preload"])
    for name in ("candidate", "session"):  # and with them all that a child runs
        importlib.import_module(f"{__package__}.{name}")
    SHELL = sys.modules[f"{__package__}.cells"].Shell()
    SHELL.rehearse()
    sandbox.prepare(options)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"the warm parent has {threads} threads; a fork would lose all but one")
    gc.collect()
    gc.freeze()
    gc.disable()
    gather_memory()
    server = Server(control, options)
    control.send(json.dumps(["ready", ""]).encode())
    server.loop()


def main() -> None:
    """Started by `Warm` with a socket's number and the options."""
    os.umask(0o022)  # the instructor's may be stricter, and the student's user must see what is mounted
    control = socket.socket(fileno=int(sys.argv[1]))
    options = json.loads(sys.argv[2])
    try:
        if options["level"] == "namespaces":
            namespaces.outer(control, options, lambda: serve(control, options))
        else:
            serve(control, options)
    except Exception as error:
        control.send(json.dumps(["failed", f"{type(error).__name__}: {error}"]).encode())
        raise
