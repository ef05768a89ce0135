"""Time, memory, processes, files, output: each limit costs its own question and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from coursekit.grading import Limits, Warm
from coursekit.grading.confine import limits

QUICK = Limits(
    cell_cpu=0.5,
    cell_wall=1.0,
    notebook_wall=20,
    memory=200,
    processes=12,
    files=40,
    disk=8,
    grace=0.3,
    restarts=2,
)
GOOD = ("solution", "def good(): return 1"), ("test", "assert good() == 1", {"id": "good"})


def test_a_loop_is_stopped_and_what_was_defined_before_stays(grade_cells):
    outcome = grade_cells(
        ("solution", "def f(): return 1\nwhile True: pass"), ("test", "assert f() == 1"), *GOOD, limits=QUICK
    )
    assert outcome.cells[0].status == "timeout"
    assert outcome.score == 2
    assert outcome.restarts == 0, "an honest loop is interrupted, not killed"


def test_processor_time_is_what_counts(grade_cells):
    """A cell that only waits has the longer limit of the wall."""
    outcome = grade_cells(
        ("solution", "import time\ntime.sleep(0.7)\nx = 1"), ("test", "assert x == 1"), limits=QUICK
    )
    assert outcome.cells[0].status == "ok"
    assert outcome.score == 1


def test_a_call_that_takes_too_long_costs_its_question_only(grade_cells):
    outcome = grade_cells(
        ("solution", "def slow():\n    while True: pass"),
        ("test", "slow()", {"id": "slow"}),
        *GOOD,
        limits=QUICK,
    )
    assert [test.status for test in outcome.tests] == ["timeout", "passed"]
    assert outcome.tests[0].sentence == "Your code took too long here and was stopped."


def test_a_process_that_cannot_be_interrupted_is_killed_and_started_again(grade_cells):
    stubborn = "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
    outcome = grade_cells(
        GOOD[0],
        ("solution", stubborn + "while True: time.sleep(1)"),
        ("solution", "def after(): return good() + 1"),
        ("test", "assert after() == 2"),
        limits=QUICK,
    )
    assert outcome.cells[1].status == "timeout"
    assert outcome.restarts == 1
    assert outcome.score == 1, outcome


def test_restarts_are_bounded_and_each_test_still_has_its_sentence(grade_cells):
    cells = [("solution", "import os\ndef f(): os._exit(1)")] + [("test", "f()")] * 5 + list(GOOD)
    outcome = grade_cells(*cells, limits=QUICK)
    assert outcome.restarts == QUICK.restarts
    assert outcome.score == 0
    assert all(test.sentence for test in outcome.tests)


def test_the_whole_notebook_has_its_time(grade_cells):
    brief = replace(QUICK, notebook_wall=1.0, cell_wall=5.0)
    waits = ("solution", "import time; time.sleep(0.6)")
    outcome = grade_cells(waits, waits, waits, *GOOD, limits=brief)
    assert outcome.cells[-1].status == "skipped"
    assert outcome.tests[0].status == "timeout"
    assert "whole notebook" in outcome.tests[0].sentence


def test_a_test_that_never_ends_is_stopped_too(grade_cells):
    outcome = grade_cells(("test", "while True: pass", {"id": "endless"}), *GOOD, limits=QUICK)
    assert [test.status for test in outcome.tests] == ["timeout", "passed"]


def test_too_much_memory_is_an_error_in_the_students_own_words(grade_cells):
    outcome = grade_cells(("solution", "x = bytearray(300 << 20)"), *GOOD, limits=QUICK)
    assert outcome.cells[0].error.startswith("MemoryError")
    assert outcome.score == 1


def test_memory_is_counted_over_all_processes_of_a_submission(grade_cells):
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        hoard = bytearray(100 << 20)
        for at in range(0, len(hoard), 4096): hoard[at] = 1
        time.sleep(100)
time.sleep(0.9)
"""
    outcome = grade_cells(("solution", source), *GOOD, limits=replace(QUICK, cell_cpu=5, cell_wall=8))
    assert outcome.cells[0].status == "died", outcome
    assert outcome.score == 1


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (
            "import os\nfor _ in range(50):\n    if os.fork() == 0:\n        import time; time.sleep(60)",
            "BlockingIOError",
        ),
        ("files = [open('/dev/null') for _ in range(100)]", "OSError"),
        ("open('big', 'wb').write(bytes(20 << 20))", "OSError"),
        ("for i in range(9):\n    open(f'part{i}', 'wb').write(bytes(1 << 20))", "OSError"),
    ],
    ids=["processes", "open files", "one large file", "many files"],
)
def test_a_limit_is_an_error_like_any_other(grade_cells, source, error):
    outcome = grade_cells(("solution", source), *GOOD, limits=QUICK)
    assert outcome.cells[0].status == "error"
    assert outcome.cells[0].error.startswith(error), outcome.cells[0].error
    assert outcome.score == 1


