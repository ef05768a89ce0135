"""Linux namespaces from Python: a small view of the system, in which nothing can be reached or harmed.

`outer` puts the warm parent into user, mount and process namespaces of its own, on a new root that shows the system
and Python, read-only, and nothing else. `fork_inside` and `inner` then give each child its own process, mount,
network and ipc namespaces, a private /tmp and home, and a user namespace in which its limits are its own.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
OUTER = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH, AT_FDCWD, AT_RECURSIVE = 2, -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
SYS_MOUNT_SETATTR = 442
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 4, 24, 38, 47

STUDENT = 1000  # user and group of the student's process, inside
NOBODY = 65534  # and outside, when the grader runs as root
HOME = "/home/student"
PRIVATE = "/private"  # where a child's one small disk lies: its /tmp, its home, its shared memory
OWN = ("/tmp/", f"{HOME}/")  # a child sees only what is its own there
ELSEWHERE = "/python"  # so what of Python or of coursekit lies there is shown below this folder
NODES = ("null", "full", "random", "urandom")  # not zero: mapped, it is shared memory that no limit counts
PASSWD = f"root:x:0:0::/:/bin/sh\nstudent:x:{STUDENT}:{STUDENT}::{HOME}:/bin/sh\n"

Options = dict[str, Any]  # what the warm parent shows to its children, and how: see `sandbox.plan`
_libc = ctypes.CDLL(None, use_errno=True)
_NONE = ctypes.c_ulong(0)


class SandboxError(OSError):
    """A step of the sandbox that the system refused."""


def _checked(result: int, step: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise SandboxError(number, f"{step}: {os.strerror(number)}")
    return result


def unshare(flags: int, step: str) -> None:
    _checked(_libc.unshare(flags), step)


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = [None if part is None else os.fsencode(part) for part in (source, target, kind)]
    arguments = (*encoded, ctypes.c_ulong(flags), os.fsencode(data))
    _checked(_libc.mount(*arguments), f"mount {target}")


def prctl(option: int, value: int = 0) -> int:
    return int(_libc.prctl(option, ctypes.c_ulong(value), _NONE, _NONE, _NONE))


# the warm parent


def outer(control: socket.socket, options: Options, serve: Callable[[], None]) -> None:
    """Run `serve` as the first process of a confined system. Returns the way `serve` did, or raises.

    Three processes: this one stays outside to write the user map (only root outside may map two users), the next
    makes the namespaces, the last is process 1 of the new process namespace.
    """
    stage = tempfile.mkdtemp(prefix="coursekit-")
    tempfile.tempdir = None  # inside, there may be another
    here, there = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        here.close()
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            _make(there, control, stage, options, serve)
        except BaseException as error:  # noqa: BLE001
            with contextlib.suppress(OSError):
                control.send(json.dumps(["failed", f"{type(error).__name__}: {error}"]).encode())
        os._exit(0)
    there.close()
    control.close()
    if here.recv(1):
        _map_users(pid)
        here.send(b"m")
        here.recv(1)  # the new root stands, and no longer needs the directory that it was made in
    os.rmdir(stage)
    os.waitpid(pid, 0)
    os._exit(0)


def _make(
    outside: socket.socket, control: socket.socket, stage: str, options: Options, serve: Callable[[], None]
) -> None:
    unshare(OUTER, "new namespaces")
    outside.send(b"u")
    outside.recv(1)
    pid = os.fork()
    if pid:
        outside.close()
        control.close()  # so that its other end sees at once when the warm parent is gone
        os.waitpid(pid, 0)
        return
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if Path("/proc/self/uid_map").read_text().split()[0] == "0":
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    _new_root(stage, options)
    follow(moved)
    outside.send(b"r")
    outside.close()
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    serve()


def _map_users(pid: int) -> None:
    """root: 0 is root outside (it mounts what only root can read), STUDENT is nobody. Others: STUDENT is they."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            for kind in ("uid", "gid"):
                Path(f"/proc/{pid}/{kind}_map").write_text(f"0 0 1\n{STUDENT} {NOBODY} 1\n")
            return
    _be_student(pid, os.geteuid(), os.getegid())


def _be_student(pid: int | str, user: int, group: int) -> None:
    """In that process's user namespace, STUDENT is who is this user and group outside, and there is nobody else."""
    Path(f"/proc/{pid}/setgroups").write_text("deny")
    Path(f"/proc/{pid}/uid_map").write_text(f"{STUDENT} {user} 1\n")
    Path(f"/proc/{pid}/gid_map").write_text(f"{STUDENT} {group} 1\n")


