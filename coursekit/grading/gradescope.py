"""Grading in Gradescope's own image: the one submission that it has put below its home, and one results.json."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

from ..files import write
from .assignment import load_one, references
from .command import Options, run
from .errors import GradingError
from .facts import Assignment, Key
from .gradebook.export import gradescope
from .gradebook.record import Record
from .run.outcome import calibrate
from .run.warm import Warm

STOPPED = "The grader could not grade this; nothing is wrong with what you handed in. Tell your instructor."
NOTHING = "No notebook of this assignment was found in what you handed in: hand in the .ipynb file that you worked in."
EMPTY, MODES = "empty.db", "modes.json"  # what `prepare` leaves
_PROBLEM = re.compile(r"\*\*(Problem [^*]+?)\.*\*\*")
_HEADING = re.compile(r"^##[# ]* (.*)", re.MULTILINE)


def prepare(home: Path, name: str) -> None:
    """When the image is built: what is the same for every submission, an empty gradebook and what the tests need."""
    assignment = load_one(home / "source" / "course", name)
    with Record(f"sqlite:///{home / EMPTY}"), Warm() as warm:
        modes, _ = calibrate(references(assignment), warm.grade)
    write(home / MODES, json.dumps({assignment.digest: modes}))


def main(words: list[str]) -> int:
    """Grade the one submission that Gradescope has put below `home`, and write its results.json."""
    if words[0] == "--prepare":
        prepare(Path(words[1]), words[2])
        return 0
    home, name = Path(words[0]), words[1]
    results, book = home / "results" / "results.json", home / "gradebook.db"
    if (home / EMPTY).exists() and not book.exists():
        shutil.copy(home / EMPTY, book)
    options = Options(
        course=home / "source" / "course", assignment=name, gradebook=f"sqlite:///{book}",
        out=home / "pages", jobs=1, again=True, unsafe="--unsafe" in words,
        modes=json.loads((home / MODES).read_text()) if (home / MODES).exists() else {},
    )  # fmt: skip
    student = _student(home / "submission_metadata.json")
    try:
        graded = run([_as_one_student(home / "submission", home / "one", student)], options)
    except (
        Exception
    ) as error:  # a sentence for the student; the reason, in Gradescope's log, for the instructor
        write(results, _failed(STOPPED))
        if isinstance(error, GradingError):
            print(error, file=sys.stderr)
            return 1
        raise
    for problem in graded.problems:
        print(f"{problem.student}: {problem.sentence}", file=sys.stderr)
    if not graded.entries:
        write(results, _failed(NOTHING))
        return 1
    write(results, gradescope(graded.entries[0], names_of(graded.assignments[0])))
    return 0


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
    return json.dumps({"score": 0, "output": sentence, "tests": []}) + "\n"


if __name__ == "__main__":
    os.umask(0o077)
    raise SystemExit(main(sys.argv[1:]))
