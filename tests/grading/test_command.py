"""`coursekit grade` on a whole small class: exit codes, resuming, being killed, and what is left behind."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
import small_course as small

from coursekit.expected import Expected
from coursekit.files import write
from coursekit.grading.assignment import private_folders
from coursekit.grading.command import Options, json_records, report_again, run
from coursekit.grading.confine.limits import Limits
from coursekit.grading.errors import GradingError
from coursekit.grading.gradebook.record import Record

LIMITS = Limits(cell_cpu=3, cell_wall=6, notebook_wall=60)


def coursekit(*words: object, **more) -> subprocess.Popen:
    command = [sys.executable, "-m", "coursekit", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def parts(**answers: str) -> dict[str, nbformat.NotebookNode]:
    return {"sums": small.solved(small.sums(), **answers)}


def pair() -> dict[str, nbformat.NotebookNode]:
    """An assignment of two notebooks and a helper file."""
    first = small.notebook(
        small.text("# First"),
        small.code("import helper", "setup", locked=True),
        small.answer("double", "def double(x):", "return helper.twice(x)"),
        small.check("test_double", 2, "assert double(2) == 4", "assert double(7) == 14"),
    )
    second = small.notebook(
        small.text("# Second"),
        small.answer("half", "def half(x):", "return x / 2"),
        small.check("test_half", 3, "assert half(4) == 2", "assert half(3) == 1.5"),
    )
    return {"first": first, "second": second}


@pytest.fixture(scope="module")
def course(tmp_path_factory, empty_gradebook):
    root = tmp_path_factory.mktemp("course")
    helper = {"pair": {"helper.py": b"def twice(x):\n    return 2 * x\n"}}
    small.write_course(root, {"sums": {"sums": small.sums()}, "pair": pair()}, helper)
    shutil.copy(empty_gradebook, root / "gradebook.db")
    return root


def hand_in(folder: Path, **students: dict[str, nbformat.NotebookNode | bytes]) -> Path:
    for student, notebooks in students.items():
        (folder / student).mkdir(parents=True)
        for name, made in notebooks.items():
            data = made if isinstance(made, bytes) else small.saved(made)
            (folder / student / f"{name}.ipynb").write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    solved = {name: small.solved(made) for name, made in pair().items()}
    return hand_in(
        tmp_path_factory.mktemp("class"),
        ada={"sums": small.solved(small.sums())},
        emmy={"Copy of sums (2)": small.solved(small.sums(), mean="def mean(xs):\n    return 1 / 0")},
        kurt={"sums": b'{"cells": [{"cell_ty'},
        mary={"pair1": solved["first"], "pair2": solved["second"]},
        alan={"only": solved["first"]},
        george={"sums": small.solved(small.sums(), total="import os\nos._exit(1)")},
    )


@pytest.fixture(scope="module")
def graded(course, handed_in):
    """The whole class through the command itself, once."""
    process = coursekit(
        "grade", handed_in, "--course", course, "--json", course / "all.json", "--jobs", 2, "--seconds", 3
    )
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def records(course: Path) -> dict[str, dict]:
    return {r["student"]: r for r in json.loads((course / "all.json").read_text())}


def test_what_cannot_be_graded_is_one_sentence_before_anything_is(course, handed_in, tmp_path):
    book = f"sqlite:///{tmp_path / 'gradebook.db'}"
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GradingError, match=r"there is no notebook in .*empty: name a notebook"):
        run([tmp_path / "empty"], Options(course, gradebook=book, out=tmp_path / "out"))
    with pytest.raises(GradingError, match=r"file/out cannot be written: .*--out"):
        run([handed_in], Options(course, gradebook=book, out=tmp_path / "file" / "out"))
    with pytest.raises(
        GradingError, match="nothing was handed in by 'adda'; there is work of ada, alan, emmy"
    ):
        run([handed_in], Options(course, gradebook=book, students=frozenset({"ada", "adda"})))
    for options in ({"jobs": -1}, {"limits": Limits(cell_cpu=0)}, {"limits": Limits(memory=0)}):
        with pytest.raises(GradingError, match="--"):
            run([handed_in], Options(course, gradebook=book, **options))
    assert not (tmp_path / "gradebook.db").exists()


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Expected, match=r"all\.json cannot be written: "):
        write(tmp_path / "file" / "all.json", "[]")


@pytest.mark.slow
def test_a_class_is_graded_and_a_bad_notebook_does_not_stop_it(course, graded):
    code, out, err = graded
    assert code == 1, out + err
    found = records(course)
    assert {s: r["score"] for s, r in found.items()} == {
        "ada": 6, "alan": 2, "emmy": 4, "george": 3, "kurt": 0, "mary": 5,
    }  # fmt: skip
    assert {s: r["max_score"] for s, r in found.items() if r["assignment"] == "pair"} == {
        "alan": 5,
        "mary": 5,
    }
    assert found["kurt"]["status"] == "refused"
    assert "not JSON" in found["kurt"]["flags"][0]
    assert found["alan"]["flags"] == [
        "the notebook second was not handed in",
        "the answer cell `half` is missing",
    ]
    assert found["ada"]["status"] == "graded"
    question = next(q for q in found["emmy"]["questions"] if q["id"] == "test_mean")
    assert (question["score"], question["max"], question["status"]) == (0, 2, "error")
    assert "ZeroDivisionError" in question["sentence"]
    assert set(question) >= {"id", "score", "max", "sentence", "seconds"}


@pytest.mark.slow
def test_the_user_sees_a_table_and_no_warning(graded):
    _, out, err = graded
    assert "Warning" not in out + err
    assert "Traceback" not in out + err
    assert "ada" in out
    assert "report.html" in out
    assert err == ""


@pytest.mark.slow
def test_a_second_run_grades_nothing_anew_and_again_does(course, handed_in, graded):
    before = json.loads((course / "all.json").read_text())
    options = Options(course, limits=LIMITS, jobs=2)
    started, steps = [], []
    result = run([handed_in], options, total=started.append, step=lambda: steps.append(1))
    assert started == [len(steps)] == [6], "one step a student, the refused one too"
    assert json.loads(json_records(result)) == before, "records with other seconds were graded anew"
    assert result.exit_code == 1
    result = run([handed_in], Options(course, limits=LIMITS, again=True, students=frozenset({"ada"})))
    assert [e.student for e in result.entries] == ["ada"]
    assert result.exit_code == 0
    seconds = next(r["seconds"] for r in before if r["student"] == "ada")
    assert result.entries[0].seconds != seconds
    assert result.entries[0].score == 6


@pytest.mark.slow
def test_a_changed_submission_is_graded_again_and_points_by_hand_stay(course, handed_in, graded, tmp_path):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("why", "sums", "sums", "emmy").manual_score = 3.5
        gradebook.find_comment("why", "sums", "sums", "emmy").manual_comment = "Well <b>said</b>."
        gradebook.db.commit()
    better = hand_in(tmp_path / "again", emmy={"sums": small.solved(small.sums())})
    result = run([better], Options(course, limits=LIMITS))
    assert {e.student: e.score for e in result.entries} == {"emmy": 9.5}
    path = course / "_build" / "grades" / "sums" / "feedback" / "emmy.html"
    pages = [path.read_text()]
    report_again("sums", Options(course))
    pages.append(path.read_text())
    for page in pages:
        assert "Well &lt;b&gt;said&lt;/b&gt;." in page
        assert "9.5" in page
        assert "will be graded by a person" not in page


@pytest.mark.slow
def test_what_was_recorded_is_what_nbgrader_and_its_formgrader_read(course, graded):
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    config = Config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.db_url = f"sqlite:///{course / 'gradebook.db'}"
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    submissions = {s["student"]: s for s in api.get_submissions("sums") if s["autograded"]}
    assert submissions.keys() == {"ada", "emmy", "george"}
    assert submissions["ada"]["score"] == 6
    assert submissions["ada"]["max_score"] == 10
    assert submissions["ada"]["needs_manual_grade"]
    (notebook,) = api.get_notebook_submissions("sums", "sums")[:1]
    assert notebook["max_written_score"] == 4
    path = course / "autograded" / "ada" / "sums" / "sums.ipynb"
    made = nbformat.read(path, as_version=4)
    nbformat.validate(made)
    assert "return sum(xs)" in small.cell_of(made, "total").source


@pytest.mark.slow
def test_nbgraders_own_feedback_and_export_work_on_what_was_recorded(course, graded):
    from coursekit.runtime import find_own_scripts

    find_own_scripts()
    for words in (["generate_feedback", "sums", "--student=ada"], ["export", "--to", "grades.csv"]):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=course,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    assert (course / "feedback" / "ada" / "sums" / "sums.html").is_file()
    rows = (course / "grades.csv").read_text().splitlines()
    assert any("ada" in row and "6.0" in row for row in rows)


@pytest.mark.slow
def test_killed_half_way_and_run_again_nothing_is_lost_and_nothing_twice(tmp_path, empty_gradebook):
    root = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    shutil.copy(empty_gradebook, root / "gradebook.db")
    slow = "import time\ntime.sleep(0.3)\ndef total(xs):\n    return sum(xs)"
    students = {f"s{n:02}": {"sums": small.solved(small.sums(), total=slow)} for n in range(12)}
    handed = hand_in(tmp_path / "class", **students)
    process = coursekit("grade", handed, "--course", root, "--jobs", 1, start_new_session=True)
    deadline = time.monotonic() + 120
    while graded_so_far(root) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = graded_so_far(root)
    assert 3 <= done < 12
    before = rows(root)
    result = run([handed], Options(root, limits=LIMITS, jobs=2))
    assert {e.student: e.score for e in result.entries} == dict.fromkeys(students, 6)
    after = rows(root)
    assert len(after) == 12
    assert before == after[: len(before)] or set(before) <= set(after), "what was recorded was graded twice"
    with Record(f"sqlite:///{root / 'gradebook.db'}") as record:
        assert small.totals(record, "sums") == dict.fromkeys(students, 6)


def rows(root: Path) -> list[tuple]:
    with sqlite3.connect(f"file:{root / 'gradebook.db'}?mode=ro", uri=True, timeout=30) as connection:
        return connection.execute("select student, record from coursekit_graded order by student").fetchall()


def graded_so_far(root: Path) -> int:
    try:
        return len(rows(root))
    except sqlite3.OperationalError:
        return 0


def test_the_whole_course_is_hidden_but_for_the_python_in_it(tmp_path):
    assert private_folders(tmp_path) == [tmp_path]
    root = Path(__file__).resolve().parents[2]
    hidden = private_folders(root)
    assert root / "solutions" in hidden
    assert not any(Path(sys.prefix).is_relative_to(path) or (root / "coursekit") == path for path in hidden)


def test_an_assignment_that_cannot_be_read_is_one_sentence(tmp_path, handed_in):
    (tmp_path / "source" / "broken").mkdir(parents=True)
    (tmp_path / "source" / "broken" / "broken.ipynb").write_text("{")
    with pytest.raises(GradingError, match=r"broken.ipynb is not a notebook that can be read"):
        run([handed_in], Options(tmp_path))
    twice = small.notebook(small.check("q", 1, "assert 1"), small.check("q", 1, "assert 2"))
    root = small.write_course(tmp_path / "other", {"twice": {"twice": twice}})
    with pytest.raises(GradingError, match="as nbgrader refuses it: Duplicate grade id: q"):
        run([handed_in], Options(root))
    open_ended = small.notebook(
        small.code("def f():\n    ### BEGIN SOLUTION\n    return 1", "f", solution=True)
    )
    root = small.write_course(tmp_path / "third", {"open": {"open": open_ended}})
    with pytest.raises(GradingError, match="cannot be released"):
        run([handed_in], Options(root))


def test_an_unknown_assignment_is_told_which_there_are(tmp_path, handed_in):
    root = small.write_course(tmp_path, {"here": {"here": small.notebook(small.check("q", 1, "assert 1"))}})
    with pytest.raises(GradingError, match="no assignment named 'there'; it has here"):
        run([handed_in], Options(root, assignment="there"))


@pytest.mark.slow
def test_what_cannot_run_is_exit_code_2_and_one_sentence(tmp_path):
    process = coursekit("grade", tmp_path / "nothing", "--course", tmp_path)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "no assignment" in err
    assert "Traceback" not in out + err


@pytest.mark.slow
def test_a_test_that_the_instructors_own_solution_fails_is_told(tmp_path, empty_gradebook):
    book = small.notebook(
        small.text("One question, and its test is wrong."),
        small.answer("one", "def one():", "return 1"),
        small.check("test_one", 2, "assert one() == 2"),
    )
    root = small.write_course(tmp_path / "course", {"wrong": {"wrong": book}})
    shutil.copy(empty_gradebook, root / "gradebook.db")
    handed = hand_in(tmp_path / "class", ada={"wrong": small.solved(book)})
    result = run([handed], Options(root, limits=LIMITS))
    assert result.exit_code == 1
    assert "`test_one` gives the instructor's own solution 0 of 2 points" in result.problems[0].sentence
