"""The files that a page loads when its reader first asks: Python's memory with the language in it, and MathJax.

They are made once for this very code and kept beside Pyodide; a build copies them. No page knows their names, which
hold a digest each: `live/kit.json` lists them, so that a page that was not written again finds the new ones.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lark

from .. import vendor
from ..vendor import BuildError
from . import answers

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
MOST_HEAP = 30 * 2**20  # what a fresh Pyodide has; a larger memory could not be laid over it
PROOF = json.dumps(answers.PROOF)
SCRIPTS = ("worker.mjs", "restore.mjs")


def bring(target: Path) -> None:
    """Put the kit into `target/live`, unless it is there."""
    stamp = digest()
    there = target / "live" / "kit.json"
    if there.exists() and json.loads(there.read_text())["digest"] == stamp:
        return
    shelf = vendor.pyodide().parent
    kept = shelf / f"live-{stamp[:16]}"
    if not kept.exists():
        draft = Path(tempfile.mkdtemp(dir=shelf))
        try:
            make(draft, stamp)
            for old in shelf.glob("live-*"):
                shutil.rmtree(old, ignore_errors=True)
            with suppress(OSError):  # another build may have been quicker
                draft.rename(kept)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(target / "live", ignore_errors=True)
    shutil.copytree(kept, target / "live")


def forget_old(html: Path) -> None:
    """Sphinx copies the new kit beside the old one; only the one that `kit.json` lists is kept."""
    folder = html / "live"
    used = {name.split("/")[0] for name, _ in json.loads((folder / "kit.json").read_text())["files"].values()}
    for old in (p for p in folder.iterdir() if p.is_dir() and p.name not in used):
        shutil.rmtree(old)


def sources() -> dict[str, Path]:
    """Every file of the page's Python, by its place there: the language without what needs torch, and the answers."""
    own = [PACKAGE / name for name in ("__init__.py", "version.py", "book/__init__.py", "book/card_tabs.py")]
    own += [p for p in HERE.glob("*.py") if p != Path(__file__)]
    # The language's `run` needs torch, its `javascript` writes what a build has written already.
    unused, library = {"run", "javascript", "tools", "__pyinstaller"}, Path(lark.__file__).parent
    for home in (PACKAGE / "notation", library):
        code = [p for p in home.rglob("*") if p.suffix in (".py", ".lark")]
        own += [p for p in code if unused.isdisjoint(p.relative_to(home).parts)]
    tops = {p: PACKAGE if p.is_relative_to(PACKAGE) else library for p in own}
    return dict(sorted((p.relative_to(top.parent).as_posix(), p) for p, top in tops.items()))


def digest() -> str:
    """Of all that goes into the kit."""
    total = hashlib.sha256(f"{vendor.PYODIDE_DIGEST} {version('sphinx-mathjax-offline')}".encode())
    for path in (*sources().values(), *sorted(HERE.glob("*.mjs"))):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def make(target: Path, stamp: str) -> None:
    """Write the kit into `target`. BuildError where the memory, or the files alone, answer otherwise than we do."""
    pyodide = vendor.pyodide()
    with tempfile.TemporaryDirectory() as desk:
        app, out = Path(desk) / "app.zip", Path(desk) / "out"
        out.mkdir()
        with zipfile.ZipFile(app, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in sources().items():
                archive.write(path, name)
        complaint = "the kit of the live pages was not made"
        told = vendor.run_node(complaint, HERE / "make.mjs", pyodide, app, out, PROOF)
        made = json.loads(told.strip().splitlines()[-1])
        check(made, answers.answer(PROOF))
        for name in ("pyodide.mjs", "pyodide.asm.mjs"):
            shutil.copy(pyodide / name, out)
        shutil.copy(vendor.mathjax() / "tex-svg.js", out)
        for name in SCRIPTS:
            shutil.copy(HERE / name, out)
        named = _named_by_digest(out, target)
    kit = {"digest": stamp, "memory": made["memory"], "files": named}
    (target / "kit.json").write_text(json.dumps(kit), encoding="utf-8")


def check(made: dict[str, Any], expected: str) -> None:
    """Both ways to start must answer as this Python does, and the memory must fit into a fresh one."""
    if made["heap"] > MOST_HEAP:
        raise BuildError(
            f"the memory of the live pages has {made['heap'] / 2**20:.1f} MiB and may have {MOST_HEAP / 2**20:.0f}"
        )
    for way, name in (("byMemory", "restored memory"), ("byFiles", "compiled files")):
        if made[way] != expected:
            raise BuildError(
                f"the live pages' {name} answer otherwise than Python does: {made[way][:300]}; "
                f"expected {expected[:300]}"
            )


def _named_by_digest(home: Path, target: Path) -> dict[str, list[str | int]]:
    """Each file moved to a folder named after all of them, so that none is mistaken for an older one; its bytes."""
    total = hashlib.sha256()
    paths = sorted(home.iterdir())
    for path in paths:
        total.update(path.read_bytes())
    folder = target / total.hexdigest()[:12]
    folder.mkdir()
    for path in paths:
        shutil.move(path, folder / path.name)
    return {path.name: [f"{folder.name}/{path.name}", (folder / path.name).stat().st_size] for path in paths}
