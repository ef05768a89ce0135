"""Grades as other systems want them; nothing that a spreadsheet would run."""

import csv
import datetime
import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import small_course as small
from hypothesis import given, settings
from hypothesis import strategies as st

import coursekit
from coursekit.grading.errors import GradingError
from coursekit.grading.facts import ByHand, Entry, Verdict
from coursekit.grading.gradebook.export import (
    Final,
    as_csv,
    fill_canvas,
    fill_moodle,
    gradescope,
    read_sheet,
    safe,
)
from coursekit.grading.gradebook.term import Lateness, time_of
from coursekit.grading.gradescope import autograder_zip, prepare
from coursekit.grading.gradescope import main as grade_one

FULL = Verdict("test_a", "n", 5.0, 5.0, "passed")
HALF = Verdict("test_b", "n", 2.5, 5.0, "partial", "You dropped the factor h(1-h).")
ENTRY = Entry('=HYPERLINK("http://x")', "bptt", (FULL, HALF), seconds=0.1)


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_name_that_is_a_formula_stays_text():
    table = rows(as_csv([ENTRY]))
    assert table[1][0].startswith("'=")
    assert table[1][1:] == ["7.5", "10", "graded", "5", "2.5"]
    assert [safe(t) for t in ("+1", "-3.5", "@x", "=1+1", "plain")] == ["+1", "-3.5", "'@x", "'=1+1", "plain"]


def test_an_answer_that_waits_for_a_person_has_no_points_and_is_no_failure():
    entry = replace(ENTRY, questions=(FULL, HALF, Verdict("why", "n", 0.0, 4.0, "by hand", "Later.")))
    assert rows(as_csv([entry]))[1][3:] == ["waiting", "5", "2.5", ""]
    assert rows(as_csv([replace(entry, flags=("look",))]))[1][3] == "flagged"
    assert [t.get("status") for t in json.loads(gradescope(entry))["tests"]] == ["passed", "failed", None]


def test_questions_of_one_name_in_two_notebooks_have_two_columns():
    twice = tuple(replace(FULL, notebook=name, score=n) for n, name in enumerate("ab", 1))
    table = rows(as_csv([replace(ENTRY, questions=twice)]))
    assert [row[4:] for row in table] == [["a/test_a", "b/test_a"], ["1", "2"]]


def test_a_gradebook_of_other_students_is_refused():
    with pytest.raises(GradingError, match="none of the graded students is in the Canvas gradebook"):
        fill_canvas("Student,ID,bptt (1)\nAda,1,\n", "bptt", {"emmy": Final(3, 10)})
    with pytest.raises(GradingError, match="none of the graded students is in the Moodle worksheet"):
        fill_moodle("Identifier,Grade\nParticipant 1,\n", {"emmy": Final(3, 10)})


def test_points_by_hand_win_over_the_automatic_ones():
    first = ENTRY.questions[0]
    given = ENTRY.given({first.key: ByHand(first.score + 2, 0.5, "")})
    assert float(rows(as_csv([given]))[1][1]) == ENTRY.score + 2.5


def test_canvas_gradebook_is_filled_in_and_otherwise_left_alone():
    sheet = (
        "Student,ID,SIS Login ID,Section,bptt (4321),other (1)\n"
        "    Points Possible,,,,100,10\n"
        '"Lovelace, Ada",11,ada@x.org,A,,3\n"Noether, Emmy",12,emmy@x.org,A,,4\n'
    )
    finals = {"lovelaceada (11)": Final(93.5, 100), "emmy@x.org": Final(100, 100)}
    filled = rows(fill_canvas(sheet, "bptt", finals).text)
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
    finals = {
        "Ada Lovelace (12345)": Final(90, 100),
        "emmy@x.org": Final(100, 100),
        "Emmy Noether": Final(1, 100),
    }
    filled = fill_moodle(sheet, finals)
    assert [r[4] for r in rows(filled.text)[1:]] == ["45", "50"]
    assert [line.split(":")[0] for line in filled.left] == ["Emmy Noether"], "a name is no id"


def test_moodles_worksheet_is_read_in_any_language():
    sheet = 'ID,Vollständiger Name,Status,Bewertung,Bestwertung\nTeilnehmer/in 7,Ada,Abgegeben,,"20,00"\n'
    assert rows(fill_moodle(sheet, {"Ada (7)": Final(5, 10)}).text)[1][3] == "10"
    other = sheet.replace("Bewertung", "Pisteet")
    with pytest.raises(GradingError, match="--column"):
        fill_moodle(other, {"Ada (7)": Final(5, 10)})
    assert rows(fill_moodle(other, {"Ada (7)": Final(5, 10)}, "Pisteet").text)[1][3] == "10"


