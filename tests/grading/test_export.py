"""Grades as other systems want them; nothing that a spreadsheet would run."""

import csv
import datetime
import io
import json

import pytest

from coursekit.grading.errors import GradingError
from coursekit.grading.export import as_csv, fill_canvas, fill_moodle, gradescope, safe
from coursekit.grading.late import LatePolicy

RECORD = {
    "student": "=HYPERLINK(\"http://x\")", "score": 7.5, "max_score": 10.0, "status": "graded", "seconds": 0.1,
    "questions": [
        {"id": "test_a", "score": 5.0, "max": 5.0, "sentence": ""},
        {"id": "test_b", "score": 2.5, "max": 5.0, "sentence": "You dropped the factor h(1-h)."},
    ],
}  # fmt: skip


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_name_that_is_a_formula_stays_text():
    table = rows(as_csv([RECORD], {}))
    assert table[1][0].startswith("'=")
    assert table[1][1:] == ["7.5", "10", "graded", "5", "2.5"]
    assert [safe(t) for t in ("+1", "-3.5", "@x", "=1+1", "plain")] == ["+1", "-3.5", "'@x", "'=1+1", "plain"]


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
