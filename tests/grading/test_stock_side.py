"""nbgrader's own test notebooks get from us the points that stock nbgrader gives, cell by cell, and what it refuses we
refuse; each difference is listed with its reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import stock_side

from coursekit.grading.assignment import load
from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits
from coursekit.grading.errors import GradingError
from coursekit.grading.gradebook.record import Record
from coursekit.grading.pipeline import Grading, works
from coursekit.grading.run.warm import Warm
from coursekit.grading.submissions.collect import collect

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NOTEBOOKS = stock_side.notebooks()
OLD = "stock asks for `nbgrader update` first; the same update is made here, in memory"
TYPE = "stock refuses a copy whose cell has another type; here the answer is put into the instructor's cell"
# (notebook, student) -> why ours differs; "*" is every student.
DIFFERENT = {(f"apps_test-v{n}", "*"): OLD for n in (0, 1, 2)} | {
    (f"{where}_submitted-unchanged", f"submitted-{what}-cell-type-changed"): TYPE
    for where in ("preprocessors", "ui-tests")
    for what in ("answer", "grade")
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory, empty_gradebook):
    """Notebook -> student -> cell -> score, as stock_side gives it: one warm parent, one gradebook."""
    root = tmp_path_factory.mktemp("course")
    shutil.copy(empty_gradebook, root / "gradebook.db")
    found = {}
    limits = Limits(cell_cpu=stock_side.SECONDS, cell_wall=2 * stock_side.SECONDS)
    with Record(f"sqlite:///{root / 'gradebook.db'}") as record, Warm(jobs=2, limits=limits) as warm:
        for name, path in NOTEBOOKS.items():
            stock_side.put(path, root / "source" / name)
            try:
                (assignment,) = load(root, name)
            except GradingError as error:
                found[name] = {"refused": str(error)}
                continue
            (master,) = assignment.masters
            blank = nbformat.from_dict(master.notebook)
            for cell, own in zip(blank.cells, master.cells, strict=True):
                cell.source = own.released
            nbformat.write(blank, root / "blank.ipynb")
            for student, handed in {"blank": root / "blank.ipynb", **stock_side.handed_in(path)}.items():
                stock_side.put(handed, root / "submitted" / student / name)
            record.enter(assignment)
            with collect(sorted((root / "submitted").glob(f"*/{name}/one.ipynb"))) as collected:
                Grading(warm.grade, record).grade(works(collected.submissions, [assignment], certain=True))
            found[name] = {
                e.student: {q.id: None if q.waiting else q.score for q in e.questions}
                for e in record.entries(name)
            }
    return found


@pytest.fixture(scope="module")
def theirs():
    return stock_side.kept()


def test_there_are_51_of_them():
    assert len(NOTEBOOKS) == 51


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_gets_what_stock_gives(name, ours, theirs):
    mine, stock = (
        {s: "" if s == "refused" else found for s, found in side[name].items() if (name, s) not in DIFFERENT}
        for side in (ours, theirs)
    )
    assert mine == stock or (name, "*") in DIFFERENT


@pytest.mark.parametrize(("name", "student"), DIFFERENT)
def test_every_difference_that_is_listed_is_one(name, student, ours, theirs):
    assert DIFFERENT[name, student]
    mine, stock = (side[name] if student == "*" else side[name].get(student) for side in (ours, theirs))
    assert mine != stock


def test_what_is_kept_of_stock_is_what_stock_says(theirs):
    chosen = ["apps_autotest-multi", "preprocessors_blank-points"]
    done = subprocess.run(
        [sys.executable, stock_side.__file__, *chosen], capture_output=True, text=True, timeout=300
    )
    assert stock_side.json.loads(done.stdout) == {name: theirs[name] for name in chosen}, done.stderr[-2000:]


def test_one_assignment_that_is_refused_does_not_stop_the_others(tmp_path, empty_gradebook):
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    for name in ("preprocessors_blank-grade-id", "apps_test-hidden-tests"):
        stock_side.put(NOTEBOOKS[name], tmp_path / "source" / name)
    stock_side.put(NOTEBOOKS["apps_test-hidden-tests"], tmp_path / "class" / "ada")
    graded = run([tmp_path / "class"], Options(tmp_path, limits=Limits(cell_cpu=5, cell_wall=10)))
    assert [(e.student, e.assignment) for e in graded.entries] == [("ada", "apps_test-hidden-tests")]
    (sentence,) = [p.sentence for p in graded.problems if p.origin == "preprocessors_blank-grade-id"]
    assert "is refused, as nbgrader refuses it" in sentence
    assert "\n" not in sentence
    assert Path(tmp_path / "gradebook.db").exists()
