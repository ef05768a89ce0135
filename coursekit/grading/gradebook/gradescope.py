"""A Gradescope autograder: a zip with the assignment, this package and two scripts, which runs the same grader.

Gradescope unpacks it under /autograder, runs `setup.sh` once to build its image, and `run_autograder` for every
submission. The latter calls `coursekit.grading.gradescope`, which grades one folder and writes one results.json.
"""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from ..assignment import load_one
from ..facts import Assignment

SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -e
apt-get update -qq
for python in python3.13 python3.12 python3.11; do
    apt-get install -y -qq $python $python-venv && break  # the image's own python3 may be older
done
$python -m venv /autograder/venv
cd /autograder/source
# Name an index of torch without CUDA in COURSEKIT_TORCH: a tenth of the size, and quicker to import.
/autograder/venv/bin/pip install --quiet ${{COURSEKIT_TORCH:+--index-url "$COURSEKIT_TORCH"}} {torch}
/autograder/venv/bin/pip install --quiet --constraint requirements.txt ".[course]"
# What is the same for every submission is found out once.
/autograder/venv/bin/python -m coursekit.grading.gradescope --prepare /autograder {assignment} || true
"""

RUN = """#!/usr/bin/env bash
# Gradescope runs this for every submission. The variables are for trying it out elsewhere.
home="${{COURSEKIT_AUTOGRADER:-/autograder}}"
python="${{COURSEKIT_PYTHON:-$home/venv/bin/python}}"
exec "$python" -m coursekit.grading.gradescope "$home" {assignment} {unsafe}
"""


def autograder_zip(course: Path, name: str, unsafe: bool = False) -> bytes:
    """The zip to upload. `unsafe` is for images whose kernel lends no namespaces to a container."""
    assignment, out = load_one(course, name), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data, mode in _files(course, assignment, unsafe):
            info = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))  # the same course gives the same bytes
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _files(course: Path, assignment: Assignment, unsafe: bool) -> Iterator[tuple[str, bytes, int]]:
    name = assignment.name
    pins = (Path(__file__).resolve().parents[3] / "requirements.txt").read_text(encoding="utf-8").splitlines()
    torch = next((pin for pin in pins if pin.startswith("torch==")), "torch")
    yield "setup.sh", SETUP.format(torch=torch, assignment=name).encode(), 0o755
    yield "run_autograder", RUN.format(assignment=name, unsafe="--unsafe" if unsafe else "").encode(), 0o755
    package = Path(__file__).resolve().parents[2]
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(Path("coursekit") / path.relative_to(package)), path.read_bytes(), 0o644
    root = package.parent
    for needed in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        if (root / needed).is_file():
            yield needed, (root / needed).read_bytes(), 0o644
    # Of the course only this assignment goes along, as an nbgrader course directory.
    for master in assignment.masters:
        yield f"course/source/{name}/{master.name}.ipynb", nbformat.writes(master.notebook).encode(), 0o600
    for file, data in assignment.files.items():
        yield f"course/source/{name}/{file}", data, 0o600
    config = course / "nbgrader_config.py"
    if config.is_file() and not (course / "solutions").is_dir():
        yield "course/nbgrader_config.py", config.read_bytes(), 0o600
