"""What the book needs from elsewhere: MathJax and what runs it, and the wheel that the book offers."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path


class BuildError(Exception):
    """The book cannot be built; the message says what to do."""


def mathjax() -> Path:
    """MathJax's folder in its PyPI package."""
    with suppress(PackageNotFoundError):
        for entry in files("sphinx-mathjax-offline") or ():
            if entry.name == "node-main.js":
                return Path(str(entry.locate())).parent
    raise BuildError("MathJax is missing: install the tested set with `pip install -r requirements.txt`")


def node() -> str:
    """The program that runs MathJax: the Node.js that Playwright brings along, or the machine's own."""
    with suppress(ImportError):
        from playwright._impl._driver import compute_driver_executable

        return str(compute_driver_executable()[0])
    found = shutil.which("node")
    if found is None:
        raise BuildError("Node.js is missing: install the tested set with `pip install -r requirements.txt`")
    return found


def digest(root: Path) -> str:
    """A digest of every file of coursekit."""
    total = hashlib.sha256()
    paths = (root / "coursekit").rglob("*")
    for path in sorted(p for p in paths if p.is_file() and "__pycache__" not in p.parts):
        total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def wheel(root: Path, target: Path) -> None:
    """Build coursekit's wheel into `target/wheels`, unless it is there for this very code."""
    home = target / "wheels"
    stamp = target.parent / "wheel.stamp"
    now = digest(root) + hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest()
    if home.exists() and any(home.glob("*.whl")) and stamp.exists() and stamp.read_text() == now:
        return
    shutil.rmtree(home, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(home), str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"building coursekit's wheel failed:\n{done.stderr.strip()}")
    stamp.write_text(now)
