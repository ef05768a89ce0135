"""A filter of system calls: what no exercise needs and what would open the sandbox from inside.

The filter is a small program for the kernel, written here as classic BPF. Everything is allowed but what is listed.
"""

import ctypes
import errno
import os
import struct
from functools import cache

from .namespaces import PR_SET_NO_NEW_PRIVS, _checked, _libc, prctl

PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06  # BPF opcodes
NUMBER, ARCH, ARGUMENT = 0, 4, 16  # offsets in the kernel's record of a call
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* of clone
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: the network namespace is empty; others may bypass it
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Each with its number on x86_64 and on aarch64; a dash where the machine has no such call. Some for what they hold:
# memory that is no process's own (semaphores, rules, a pipe's pages), places of which the machine has only so many.
_REFUSED = """
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, pidfd_getfd 438 438,
process_madvise 440 440, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428,
move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
unshare 272 97, setns 308 268, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425
425, io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217, request_key 249 218, keyctl 250 219,
init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294,
reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89, quotactl 179 60, syslog 103 116, settimeofday 164
170, inotify_init 253 -, inotify_init1 294 26, cachestat 451 451, clock_settime 227 112, clock_adjtime 305 266,
adjtimex 159 171, sethostname 170 161, setdomainname 171 162, name_to_handle_at 303 264, open_by_handle_at 304
265, fanotify_init 300 262, memfd_create 319 279, memfd_secret 447 447, shmget 29 194, shmat 30 196, msgget 68
186, mq_open 240 180, personality 135 92, vhangup 153 58, lookup_dcookie 212 18, move_pages 279 239,
migrate_pages 256 238, iopl 172 -, ioperm 173 -, modify_ldt 154 -, uselib 134 -, ustat 136 -, sysfs 139 -,
quotactl_fd 443 443, statmount 457 457, listmount 458 458, semget 64 190, io_setup 206 0, vmsplice 278 75,
landlock_create_ruleset 444 444, landlock_add_rule 445 445"""
# What namespaces would have kept apart, and every way to another process.
_REFUSED_ALONE = """
shmctl 31 195, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, semop 65 193, semctl 66 191,
semtimedop 220 192, mq_unlink 241 181, socket 41 198, connect 42 203, bind 49 200, listen 50 201, accept 43 202,
accept4 288 242, sendmsg 46 211, sendmmsg 307 269, tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297
240, pidfd_open 434 434, pidfd_send_signal 424 424, process_mrelease 448 448, truncate 76 45, setxattr 188 5,
lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, chown 92 -,
fchown 93 55, lchown 94 -, fchownat 260 54, setsid 112 157, setpgid 109 154, ioprio_set 251 30, fork 57 -,
vfork 58 -, execve 59 221, execveat 322 281"""
# Landlock does not look at these: on a file of the grader's own user they would work. Nobody looks at the result.
_PRETENDED = """
chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, utime 132 -, utimes 235 -, futimesat 261 -,
utimensat 280 88"""
# Only for oneself: the first argument names a process, 0 or one's own.
_ON_ONESELF = """
kill 62 129, tgkill 234 131, prlimit64 302 261, sched_setaffinity 203 122, sched_setscheduler 144 119,
sched_setparam 142 118, sched_setattr 314 274"""
_OTHERS = """
clone 56 220, clone3 435 435, socket 41 198, socketpair 53 199, mmap 9 222, flock 73 32, fcntl 72 25, openat2
437 437, open 2 -, openat 257 56, prctl 157 167, ioctl 16 29, setpriority 141 140, fallocate 285 47,
sync 162 81, syncfs 306 267"""
NEWEST = 463  # calls from here on were not known when these tables were written
MAP_SHARED_ANONYMOUS, O_TMPFILE, O_TRUNC, O_ACCMODE = 0x21, 0x400000, 0o1000, 0o3
CLONE_THREAD = 0x10000
# fcntl: F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE, F_NOTIFY
_LOCKS = (6, 7, 37, 38, 1024, 1026)
_OWNERS = (8, 10, 15)  # fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX send signals to whom they name
_TERMINALS = (0x8901, 0x8902, 0x5412, 0x5414)  # ioctl: FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCSWINSZ
_FATES = (1, 4, 36)  # prctl: PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER
X32 = 0x40000000

Line = tuple[int, int, int, int]


def supported() -> bool:
    return os.uname().machine in AUDIT


def _numbers(table: str, machine: str) -> dict[str, int]:
    rows = [row.split() for row in table.replace("\n", " ").split(",")]
    column = 1 + list(AUDIT).index(machine)
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _argument(at: int = 0) -> Line:
    return (LOAD, 0, 0, ARGUMENT + 8 * at)


