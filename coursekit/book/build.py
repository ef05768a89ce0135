"""`coursekit book`: build the book into `_build/html`, warnings as errors, nothing done twice."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from . import vendor
from .vendor import BuildError

# What a chapter can run; a change there must run the chapters again, which Jupyter's cache cannot know.
RUNNABLE = ("notation", "models", "checks", "data", "figures", "train.py", "checkpoint.py")

START = "from jupyter_book.cli.main import main; main()"  # it has no __main__

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PROGRESS = re.compile(r"(?:reading sources|writing output)\.\.\. \[\s*(\d+)%\]")


def build(root: Path, progress: Callable[[float], None] | None = None) -> Path:
    """The folder of the built book. `progress` is told the share that is done, from 0 to 1."""
    home = root / "_build"
    home.mkdir(exist_ok=True)
    vendor.mathjax(home / "vendor")
    vendor.wheel(root, home / "vendor")
    _forget_stale_results(root, home)
    shutil.rmtree(home / "html" / "reports", ignore_errors=True)
    command = [sys.executable, "-c", START, "build", str(root), "-W", "--keep-going", "-n"]
    log = home / "book.log"
    share = 0.0
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            found = _PROGRESS.search(_COLOUR.sub("", line))
            if found and progress:
                # Reading executes the notebooks and takes nearly all the time.
                now = int(found[1]) / 100
                share = max(share, 0.9 * now if "reading" in line else 0.9 + 0.1 * now)
                progress(share)
    if process.wait() != 0:
        text = log.read_text(encoding="utf-8")
        shutil.rmtree(home / ".doctrees", ignore_errors=True)  # or the next run would not see the error again
        raise BuildError("the book was not built:\n" + "\n".join([*_complaints(text), *_failed_cells(home)]))
    if progress:
        progress(1.0)
    return home / "html"


def _forget_stale_results(root: Path, home: Path) -> None:
    """Drop the executed notebooks where the code they ran has changed since."""
    stamp = home / "executed.stamp"
    now = vendor.digest(root, *RUNNABLE)
    if not stamp.exists() or stamp.read_text() != now:
        for stale in (".jupyter_cache", ".doctrees", "html"):
            shutil.rmtree(home / stale, ignore_errors=True)
        stamp.write_text(now)


def _failed_cells(home: Path) -> list[str]:
    """What each failed cell said, out of the reports that the log only points to."""
    reports = sorted((home / "html" / "reports").rglob("*.err.log"))
    return [_COLOUR.sub("", report.read_text(encoding="utf-8")).strip() for report in reports]


def _complaints(text: str) -> list[str]:
    """The lines that say what is wrong, with their file and line, out of Sphinx's long log."""
    plain = _COLOUR.sub("", text)
    # A kernel's own warnings about its transport are no complaint about a page.
    said = [line for line in plain.splitlines() if not line.startswith("[IPKernelApp]")]
    lines = [line for line in said if "WARNING" in line or "ERROR" in line or "Error:" in line]
    return lines[:20] or plain.splitlines()[-15:]
