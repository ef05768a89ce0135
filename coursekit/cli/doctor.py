"""`coursekit doctor`: what this machine has, and what is missing for what."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .bootstrap import OLDEST, find_browser, find_postgres

PACKAGES = {"book": "jupyter-book", "notebooks": "jupytext", "nbgrader": "nbgrader", "cluster": "distributed"}


@dataclass(frozen=True)
class Finding:
    part: str
    ok: bool
    text: str


# An answer that asks for CUDA, and tests that ask it: where the numbers lay, and whether they are right.
ANSWER = """
import torch
device = torch.device("cuda")
W = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(device)
def answer(x): return (W @ x.to(device)).cpu()
def where(): return W.device.type
"""
TESTS = {
    "a tensor made on `cuda` is on the {0}": "assert where() == {0!r}, where()",
    "a product there gives the CPU's numbers": """
import torch
W, x = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), torch.ones(3).double()
assert torch.allclose(answer(x), W @ x)""",
}


def examine_device() -> Iterator[Finding]:
    """Grade a submission that asks for CUDA, as `coursekit grade --device cuda` does, and say what that proves."""
    from ..grading import Cell, GradingError, Task, Warm
    from ..runtime import require_torch

    torch = require_torch()
    there = torch.cuda.is_available()
    name = torch.cuda.get_device_name(0) if there else "none here: its path is not proved"
    yield Finding("GPU", there, name)
    device = "cuda" if there else "cpu"
    cells = [Cell(test.format(device), "test", what.format(device), 1.0) for what, test in TESTS.items()]
    task = Task("the device", (Cell(ANSWER, "solution", "answer", reference=ANSWER), *cells))
    try:
        with Warm(device=device if there else "") as warm:
            (outcome,) = warm.grade([task])
    except GradingError as error:
        yield Finding("  proof", False, str(error))
        return
    for test in outcome.tests:
        ok = test.status == "passed"
        yield Finding("  proved" if ok else "  failed", ok, test.id + ("" if ok else f": {test.detail}"))
    yield Finding("  confined", outcome.level not in ("", "none"), f"behind {outcome.level or 'nothing'}")


def examine(course: Path) -> Iterator[Finding]:
    """Every finding, in the order in which a newcomer needs them."""
    from ..grading.confine.sandbox import capabilities

    version = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    ok = sys.version_info[:2] >= OLDEST
    need = "" if ok else f": the course needs {'.'.join(map(str, OLDEST))}"
    yield Finding("Python", ok, version + need)
    yield Finding("cores", True, f"{os.cpu_count()}: `coursekit grade` uses all of them, or --jobs N")
    free = shutil.disk_usage(os.getcwd()).free / 1e9
    few = "" if free > 1 else ": too little to build and grade"
    yield Finding("disk", free > 1, f"{free:.0f} GB free here{few}")
    yield from _torch()
    for part, package in PACKAGES.items():
        extra = "book" if part == "book" else "grade"
        try:
            yield Finding(part, True, f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            yield Finding(part, False, f"{package} is missing: `pip install coursekit[{extra}]`")
    offered = capabilities()
    needs = f"`coursekit grade` would need --unsafe: {offered.why}"
    yield Finding("sandbox", offered.enough, "student code can be confined" if offered.enough else needs)
    for part, answer in offered.parts.items():
        yield Finding(f"  {part}", answer == "yes" or part == "user", answer)
    found = find_browser()
    missing = "no Chromium: the browser tests of the book need one (Debian: `apt-get install chromium`)"
    yield Finding("browser", bool(found), found or missing)
    yield Finding("gradebook", True, f"SQLite {sqlite3.sqlite_version}, the default")
    client = importlib.util.find_spec("psycopg") is not None
    ready = f"client ready for --gradebook postgresql+psycopg://…; server: {find_postgres() or 'none here'}"
    missing = "only for a gradebook on a server: `pip install psycopg[binary]`"
    yield Finding("PostgreSQL", client, ready if client else missing)
    yield from _public(course)


def _torch() -> Iterator[Finding]:
    from ..runtime import MissingTorch, best_device, require_torch

    try:
        torch, device = require_torch(), best_device().type
    except MissingTorch as error:
        yield Finding("torch", False, f"missing: {error}")
        return
    yield Finding("torch", True, torch.__version__)
    slow = "the CPU: every exercise has a size for it; a GPU only makes `lab` quicker"
    yield Finding("device", True, slow if device == "cpu" else device)


def _public(folder: Path) -> Iterator[Finding]:
    """What a Colab button of the course here will open, once it is published."""
    from ..authoring.course import Course, CourseError

    try:
        course = Course.find(folder)
        names, public = course.assignments(), course.public
    except CourseError as error:
        yield Finding("published", False, str(error))
        return
    yield Finding("published", True, f"at {public.site}/, by `coursekit publish DIR --pages`")
    opens = (
        public.colab(f"notebooks/{names[0]}/{names[0]}.ipynb") if names else "nothing: there is no assignment"
    )
    yield Finding("Colab button", bool(names), f"opens {opens}")
