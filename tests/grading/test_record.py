"""The gradebook: one transaction a submission, and what a person gave stays."""

import datetime
import json
import multiprocessing
import os
import shutil
import signal
import time
import warnings
from pathlib import Path

import nbformat
import pytest
import small_course as small
from nbgrader.api import Gradebook
from sqlalchemy import insert
from traitlets.config import Config

from coursekit.grading.assignment import master
from coursekit.grading.errors import GradingError
from coursekit.grading.facts import Assignment, ByHand, Entry, Master, MasterCell, Verdict
from coursekit.grading.gradebook.record import Record
from coursekit.grading.gradebook.tables import GRADED, by_hand
from coursekit.grading.pages.feedback import feedback

NOTEBOOK = nbformat.v4.new_notebook()
CELLS = (
    MasterCell("code", "x = 1", "x = ...", "solution", "x"),
    MasterCell("code", "assert x == 1", "assert x == 1", "test", "test_x", 3.0),
    MasterCell("markdown", "because", "because", "manual", "why", 2.0),
)
ASSIGNMENT = Assignment("small", (Master("small", CELLS, NOTEBOOK),))
WAITS = Verdict("why", "small", 0.0, 2.0, "by hand")


def entry(student: str = "ada", *verdicts: Verdict, **more) -> Entry:
    return Entry(
        student, "small", verdicts or (Verdict("test_x", "small", 3.0, 3.0, "passed"), WAITS), **more
    )


@pytest.fixture
def url(tmp_path, empty_gradebook):
    return f"sqlite:///{shutil.copy(empty_gradebook, tmp_path)}"


def test_scores_are_nbgraders_own(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry(), "digest")
    with Gradebook(url) as gradebook:
        submission = gradebook.find_submission("small", "ada")
        assert (submission.score, submission.max_score) == (3.0, 5.0)
        assert submission.needs_manual_grade
        grade = gradebook.find_grade("test_x", "small", "small", "ada")
        assert (grade.auto_score, grade.needs_manual_grade) == (3.0, False)


def test_points_and_comments_given_by_hand_survive_a_regrade(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry(), "one")
    with Gradebook(url) as gradebook:
        gradebook.find_grade("why", "small", "small", "ada").manual_score = 1.5
        gradebook.find_comment("why", "small", "small", "ada").manual_comment = "well argued"
        gradebook.db.commit()
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry("ada", Verdict("test_x", "small", 0.0, 3.0, "failed"), WAITS), "two")
        assert small.totals(record, "small") == {"ada": 1.5}
    with Gradebook(url) as gradebook:
        assert gradebook.find_grade("why", "small", "small", "ada").manual_score == 1.5
        assert gradebook.find_comment("why", "small", "small", "ada").comment == "well argued"


def test_the_same_submission_is_known_again_and_another_is_not(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry(), "digest")
        assert record.digests() == {("ada", "small"): "digest"}
        assert record.entry("ada", "small") == entry()
        record.write(entry(seconds=4.0), "another")
        assert record.digests() == {("ada", "small"): "another"}
        assert record.entries("small") == [entry(seconds=4.0)]


def test_what_a_person_gave_is_read_back(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry(), "one")
        assert by_hand(record.engine, "small") == {}
    with Gradebook(url) as gradebook:
        gradebook.find_grade("why", "small", "small", "ada").manual_score = 1.5
        gradebook.find_grade("test_x", "small", "small", "ada").extra_credit = 0.5
        gradebook.find_comment("x", "small", "small", "ada").manual_comment = "neat"
        gradebook.db.commit()
    with Record(url) as record:
        assert by_hand(record.engine, "small") == {
            "ada": {
                ("small", "why"): ByHand(1.5, 0.0, ""),
                ("small", "test_x"): ByHand(None, 0.5, ""),
                ("small", "x"): ByHand(None, 0.0, "neat"),
            }
        }


def test_a_new_release_adds_its_questions_and_drops_those_it_no_longer_has(url):
    """Points that a person gave for a question that is gone are kept."""
    more = (*CELLS[:1], MasterCell("code", "assert x", "assert x", "test", "test_new", 7.0))
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry(), "one")
        record.write(entry("emmy"), "one")
    with Gradebook(url) as gradebook:
        gradebook.find_grade("why", "small", "small", "ada").manual_score = 1.5
        gradebook.db.commit()
    with Record(url) as record:
        record.enter(Assignment("small", (Master("small", more, NOTEBOOK),)))
        record.write(entry("ada", Verdict("test_new", "small", 7.0, 7.0, "passed")), "two")
        assert small.totals(record, "small") == {"ada": 8.5, "emmy": 0.0}


