"""Plain nbgrader works on this repository, and agrees with ours cell by cell: the solution earns every point, the
release none. Every submission is run once by each, and every test here looks at that one run."""

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from stock import run_stock

from coursekit.authoring.course import Course
from coursekit.authoring.sample_class import answered, as_colab_saves, solutions
from coursekit.authoring.source import read
from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
NAMES = Course(Path(__file__).resolve().parents[2]).assignments()
PROCESSES = 2
LOADED = ("torch", "coursekit.checks", "coursekit.notation")


def stock(course, *words: str) -> None:
    path = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        [sys.executable, *words], cwd=course.root, env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def scores(url: str) -> dict[tuple[str, str], dict]:
    """(assignment, student) -> cell -> (the automatic score, the most, is it for a person)."""
    with Gradebook(url) as gradebook:
        return {
            (assignment.name, submission.student.id): {
                grade.name: (grade.auto_score, grade.max_score, grade.needs_manual_grade)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for assignment in gradebook.assignments
            for submission in assignment.submissions
        }


def submissions(course) -> dict[tuple[str, str], str]:
    """(assignment, student) -> the notebook, as Colab saves it, as it was released, and bptt with mistakes in it."""
    made = {}
    for name in NAMES:
        source, released = (
            read(course.solutions / name / f"{name}.md"),
            course.notebooks / name / f"{name}.ipynb",
        )
        made[name, "right"] = as_colab_saves(answered(released, solutions(source)))
        made[name, "blank"] = released.read_text()
    source, released = read(course.solutions / "bptt" / "bptt.md"), course.notebooks / "bptt" / "bptt.ipynb"
    right = solutions(source)
    wrong = {q.id: q.mistakes[0].answer for q in source.questions if q.id in ("grads_t", "clip")}
    made["bptt", "wrong"] = nbformat.writes(answered(released, {**right, **wrong}))
    partly = {name: answer for name, answer in right.items() if name in ("forward", "edges")}
    made["bptt", "partly"] = nbformat.writes(answered(released, partly))
    return made


@pytest.fixture(scope="module")
def graded(course_with, empty_gradebook):
    """The course, and the scores of every submission by nbgrader and by ours."""
    course = course_with(*NAMES)
    handed_in = submissions(course)
    for (name, student), text in handed_in.items():
        folder = course.root / "submitted" / student / name
        folder.mkdir(parents=True)
        (folder / f"{name}.ipynb").write_text(text)
    # Each process has a gradebook of its own: nbgrader would wait for another's transaction, and give up.
    books = [
        shutil.copy(course.root / "gradebook.db", course.root / f"stock{n}.db") for n in range(PROCESSES)
    ]
    urls = [f"sqlite:///{book}" for book in books]
    shares = [
        [("autograde", *key) for key in handed_in if NAMES.index(key[0]) % PROCESSES == n]
        for n in range(PROCESSES)
    ]
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(lambda share, url: run_stock(course.root, share, url, *LOADED), shares, urls))
    ours = f"sqlite:///{shutil.copy(empty_gradebook, course.root / 'ours.db')}"
    apart = {"gradebook": ours, "out": course.root / "pages"}
    done = run(
        [course.root / "submitted"],
        Options(course.root, jobs=PROCESSES, limits=Limits(cell_cpu=60, cell_wall=240), **apart),
    )
    assert done.problems == []
    return course, urls, {key: found for url in urls for key, found in scores(url).items()}, scores(ours)


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_earns_every_point_and_the_release_none(name, graded):
    course, _, theirs, _ = graded
    source = read(course.solutions / name / f"{name}.md")
    by_hand = sum(q.points for q in source.questions if q.manual)
    right, blank = theirs[name, "right"].values(), theirs[name, "blank"].values()
    assert sum(most for _, most, _ in right) == pytest.approx(source.points)
    assert sum(score or 0 for score, _, _ in right) == pytest.approx(source.points - by_hand)
    assert sum(score or 0 for score, _, _ in blank) == 0


@pytest.mark.parametrize("name", NAMES)
def test_ours_gives_the_same_points_cell_by_cell(name, graded):
    _, _, theirs, ours = graded
    mine = {key: found for key, found in theirs.items() if key[0] == name}
    assert len(mine) == (4 if name == "bptt" else 2)
    assert {key: ours[key] for key in mine} == mine


def test_a_submission_with_mistakes_is_between(graded):
    _, _, theirs, _ = graded
    total = {
        student: sum(s for s, _, _ in theirs["bptt", student].values())
        for student in ("wrong", "partly", "right")
    }
    assert 0 < total["partly"] < total["wrong"] < total["right"] == 100


def test_feedback_and_export_work_on_what_colab_saved(graded):
    course, urls, *_ = graded
    db = f"--db={urls[NAMES.index('bptt') % PROCESSES]}"
    stock(course, "-m", "nbgrader", "generate_feedback", "bptt", "--student=right", db)
    page = course.root / "feedback" / "right" / "bptt" / "bptt.html"
    assert page.stat().st_size > 10_000
    stock(course, "-m", "nbgrader", "export", "--to", "grades.csv", db)
    rows = (course.root / "grades.csv").read_text().splitlines()
    assert any("right" in row and "bptt" in row for row in rows)
