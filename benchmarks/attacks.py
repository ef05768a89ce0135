"""Every hostile notebook of the tests through our grader and through stock nbgrader: the table for the book.

    python -m benchmarks.attacks [--only NAME…]
    python -m benchmarks.attacks --levels    our grader alone, at each level of the sandbox, as root and as another

Stock nbgrader is given a course with two submissions, the attack and an honest neighbour, and runs as its manual
says, with its own gradebook. It sets no bounds to a submission, so all of it runs inside our sandbox: no network,
a private disk, bounded time, memory and processes. What would do nothing but use up the machine is not run.
The table, `benchmarks/attacks.json`, is committed; the tests hold our own column to it. About fifteen minutes.

At each level all hostile notebooks and all solutions are graded, and `benchmarks/levels.json` says what held.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "grading"))

import hostile  # noqa: E402
import small_course as small  # noqa: E402
from nbformat import NotebookNode  # noqa: E402
from ordinary import as_ordinary_user  # noqa: E402

from coursekit.grading import Limits, Outcome, Warm, wire  # noqa: E402
from coursekit.grading.assignment import load, references  # noqa: E402
from coursekit.grading.confine.sandbox import LEVELS  # noqa: E402
from coursekit.runtime import find_own_scripts  # noqa: E402

TABLE, LEVELS_TABLE = HERE / "attacks.json", HERE / "levels.json"
EXHAUSTS = "exhausting the machine"  # the family of attacks that stock nbgrader is spared
OURS = Limits(cell_cpu=1, cell_wall=2, notebook_wall=30, memory=256, processes=16, files=64, disk=16)
PATIENCE = 600  # seconds for stock nbgrader to grade two notebooks
STOCK = Limits(notebook_wall=PATIENCE, memory=6000, processes=300, files=1024, disk=200)
CONFIG = "c = get_config()\nc.Execute.timeout = 60\nc.Execute.iopub_timeout = 60\nc.Execute.startup_timeout = 200\n"
DRIVER = f"""
import json, os, sqlite3, subprocess, sys
os.chdir("course")
os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
command = [sys.executable, "-m", "nbgrader", "autograde", "hostile"]
child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=open("stderr.txt", "w"), start_new_session=True)
try:
    code = child.wait({PATIENCE})
except subprocess.TimeoutExpired:
    code = "hung"
    child.kill()
query = '''select submitted_assignment.student_id, base_cell.name, coalesce(grade.manual_score, grade.auto_score)
from grade join base_cell on base_cell.id = grade.cell_id
join submitted_notebook on submitted_notebook.id = grade.notebook_id
join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id'''
with sqlite3.connect("gradebook.db", timeout=10) as book:
    grades = book.execute(query).fetchall()
