"""What the pages load besides themselves, laid where the book can serve it: MathJax and the wheel."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from importlib.metadata import files
from pathlib import Path


class BuildError(Exception):
    """The book cannot be built; the message says what to do."""


def mathjax(target: Path) -> None:
    """Copy MathJax out of its PyPI package into `target/mathjax`."""
    home = target / "mathjax"
    if (home / "tex-chtml.js").exists():
        return
    for entry in files("sphinx-mathjax-offline") or ():
        parts = entry.parts
        # The speech rules of every language weigh 10 MB and are only loaded on demand from the menu.
        if "mathjax" in parts and "sre" not in parts:
            place = home.joinpath(*parts[parts.index("mathjax") + 1 :])
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry.locate(), place)
    if not (home / "tex-chtml.js").exists():
        raise BuildError("MathJax is missing: install the tested set with `pip install -r requirements.txt`")


def digest(root: Path, *folders: str) -> str:
    """A digest of every file of the named parts of coursekit (default: all)."""
    total = hashlib.sha256()
    places = [root / "coursekit" / folder for folder in folders or ("",)]
    paths = (p for place in places for p in ((place,) if place.is_file() else place.rglob("*")))
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
