"""`coursekit book`: build the book into `_build/html`, warnings as errors, nothing done twice; and serve it."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from . import vendor
from .live import kit
from .theme import static
from .vendor import BuildError

START = "from jupyter_book.cli.main import main; main()"  # it has no __main__

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The stages that Sphinx's log counts, and the share of the work that is done when they begin and end.
_STAGES = {"running pages": (0, 0.8), "reading sources": (0.8, 0.9), "writing output": (0.9, 1)}
_PROGRESS = re.compile(rf"({'|'.join(_STAGES)})\.\.\. \[\s*(\d+)%\]")
# What Sphinx says in the normal course of its work; all else belongs to the complaint before it.
_STATUS = re.compile(r"^$|\.\.\. |^\[|^The HTML|^build ")


def build(root: Path, progress: Callable[[float], None] | None = None) -> Path:
    """The folder of the built book. `progress` is told the share that is done, from 0 to 1."""
    home = root / "_build"
    home.mkdir(exist_ok=True)
    vendor.mathjax(), vendor.node()  # what is missing is said before anything is run
    vendor.wheel(home / "vendor")
    kit.bring(home / "vendor")
    _rewrite_if_style_changed(root, home / "html")
    run(root, ["-W", "--keep-going", "-n"], progress)
    kit.forget_old(home / "html")
    if progress:
        progress(1.0)
    return home / "html"


def run(root: Path, options: list[str], progress: Callable[[float], None] | None = None) -> None:
    """`jupyter-book build`, its log in `_build/book.log`. BuildError: what it complained about, and nothing else."""
    home = root / "_build"
    command = [sys.executable, "-c", START, "build", str(root), *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # or its progress would come late
    share, lines = 0.0, []
    with (
        (home / "book.log").open("w", encoding="utf-8", buffering=1) as log,
        subprocess.Popen(
            command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(_COLOUR.sub("", line.rstrip("\n")))
            log.write(lines[-1] + "\n")
            found = _PROGRESS.search(lines[-1])
            if found and progress:
                begin, end = _STAGES[found[1]]
                share = max(share, begin + (end - begin) * int(found[2]) / 100)
                progress(share)
    if process.returncode:
        shutil.rmtree(home / ".doctrees", ignore_errors=True)  # or the next run would not see the error again
        raise BuildError("the book was not built:\n" + "\n".join(complaints(lines)))


def complaints(lines: list[str]) -> list[str]:
    """What is wrong, with file and line, out of Sphinx's long log."""
    found, within = [], False
    for line in lines:
        begins = re.search(r": (WARNING|ERROR|CRITICAL): |^WARNING: |^\w*(\.\w+)*Error: ", line)
        within = bool(begins) or (within and not _STATUS.search(line))
        if within:
            found.append(line)
    return found[:60] or lines[-15:]


def _rewrite_if_style_changed(root: Path, html: Path) -> None:
    """Sphinx copies style sheets only when it writes a page: where a copy is old, the first page is written again."""
    copies = {p: html / "_static" / name for name, p in static(root).items()}
    if any(c.exists() and c.stat().st_mtime < p.stat().st_mtime for p, c in copies.items()):
        first = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["root"]
        (html / f"{first}.html").unlink(missing_ok=True)


# `coursekit book --serve`: on this machine alone, where a page can run its equations


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The files of one folder; what is asked for is not printed."""

    def log_message(self, *args: object) -> None:
        pass


def server(folder: Path, port: int = 0) -> http.server.ThreadingHTTPServer:
    """A server of `folder` on the loopback address; port 0 is any that is free."""
    return http.server.ThreadingHTTPServer(
        ("127.0.0.1", port), functools.partial(Quiet, directory=str(folder))
    )


def address(of: http.server.ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{of.server_port}"