def _answer(verdict: int) -> Line:
    return (RETURN, 0, 0, verdict)


def _among(values: tuple[int, ...], then: int) -> list[Line]:
    """If what is loaded is one of these."""
    return [line for value in values for line in ((EQUAL, 0, 1, value), _answer(then))]


@cache  # written in the warm parent for all of its children
def program(machine: str, alone: int = 0) -> bytes:
    """The filter. `alone` is the number of a process that has no namespaces around it: it gets threads, but no other
    process, no socket, and no way to name another's process or file."""
    refuse, absent = _answer(ERRNO | errno.EPERM), _answer(ERRNO | errno.ENOSYS)
    others, shared = _numbers(_OTHERS, machine), MAP_SHARED_ANONYMOUS
    # By the call's number: lines each of which may answer. Whatever no line answers is allowed.
    rules: dict[int, list[Line]] = {n: [refuse] for n in _numbers(_REFUSED, machine).values()}

    def on(call: str, *lines: Line) -> None:
        if call in others:
            rules[others[call]] = list(lines)

    # Memory that is shared without a file has no limit of its own: what one process maps, another may fill.
    on("mmap", _argument(3), (AND, 0, 0, shared), (EQUAL, 0, 1, shared), refuse)
    # A lock would be seen by whoever shares an installed file. Each submission is alone in its home, so that to say
    # "locked" is true there.
    # Nor need anyone write all of the machine's memory to its disk.
    for call in ("flock", "sync", "syncfs"):
        on(call, _answer(ERRNO))
    on("fcntl", _argument(1), *_among(_LOCKS, ERRNO), *_among(_OWNERS if alone else (), refuse[3]))
    # clone3 hides its flags in memory, where a filter cannot look: the C library then uses clone.
    on("clone3", absent)
    if alone:
        rules |= {n: [refuse] for n in _numbers(_REFUSED_ALONE, machine).values()}
        rules |= {n: [_answer(ERRNO)] for n in _numbers(_PRETENDED, machine).values()}
        oneself = [_argument(), *_among((0, alone), ALLOW), refuse]
        rules |= dict.fromkeys(_numbers(_ON_ONESELF, machine).values(), oneself)
        on("clone", _argument(), (ANY_BIT, 1, 0, CLONE_THREAD), refuse)
        on("openat2", absent)
        nowhere = _answer(ERRNO | errno.EOPNOTSUPP)
        on("fallocate", nowhere)  # gigabytes in a moment, before anyone looks
        cut = [(AND, 0, 0, O_TRUNC | O_ACCMODE), (EQUAL, 0, 1, O_TRUNC), refuse]  # what is opened to read
        for call, at in (("open", 1), ("openat", 2)):
            on(call, _argument(at), (ANY_BIT, 0, 1, O_TMPFILE), nowhere, *cut)
        only = [(EQUAL, 1, 0, 0), refuse]  # 0: oneself
        on("setpriority", _argument(), *only, _argument(1), *only)
        on("prctl", _argument(), *_among(_FATES, refuse[3]))
        on("ioctl", _argument(1), *_among(_TERMINALS, refuse[3]))
        # a pair of AF_UNIX streams (asyncio makes one); a datagram socket could still write to any name
        stream = [_argument(1), (AND, 0, 0, 0xF), (EQUAL, 1, 0, 1), refuse]
        on("socketpair", _argument(), (EQUAL, 1, 0, 1), refuse, *stream)
    else:
        on("clone", _argument(), (ANY_BIT, 0, 1, NEW_NAMESPACES), refuse)
        for call in ("socket", "socketpair"):
            on(call, _argument(), *_among(FAMILIES, ALLOW), _answer(ERRNO | errno.EAFNOSUPPORT))
    lines = [(LOAD, 0, 0, ARCH), (EQUAL, 1, 0, AUDIT[machine]), _answer(KILL), (LOAD, 0, 0, NUMBER)]
    if machine == "x86_64":  # the same calls under other numbers
        lines += [(AT_LEAST, 0, 1, X32), refuse]
    lines += [(AT_LEAST, 0, 1, NEWEST), absent]
    for number, answers in rules.items():
        lines += [(EQUAL, 0, len(answers) + 1, number), *answers, _answer(ALLOW)]
    return b"".join(struct.pack("<HBBI", *line) for line in [*lines, _answer(ALLOW)])


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def install(alone: int = 0) -> None:
    """Filter this process and all that come from it, for good."""
    code = program(os.uname().machine, alone)
    record = _Filter(len(code) // 8, code)
    _checked(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    result = _libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(record), 0, 0)
    _checked(result, "seccomp filter")
