"""Grades as other systems want them; nothing that a spreadsheet would run."""

import csv
import datetime
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import small_course as small

import coursekit
from coursekit.grading.errors import GradingError
from coursekit.grading.export import as_csv, fill_canvas, fill_moodle, gradescope, safe
from coursekit.grading.gradescope import autograder_zip
from coursekit.grading.late import LatePolicy

RECORD = {
    "student": "=HYPERLINK(\"http://x\")", "score": 7.5, "max_score": 10.0, "status": "graded", "seconds": 0.1,
    "questions": [
        {"id": "test_a", "notebook": "n", "score": 5.0, "max": 5.0, "sentence": "", "status": "passed"},
        {
            "id": "test_b", "notebook": "n", "score": 2.5, "max": 5.0, "status": "partial",
            "sentence": "You dropped the factor h(1-h).",
        },
    ],
}  # fmt: skip


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_name_that_is_a_formula_stays_text():
    table = rows(as_csv([RECORD], {}))
    assert table[1][0].startswith("'=")
    assert table[1][1:] == ["7.5", "10", "graded", "5", "2.5"]
    assert [safe(t) for t in ("+1", "-3.5", "@x", "=1+1", "plain")] == ["+1", "-3.5", "'@x", "'=1+1", "plain"]


def test_an_answer_that_waits_for_a_person_has_no_points_and_is_no_failure():
    waits = {
        "id": "why",
        "notebook": "n",
        "score": 0.0,
        "max": 4.0,
        "sentence": "Later.",
        "status": "by hand",
    }
    record = {**RECORD, "questions": [*RECORD["questions"], waits]}
    assert rows(as_csv([record], {}))[1][3:] == ["waiting", "5", "2.5", ""]
    assert rows(as_csv([{**record, "status": "flagged"}], {}))[1][3] == "flagged"
    assert [t.get("status") for t in json.loads(gradescope(record))["tests"]] == ["passed", "failed", None]


def test_questions_of_one_name_in_two_notebooks_have_two_columns():
    twice = [{**RECORD["questions"][0], "notebook": name, "score": n} for n, name in enumerate("ab", 1)]
    table = rows(as_csv([{**RECORD, "questions": twice}], {}))
    assert [row[4:] for row in table] == [["a/test_a", "b/test_a"], ["1", "2"]]


def test_a_gradebook_of_other_students_is_refused():
    with pytest.raises(GradingError, match="none of the graded students is in the Canvas gradebook"):
        fill_canvas("Student,ID,bptt (1)\nAda,1,\n", "bptt", {"emmy": 3.0})
    with pytest.raises(GradingError, match="none of the graded students is in the Moodle worksheet"):
        fill_moodle("Identifier,Grade\nParticipant 1,\n", {"emmy": 3.0}, 10.0)


def test_the_gradebooks_total_wins_over_the_automatic_one():
    assert rows(as_csv([RECORD], {RECORD["student"]: 9.0}))[1][1] == "9"


def test_canvas_gradebook_is_filled_in_and_otherwise_left_alone():
    sheet = (
        "Student,ID,SIS Login ID,Section,bptt (4321),other (1)\n"
        "    Points Possible,,,,100,10\n"
        '"Lovelace, Ada",11,ada@x.org,A,,3\n"Noether, Emmy",12,emmy@x.org,A,,4\n'
    )
    filled = rows(fill_canvas(sheet, "bptt", {"lovelaceada": 93.5, "emmy@x.org": 100.0}))
    assert [r[4] for r in filled[2:]] == ["93.5", "100"]
    assert [r[5] for r in filled[2:]] == ["3", "4"]
    assert filled[1][4] == "100"


def test_canvas_without_the_column_is_refused():
    with pytest.raises(GradingError, match="0 columns named 'gates'"):
        fill_canvas("Student,ID,bptt (1)\nAda,1,\n", "gates", {})


