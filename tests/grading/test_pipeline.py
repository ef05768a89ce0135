"""The way of a submission from its file to the gradebook, with something simple in the place of the sandbox."""

import datetime
import shutil

import pytest
import small_course as small
from traitlets.config import Config

from coursekit.grading import pipeline
from coursekit.grading.assignment import master, references
from coursekit.grading.facts import Assignment
from coursekit.grading.gradebook.record import Record
from coursekit.grading.pipeline import Grading, works
from coursekit.grading.run.outcome import Outcome, TestOutcome, calibrate
from coursekit.grading.submissions import repair
from coursekit.grading.submissions.collect import Part, Submission

SUMS = Assignment("sums", (master("sums", small.sums(), Config()),))
QUIZ = small.notebook(
    small.text("Other."), small.answer("f", "def f():", "return 1"), small.check("test_f", 5, "f()")
)
OTHER = Assignment("other", (master("other", QUIZ, Config()),))


@pytest.fixture
def record(tmp_path, empty_gradebook):
    with Record(f"sqlite:///{shutil.copy(empty_gradebook, tmp_path)}") as opened:
        opened.enter(SUMS)
        opened.enter(OTHER)
        yield opened


def submission(student: str, made=None, **more) -> Submission:
    data = small.saved(made or small.solved(small.sums()))
    return Submission(student, student, [Part("x.ipynb", student, lambda: data)], **more)


class Runner:
    """Gives full points to every test, unless told otherwise; remembers what it was asked."""

    def __init__(self, **status: str):
        self.status, self.seen = status, []

    def __call__(self, tasks):
        for task in tasks:
            self.seen.append(task.id.split()[0].strip("'"))
            student = self.seen[-1]
            tests = [c for c in task.cells if c.role == "test"]
            status = self.status.get(student, "passed")
            score = 1.0 if status == "passed" else 0.0
            yield Outcome(
                task.id, tests=[TestOutcome(c.id, score * c.points, c.points, status) for c in tests]
            )


def grade(record, submissions, runner=None, late="", due="", **more) -> Grading:
    if due:
        record.enter(SUMS)
        record.decide("sums", due)
        record.term.say("late", "sums", "", late)
    grading = Grading(runner or Runner(), record, **more)
    grading.grade(works(submissions, [SUMS, OTHER]))
    return grading


def test_each_submission_is_run_once_and_recorded(record):
    runner = Runner()
    grading = grade(record, [submission(f"s{n}") for n in range(20)], runner)
    assert small.totals(record, "sums") == {f"s{n}": 6.0 for n in range(20)}
    assert runner.seen == ["sums", *(f"s{n}" for n in range(20))], "first the instructor's own solution"
    assert grading.problems == []
    again = Runner()
    assert grade(record, [submission(f"s{n}") for n in range(20)], again).done == grading.done
    assert again.seen == [], "nothing is graded anew"


def test_assignments_of_one_class_are_graded_one_after_the_other(record):
    runner = Runner()
    both = submission("ada")
    data = small.saved(small.solved(OTHER.masters[0].notebook))
    both.parts.append(Part("y.ipynb", "ada", lambda: data))
    grade(record, [both, submission("emmy")], runner)
    assert runner.seen == ["sums", "ada", "emmy", "other", "ada"]
    assert small.totals(record, "other") == {"ada": 5.0}


def test_what_our_own_processes_lost_is_graded_by_the_next_run(record):
    grade(record, [submission("ada"), submission("emmy")], Runner(ada="lost"))
    runner = Runner()
    grade(record, [submission("ada"), submission("emmy")], runner)
    assert runner.seen == ["sums", "ada"]
    assert small.totals(record, "sums") == {"ada": 6.0, "emmy": 6.0}


def test_a_submission_that_breaks_the_repair_is_a_problem_and_the_rest_goes_on(record, monkeypatch):
    whole = repair.repair

    def breaks(own, cells):
        if any("BOOM" in c.source for c in cells):
            raise RecursionError("too deep")
        return whole(own, cells)

    monkeypatch.setattr(repair, "repair", breaks)
    bad = submission("mary", small.solved(small.sums(), total="BOOM"))
    grading = grade(record, [submission("ada"), bad, submission("emmy")])
    assert small.totals(record, "sums") == {"ada": 6.0, "emmy": 6.0}
    assert [(p.student, "RecursionError" in p.sentence) for p in grading.problems] == [("mary", True)]


def test_a_file_that_cannot_be_read_is_a_problem_and_the_rest_goes_on(record):
    def fails() -> bytes:
        raise PermissionError("not yours")

    def surprises() -> bytes:
        raise KeyError("a bug")

    broken = [
        Submission(f"m{n}", "x", [Part("x.ipynb", "x", read)]) for n, read in enumerate((fails, surprises))
    ]
    grading = grade(record, [*broken, Submission("nobody", "y"), submission("ada")])
    assert small.totals(record, "sums") == {"ada": 6.0}
    assert {p.student for p in grading.problems} == {"m0", "m1", "nobody"}


def test_a_gradebook_that_refuses_one_submission_takes_the_others(record, monkeypatch):
    write = record.write

    def refuses(entry, *rest):
        if entry.student == "mary":
            raise ValueError("no such column")
        write(entry, *rest)

    monkeypatch.setattr(record, "write", refuses)
    grading = grade(record, [submission("mary"), submission("ada")])
    assert small.totals(record, "sums") == {"ada": 6.0}
    assert "no such column" in grading.problems[0].sentence


def test_submissions_are_read_one_after_the_other_not_all_at_once(record, monkeypatch):
    """Never more are read than run, read ahead and wait to be recorded."""
    open_now, most = set(), [0]

    def reader(student: str):
        data = small.saved(small.solved(small.sums()))

        def read() -> bytes:
            open_now.add(student)
            most[0] = max(most[0], len(open_now))
            return data

        return read

    class_of = [Submission(f"s{n}", "x", [Part("x.ipynb", "x", reader(f"s{n}"))]) for n in range(60)]
    write = record.write

    def written(entry, *rest):
        write(entry, *rest)
        open_now.discard(entry.student)

    monkeypatch.setattr(record, "write", written)
    grade(record, class_of)
    assert len(small.totals(record, "sums")) == 60
    assert most[0] <= 3 * pipeline.READ_AHEAD


def test_late_work_loses_points_from_a_trusted_time_and_is_flagged_without_one(record):
    due = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)
    hour = datetime.timedelta(hours=1)
    handed = [
        submission("early", when=due - hour),
        submission("late", when=due + hour),
        submission("canvas", late=True),
    ]
    grade(record, handed, late="50% a day", due=due.isoformat())
    entries = {entry.student: entry for entry in record.entries("sums")}
    assert {s: e.score for s, e in entries.items()} == {"early": 6, "late": 3, "canvas": 6}
    assert entries["canvas"].flags == ("it is marked late, but the download does not say when it came",)


def test_a_test_that_needs_the_students_process_is_found_with_the_instructors_solution():
    class Calibrating(Runner):
        def __call__(self, tasks):
            for task in tasks:
                tests = [c for c in task.cells if c.role == "test"]
                made = [
                    TestOutcome(
                        c.id, c.points * (c.id != "test_mean" or c.mode == "candidate"), c.points, "passed"
                    )
                    for c in tests
                ]
                yield Outcome(task.id, tests=made)

    modes, failed = calibrate(references(SUMS), Calibrating())
    assert modes["sums"]["test_mean"] == {"mode": "candidate"}
    assert modes["sums"]["test_total"] == {"leans": ()}
    assert failed == []