def test_a_sheet_that_excel_saved_is_read_or_refused_in_a_sentence(tmp_path):
    sheet = "ID;Vollständiger Name;Bewertung;Bestwertung\r\nTeilnehmer/in7;Ada;;20,00\r\n"
    for coding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "sheet.csv").write_bytes(sheet.encode(coding))
        text = read_sheet(tmp_path / "sheet.csv")
        assert rows(fill_moodle(text, {"Ada (7)": Final(5, 10)}).text)[1][2] == "10"
    (tmp_path / "sheet.csv").write_bytes(sheet.encode("cp1252"))
    with pytest.raises(GradingError, match="is not in UTF-8: save it as “CSV UTF-8”"):
        read_sheet(tmp_path / "sheet.csv")


def test_a_grade_is_written_only_where_it_is_certain_whose_row_it_is():
    sheet = (
        "Student,ID,SIS User ID,SIS Login ID,bptt (9)\n    Points Possible,,,,50\n"
        '"Smith, John",501,S12346,john@x.org,\n"Smith, John",502,S2,j501@x.org,\n"Doe, Jane",503,12346,jane@x.org,\n'
    )
    finals = {
        "smithjohn (501)": Final(96, 100),
        "smithjohn (12346)": Final(10, 100),
        "waits (503)": Final(1, 100, "2 answers wait"),
    }
    filled = fill_canvas(sheet, "bptt", finals)
    assert [row[4] for row in rows(filled.text)[2:]] == ["48", "", ""]
    assert filled.written == ["smithjohn (501)"]
    assert [line.split(":")[0] for line in filled.left] == ["smithjohn (12346)", "waits (503)"]


@st.composite
def classes(draw):
    """A Canvas class with equal names, digits that occur in several columns, ids that are missing."""
    numbers = draw(st.lists(st.integers(1, 40), min_size=1, max_size=6, unique=True))
    some = st.sampled_from(["", *(str(n) for n in range(1, 41)), *(f"S{n}" for n in range(1, 41)), "a@x.org"])
    rows = [
        (draw(st.sampled_from(["Smith, John", "Doe, Jane"])), str(n), draw(some), draw(some)) for n in numbers
    ]
    handed = draw(
        st.lists(
            st.sampled_from(
                [f"smithjohn ({n})" for n in range(1, 45)] + ["S3", "7", "a@x.org", "Smith, John"]
            ),
            min_size=1,
            max_size=6,
            unique=True,
        )
    )
    return rows, {student: Final(float(k), 100) for k, student in enumerate(handed, 1)}


@settings(max_examples=500, deadline=None)
@given(classes())
def test_no_grade_ever_reaches_another_students_row(given_class):
    people, finals = given_class
    out = io.StringIO()
    csv.writer(out).writerows(
        [("Student", "ID", "SIS User ID", "SIS Login ID", "bptt"), *((*p, "") for p in people)]
    )
    try:
        filled = fill_canvas(out.getvalue(), "bptt", finals)
    except GradingError:
        return  # nobody of them is in the sheet
    table = rows(filled.text)[1:]
    by_score = {f"{final.score:g}": student for student, final in finals.items()}
    for row, (_, number, sis, login) in zip(table, people, strict=True):
        if row[4]:
            student = by_score[row[4]]
            own = student.endswith(f"({number})") or student in (number, sis, login)
            assert own, f"{student} in the row of {number}"
            alone = sum(student in p[1:] for p in people) == 1
            assert alone or student.endswith(f"({number})"), "an id that two people have is nobody's"
    assert len(filled.written) == sum(bool(row[4]) for row in table)
    assert len(filled.written) + len(filled.left) == len(finals), "what is not written is listed"


def test_the_number_of_a_group_of_moodle_is_no_participants_number():
    """mod/assign/classes/downloader.php: where groups hand in, a folder has the group's name and number."""
    sheet = "Identifier,Full name,Group,Grade\nParticipant 3,Ada,Team A,\nParticipant 7,Kurt,Team B,\n"
    with pytest.raises(GradingError, match="none of the graded students"):
        fill_moodle(sheet, {"Team A (7)": Final(5, 10)})
    filled = fill_moodle(sheet, {"Team A (7)": Final(5, 10), "Kurt (7)": Final(3, 10)})
    assert filled.written == ["Kurt (7)"]
    assert [row[3] for row in rows(filled.text)[1:]] == ["", "3"]