def test_moodles_worksheet_is_filled_in_by_number_and_scaled():
    sheet = (
        "Identifier,Full name,Email address,Status,Grade,Maximum grade\n"
        "Participant 12345,Ada Lovelace,ada@x.org,Submitted,,50.00\n"
        "Participant 67890,Emmy Noether,emmy@x.org,Submitted,,50.00\n"
    )
    filled = rows(fill_moodle(sheet, {"Ada Lovelace (12345)": 90.0, "Emmy Noether": 100.0}, 100.0))
    assert [r[4] for r in filled[1:]] == ["45", "50"]


def test_gradescope_results_have_a_test_a_question():
    result = json.loads(gradescope(RECORD))
    assert result["score"] == 7.5
    assert [t["status"] for t in result["tests"]] == ["passed", "failed"]
    assert result["tests"][1]["output"] == "You dropped the factor h(1-h)."


def at(hours: float) -> datetime.datetime:
    return datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC) + datetime.timedelta(hours=hours)


@pytest.mark.parametrize(
    ("policy", "hours", "penalty"),
    [("10% a day", -1, 0), ("10% a day", 1, 8), ("10% a day", 25, 16), ("10% a day after 2h", 1, 0),
     ("5% per hour", 3, 12), ("10% a day", 24 * 30, 80), ("", 100, 0)],
)  # fmt: skip
def test_late_work_loses_by_the_policy(policy, hours, penalty):
    late = LatePolicy.read(policy, "2026-11-16T00:00+00:00")
    assert late.penalty(80.0, at(hours)) == pytest.approx(penalty)


def test_work_without_a_trusted_time_is_not_late():
    assert LatePolicy.read("10% a day", "2026-11-16T00:00+00:00").penalty(80.0, None) == 0


@pytest.mark.parametrize(("late", "due"), [("ten per cent", ""), ("10% a day", "tomorrow")])
def test_a_policy_that_cannot_be_read_is_refused(late, due):
    with pytest.raises(GradingError, match="write"):
        LatePolicy.read(late, due)


@pytest.mark.slow
def test_the_gradescope_autograder_runs_the_same_grader(tmp_path):
    """Its `run_autograder`, with the folders that Gradescope would have under /autograder."""
    root = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    home = tmp_path / "autograder"
    with zipfile.ZipFile(io.BytesIO(autograder_zip(root, "sums"))) as archive:
        archive.extractall(home / "source")
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
        assert {"setup.sh", "pyproject.toml", "coursekit/cli.py"} <= set(archive.namelist())
    (home / "submission").mkdir()
    wrong = small.solved(small.sums(), mean="def mean(xs):\n    return sum(xs) / len(xs)")
    (home / "submission" / "Copy of sums.ipynb").write_bytes(small.saved(wrong))
    (home / "submission_metadata.json").write_text('{"users": [{"email": "ada@x.org", "name": "Ada"}]}')
    (home / "results").mkdir()
    environment = {**os.environ, "COURSEKIT_AUTOGRADER": str(home), "COURSEKIT_PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", home / "source" / "run_autograder"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads((home / "results" / "results.json").read_text())
    assert result["score"] == 4
    assert {t["name"]: t["score"] for t in result["tests"]} == {
        "test_total": 1, "test_mean": 0, "test_norm": 3, "why": 0,
    }  # fmt: skip
    assert "hidden" not in json.dumps(result).lower()


def test_the_autograder_zip_holds_one_assignment_and_the_same_bytes_each_time(tmp_path):
    root = small.write_course(tmp_path, {"sums": {"sums": small.sums()}, "other": {"other": small.sums()}})
    data = autograder_zip(root, "sums")
    assert data == autograder_zip(root, "sums")
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    package = Path(coursekit.__file__).parent
    modules = {str(path.relative_to(package.parent)) for path in package.rglob("*.py")}
    assert modules <= set(names), "the autograder installs this very package"
    assert "course/source/sums/sums.ipynb" in names
    assert not any("other" in n for n in names if n.startswith("course/"))
