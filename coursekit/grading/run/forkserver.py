"""The warm parent: imports everything once, then forks a process whenever it is asked.

It is started as a clean Python, never by fork, and what it is told is a role and limits. Submissions and tests go
over sockets of their own, straight to the children: nothing that this process has ever held is worth reading.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import sys
import time
from typing import Any

from .. import wire
from ..confine import namespaces, sandbox
from ..confine.landlock import too_much, unused_users
from ..confine.limits import MB, Limits, own_memory

MADV_COLLAPSE, LARGE = 25, 2 << 20
USERS = 64  # user numbers for submissions, as root and without namespaces
WATCH = 0.2  # seconds between two looks at the memory of the children


def preload(modules: list[str]) -> list[str]:
    """Import what submissions will use; give those that are not there."""
    missing = []
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    _rooms_of_coursekit()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
        with contextlib.suppress(Exception):
            _first_uses(sys.modules["torch"])
        if "coursekit.notation" in sys.modules:
            _first_equation()
    return missing


def _rooms_of_coursekit() -> None:
    """Every module of the packages that were asked for: they open their rooms on first use, which is here."""
    for name in [n for n in sys.modules if n.startswith("coursekit.") and n.count(".") == 1]:
        package = sys.modules[name]
        if name == "coursekit.grading" or not hasattr(package, "__path__"):
            continue
        for room in pkgutil.walk_packages(package.__path__, f"{name}."):
            with contextlib.suppress(ImportError):  # scikit-learn, say, may not be there
                importlib.import_module(room.name)


def _first_equation() -> None:
    """Pay here for the language's grammar, which is built when the first equation is read."""
    Equations = importlib.import_module("coursekit.notation").Equations
    Equations("h[t,j] = tanh(W[j,I] h[t-1,I])").compare(r"h[t,j] = \tanh(\sum_{i} W[j,i] h[t-1,i])")


def _first_uses(torch: Any) -> None:
    """Pay here for what torch does once. No backward pass, and nothing large enough for a second thread: neither
    survives a fork."""
    functional = torch.nn.functional
    weight = torch.zeros(2, requires_grad=True)
    weight.grad = torch.zeros(2)
    torch.optim.SGD([weight], lr=0.1).step()
    x = torch.randn(3, 2, dtype=torch.float64)
    y = torch.tanh(torch.cat([x @ x.mT, torch.softmax(x, 1)], -1)).sum()
    functional.cross_entropy(functional.linear(x, x), torch.tensor([0, 1, 2]))
    torch.testing.assert_close(y, y.clone())
    assert torch.allclose(x, wire.decode(wire.encode({"x": x, "y": x.numpy()}))["x"])


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


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


