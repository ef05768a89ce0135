"""`coursekit grade` and stock `nbgrader autograde` give every honest submission the same points, cell by cell."""

import shutil
from pathlib import Path

import nbformat
import pytest
import small_course as small
from nbgrader.api import Gradebook
from stock import run_stock

from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]


def shapes() -> nbformat.NotebookNode:
    """Classes, exceptions that must be raised, a helper of the student's own between the cells."""
    return small.notebook(
        small.text("# Shapes"),
        small.code("import math\nfrom dataclasses import dataclass", "setup", locked=True),
        small.code(
            "class Circle:\n    ### BEGIN SOLUTION\n    def __init__(self, r):\n        if r < 0:\n"
            "            raise ValueError('negative')\n        self.r = r\n    @property\n    def area(self):\n"
            "        return math.pi * self.r ** 2\n    def __eq__(self, other):\n        return self.r == other.r\n"
            "    def grow(self, by=1):\n        self.r += by\n        return self\n    ### END SOLUTION",
            "circle", solution=True,
        ),
        small.check(
            "test_area", 2, "assert abs(Circle(1).area - math.pi) < 1e-9",
            "assert [round(Circle(r).area) for r in (0, 2)] == [0, 13]",
        ),
        small.check(
            "test_negative", 1,
            "try:\n    Circle(-1)\n    raise AssertionError('no error')\nexcept ValueError as error:\n"
            "    assert 'negative' in str(error)",
        ),
        small.check("test_equal", 1, "assert Circle(2) == Circle(2)\nc = Circle(1)\nassert c.grow(2).grow().r == 4"),
    )  # fmt: skip


def arrays() -> nbformat.NotebookNode:
    """NumPy, names instead of functions, partial credit, a test that uses the one before it."""
    return small.notebook(
        small.text("# Arrays"),
        small.code(
            "import numpy as np\nrng = np.random.default_rng(0)\ndata = rng.normal(size=(4, 3))", "data", locked=True
        ),
        small.code("### BEGIN SOLUTION\ncentred = data - data.mean(0)\n### END SOLUTION", "centre", solution=True),
        small.check(
            "test_centre", 2, "assert centred.shape == (4, 3)",
            "np.testing.assert_allclose(centred.mean(0), 0, atol=1e-12)",
        ),
        small.answer(
            "softmax", "def softmax(x):",
            "e = np.exp(x - x.max(-1, keepdims=True)); return e / e.sum(-1, keepdims=True)",
        ),
        small.check(
            "test_softmax", 4, "points = 0\nif np.allclose(softmax(data).sum(-1), 1):\n    points += 1",
            "if np.isfinite(softmax(1000 * data)).all():\n    points += 3\npoints",
        ),
        small.check("test_again", 1, "assert points >= 1 and softmax(np.zeros(2))[0] == 0.5"),
    )  # fmt: skip


def essay() -> nbformat.NotebookNode:
    """Answers that people grade: text, code, and a task."""
    return small.notebook(
        small.text("# Essay"),
        small.text("Your words here.", "words", grade=True, solution=True, points=5),
        small.code(
            "### BEGIN SOLUTION\nplan = 1\n### END SOLUTION", "plan", grade=True, solution=True, points=2
        ),
        small.text("Do something of your own below.", "free", task=True, points=3, locked=True),
        small.answer("one", "def one():", "return 1"),
        small.check("test_one", 1, "assert one() == 1"),
    )


def pair() -> dict[str, nbformat.NotebookNode]:
    first = small.notebook(
        small.text("# First"),
        small.code("import helper", "setup", locked=True),
        small.answer("double", "def double(x):", "return helper.twice(x)"),
        small.check(
            "test_double", 2, "assert double(2) == 4", "assert double(7) == len(open('seven.txt').read()) * 2"
        ),
    )
    second = small.notebook(
        small.text("# Second"),
        small.answer("half", "def half(x):", "return x / 2"),
        small.check("test_half", 3, "assert half(4) == 2", "assert half(3) == 1.5"),
    )
    return {"first": first, "second": second}


