"""The second level of the sandbox, for systems that lend no namespaces: Landlock, a stricter filter, limits, a watch.

Landlock says which files a process may open, for good; the filter gives it threads but no other process, no socket
and no name of anything else's; as root it also gets a user number of its own. What this level cannot promise: a
submission sees whether a path exists, its size and time, the numbers of processes, facts of the machine. `!commands`,
`subprocess` and a literal `/tmp/x` do not work in it.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import pwd
import signal
import stat
import struct
import tempfile
from collections.abc import Callable
from glob import glob
from itertools import chain, islice
from pathlib import Path

from . import limits as rlimits
from . import namespaces, seccomp
from .limits import MB, Limits
from .namespaces import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, Options, _checked, _libc, prctl

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG, MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (7, 8, 12, 13, 14, 15))
ALWAYS = (1 << 13) - 1  # what the first version already handled
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
CHANGE = REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
WRITE = READ_FILE | WRITE_FILE | READ_DIR | CHANGE
DEVICES = {"null": READ_FILE | WRITE_FILE, "full": READ_FILE, "random": READ_FILE, "urandom": READ_FILE}
TCP, SCOPES = 3, 3  # bind and connect; abstract sockets and signals
INODES = 20_000
HELD = 16  # descriptors from here on may be kept


def version() -> int:
    """What the kernel has of Landlock; 0 for none: not built, not started, or refused by a container's filter."""
    return max(0, int(_libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def restrict(rules: dict[str, int]) -> None:
    """Let this process do with files only what the rules say, and never more."""
    known = version()
    handled = ALWAYS | (known >= 2) * REFER | (known >= 3) * TRUNCATE | (known >= 5) * IOCTL_DEV
    attributes = struct.pack("<3Q", handled, (known >= 4) * TCP, (known >= 6) * SCOPES)
    size = ctypes.c_size_t(8 if known < 4 else 16 if known < 6 else 24)
    ruleset = _checked(_libc.syscall(CREATE_RULESET, attributes, size, 0), "landlock ruleset")
    for path, access in rules.items():
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there needs no rule
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= OF_A_FILE
        rule = struct.pack("<Qi", access & handled, descriptor)
        _checked(_libc.syscall(ADD_RULE, ruleset, 1, rule, 0), f"landlock rule for {path}")
        os.close(descriptor)
    _checked(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    _checked(_libc.syscall(RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def without(paths: list[str], hidden: list[str]) -> list[str]:
    """Landlock only adds: what contains a hidden folder is replaced by everything else in it."""
    shown: list[str] = []
    for path in paths:
        real = os.path.realpath(path)
        if any(real == h or real.startswith(h + "/") for h in hidden):
            continue
        if any(h.startswith(real + "/") for h in hidden):
            shown += without([f"{real}/{name}" for name in os.listdir(real)], hidden)
        else:
            shown.append(path)
    return shown


def unused_users(count: int) -> list[int]:
    """As root: user numbers that nobody has here and that this user namespace knows; no process runs under one."""
    if os.geteuid() != 0:
        return []
    with open("/proc/self/uid_map") as file:
        spans = [tuple(map(int, line.split())) for line in file]
    taken = {entry.pw_uid for entry in pwd.getpwall()} | {user for user, _ in _tasks()}
    free = (n for n in range(64999, 60000, -1) if n not in taken)
    return list(islice((n for n in free if any(a <= n < a + size for a, _, size in spans)), count))


def _tasks() -> list[tuple[int, int]]:
    """(user, number of threads) of every process."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found.append((os.stat(f"/proc/{name}").st_uid, len(os.listdir(f"/proc/{name}/task"))))
    return found


def enter(limits: Limits, options: Options) -> None:
    """Confine this process, which was just forked; `home` is its own empty folder, `user` its number if we are root."""
    home, user = options["home"], options["user"]
    if user:
        namespaces.empty_bounding_set()
        namespaces.become(user)
    _checked(prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "die with the parent")  # after: a new user undoes it
    if os.getppid() != options["parent"]:
        os._exit(0)  # it died before we asked
    namespaces.drop_capabilities()
    others = 0 if user else sum(n for u, n in _tasks() if u == os.getuid())
    rlimits.apply(limits, options["address_space"], others)
    rules = dict.fromkeys(options["shown"], READ)
    rules |= {f"/dev/{name}": access for name, access in DEVICES.items()}
    rules |= dict.fromkeys(options["devices"], READ_FILE | WRITE_FILE | IOCTL_DEV)
    rules |= {f"/proc/{os.getpid()}": READ_FILE | READ_DIR, home: WRITE}
    restrict(rules)
    seccomp.install(alone=os.getpid())


def hold_where_only_root_may_pass(options: Options) -> None:
    """In the warm parent: show by another path what another user could not reach: a Python below /root by a descriptor
    that is open already, and stays so in every child."""
    held: dict[str, str] = {}
    # The package is shown room by room, and reached as a whole.
    for path in map(os.path.realpath, [options["package"], *options["shown"]]):
        if any(f"{path}/".startswith(f"{p}/") for p in held):
            continue
        if any(not place.stat().st_mode & stat.S_IXOTH for place in Path(path).parents):
            opened = os.open(path, os.O_PATH)
            options["held"].append(fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, HELD))
            os.close(opened)
            held[path] = f"/proc/self/fd/{options['held'][-1]}"

    def moved(path: str) -> str:
        real = os.path.realpath(path) if held else path
        return next((at + real[len(p) :] for p, at in held.items() if f"{real}/".startswith(f"{p}/")), real)

    options["shown"] = list(map(moved, options["shown"]))
    if held:
        namespaces.follow(moved)


def too_much(pid: int, home: str, disk: int) -> bool:
    """Does a submission hold more on the disk than it may? No limit of the system counts this. A file may have lost its
    name and be open still; what lies in a folder that cannot be read is not known, and so is too much."""
    total, unknown = 0, list[OSError]()
    named = (
        f"{folder}/{name}"
        for folder, *names in os.walk(home, onerror=unknown.append)
        for name in chain(*names)
    )
    for count, path in enumerate(chain(glob(f"/proc/{pid}/fd/*"), named)):
        with contextlib.suppress(OSError):
            found = os.lstat(path) if path.startswith(home) else os.stat(path)
            if path.startswith(home) or not found.st_nlink:
                total += found.st_blocks * 512
        if count > INODES or total > disk * MB:
            return True
    return any(isinstance(error, PermissionError) for error in unknown)


def offered() -> str:
    """ "yes", or why not: a child is confined and must fail at what it must not do. A version number is no proof."""
    if not seccomp.supported():
        return f"no filter is written for {os.uname().machine}"
    if not version():
        return {
            errno.ENOSYS: "this kernel has no Landlock (Linux 5.13 or later; gVisor has none)",
            errno.EOPNOTSUPP: "Landlock is built into this kernel but not switched on (boot with lsm=landlock,…)",
            errno.EPERM: "the filter of this container refuses Landlock",
        }.get(ctypes.get_errno(), f"Landlock does not answer: {os.strerror(ctypes.get_errno())}")
    with tempfile.TemporaryDirectory(prefix="coursekit-") as place:
        home, secret, parent = f"{place}/own", f"{place}/secret", os.getpid()
        os.mkdir(home)
        Path(secret).write_text("secret")
        os.chmod(secret, 0o666)
        os.chmod(place, 0o755)
        user = next(iter(unused_users(1)), 0)
        if user:
            os.chown(home, user, user)
        plan: Options = {"shown": ["/usr", "/lib", "/lib64"], "devices": [], "address_space": True}
        plan |= {"home": home, "user": user, "parent": parent}
        step = namespaces.first_refused(
            os.setsid,
            lambda: enter(Limits(), plan),
            _must_fail(lambda: os.open(secret, os.O_RDONLY)),
            _must_fail(lambda: os.truncate(secret, 0)),
            _must_fail(lambda: os.kill(parent, 0)),
            _must_fail(lambda: os.listdir(f"/proc/{parent}/fd")),
            _must_fail(lambda: _checked(_libc.socket(1, 1, 0), "")),
            _must_fail(os.fork),
            lambda: os.open(f"{home}/mine", os.O_WRONLY | os.O_CREAT),
        )
    return f"the trial of Landlock failed at step {step}" if step else "yes"


def _must_fail(attempt: Callable[[], object]) -> Callable[[], None]:
    def step() -> None:
        with contextlib.suppress(OSError):
            attempt()
            raise RuntimeError("it was possible")

    return step
