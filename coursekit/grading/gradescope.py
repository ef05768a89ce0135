"""A Gradescope autograder: a zip with the assignment, this package and two scripts, which runs the same grader.

Gradescope unpacks it under /autograder, runs `setup.sh` once to build its image, and `run_autograder` for every
submission. The latter calls `main`, which grades one folder and writes one results.json.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from .assignment import Assignment, load
from .errors import GradingError

SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -e
apt-get update -qq
for python in python3.13 python3.12 python3.11; do
    apt-get install -y -qq $python $python-venv && break  # the image's own python3 may be older
done
$python -m venv /autograder/venv
cd /autograder/source
/autograder/venv/bin/pip install --quiet --constraint requirements.txt ".[grade]"
"""

RUN = """#!/usr/bin/env bash
# Gradescope runs this for every submission. The variables are for trying it out elsewhere.
home="${{COURSEKIT_AUTOGRADER:-/autograder}}"
exec "${{COURSEKIT_PYTHON:-$home/venv/bin/python}}" -m coursekit.grading.gradescope "$home" {assignment} {unsafe}
"""


def autograder_zip(course: Path, name: str, unsafe: bool = False) -> bytes:
    """The zip to upload. `unsafe` is for images whose kernel lends no namespaces to a container."""
    (assignment,) = load(course, name)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data, mode in _files(course, assignment, unsafe):
            info = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))  # the same course gives the same bytes
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _files(course: Path, assignment: Assignment, unsafe: bool) -> Iterator[tuple[str, bytes, int]]:
    name = assignment.name
    yield "setup.sh", SETUP.encode(), 0o755
    yield "run_autograder", RUN.format(assignment=name, unsafe="--unsafe" if unsafe else "").encode(), 0o755
    package = Path(__file__).resolve().parents[1]
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


def main(words: list[str]) -> int:
    """Grade the one submission that Gradescope has put below `home`, and write its results.json."""
    from .command import Options, run
    from .export import gradescope
    from .pages import write

    home, name = Path(words[0]), words[1]
    results = home / "results" / "results.json"
    options = Options(
        course=home / "source" / "course", assignment=name, gradebook=f"sqlite:///{home / 'gradebook.db'}",
        out=home / "pages", jobs=1, again=True, unsafe="--unsafe" in words, keep_notebooks=home / "pages",
    )  # fmt: skip
    student = _student(home / "submission_metadata.json")
    try:
        graded = run([_as_one_student(home / "submission", home / "one", student)], options)
    except GradingError as error:
        write(results, _failed(str(error)))
        return 1
    except Exception as error:  # the student still gets a page; the instructor sees the traceback
        write(results, _failed(f"The grader itself stopped ({type(error).__name__}); tell your instructor."))
        raise
    if not graded.entries:
        write(results, _failed(" ".join(p.sentence for p in graded.problems)))
        return 1
    write(results, gradescope(graded.entries[0]))
    return 0


def _student(metadata: Path) -> str:
    try:
        users = json.loads(metadata.read_text(encoding="utf-8"))["users"]
        return str(users[0].get("email") or users[0]["name"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return "student"


def _as_one_student(submission: Path, folder: Path, student: str) -> Path:
    """A class of one: the submission's folder under the student's name."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "".join(c if c.isalnum() or c in "@.-_" else "_" for c in student).lstrip(".")
    if not link.exists():
        shutil.copytree(submission, link, symlinks=True)
    return folder


def _failed(sentence: str) -> str:
    return json.dumps({"score": 0, "output": sentence or "No notebook was found.", "tests": []}) + "\n"


if __name__ == "__main__":
    os.umask(0o077)
    raise SystemExit(main(sys.argv[1:]))