COURSE = {
    "shapes": {"shapes": shapes()},
    "arrays": {"arrays": arrays()},
    "essay": {"essay": essay()},
    "pair": pair(),
}
FILES = {"pair": {"helper.py": b"def twice(x):\n    return 2 * x\n", "seven.txt": b"1234567"}}
# What an honest student may hand in: all right, in another way, partly wrong, nothing.
HONEST = {
    "ada": {},
    "emmy": {
        "circle": "@dataclass\nclass Circle:\n    r: float\n    def __post_init__(self):\n        if self.r < 0:\n"
        "            raise ValueError('a negative radius')\n    area = property(lambda s: math.pi * s.r ** 2)",
        "centre": "centred = np.array([row - data.mean(axis=0) for row in data])",
        "softmax": "def softmax(x):\n    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)",
        "one": "def one():\n    return 2", "half": "def half(x):\n    return x // 2",
    },
    "kurt": None,
}  # fmt: skip
# Submissions on which the two differ, and why.
DIFFERENT = {
    "writes to stderr": (
        "one", "import sys\ndef one():\n    print('working', file=sys.stderr)\n    return 1", 0.0, 1.0,
        "stock nbgrader gives 0 to a test during which anything was written to stderr, a warning too",
    ),
    "equal to everything": (
        "one", "class Any(int):\n    __eq__ = lambda self, other: True\ndef one():\n    return Any()", 1.0, 0.0,
        "stock nbgrader compares with the student's own __eq__; here only plain data crosses to the test",
    ),
}  # fmt: skip


def scores(url: str) -> dict:
    """(assignment, student) -> cell -> (the automatic score, is it for a person)."""
    with Gradebook(url) as gradebook:
        return {
            (assignment.name, submission.student.id): {
                grade.name: (grade.auto_score, grade.needs_manual_grade)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for assignment in gradebook.assignments
            for submission in assignment.submissions
        }


@pytest.fixture(scope="module")
def both(tmp_path_factory, empty_gradebook):
    """The same submissions of the same release, graded by both."""
    root = small.write_course(tmp_path_factory.mktemp("course"), COURSE, FILES)
    url, ours = (
        f"sqlite:///{shutil.copy(empty_gradebook, root / name)}" for name in ("gradebook.db", "ours.db")
    )
    run_stock(root, [("generate_assignment", assignment) for assignment in COURSE], url)
    for assignment in COURSE:
        for student, answers in HONEST.items():
            hand_in(root, student, assignment, answers)
    for student, (cell, answer, *_) in DIFFERENT.items():
        hand_in(root, student.replace(" ", "_"), "essay", {cell: answer})
    apart = {"gradebook": ours, "out": root / "pages"}
    graded = run([root / "submitted"], Options(root, limits=Limits(cell_cpu=5, cell_wall=10), **apart))
    handed_in = sorted((root / "submitted").glob("*/*"))
    run_stock(root, [("autograde", path.name, path.parent.name) for path in handed_in], url, "numpy")
    return scores(url), scores(ours), graded


def hand_in(root: Path, student: str, assignment: str, answers: dict | None) -> None:
    """The notebooks that nbgrader released, with these answers and the instructor's for the rest."""
    folder = root / "submitted" / student / assignment
    folder.mkdir(parents=True)
    for name, source in COURSE[assignment].items():
        made = nbformat.read(root / "release" / assignment / f"{name}.ipynb", as_version=4)
        if answers is not None:
            for cell, own in zip(made.cells, small.solved(source, **answers).cells, strict=True):
                if cell.metadata.get("nbgrader", {}).get("solution"):
                    cell.source = own.source
        nbformat.write(made, folder / f"{name}.ipynb")


def test_honest_submissions_get_the_same_points_cell_by_cell(both):
    theirs, ours, _ = both
    honest = {key for key in theirs if key[1] in HONEST}
    assert len(honest) == len(COURSE) * len(HONEST)
    assert {key: ours[key] for key in honest} == {key: theirs[key] for key in honest}
    assert theirs["arrays", "emmy"]["test_softmax"] == (1.0, False), "partial credit was given"
    assert theirs["essay", "ada"]["words"] == (None, True), "a person's part is left to a person"


@pytest.mark.parametrize("name", DIFFERENT)
def test_every_difference_has_its_reason(both, name):
    theirs, ours, _ = both
    _, _, stock_gives, we_give, reason = DIFFERENT[name]
    student = name.replace(" ", "_")
    assert theirs["essay", student]["test_one"][0] == stock_gives, reason
    assert ours["essay", student]["test_one"][0] == we_give, reason


def test_no_test_needed_the_students_own_process(both):
    _, _, graded = both
    weaker = {(e.assignment, q.id) for e in graded.entries for q in e.questions if q.weaker}
    assert weaker == set()