def test_a_blank_answer_is_told_so_as_nbgrader_does(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write(entry(blank=("why",)), "one")
    with Gradebook(url) as gradebook:
        assert gradebook.find_comment("why", "small", "small", "ada").auto_comment == "No response."


def test_writing_warns_of_nothing(url):
    with warnings.catch_warnings(), Record(url) as record:
        warnings.simplefilter("error")
        record.enter(ASSIGNMENT)
        for _ in range(2):
            record.write(entry(), "one")


def test_a_password_is_not_in_the_sentence():
    with pytest.raises(GradingError, match="cannot be opened") as refusal:
        Record("postgresql+psycopg://someone:secret@127.0.0.1:1/none")
    assert "secret" not in str(refusal.value)


def test_a_failure_in_the_middle_leaves_nothing(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        with pytest.raises(TypeError):
            record.write(entry(answers={"not json": object()}), "digest")
        assert small.totals(record, "small") == {}
        assert record.digests() == {}
        record.write(entry(), "digest")
        assert small.totals(record, "small") == {"ada": 3.0}


def _write_for_ever(url: str, pipe) -> None:
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        for number in range(10_000):
            record.write(entry(f"student {number}"), "digest")
            pipe.send(number)


@pytest.mark.parametrize("after", [0.05, 0.2])
def test_a_writer_that_is_killed_loses_nothing_it_reported(url, after):
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=_write_for_ever, args=(url, theirs), daemon=True
    )
    process.start()
    ours.recv()
    time.sleep(after)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    last = 0
    while ours.poll():
        try:
            last = ours.recv()
        except EOFError:
            break
    with Record(url) as record:
        totals, records = small.totals(record, "small"), record.entries("small")
        assert len(totals) == len(records) >= last + 1
        assert set(totals.values()) == {3.0}, "a submission was half written"


def test_an_entry_that_an_earlier_version_wrote_is_read_and_shown(url):
    old = json.loads((Path(__file__).parent / "record_of_0_1.json").read_text())
    row = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in old.items()}
    assignment = Assignment("sums", (master("sums", small.sums(), Config()),))
    with Record(url) as record:
        with record.engine.begin() as connection:
            connection.execute(insert(GRADED).values(row))
        (read,) = record.entries("sums")
        was = old["record"]
        assert (read.score, read.max_score, read.status) == (was["score"], was["max_score"], was["status"])
        now = json.loads(json.dumps(read.plain()))
        for verdict, old_verdict in zip(now["questions"], was["questions"], strict=True):
            assert verdict.items() >= old_verdict.items(), "a later version may know more of it, and no less"
        assert {name: now[name] for name in was if name != "questions"} == {
            name: value for name, value in was.items() if name != "questions"
        }
        page = feedback(read, assignment, record.printed("ada", "sums"))
    assert "hello" in page
    assert "data:image/png;base64,iVBOR" in page
    assert "took too long and was stopped (line 1), so `mean`" in page.replace("<code>", "`").replace(
        "</code>", "`"
    )


def test_a_penalty_follows_from_facts_that_last(url):
    """Set once; then every later run, extension and point by hand is counted with it, in nbgrader's sums too."""
    when = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.decide("small", (when - datetime.timedelta(hours=30)).isoformat())
        record.term.say("late", "small", "", "10% a day")
    with Record(url) as record:  # another run, which is told nothing
        record.enter(ASSIGNMENT)
        record.write(entry(when=when), "digest")
        whole = sum(q.score for q in record.entry("ada", "small").questions)
        assert small.totals(record, "small") == {"ada": pytest.approx(0.8 * whole)}
        question = record.entry("ada", "small").questions[0]
        record.give("small", "ada", question.id, question.score - 1, "")
        assert small.totals(record, "small") == {"ada": pytest.approx(0.8 * (whole - 1))}
    with Gradebook(url) as gradebook:
        submission = gradebook.find_submission("small", "ada")
        assert submission.timestamp.hour == 12
        assert submission.late_submission_penalty == pytest.approx(0.2 * (whole - 1))
    with Record(url) as record:
        record.term.say("extension", "small", "ada", when.isoformat(), "ill")
        record.refresh("small")
        assert small.totals(record, "small") == {"ada": pytest.approx(whole - 1)}


def test_a_gradebook_that_cannot_be_opened_is_said_in_one_sentence(tmp_path):
    with pytest.raises(GradingError, match="cannot be opened"):
        Record(f"sqlite:///{tmp_path / 'no' / 'folder' / 'gradebook.db'}")


def test_a_gradebook_that_cannot_be_made_is_refused_in_a_sentence_and_nothing_is_left(tmp_path, monkeypatch):
    """nbgrader asks the `alembic` script for the version of its tables, after it has made them."""

    def missing(*args, **kwargs):
        raise FileNotFoundError(2, "No such file or directory", "alembic")

    monkeypatch.setattr("nbgrader.api.sp.check_output", missing)
    with pytest.raises(GradingError, match=r"cannot be opened: .*alembic"):
        Record(f"sqlite:///{tmp_path / 'new.db'}")
    assert list(tmp_path.iterdir()) == []
