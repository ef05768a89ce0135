"""The same submissions graded five times, idle and under fourfold load: is every grade the same?

    python -m benchmarks.repeat [--rounds 5]

Twenty submissions: of ten assignments the solution, and the same with every second answer left as it was given.
Under load, four processes a core do nothing but compute. What was given is kept in `benchmarks/repeat.json`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from coursekit.grading import Limits, Task, Warm
from coursekit.grading.assignment import load, references
from coursekit.grading.run.outcome import calibrate

HERE = Path(__file__).resolve().parent
TABLE, LOAD = HERE / "repeat.json", 4
LIMITS = Limits(cell_cpu=60, cell_wall=300, notebook_wall=1800)


def submissions(warm: Warm) -> list[Task]:
    made = []
    for assignment in load(HERE.parent)[:10]:
        modes, _ = calibrate(references(assignment), warm.grade)
        for task in references(assignment):
            said = modes[task.id]
            whole = replace(task, cells=tuple(replace(c, **said.get(c.id, {})) for c in task.cells))
            released = {
                c.grade_id: c.released for m in assignment.masters for c in m.cells if c.role == "solution"
            }
            half = dict(list(released.items())[::2])
            cells = tuple(replace(c, source=half.get(c.id, c.source)) for c in whole.cells)
            made += [
                replace(whole, id=f"{assignment.name}, solved"),
                replace(whole, id=f"{assignment.name}, half", cells=cells),
            ]
    return made


def _spin() -> None:
    while True:
        pass


@contextmanager
def load_of(count: int) -> Iterator[None]:
    spinning = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in spinning:
        process.start()
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    cores, rows = os.cpu_count() or 1, []
    with Warm(jobs=cores, limits=LIMITS) as warm:
        tasks = submissions(warm)
        for name, count in (("idle", 0), ("fourfold load", LOAD * cores)):
            given: dict[str, list[object]] = {task.id: [] for task in tasks}
            start = time.perf_counter()
            with load_of(count):
                for _ in range(rounds):
                    for outcome in warm.grade(tasks):
                        given[outcome.id].append([[t.score, t.status, t.sentence] for t in outcome.tests])
            differ = [student for student, grades in given.items() if any(g != grades[0] for g in grades)]
            rows.append(
                {"machine": name, "submissions": len(tasks), "rounds": rounds, "not the same": differ}
            )
            print(rows[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
    TABLE.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
