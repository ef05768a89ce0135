"""The gradebook: one transaction a submission, and what a person gave stays."""

import datetime
import multiprocessing
import os
import shutil
import signal
import time
import warnings

import nbformat
import pytest
from nbgrader.api import Gradebook

from coursekit.grading.assignment import Assignment, Master, MasterCell
from coursekit.grading.errors import GradingError
from coursekit.grading.record import ByHand, Record, Score

NOTEBOOK = nbformat.v4.new_notebook()
CELLS = (
    MasterCell("code", "x = 1", "x = ...", "solution", "x"),
    MasterCell("code", "assert x == 1", "assert x == 1", "test", "test_x", 3.0),
    MasterCell("markdown", "because", "because", "manual", "why", 2.0),
)
ASSIGNMENT = Assignment("small", (Master("small", CELLS, NOTEBOOK),))
SCORES = [Score("small", "test_x", 3.0), Score("small", "why", None)]


@pytest.fixture
def url(tmp_path, empty_gradebook):
    return f"sqlite:///{shutil.copy(empty_gradebook, tmp_path)}"


def test_scores_are_nbgraders_own(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "digest", SCORES, {"a": 1})
    with Gradebook(url) as gradebook:
        submission = gradebook.find_submission("small", "ada")
        assert (submission.score, submission.max_score) == (3.0, 5.0)
        assert submission.needs_manual_grade
        grade = gradebook.find_grade("test_x", "small", "small", "ada")
        assert (grade.auto_score, grade.needs_manual_grade) == (3.0, False)


def test_points_and_comments_given_by_hand_survive_a_regrade(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "one", SCORES, {})
    with Gradebook(url) as gradebook:
        gradebook.find_grade("why", "small", "small", "ada").manual_score = 1.5
        gradebook.find_comment("why", "small", "small", "ada").manual_comment = "well argued"
        gradebook.db.commit()
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "two", [Score("small", "test_x", 0.0), Score("small", "why", None)], {})
        assert record.totals("small") == {"ada": 1.5}
    with Gradebook(url) as gradebook:
        assert gradebook.find_grade("why", "small", "small", "ada").manual_score == 1.5
        assert gradebook.find_comment("why", "small", "small", "ada").comment == "well argued"


def test_the_same_submission_is_known_again_and_another_is_not(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "digest", SCORES, {"score": 3})
        assert record.digests() == {("ada", "small"): "digest"}
        assert record.entry("ada", "small") == {"score": 3}
        record.write("ada", "small", "another", SCORES, {"score": 4})
        assert record.digests() == {("ada", "small"): "another"}
        assert record.records("small") == [{"score": 4}]


def test_what_a_person_gave_is_read_back(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "one", SCORES, {})
        assert record.by_hand("small") == {}
    with Gradebook(url) as gradebook:
        gradebook.find_grade("why", "small", "small", "ada").manual_score = 1.5
        gradebook.find_grade("test_x", "small", "small", "ada").extra_credit = 0.5
        gradebook.find_comment("x", "small", "small", "ada").manual_comment = "neat"
        gradebook.db.commit()
    with Record(url) as record:
        assert record.by_hand("small") == {
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
        record.write("ada", "small", "one", SCORES, {})
        record.write("emmy", "small", "one", SCORES, {})
    with Gradebook(url) as gradebook:
        gradebook.find_grade("why", "small", "small", "ada").manual_score = 1.5
        gradebook.db.commit()
    with Record(url) as record:
        record.enter(Assignment("small", (Master("small", more, NOTEBOOK),)))
        record.write("ada", "small", "two", [Score("small", "test_new", 7.0)], {})
        assert record.totals("small") == {"ada": 8.5, "emmy": 0.0}


def test_a_blank_answer_is_told_so_as_nbgrader_does(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "one", SCORES, {}, blank=frozenset({"why"}))
    with Gradebook(url) as gradebook:
        assert gradebook.find_comment("why", "small", "small", "ada").auto_comment == "No response."


def test_writing_warns_of_nothing(url):
    with warnings.catch_warnings(), Record(url) as record:
        warnings.simplefilter("error")
        record.enter(ASSIGNMENT)
        for _ in range(2):
            record.write("ada", "small", "one", SCORES, {})


def test_a_password_is_not_in_the_sentence():
    with pytest.raises(GradingError, match="cannot be opened") as refusal:
        Record("postgresql+psycopg://someone:secret@127.0.0.1:1/none")
    assert "secret" not in str(refusal.value)


def test_a_failure_in_the_middle_leaves_nothing(url):
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        with pytest.raises(TypeError):
            record.write("ada", "small", "digest", SCORES, {"not json": object()})
        assert record.totals("small") == {}
        assert record.digests() == {}
        record.write("ada", "small", "digest", SCORES, {})
        assert record.totals("small") == {"ada": 3.0}


def _write_for_ever(url: str, pipe) -> None:
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        for number in range(10_000):
            record.write(f"student {number}", "small", "digest", SCORES, {"number": number})
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
        totals, records = record.totals("small"), record.records("small")
        assert len(totals) == len(records) >= last + 1
        assert set(totals.values()) == {3.0}, "a submission was half written"


def test_a_late_time_and_its_penalty_are_kept(url):
    when = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)
    with Record(url) as record:
        record.enter(ASSIGNMENT)
        record.write("ada", "small", "digest", SCORES, {}, when=when, penalty=0.6)
        assert record.totals("small") == {"ada": pytest.approx(2.4)}
    with Gradebook(url) as gradebook:
        assert gradebook.find_submission("small", "ada").timestamp.hour == 12


def test_a_gradebook_that_cannot_be_opened_is_said_in_one_sentence(tmp_path):
    with pytest.raises(GradingError, match="cannot be opened"):
        Record(f"sqlite:///{tmp_path / 'no' / 'folder' / 'gradebook.db'}")
