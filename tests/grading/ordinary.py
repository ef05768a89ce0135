"""A Python program as an ordinary user, also where only root may enter the folder that this Python lies in."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

AS_ORDINARY_USER = """
import os, sys
sys.path.insert(0, {root!r})
from coursekit.grading.confine import namespaces as n
if os.geteuid() == 0:
    # This Python may lie in a directory that only root can enter: show the same paths without it.
    n.unshare(n.CLONE_NEWNS, 'mounts')
    n.mount('none', '/', None, n.MS_REC | n.MS_PRIVATE)
    for top in {{os.path.realpath(p).split('/')[1] for p in (sys.prefix, sys.base_prefix, {root!r})}}:
        mode = os.stat('/' + top).st_mode
        if not mode & 1:
            needed = {{sys.prefix, sys.base_prefix, {root!r}}}
            inside = {{p for p in needed if os.path.realpath(p).startswith(f'/{{top}}/')}}
            held = [(p, os.open(p, os.O_PATH)) for p in inside]
            n.mount('tmpfs', '/' + top, 'tmpfs', 0, 'mode=755')
            for path, descriptor in held:
                os.makedirs(path, exist_ok=True)
                n.mount(f'/proc/self/fd/{{descriptor}}', path, None, n.MS_BIND | n.MS_REC)
                os.close(descriptor)
    os.setgroups([])
    os.setresgid(65533, 65533, 65533)
    os.setresuid(65533, 65533, 65533)
    n.prctl(n.PR_SET_DUMPABLE, 1)
os.execv(sys.executable, [sys.executable, '-c', {script!r}])
"""


def as_ordinary_user(script: str) -> list[str]:
    """The command that runs this program."""
    return [sys.executable, "-c", AS_ORDINARY_USER.format(root=str(ROOT), script=script)]
