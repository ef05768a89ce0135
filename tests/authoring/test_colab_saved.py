"""A notebook that was opened in Colab and saved as Colab saves it is graded like the plain file.

Colab writes nbformat 4.0, moves cell ids into the metadata, adds its own, and calls the file "Copy of …".
"""

import json
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import nbformat
import pytest

from coursekit.authoring.course import Course
from coursekit.authoring.sample_class import answered, as_colab_saves, solutions
from coursekit.authoring.source import read
from coursekit.grading.assignment import load
from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits
from coursekit.grading.submissions.recognise import read_notebook
from coursekit.grading.submissions.repair import repair

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
NAMES = COURSE.assignments()
QUICK = ("bptt", "perplexity")  # run in both forms, right and wrong
SAVED = Path(__file__).parent / "fixtures" / "Copy of bptt.ipynb"  # as Colab saved it, with one answer in it


@lru_cache
def submissions(name):
    """By kind ("right", "wrong"), the notebook as a student would have it."""
    source = read(COURSE.solutions / name / f"{name}.md")
    released = COURSE.notebooks / name / f"{name}.ipynb"
    right = solutions(source)
    first = next(q for q in source.questions if q.mistakes)
    wrong = {**right, first.id: first.mistakes[0].answer}
    return {"right": answered(released, right), "wrong": answered(released, wrong)}


@pytest.mark.parametrize("name", NAMES)
def test_the_grader_runs_the_same_cells_of_either_form(name):
    (assignment,) = load(ROOT, name)
    (own,) = assignment.masters
    for notebook in submissions(name).values():
        plain, colab = (
            repair(own, read_notebook(text.encode())[0])
            for text in (nbformat.writes(notebook), as_colab_saves(notebook))
        )
        assert plain.cells == colab.cells


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_either_form_earns_the_same_points(tmp_path, empty_gradebook):
    """Colab's form of every assignment is graded beside stock nbgrader, in `test_stock_nbgrader.py`."""
    for name in QUICK:
        put(tmp_path, "colab", name, f"Copy of {name}.ipynb", as_colab_saves(submissions(name)["right"]))
        wrong = submissions(name)["wrong"]
        put(tmp_path, "wrong", name, f"{name}.ipynb", nbformat.writes(wrong))
        put(tmp_path, "wrong-colab", name, f"Copy of {name}.ipynb", as_colab_saves(wrong))
    points = graded(tmp_path, QUICK, empty_gradebook)
    for name in QUICK:
        source = read(COURSE.solutions / name / f"{name}.md")
        by_hand = sum(q.points for q in source.questions if q.manual)
        assert sum(points["colab", name].values()) == pytest.approx(source.points - by_hand)
        assert points["wrong", name] == points["wrong-colab", name] != points["colab", name]


@pytest.mark.slow
def test_a_file_that_was_saved_long_ago_is_graded_like_the_plain_one(tmp_path, empty_gradebook):
    """The committed file has a wrong answer in `forward`; the rest of it is as it was released then."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    assert saved["nbformat_minor"] == 0
    assert all("id" not in cell and "id" in cell["metadata"] for cell in saved["cells"])
    answer = next(
        "".join(cell["source"]) for cell in saved["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "forward"
    )  # fmt: skip
    plain = answered(ROOT / "notebooks" / "bptt" / "bptt.ipynb", {"forward": answer})
    put(tmp_path, "plain", "bptt", "bptt.ipynb", nbformat.writes(plain))
    put(tmp_path, "colab", "bptt", SAVED.name, SAVED.read_text(encoding="utf-8"))
    points = graded(tmp_path, ["bptt"], empty_gradebook)
    assert points["colab", "bptt"] == points["plain", "bptt"]
    assert 0 < sum(points["colab", "bptt"].values()) < 8


def put(folder: Path, student: str, name: str, file: str, text: str) -> None:
    (folder / "submitted" / student / name).mkdir(parents=True)
    (folder / "submitted" / student / name / file).write_text(text, encoding="utf-8")


def graded(folder: Path, names: Iterable[str], gradebook: Path) -> dict[tuple[str, str], dict[str, float]]:
    """The points of every test, by student and assignment, as `coursekit grade` gives them."""
    course = folder / "course"
    for name in names:
        shutil.copytree(ROOT / "solutions" / name, course / "solutions" / name)
    shutil.copy(gradebook, course / "gradebook.db")
    shutil.copy(ROOT / "_config.yml", course / "_config.yml")
    done = run(
        [folder / "submitted"],
        Options(course=course, jobs=2, limits=Limits(cell_cpu=60, cell_wall=240)),
    )
    assert done.problems == []
    return {(e.student, e.assignment): {q.id: q.score for q in e.questions} for e in done.entries}
