"""What confines the processes of a submission, put together; and whether this system can do it.

There are two levels, the best that is there: namespaces, and Landlock where a system lends none.
"""

import contextlib
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

from . import landlock, namespaces, seccomp
from . import limits as rlimits
from .limits import Limits
from .namespaces import Options

LEVELS = ("namespaces", "landlock")  # the best first
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime", "ssl", "mime.types")
PREFIX = ("bin", "lib", "lib32", "lib64", "pyvenv.cfg")  # of a Python, and no more: a course may lie beside
PACKAGE = Path(__file__).resolve().parents[2]
SAMPLE = PACKAGE / "authoring" / "sample"  # has solutions, which a course may have kept
PROBE = "import sys; sys.path.insert(0, sys.argv[1]); from coursekit.grading.confine.sandbox import probe; probe()"


@dataclass(frozen=True)
class Capabilities:
    """`enough`: student code can be run. `why`: what is missing. `parts`: each piece, "yes" or why not. `level`: the
    best that is there, "namespaces" or "landlock"."""

    enough: bool
    why: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    level: str = "none"


@lru_cache(maxsize=1)
def capabilities() -> Capabilities:
    """Try each piece in a process of its own and say what this system allows."""
    if sys.platform != "linux":
        why = f"the sandbox needs Linux, and this is {sys.platform}; use Linux, a container, or WSL 2"
        return Capabilities(False, why)
    trial = [sys.executable, "-I", "-c", PROBE, str(PACKAGE.parent)]
    done = subprocess.run(trial, capture_output=True, text=True, timeout=60, check=False)
    try:
        parts = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Capabilities(False, f"the trial of the sandbox ended early: {done.stderr.strip()[-300:]}")
    for level in LEVELS:
        if parts[level] == "yes":
            return Capabilities(True, "", parts, level)
    return Capabilities(False, f"{parts['namespaces']}; and {parts['landlock']}", parts)


def probe() -> None:
    """Print what works, as JSON; run in a fresh process, which is thrown away."""
    parts = {"seccomp": "yes" if seccomp.supported() else f"no filter is written for {os.uname().machine}"}
    parts["cgroups"] = rlimits.groups_offered()
    parts["user"] = "root" if os.geteuid() == 0 else "an ordinary user"
    for level, trial in zip(LEVELS, (namespaces.offered, landlock.offered), strict=True):
        try:
            parts[level] = trial()
        except OSError as error:
            parts[level] = str(error)
    print(json.dumps(parts))


# what a submission sees


def device_files(device: str, dev: str = "/dev") -> list[str]:
    """The device files that a GPU needs. CUDA itself is started in the child alone, never in the warm parent."""
    if not device:
        return []
    names = "nvidia[0-9]* nvidiactl nvidia-uvm nvidia-uvm-tools nvidia-caps/* dri/render* kfd"
    return sorted(path for name in names.split() for path in glob.glob(f"{dev}/{name}"))


def visible_paths() -> list[str]:
    """The system, this Python and coursekit; outer directories before inner ones."""
    wanted = [*SYSTEM, *(f"/etc/{name}" for name in ETC)]
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}:
        for base in {prefix, os.path.realpath(prefix)}:
            wanted += [f"{base}/{name}" for name in PREFIX]
    wanted += [path for path in sys.path if path.rstrip("/").endswith(("site-packages", "dist-packages"))]
    wanted.append(str(PACKAGE))
    shown: list[str] = []
    for path in sorted({os.path.normpath(path) for path in wanted}):
        inside = any(path.startswith(outer + "/") for outer in shown if not os.path.islink(outer))
        if os.path.lexists(path) and not inside:
            shown.append(path)
    return shown


def plan(device: str = "", hidden: list[str] | None = None) -> Options:
    """What the warm parent shows to its children, as plain data."""
    visible, hidden = visible_paths(), [*(hidden or []), str(SAMPLE)]
    return {
        "visible": visible,
        "shown": landlock.without(visible, hidden),
        "package": str(PACKAGE),
        "devices": device_files(device),
        "hidden": hidden,
        "address_space": not device,  # a GPU maps more address space than any limit could allow
    }


# in the warm parent and its children

seconds = 0.0  # what `enter` took in this process


def prepare(options: Options) -> None:
    """In the warm parent: what each child would otherwise find out for itself."""
    options["held"] = []
    if options["level"] == "landlock":
        if os.geteuid() == 0:
            landlock.hold_where_only_root_may_pass(options)
        # A child may read the package's rooms, and not list them: what Python imports there it must know from here.
        PathFinder.find_spec("none", sys.modules["coursekit"].__path__)
    tempfile.gettempdir()
    if seccomp.supported():
        seccomp.program(os.uname().machine, 0)


def enter(limits: Limits, options: Options) -> None:
    """Confine this process at the level of the options: after it, there is no way back.

    What it prints past Python goes to a file of its own that is limited in size. Without a sandbox it has at least a
    folder of its own, and limits as every user may set them.
    """
    global seconds
    start = time.perf_counter()
    if options["level"] == "namespaces":
        namespaces.inner(limits.disk)
        os.chdir(namespaces.HOME)
        namespaces.become_student()
        _quiet_descriptors(tempfile.gettempdir())
        rlimits.apply(limits, options["address_space"])
        namespaces.empty_bounding_set()
        namespaces.drop_capabilities()
        if seccomp.supported():
            seccomp.install()
    else:
        home = tempfile.tempdir = options["home"]
        os.chdir(home)
        os.environ.update(HOME=home, TMPDIR=home)
        os.environ.update(
            {name: f"{home}/.{name.lower()}" for name in ("MPLCONFIGDIR", "IPYTHONDIR", "XDG_CACHE_HOME")}
        )
        _quiet_descriptors(home)
        if options["level"] == "landlock":
            landlock.enter(limits, options)
        else:
            rlimits.apply(limits, options["address_space"])
    seconds = time.perf_counter() - start


def _quiet_descriptors(folder: str) -> None:
    """Nothing to read, and a nameless file for what is printed past Python."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.closerange(4, landlock.HELD)