def _new_root(stage: str, options: Options) -> None:
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", stage, "tmpfs", MS_NOSUID, "size=8m,mode=755")
    for directory in ("/proc", "/tmp", HOME, PRIVATE, "/dev/shm", "/etc", "/old"):
        os.makedirs(f"{stage}{directory}")
    Path(f"{stage}/etc/passwd").write_text(PASSWD)
    mount("tmpfs", f"{stage}/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777")
    for path in options["visible"]:
        _show(stage, path, writable=False)
    for path in [f"/dev/{node}" for node in NODES] + options["devices"]:
        _show(stage, path, writable=True)
    os.symlink("/proc/self/fd", f"{stage}/dev/fd")
    for path in options["hidden"]:
        if os.path.isdir(stage + moved(path)):
            mount("tmpfs", stage + moved(path), "tmpfs", MS_RDONLY, "size=4k,mode=755")
    number = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
    _checked(_libc.syscall(number, os.fsencode(stage), os.fsencode(f"{stage}/old")), "pivot_root")
    os.chdir("/")
    # The kernel lets a new /proc be mounted only where a whole one can still be seen.
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _checked(_libc.umount2(b"/old", MNT_DETACH), "detach the old root")
    os.rmdir("/old")
    mount("none", "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)


def _show(stage: str, path: str, writable: bool) -> None:
    """Bind `path`, and all mounts below it, at the same place under the new root, or at its place elsewhere; a link
    stays a link."""
    target = stage + moved(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        return
    if os.path.islink(path):
        os.symlink(moved(os.readlink(path)), target)
        return
    if os.path.isdir(path):
        os.mkdir(target)
    else:
        Path(target).touch()
    mount(path, target, None, MS_BIND | MS_REC)
    if writable:
        return
    attributes = struct.pack("<4Q", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
    where, size = os.fsencode(target), ctypes.c_size_t(len(attributes))
    if _libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, where, AT_RECURSIVE, attributes, size) != 0:
        # Before Linux 5.12: the mount itself only, keeping the flags that may not be cleared.
        mount("none", target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | os.statvfs(target).f_flag & 0xF)


def moved(path: str) -> str:
    """Where a path of this machine is seen in the sandbox."""
    return ELSEWHERE + path if path.startswith(OWN) else path


def follow(moved: Callable[[str], str]) -> None:
    """Tell this Python where its own files are seen now."""
    sys.path[:] = map(moved, sys.path)
    for name in ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix", "executable"):
        setattr(sys, name, moved(getattr(sys, name)))
    for module in list(sys.modules.values()):
        if isinstance(places := getattr(module, "__path__", None), list):
            places[:] = map(moved, places)
    sys.path_importer_cache.clear()


# its children


@cache
def _own_processes() -> int:
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def fork_inside() -> int:
    """Like os.fork, but the child is process 1 of a new process namespace, and dies with all of it."""
    own = _own_processes()
    unshare(CLONE_NEWPID, "new process namespace")
    pid = -1
    try:
        pid = os.fork()
        return pid
    finally:
        if pid != 0:
            _checked(_libc.setns(own, CLONE_NEWPID), "back to the own process namespace")


def inner(disk: int) -> None:
    """The rest of a child's namespaces: its own mounts, network (with nothing in it), ipc and name."""
    unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS, "a child's namespaces")
    options = f"size={disk}m,nr_inodes=20000,mode=755,uid={STUDENT},gid={STUDENT}"
    mount("tmpfs", PRIVATE, "tmpfs", MS_NOSUID | MS_NODEV, options)
    for name, place in (("home", HOME), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        os.mkdir(f"{PRIVATE}/{name}", 0o700)
        os.chown(f"{PRIVATE}/{name}", STUDENT, STUDENT)
        mount(f"{PRIVATE}/{name}", place, None, MS_BIND)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    with contextlib.suppress(OSError):
        socket.sethostname("grader")


def become_student() -> None:
    """Be the student, in a user namespace of our own, in which process limits count anew."""
    if os.geteuid() != STUDENT:
        become(STUDENT)
    prctl(PR_SET_DUMPABLE, 1)
    unshare(CLONE_NEWUSER, "a child's user namespace")
    prctl(PR_SET_DUMPABLE, 1)
    _be_student("self", STUDENT, STUDENT)


def empty_bounding_set() -> None:
    """No capability through any later exec. An ordinary user may not ask for it, and has no_new_privs instead."""
    for capability in range(64):
        if prctl(PR_CAPBSET_DROP, capability) < 0:
            break


def become(user: int) -> None:
    """Give up root, for good."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_capabilities() -> None:
    """No capability now, and none that comes back."""
    prctl(PR_CAP_AMBIENT, 4)
    version = ctypes.create_string_buffer(struct.pack("<Ii", 0x20080522, 0))  # the kernel may write into it
    _checked(_libc.capset(version, bytes(24)), "drop capabilities")
    _checked(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")


# whether this system can


def first_refused(*steps: Callable[[], object]) -> int:
    """In a child of its own, do these one after the other: the number of the first that failed, or 0."""
    pid = os.fork()
    if pid == 0:
        done = 0
        try:
            for step in steps:
                step()
                done += 1
        finally:
            os._exit(0 if done == len(steps) else done + 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def offered() -> str:
    """ "yes", or why not."""
    user, group = os.geteuid(), os.getegid()

    def mounts() -> None:
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        mount("tmpfs", "/tmp", "tmpfs", 0, "size=4k")

    def fresh_proc() -> None:
        if first_refused(lambda: mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)):
            raise SandboxError

    step = first_refused(
        lambda: unshare(OUTER, ""), lambda: _be_student("self", user, group), mounts, fresh_proc
    )
    return advice(step) if step else "yes"


def advice(step: int) -> str:
    return {
        1: "the system does not let this user make user namespaces (on Debian and Ubuntu: "
        "sysctl kernel.unprivileged_userns_clone=1; in a container: allow unshare in its seccomp profile)",
        2: "the system does not let this user map itself into a user namespace",
        3: "the system takes away the rights inside a user namespace (on Ubuntu 24.04: "
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0)",
        4: "a fresh /proc cannot be mounted (in a container: run it with --security-opt systempaths=unconfined)",
    }.get(step, "the trial of the sandbox was killed")
