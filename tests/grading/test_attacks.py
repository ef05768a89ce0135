"""Hostile submissions (see `hostile.py`): each must score exactly what its honest part earns, and must not cost its
neighbour in the batch anything.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time

import pytest
from hostile import (
    ATTACKS,
    DESERVED,
    HIDDEN,
    INSIDE,
    NOTEBOOKS,
    RIGHT,
    ROOT,
    family_of,
    notebook_of,
    submission,
    task,
)

from coursekit.grading import Limits, Warm
from coursekit.grading.confine import sandbox

SMALL = Limits(
    cell_cpu=1.0, cell_wall=2.0, notebook_wall=30.0, memory=256, processes=16, files=64, disk=16, grace=0.5
)

TABLE = {row["attack"]: row for row in json.loads((ROOT / "benchmarks" / "attacks.json").read_text())}


def test_the_honest_answer_earns_all_three_points(warm):
    (outcome,) = warm.grade([task("honest", submission(RIGHT))])
    assert [test.status for test in outcome.tests] == ["passed"] * 3, outcome


@pytest.mark.parametrize("attack", [*ATTACKS, *NOTEBOOKS])
def test_attack_earns_what_its_honest_part_earns(warm, attack):
    tasks = [task("attack", notebook_of(attack)), task("neighbour", submission(RIGHT))]
    outcomes = {o.id: o for o in warm.grade(tasks)}
    assert outcomes["neighbour"].score == 3
    found = outcomes["attack"]
    scores = {test.id: test.score for test in found.tests}
    after = DESERVED[attack] - 1.0
    assert scores == {"before": 1.0, "attacked": 0.0, "after": after}, found
    (attacked,) = [test for test in found.tests if test.id == "attacked"]
    assert attacked.sentence
    assert str(HIDDEN) not in attacked.sentence
    assert TABLE[attack]["ours"] == found.score, "the book's table is old: python -m benchmarks.attacks"


EVERY = [*ATTACKS, *NOTEBOOKS, *INSIDE]


@pytest.fixture(scope="module")
def second_level():
    if sandbox.capabilities().parts.get("landlock") != "yes":
        pytest.skip(f"no second level here: {sandbox.capabilities().parts.get('landlock')}")
    with Warm(jobs=2, limits=SMALL, level="landlock") as running:
        yield running


def hold(running: Warm, attacks: list[str]) -> None:
    tasks = [task(attack, notebook_of(attack)) for attack in attacks]
    outcomes = {outcome.id: outcome for outcome in running.grade([*tasks, task("", submission(RIGHT))])}
    assert outcomes.pop("").score == 3, "a neighbour lost points"
    for attack, outcome in outcomes.items():
        scores = {test.id: test.score for test in outcome.tests}
        assert scores == {"before": 1.0, "attacked": 0.0, "after": DESERVED[attack] - 1.0}, outcome
        assert str(HIDDEN) not in "".join(test.sentence for test in outcome.tests), attack
        assert outcome.level == running.level


def eights(attacks: list[str]) -> list[list[str]]:
    return [attacks[at : at + 8] for at in range(0, len(attacks), 8)]


@pytest.mark.parametrize("attacks", eights([*INSIDE]), ids=lambda some: some[0])
def test_attacks_from_inside_earn_what_their_honest_part_earns(warm, attacks):
    hold(warm, attacks)


@pytest.mark.parametrize("attacks", eights(EVERY[::3]), ids=lambda some: some[0])
def test_the_second_level_holds_like_the_first(second_level, attacks):
    hold(second_level, attacks)


def test_the_books_table_has_every_attack_with_what_it_tries_and_deserves():
    shown = {name: (row["tries"], row["deserved"]) for name, row in TABLE.items()}
    assert shown == {name: (family_of(name), DESERVED[name]) for name in [*ATTACKS, *NOTEBOOKS]}
    assert all(row["stock"] and row["outcome"] for row in TABLE.values())


def test_no_candidate_can_reach_a_listener_on_loopback(warm):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        reached: list[bytes] = []
        threading.Thread(target=lambda: reached.append(listener.accept()[1]), daemon=True).start()
        source = f"""
import socket
def f(x):
    with socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}), timeout=1): pass
    return 2 * x
"""
        (outcome,) = warm.grade([task("one", submission(source))])
        assert outcome.score == 2
        assert reached == []
        with socket.create_connection(listener.getsockname()):  # the listener itself was awake
            pass


def test_no_candidate_can_open_a_socket_of_another_family(grade_cells):
    source = """
import socket
def opened():
    found = []
    for family in range(64):
        try: socket.socket(family, socket.SOCK_STREAM).close(); found.append(family)
        except OSError: pass
        try: socket.socket(family, socket.SOCK_DGRAM).close(); found.append(family)
        except OSError: pass
    return sorted(set(found))
"""
    outcome = grade_cells(("solution", source), ("test", "assert opened() == [1, 2, 10]"))
    assert outcome.score == 1, outcome


def test_detached_processes_end_with_the_submission(warm, task_of):
    name = "ck-detached"
    source = f"""
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)
        time.sleep(1000)
    os._exit(0)
time.sleep(0.2)
def f(x): return os.popen('cat /proc/[0-9]*/comm').read()
"""
    task = task_of(("solution", source), ("test", f"assert {name!r} in f(0)"))
    (outcome,) = warm.grade([task])
    assert outcome.score == 1, "the process should have been there while its submission ran"

    def running() -> bool:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm") as comm:
                    if comm.read().strip() == name:
                        return True
            except OSError:
                continue
        return False

    until = time.monotonic() + 20  # on a busy machine a kill takes its time
    while running() and time.monotonic() < until:
        time.sleep(0.05)
    assert not running()


def test_no_test_of_this_or_an_earlier_submission_is_in_the_candidates_memory(warm, task_of):
    halves = ("hidden-marker", "5741")
    marker = "-".join(halves)
    look = f"""
def found():
    needle = '-'.join({halves!r}).encode()
    hits = 0
    with open('/proc/self/mem', 'rb', 0) as memory:
        for line in list(open('/proc/self/maps')):
            span, mode, *rest = line.split()
            start, end = (int(part, 16) for part in span.split('-'))
            if mode.startswith('rw') and rest[-1] != '[vvar]':
                memory.seek(start)
                data = memory.read(end - start)
                hits += data.count(needle)
                del data
    return hits
"""
    planted = f"planted = '-'.join({halves!r})\n"
    roomy = Limits(cell_cpu=20, cell_wall=40, memory=2048)
    list(warm.grade([task_of(("solution", "x = 1"), ("test", f"assert x == 1, '{marker}'"))]))
    clean = task_of(
        ("solution", look),
        ("test", f"known = '{marker}'\nassert found() >= 1"),
        ("test", "found()"),
        limits=roomy,
    )
    dirty = task_of(("solution", look + planted), ("test", "assert found() > 1"), limits=roomy)
    (outcome,) = warm.grade([clean])
    (control,) = warm.grade([dirty])
    assert control.score == 1, "the search itself must find what is there"
    assert [o.data for o in outcome.tests[1].outputs] == ["1"], "only the needle that the search itself made"


def test_a_batch_of_killers_does_not_stop_the_batch(warm):
    killers = ["os._exit in the cell", "a crash in C", "a pipe closed in the cell", "a fork bomb"]
    tasks = [task(name, notebook_of(name)) for name in killers] + [task("good", submission(RIGHT))]
    scores = {outcome.id: outcome.score for outcome in warm.grade(tasks)}
    assert scores == {**dict.fromkeys(killers, 2.0), "good": 3.0}
