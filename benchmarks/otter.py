"""`otter run` on the light class, in a virtual environment of its own that sees this one's torch."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_raw_cell

from .grading_class import GIVEN, questions

HOME = Path(__file__).resolve().parents[1] / "build" / "otter-venv"


def python() -> Path | None:
    """The Python that has otter-grader, installed on first use; None where it cannot be had."""
    made = HOME / "bin" / "python"
    if not made.exists():
        venv.create(HOME, with_pip=True)
        own = next((HOME / "lib").glob("python*")) / "site-packages"
        (own / "torch_of_the_course.pth").write_text(sysconfig.get_path("purelib") + "\n")
    if subprocess.run([made, "-c", "import otter"], capture_output=True).returncode:
        words = [made, "-m", "pip", "install", "--quiet", "otter-grader"]
        if subprocess.run(words, capture_output=True, timeout=900).returncode:
            return None
    return made


def seconds_each(folder: Path, loops: int, count: int) -> float | None:
    """Seconds of `otter run` a submission; None where otter-grader cannot be installed."""
    otter = python()
    if otter is None:
        return None
    folder.mkdir()
    made = new_notebook(cells=list(_cells(loops)))
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, folder / "all.ipynb")
    _run(otter, folder, "assign", "all.ipynb", "dist")
    (archive,) = (folder / "dist" / "autograder").glob("*.zip")
    run = ["run", "-a", str(archive), "-o", "results", "dist/autograder/all.ipynb"]
    (folder / "results").mkdir()
    _run(otter, folder, *run)  # the first only warms the disk's cache
    tests = json.loads((folder / "results" / "results.json").read_text())["tests"]
    assert sum(test.get("score", 0) for test in tests) == len(questions(loops)), tests
    start = time.perf_counter()
    for _ in range(count):
        _run(otter, folder, *run)
    return (time.perf_counter() - start) / count


def _run(otter: Path, folder: Path, *words: str) -> None:
    done = subprocess.run([otter, "-m", "otter", *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"otter {words[0]}: {(done.stdout + done.stderr)[-2000:]}")


def _cells(loops: int) -> Iterator[nbformat.NotebookNode]:
    """The light class's notebook as `otter assign` reads it; its solved copy is what is run."""
    yield new_raw_cell("# ASSIGNMENT CONFIG\ninit_cell: false\nexport_cell: false\nrun_tests: false")
    yield new_code_cell(GIVEN)
    for name, (answer, test) in questions(loops).items():
        yield new_raw_cell(f"# BEGIN QUESTION\nname: {name}\npoints: 1")
        yield new_raw_cell("# BEGIN SOLUTION")
        yield new_code_cell(answer)
        yield new_raw_cell("# END SOLUTION")
        yield new_raw_cell("# BEGIN TESTS")
        yield new_code_cell(test)
        yield new_raw_cell("# END TESTS")
        yield new_raw_cell("# END QUESTION")


if __name__ == "__main__":
    print(python() or "otter-grader cannot be installed", file=sys.stderr)
