"""Plain nbgrader works on this repository, and agrees: the solution earns every point, the release none."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from coursekit.authoring.answers import answered, as_colab_saves, solutions
from coursekit.authoring.source import read

pytestmark = pytest.mark.slow


def nbgrader(course, *arguments: str) -> str:
    path = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments], cwd=course.root, env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def submit(course, student: str, name: str, text: str) -> None:
    folder = course.root / "submitted" / student / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ipynb").write_text(text)


@pytest.fixture(scope="module")
def graded(released_course):
    """Every assignment, submitted solved, solved as Colab saves it, and untouched; graded by stock nbgrader."""
    course = released_course
    for name in course.assignments():
        released = course.notebooks / name / f"{name}.ipynb"
        right = answered(released, solutions(read(course.solutions / name / f"{name}.md")))
        submit(course, "right", name, nbformat.writes(right))
        submit(course, "colab", name, as_colab_saves(right))
        submit(course, "blank", name, released.read_text())
        nbgrader(course, "autograde", name)
    return course


def score(course, name: str, student: str):
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission(name, student)
        return submission.score, submission.max_score


def test_the_solution_earns_every_point_and_the_release_none(graded):
    for name in graded.assignments():
        got, most = score(graded, name, "right")
        assert got == most == read(graded.solutions / name / f"{name}.md").points > 0, name
        assert score(graded, name, "colab") == (most, most), name
        assert score(graded, name, "blank")[0] == 0, name


def test_feedback_and_export_work(graded):
    name = graded.assignments()[0]
    nbgrader(graded, "generate_feedback", name)
    page = graded.root / "feedback" / "right" / name / f"{name}.html"
    assert page.stat().st_size > 10_000
    nbgrader(graded, "export", "--to", "grades.csv")
    rows = Path(graded.root / "grades.csv").read_text().splitlines()
    assert any("right" in row and name in row for row in rows)