class Server:
    def __init__(self, control: socket.socket, options: namespaces.Options):
        self.control, self.options = control, options
        self.children: dict[int, int] = {}  # token -> pid
        self.memory: dict[int, int] = {}  # token -> bytes that its processes may have together
        self.homes: dict[int, tuple[str, int, int]] = {}  # token -> its folder, its size in MB, its user
        self.users = unused_users(USERS) if options["level"] == "landlock" else []
        self.rubbish = _janitor() if options["level"] != "namespaces" else -1
        self.inherited = own_memory()
        self.watched = 0.0
        self.wake, wake_write = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)

    def send(self, *message: Any) -> None:
        self.control.send(json.dumps(message).encode())

    def loop(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self.control, selectors.EVENT_READ)
        selector.register(self.wake, selectors.EVENT_READ)
        while True:
            ready = selector.select(WATCH if self.children else None)
            if time.monotonic() - self.watched > WATCH:
                self._watch()
            for key, _ in ready:
                if key.fileobj is self.control:
                    if not self._command():
                        return
                else:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self.wake, 4096)
                    self._reap()

    def _command(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self.control, 65536, 1)
        if not data:
            return False
        op, token, *rest = json.loads(data)
        if op == "fork":
            self._fork(token, rest[0], rest[1], descriptors[0])
            os.close(descriptors[0])
        elif op == "kill" and token in self.children:
            os.kill(self.children[token], signal.SIGKILL)
        return True

    def _fork(self, token: int, role: str, limits: dict[str, Any], descriptor: int) -> None:
        home, user = "", 0
        if self.options["level"] != "namespaces":
            home, user = f"{self.options['scratch']}/{token}", self.users.pop() if self.users else 0
            os.mkdir(home, 0o700)
            self.homes[token] = home, limits["disk"], user
            if user:
                os.chown(home, user, user)
        parent = os.getpid()
        try:
            pid = sandbox.fork_confined(self.options["level"])
        except (
            OSError
        ) as error:  # the machine is full: this one finds its line closed, the next may have luck
            print(f"could not fork: {error}", file=sys.stderr)
            return
        if pid == 0:
            try:
                become(role, Limits(**limits), descriptor, self.options, home, user, parent)
            finally:
                os._exit(70)
        self.children[token] = pid
        self.memory[token] = limits["memory"] * MB

    def _watch(self) -> None:
        """Kill every submission whose processes together hold too much; a limit of the system is for one each."""
        self.watched = time.monotonic()
        if self.options["level"] != "namespaces":
            for token, child in self.children.items():
                home, disk, _ = self.homes[token]
                if own_memory(child) - self.inherited > self.memory[token] or too_much(home, disk):
                    os.kill(child, signal.SIGKILL)
            return
        held: dict[str, int] = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                space = os.readlink(f"/proc/{pid}/ns/pid")
                held[space] = held.get(space, 0) + max(0, own_memory(pid) - self.inherited)
        for token, child in self.children.items():
            with contextlib.suppress(OSError):
                if held.get(os.readlink(f"/proc/{child}/ns/pid"), 0) > self.memory[token]:
                    os.kill(child, signal.SIGKILL)

    def _reap(self) -> None:
        while self.children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for token, known in list(self.children.items()):
                if known == pid:
                    del self.children[token], self.memory[token]
                    self._tidy(token)
                    self.send("exited", token, status)

    def _tidy(self, token: int) -> None:
        """Remove what a submission has left, and give its user's number to the next."""
        home, _, user = self.homes.pop(token, ("", 0, 0))
        if user:
            self.users.insert(0, user)
        if home:
            os.write(self.rubbish, f"{home}\n".encode())


def _janitor() -> int:
    """A process that removes the folders whose names are written to it: thousands of files take seconds."""
    names, rubbish = os.pipe()
    if os.fork() == 0:
        os.close(rubbish)
        with open(names) as lines:
            for line in lines:
                shutil.rmtree(line.rstrip("\n"), ignore_errors=True)
        os._exit(0)
    os.close(names)
    return rubbish


def become(
    role: str, limits: Limits, descriptor: int, options: namespaces.Options, home: str, user: int, parent: int
) -> None:
    """What a forked process does; it never returns."""
    os.setsid()  # a signal to "my process group" must not reach the warm parent
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(descriptor, 3)
    os.closerange(4, 4096)
    sandbox.enter(limits, options, home, user, parent)
    sock = socket.socket(fileno=3)
    gc.enable()
    sys.modules[f"{__package__}.{role}"].main(sock, SHELL, limits)


SHELL: Any = None


def serve(control: socket.socket, options: namespaces.Options) -> None:
    """Warm up, say so, and fork on demand until the other end is closed."""
    global SHELL
    missing = preload(options["preload"])
    for name in ("candidate", "session"):  # and with them all that a child runs
        importlib.import_module(f"{__package__}.{name}")
    SHELL = sys.modules[f"{__package__}.cells"].Shell()
    SHELL.rehearse()
    if "torch" in sys.modules:
        sys.modules[f"{__package__}.device"].device_types()
    sandbox.prepare()
    count = threads()
    if count != 1:
        raise RuntimeError(f"the warm parent has {count} threads; a fork would lose all but one")
    gc.collect()
    gc.freeze()
    gc.disable()
    gather_memory()
    server = Server(control, options)
    server.send("ready", os.getpid(), missing)
    server.loop()


def main() -> None:
    """`python -m coursekit.grading.run.forkserver FD OPTIONS`"""
    os.umask(0o022)  # the instructor's may be stricter, and the student's user must see what is mounted
    control = socket.socket(fileno=int(sys.argv[1]))
    options = json.loads(sys.argv[2])
    try:
        if options["level"] == "namespaces":
            namespaces.outer(control, options, lambda: serve(control, options))
        else:
            serve(control, options)
    except Exception as error:
        control.send(json.dumps(["failed", 0, f"{type(error).__name__}: {error}"]).encode())
        raise


if __name__ == "__main__":
    main()