print(json.dumps({{"code": code, "grades": grades, "errors": open("stderr.txt").read()[-1500:]}}))
"""


def course(folder: Path) -> dict[str, bytes]:
    """An nbgrader course with one released assignment, as files."""
    root = small.write_course(folder, {"hostile": {"hostile": hostile.instructors()}})
    (root / "nbgrader_config.py").write_text(CONFIG)
    find_own_scripts()
    words = [sys.executable, "-m", "nbgrader", "generate_assignment", "hostile"]
    subprocess.run(words, cwd=root, check=True, capture_output=True)
    return {
        f"course/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def autograde(made: NotebookNode, files: dict[str, bytes]) -> dict | None:
    """`nbgrader autograde` of this notebook and an honest one: its exit code, its gradebook, its last words."""
    both = {"attacker": made, "neighbour": hostile.submission(hostile.RIGHT)}
    handed_in = {
        f"course/submitted/{student}/hostile/hostile.ipynb": small.saved(one) for student, one in both.items()
    }
    job = {"files": files | handed_in, "program": DRIVER, "limits": asdict(STOCK)}
    here, there = socket.socketpair()
    with here, there:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.confined", str(there.fileno())], cwd=HERE.parent,
            input=wire.encode(job), stdout=subprocess.PIPE, pass_fds=[there.fileno()], timeout=2 * PATIENCE,
        )  # fmt: skip
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else None


def stock_row(attack: str, files: dict[str, bytes]) -> dict:
    """What stock nbgrader gave, and in words what happened."""
    said = autograde(hostile.notebook_of(attack), files)
    if said is None:
        return {"stock": "nbgrader and all around it was ended", "stock_score": None, "neighbour": None}
    scores: dict[str, dict[str, float]] = {"attacker": {}, "neighbour": {}}
    for student, cell, score in said["grades"]:
        if score is not None:  # nbgrader makes the rows before it grades
            scores[student][cell] = score
    mine, other = (scores[student] for student in ("attacker", "neighbour"))
    got = sum(mine.values())
    happened = []
    if mine.get("attacked", 0.0) > 0:
        happened.append("full marks for the attacked question")
    if said["code"] == "hung":
        happened.append(f"hung: ended by us after {PATIENCE} s")
    if not mine:
        happened.append("no grade")
    elif got < hostile.DESERVED[attack]:
        happened.append("honest points lost")
    if sum(other.values()) < 3:
        happened.append("the neighbour got no grade" if not other else "the neighbour lost points")
    return {
        "stock": "; ".join(happened) or "right",
        "stock_score": got if mine else None,
        "neighbour": sum(other.values()) if other else None,
    }


def at_level(level: str, solutions: bool = True) -> dict:
    """All hostile notebooks, and all solutions of the course, at this level, as whoever runs this."""
    every = [*hostile.ATTACKS, *hostile.NOTEBOOKS, *hostile.INSIDE]
    with Warm(jobs=2, limits=OURS, level=level) as warm:
        tasks = [hostile.task(name, hostile.notebook_of(name)) for name in every]
        outcomes = list(warm.grade(tasks))
    gained = [o.id for o in outcomes if o.score > hostile.DESERVED[o.id] or o.tests[1].score]
    # On a machine that is full an honest question may run out of its time, which no attack has gained.
    lost = [
        f"{o.id}: {t.id} {t.status}"
        for o in outcomes
        if o.score < hostile.DESERVED[o.id]
        for t in o.tests
        if not t.score
    ]
    less: list[str] = []
    if solutions:
        solved = [task for assignment in load(HERE.parent) for task in references(assignment)]
        with Warm(jobs=2, limits=Limits(cell_cpu=60, cell_wall=240), level=level) as warm:
            outcomes = list(warm.grade(solved))
        less = [f"{o.id}: {t.id} {t.status}" for o in outcomes for t in o.tests if t.score < t.max]
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    row = {
        "level": level,
        "user": user,
        "attacks": len(every),
        "succeeded": gained,
        "honest points lost": lost,
    }
    return row | ({"solutions": len(solved), "lost points": less} if solutions else {})


def levels() -> None:
    """The table of levels; as root, an ordinary user's rows too."""
    script = "import sys; sys.path.insert(0, {0!r}); from benchmarks.attacks import at_level; import json; "
    rows = []
    for level in LEVELS:
        words = script.format(str(HERE.parent)) + f"print(json.dumps(at_level({level!r})))"
        for command in ([sys.executable, "-c", words], as_ordinary_user(words)):
            done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
            rows.append(
                json.loads(done.stdout.splitlines()[-1])
                if done.returncode == 0
                else {"error": done.stderr[-500:]}
            )
            print(rows[-1], flush=True)
    LEVELS_TABLE.write_text(json.dumps(rows, indent=1) + "\n")


def ours(attacks: Iterable[str]) -> dict[str, Outcome]:
    with Warm(jobs=2, limits=OURS) as warm:
        tasks = (hostile.task(name, hostile.notebook_of(name)) for name in attacks)
        return {outcome.id: outcome for outcome in warm.grade(tasks)}


def stock(attacks: list[str]) -> Iterator[tuple[str, dict]]:
    run = [name for name in attacks if hostile.family_of(name) != EXHAUSTS]
    for name in set(attacks) - set(run):
        words = "not run: it sets no bound, and the machine would be used up"
        yield name, {"stock": words, "stock_score": None, "neighbour": None}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        files = course(Path(folder) / "course")
        control = autograde(hostile.submission(hostile.RIGHT), files)
        scores = [score for *_, score in control["grades"]] if control else None
        assert scores == [1.0] * 6, control
        yield from zip(run, pool.map(lambda name: stock_row(name, files), run), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--levels", action="store_true", help="our grader alone, at each level of the sandbox"
    )
    parser.add_argument("--only", nargs="*", help="these attacks; the other rows stay as they are")
    every = [*hostile.ATTACKS, *hostile.NOTEBOOKS]
    asked = parser.parse_args()
    if asked.levels:
        levels()
        return
    attacks = asked.only or every
    known = {row["attack"]: row for row in json.loads(TABLE.read_text())} if TABLE.exists() else {}
    graded = ours(attacks)
    for name, row in stock(attacks):
        (attacked,) = [test for test in graded[name].tests if test.id == "attacked"]
        known[name] = {
            "attack": name, "tries": hostile.family_of(name), "deserved": hostile.DESERVED[name],
            "ours": graded[name].score, "outcome": attacked.status, "sentence": attacked.sentence, **row,
        }  # fmt: skip
        print(
            f"{name:58} ours {graded[name].score:g}, stock {row['stock_score']}: {row['stock']}", flush=True
        )
        TABLE.write_text(json.dumps([known[n] for n in every if n in known], indent=1) + "\n")


if __name__ == "__main__":
    main()