def test_the_limits_of_one_submission_are_not_those_of_the_next(grade_cells):
    fork = "import os, time\nfor _ in range(8):\n    if os.fork() == 0: time.sleep(60)\ndef f(): return 1"
    for _ in range(3):  # with a count shared by all, the second would find no room
        assert grade_cells(("solution", fork), ("test", "assert f() == 1"), limits=QUICK).score == 1


def test_submissions_run_side_by_side(warm, task_of):
    """The second, which is quick, is done before the first, which waits (jobs=2)."""
    tasks = [
        task_of(("solution", "import time; time.sleep(1.5)"), ("test", "pass"), id="waits"),
        task_of(("solution", "x = 1"), ("test", "pass"), id="quick"),
    ]
    assert [outcome.id for outcome in warm.grade(tasks)] == ["quick", "waits"]


def test_a_lost_warm_parent_is_replaced_and_nothing_is_lost(task_of):
    with Warm(preload=[]) as warm:
        tasks = [
            task_of(("solution", "import time; time.sleep(0.5)"), ("test", "pass"), id=str(n))
            for n in range(2)
        ]
        grading = warm.grade(tasks)
        first = next(grading)
        warm.process.kill()
        second = next(grading)
    assert (first.score, second.score) == (1, 1)


def test_own_memory_is_read_of_this_process_and_is_zero_of_none():
    assert limits.own_memory() > 1 << 20
    assert limits.own_memory(2**22 + 1) == 0


def test_memory_that_was_swapped_out_is_counted_too(monkeypatch, tmp_path):
    """A process may ask for it, and would else hold as much as the machine has to swap to."""
    (tmp_path / "status").write_text("RssAnon:\t 5 kB\nRssShmem:\t 7 kB\nVmSwap:\t 11 kB\nRssFile:\t 13 kB\n")
    monkeypatch.setattr(limits, "open", lambda path: (tmp_path / "status").open(), raising=False)
    assert limits.own_memory() == 23 << 10


def test_a_control_group_bounds_all_submissions_where_there_is_one(task_of):
    with Warm(preload=[], limits=QUICK) as warm:
        groups = list(warm.group.made)
        inside = Path(f"/proc/{warm.process.pid}/cgroup").read_text()
        (outcome,) = warm.grade([task_of(("test", "pass"))])
        if limits.groups_offered() != "yes":
            assert groups == []
            return
        memory = next(g for g in groups if "memory" in str(g) or (g / "memory.max").exists())
        assert f"coursekit-{warm.process.pid}" in inside
        bound = [
            (memory / name) for name in ("memory.max", "memory.limit_in_bytes") if (memory / name).exists()
        ]
        assert int(bound[0].read_text()) < (limits.PARENT + 2 * QUICK.memory + 1) << 20
    assert outcome.score == 1
    assert not any(group.exists() for group in groups)


@pytest.mark.parametrize(
    "way",
    [
        "m = mmap.mmap(-1, n)",
        "m = mmap.mmap(-1, n, flags=0x23)",
        "m = mmap.mmap(os.open('/dev/zero', os.O_RDWR), n)",
        "import ctypes; assert ctypes.CDLL(None, use_errno=True).shmget(0, n, 0o1777) >= 0",
        "os.ftruncate(f := os.memfd_create('x'), n); m = mmap.mmap(f, n)",
    ],
)
def test_memory_that_processes_share_without_a_file_is_not_to_be_had(grade_cells, way):
    """Filled by one process and held by another, it would belong to nobody that is watched."""
    source = f"import mmap, os\ndef f(n):\n    {way}\n    return 1"
    outcome = grade_cells(("solution", source), ("test", "assert f(1 << 20) == 1"), *GOOD, limits=QUICK)
    assert [test.score for test in outcome.tests] == [0, 1], outcome


def test_shared_memory_is_counted_where_it_can_be_had():
    import mmap

    before = limits.own_memory()
    with mmap.mmap(-1, 32 << 20) as shared:
        for page in range(0, len(shared), 4096):
            shared[page] = 1
        assert limits.own_memory() - before > 30 << 20


def test_no_lock_on_an_installed_file_is_seen_by_another_submission(warm, task_of):
    look = """
import fcntl, os, torch, struct
def held():
    with open(torch.__file__) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    asked = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)
    with open(torch.__file__) as file:
        return struct.unpack('hhqqi4x', fcntl.fcntl(file, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK
"""
    lock = (
        look
        + "kept = open(torch.__file__)\nfcntl.flock(kept, 2 | 4); fcntl.lockf(kept, 1 | 4)\nimport time\n"
    )
    tasks = [
        task_of(("solution", lock + "def f(): time.sleep(1); return 1"), ("test", "f()"), id="locks"),
        task_of(("solution", look), ("test", "import time\ntime.sleep(.4)\nassert not held()"), id="looks"),
    ]
    assert {outcome.id: outcome.score for outcome in warm.grade(tasks)} == {"locks": 1, "looks": 1}