@st.composite
def moodle_classes(draw):
    """A Moodle class: participants' numbers, ID numbers and addresses that share digits, some missing or twice."""
    some = st.sampled_from(["", *map(str, range(1, 12)), "S1", "S11", "a@x.org", "a1@x.org", "1@x.org"])
    numbers = draw(st.lists(st.integers(1, 11), min_size=1, max_size=6, unique=True))
    people = [(n, draw(st.sampled_from(["Ada L", "Kurt G"])), draw(some), draw(some)) for n in numbers]
    handed = st.one_of(some.filter(bool), st.sampled_from([f"Ada L ({n})" for n in range(1, 14)] + ["Ada L"]))
    students = draw(st.lists(handed, min_size=1, max_size=6, unique=True))
    return people, {student: Final(float(k), 100) for k, student in enumerate(students, 1)}


@settings(max_examples=500, deadline=None)
@given(moodle_classes())
def test_no_grade_ever_reaches_another_participants_row(given_class):
    people, finals = given_class
    out = io.StringIO()
    head = ("Identifier", "Full name", "ID number", "Email address", "Grade")
    csv.writer(out).writerows([head, *((f"Participant {n}", *rest, "") for n, *rest in people)])
    try:
        filled = fill_moodle(out.getvalue(), finals)
    except GradingError:
        return
    score_of = {f"{final.score:g}": student for student, final in finals.items()}
    for row, (number, _, idnumber, mail) in zip(rows(filled.text)[1:], people, strict=True):
        if row[4]:
            student = score_of[row[4]]
            assert student.endswith(f"({number})") or student in (idnumber, "@" in mail and mail), row
            owners = [p for p in people if student == p[2] or (student == p[3] and "@" in student)]
            assert len(owners) <= 1, "an id that two people have is nobody's"
    assert len(filled.written) == sum(bool(row[4]) for row in rows(filled.text)[1:])
    assert len(filled.written) + len(filled.left) == len(finals)


def test_gradescope_results_have_a_test_a_question():
    result = json.loads(gradescope(ENTRY))
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
    assert replace(Lateness.read(policy), due=at(0)).penalty("ada", 80.0, at(hours)) == pytest.approx(penalty)


def test_work_without_a_trusted_time_is_not_late():
    assert replace(Lateness.read("10% a day"), due=at(0)).penalty("ada", 80.0, None) == 0


def test_a_policy_or_a_time_that_cannot_be_read_is_refused():
    with pytest.raises(GradingError, match="write"):
        Lateness.read("ten per cent")
    with pytest.raises(GradingError, match="write"):
        time_of("tomorrow")


@pytest.mark.slow
def test_the_gradescope_autograder_runs_the_same_grader(tmp_path):
    """Its `run_autograder`, with the folders that Gradescope would have under /autograder."""
    root = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    home = tmp_path / "autograder"
    with zipfile.ZipFile(io.BytesIO(autograder_zip(root, "sums"))) as archive:
        archive.extractall(home / "source")
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
        assert {"setup.sh", "pyproject.toml", "coursekit/cli/commands.py"} <= set(archive.namelist())
    (home / "submission").mkdir()
    wrong = small.solved(small.sums(), mean="def mean(xs):\n    return sum(xs) / len(xs)")
    (home / "submission" / "Copy of sums.ipynb").write_bytes(small.saved(wrong))
    (home / "submission_metadata.json").write_text('{"users": [{"email": "ada@x.org", "name": "Ada"}]}')
    (home / "results").mkdir()
    prepare(home, "sums")
    assert (home / "modes.json").exists()
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
        "Problem 1: total": 1, "Problem 2: mean": 0, "Problem 3: norm": 3, "Problem 4: why": 0,
    }  # fmt: skip
    assert "hidden" not in json.dumps(result).lower()


def test_a_gradescope_submission_does_not_pay_for_a_grammar_of_addresses():
    program = (
        "import sys, coursekit.grading.gradescope, jsonschema; print(bool(sys.modules.get('rfc3987_syntax')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=True
    )
    assert done.stdout.split() == ["False"]


def test_gradescope_tells_a_student_nothing_of_the_machine_or_the_instructors_words(
    tmp_path, monkeypatch, capsys
):
    root = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    home = tmp_path / "autograder"
    (home / "source").mkdir(parents=True)
    root.rename(home / "source" / "course")
    (home / "submission").mkdir()
    (home / "submission" / "notes.ipynb").write_text("{")
    assert grade_one([str(home), "sums"]) == 1
    told = json.loads((home / "results" / "results.json").read_text())["output"]
    assert "No notebook of this assignment" in told
    assert grade_one([str(home), "another"]) == 1
    told += json.loads((home / "results" / "results.json").read_text())["output"]
    assert str(home) not in told
    assert "--" not in told
    assert "another" in capsys.readouterr().err, "the instructor reads the reason"


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
