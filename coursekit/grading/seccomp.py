"""A filter of system calls: what no exercise needs and what would open the sandbox from inside.

The filter is a small program for the kernel, written here as classic BPF. Everything is allowed but what is listed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import lru_cache

from .namespaces import PR_SET_NO_NEW_PRIVS, _checked, _libc, prctl

PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF opcodes
NUMBER, ARCH, ARGUMENT = 0, 4, 16  # offsets in the kernel's record of a call
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* of clone
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: the network namespace is empty; others may bypass it
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); None where the machine has no such call
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "memfd_create": (319, 279),  # memory that no limit counts
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "personality": (135, 92),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
X32 = 0x40000000


def supported() -> bool:
    return os.uname().machine in AUDIT


@lru_cache
def program(machine: str, families: tuple[int, ...] = FAMILIES) -> bytes:
    """The filter for this machine, as the kernel reads it. Every child inherits it from the warm parent."""
    column = list(AUDIT).index(machine)
    refused = ERRNO | errno.EPERM
    code: list[tuple[int, int, int, int]] = [
        (LOAD, 0, 0, ARCH),
        (EQUAL, 1, 0, AUDIT[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":  # the same calls under other numbers
        code += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, refused)]
    for numbers in _CALLS.values():
        if numbers[column] is not None:
            code += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, refused)]  # type: ignore[list-item]
    # clone3 hides its flags in memory, where a filter cannot look: the C library then uses clone.
    code += [(EQUAL, 0, 1, _CLONE3[column]), (RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    code += [
        (EQUAL, 0, 4, _CLONE[column]),
        (LOAD, 0, 0, ARGUMENT),
        (ANY_BIT, 0, 1, NEW_NAMESPACES),
        (RETURN, 0, 0, refused),
        (RETURN, 0, 0, ALLOW),
    ]
    for call in (_SOCKET[column], _SOCKETPAIR[column]):
        known = len(families)
        code += [(EQUAL, 0, known + 3, call), (LOAD, 0, 0, ARGUMENT)]
        code += [(EQUAL, known - at, 0, family) for at, family in enumerate(families)]
        code += [(RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]
    code += [(RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("<HBBI", *line) for line in code)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def install(families: tuple[int, ...] = FAMILIES) -> None:
    """Filter this process and all that come from it, for good."""
    code = program(os.uname().machine, families)
    record = _Program(len(code) // 8, code)
    _checked(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    result = _libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(record), 0, 0)
    _checked(result, "seccomp filter")
