"""A Gradescope autograder: a zip with the assignment, this package and two scripts, which runs the same grader.

Gradescope unpacks it under /autograder, runs `setup.sh` once to build its image, and `run_autograder` for every
submission: that grades the one submission which Gradescope has put below its home, and writes one results.json.
"""

import io
import json
import os
import re
import stat
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from ..files import write
from .assignment import load, private_folders, references
from .errors import GradingError
from .facts import Assignment, Entry, Key, Work
from .gradebook.export import gradescope
from .pages.describe import describe
from .pipeline import ready, works
from .run.outcome import calibrate
from .run.warm import Warm, preload_for
from .submissions.collect import collect

STOPPED = "The grader could not grade this; nothing is wrong with what you handed in. Tell your instructor."
NOTHING = "No notebook of this assignment was found in what you handed in: hand in the .ipynb file that you worked in."
MODES = "modes.json"  # what `prepare` leaves
_PROBLEM = re.compile(r"\*\*(Problem [^*]+?)\.*\*\*")
_HEADING = re.compile(r"^##[# ]* (.*)", re.MULTILINE)

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
    (assignment,), out = load(course, name), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data, mode in _files(course, assignment, unsafe):
            info = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))  # the same course gives the same bytes
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _files(course: Path, assignment: Assignment, unsafe: bool) -> Iterator[tuple[str, bytes, int]]:
    name = assignment.name
    package = Path(__file__).resolve().parents[1]
    root = package.parent
    pins = (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    torch = next((pin for pin in pins if pin.startswith("torch==")), "torch")
    yield "setup.sh", SETUP.format(torch=torch, assignment=name).encode(), 0o755
    yield "run_autograder", RUN.format(assignment=name, unsafe="--unsafe" if unsafe else "").encode(), 0o755
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(Path("coursekit") / path.relative_to(package)), path.read_bytes(), 0o644
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


# ── in Gradescope's image ────────────────────────────────────────────────────────────────────


def prepare(home: Path, name: str) -> None:
    """When the image is built: what is the same for every submission, how each test is run."""
    (assignment,) = load(home / "source" / "course", name)
    with Warm() as warm:
        modes, _ = calibrate(references(assignment), warm.grade)
    write(home / MODES, json.dumps({assignment.digest: modes}))


def main(words: list[str]) -> int:
    """Grade the one submission that Gradescope has put below `home`, and write its results.json."""
    if words[0] == "--prepare":
        prepare(Path(words[1]), words[2])
        return 0
    home, name = Path(words[0]), words[1]
    results = home / "results" / "results.json"
    try:
        (assignment,) = load(home / "source" / "course", name)
        entry = _grade(home, assignment, "--unsafe" in words)
    except Exception as error:
        write(results, _failed(STOPPED))
        if not isinstance(error, GradingError):
            raise
        print(error, file=sys.stderr)  # the reason is for the instructor, in Gradescope's log
        return 1
    write(results, gradescope(entry, names_of(assignment)) if entry else _failed(NOTHING))
    return 0 if entry else 1


def _grade(home: Path, assignment: Assignment, unsafe: bool) -> Entry | None:
    """The submission's entry, without a gradebook; None where there is no notebook of this assignment in it."""
    student, hidden = _student(home / "submission_metadata.json"), private_folders(home / "source" / "course")
    kept = json.loads((home / MODES).read_text()) if (home / MODES).exists() else {}
    warm_up = Warm(preload_for(assignment.sources), unsafe=unsafe, hidden=hidden)
    with collect([home / "submission"], student) as found, warm_up as warm:
        modes = kept.get(assignment.digest) or calibrate(references(assignment), warm.grade)[0]
        for work in works(found.submissions, [assignment], certain=True):
            if isinstance(work, Work):
                tasks = ready(work, modes)
                notebooks = {task.id: notebook for notebook, task in tasks.items()}
                work.outcomes = {notebooks[one.id]: one for one in warm.grade(tasks.values())}
                return describe(work)
            print(f"{work.student}: {work.sentence}", file=sys.stderr)
    return None


def names_of(assignment: Assignment) -> dict[Key, str]:
    """Each graded cell by its problem's number, the heading that it stands under, and its answer."""
    found: dict[Key, str] = {}
    for master in assignment.masters:
        problem = heading = ""
        for cell in master.cells:
            if cell.kind == "markdown" and not cell.grade_id:
                (*_, heading) = heading, *_HEADING.findall(cell.released)
                (*_, problem) = problem, *_PROBLEM.findall(cell.released)
            elif cell.points:
                answer = master.answer_of.get(cell.grade_id, cell.grade_id)
                title = f"{problem} ({heading}): {answer}" if heading else f"{problem}: {answer}"
                title = title if problem else cell.grade_id
                again = sum(one == title or one.startswith(f"{title}, part ") for one in found.values())
                found[master.name, cell.grade_id] = f"{title}, part {again + 1}" if again else title
    return found


def _student(metadata: Path) -> str:
    try:
        user = json.loads(metadata.read_text(encoding="utf-8"))["users"][0]
        return str(user.get("email") or user["name"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return "student"


def _failed(sentence: str) -> str:
    return json.dumps({"score": 0, "output": sentence, "tests": []}) + "\n"


if __name__ == "__main__":
    os.umask(0o077)
    raise SystemExit(main(sys.argv[1:]))
