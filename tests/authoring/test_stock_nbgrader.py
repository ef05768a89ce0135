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
from coursekit.authoring.course import Course
from coursekit.authoring.source import read

pytestmark = pytest.mark.slow
NAMES = Course(Path(__file__).resolve().parents[2]).assignments()


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


def score(course, name: str, student: str):
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission(name, student)
        return submission.score, submission.max_score


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_earns_every_point_and_the_release_none(name, course_with):
    course = course_with(name)
    released = course.notebooks / name / f"{name}.ipynb"
    source = read(course.solutions / name / f"{name}.md")
    right = answered(released, solutions(source))
    submit(course, "right", name, nbformat.writes(right))
    submit(course, "blank", name, released.read_text())
    nbgrader(course, "autograde", name)
    most = source.points
    by_hand = sum(q.points for q in source.questions if q.manual)
    assert score(course, name, "right") == pytest.approx((most - by_hand, most))
    assert score(course, name, "blank") == pytest.approx((0, most))


def test_feedback_and_export_work_on_what_colab_saved(course_with):
    name = "bptt"
    course = course_with(name)
    released = course.notebooks / name / f"{name}.ipynb"
    source = read(course.solutions / name / f"{name}.md")
    submit(course, "colab", name, as_colab_saves(answered(released, solutions(source))))
    nbgrader(course, "autograde", name)
    assert score(course, name, "colab") == pytest.approx((source.points, source.points))
    nbgrader(course, "generate_feedback", name)
    page = course.root / "feedback" / "colab" / name / f"{name}.html"
    assert page.stat().st_size > 10_000
    nbgrader(course, "export", "--to", "grades.csv")
    rows = (course.root / "grades.csv").read_text().splitlines()
    assert any("colab" in row and name in row for row in rows)
