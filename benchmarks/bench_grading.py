"""A whole class through `coursekit grade`, against stock `nbgrader autograde` and `otter run`.

    python benchmarks/bench_grading.py [--light 24] [--work 8] [--peers 3]

The same submissions of the same release, on the same machine, in one run. Ours is measured from the files that
were handed in to the recorded grade and the written page, in one session with one warm parent. The peers are
measured as they are used, one command for the class; theirs is the marginal time of a submission, the difference
between a run of several and a run of one, so that starting up counts for neither.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import nbformat  # noqa: E402
from nbformat.v4 import new_code_cell, new_notebook, new_raw_cell  # noqa: E402

from coursekit.grading import Limits, Warm  # noqa: E402
from coursekit.grading.assignment import load  # noqa: E402
from coursekit.grading.collect import collect  # noqa: E402
from coursekit.grading.command import Options  # noqa: E402
from coursekit.grading.describe import outputs  # noqa: E402
from coursekit.grading.feedback import feedback  # noqa: E402
from coursekit.grading.late import LatePolicy  # noqa: E402
from coursekit.grading.pages import write  # noqa: E402
from coursekit.grading.pipeline import Grading, works  # noqa: E402
from coursekit.grading.record import Record  # noqa: E402
from coursekit.runtime import find_own_scripts  # noqa: E402

GIVEN = "import numpy as np\nimport torch\nfrom torch import nn"
QUESTIONS = {
    "softmax": (
        "def softmax(x):\n    e = np.exp(x - x.max())\n    return e / e.sum()",
        "x = np.random.randn(20)\nassert abs(softmax(x).sum() - 1) < 1e-9\nassert softmax(x).argmax() == x.argmax()",
    ),
    "loss": (
        "def loss(W, x, y):\n    return nn.functional.cross_entropy(x @ W, y)",
        "W = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)\n"
        "x, y = torch.randn(3, 5, dtype=torch.float64), torch.tensor([0, 1, 2])\nloss(W, x, y).backward()\n"
        "p = torch.softmax(x @ W.detach(), 1)\np[range(3), y] -= 1\ntorch.testing.assert_close(W.grad, x.T @ p / 3)",
    ),
    "work": (
        "def work():\n    s = 0\n    for k in range({loops}):\n        s += k * k % 7\n    return s",
        "assert work() > 0",
    ),
}
LIGHT, HEAVY = 1_000, 6_000_000


def notebook(loops: int) -> nbformat.NotebookNode:
    """The instructor's notebook; `loops` sets how long its answers compute."""
    cells = [_cell(GIVEN, "given", locked=True)]
    for name, (answer, test) in QUESTIONS.items():
        solved = f"### BEGIN SOLUTION\n{answer.replace('{loops}', str(loops))}\n### END SOLUTION"
        cells += [
            _cell(solved, name, solution=True),
            _cell(test, f"test_{name}", grade=True, locked=True, points=1),
        ]
    made = new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def _cell(source: str, grade_id: str, **marks) -> nbformat.NotebookNode:
    plain = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
    return new_code_cell(source, metadata={"nbgrader": {**plain, "grade_id": grade_id, **marks}})


def make_class(root: Path, name: str, loops: int, count: int) -> Path:
    """An nbgrader course directory with `count` right submissions of one assignment."""
    (root / "source" / name).mkdir(parents=True)
    nbformat.write(notebook(loops), root / "source" / name / f"{name}.ipynb")
    (root / "nbgrader_config.py").write_text("c = get_config()\n")
    _stock(root, "generate_assignment", name)
    made = nbformat.read(root / "release" / name / f"{name}.ipynb", as_version=4)
    for cell in made.cells:
        answer = QUESTIONS.get(cell.metadata["nbgrader"]["grade_id"])
        if answer:
            cell.source = answer[0].replace("{loops}", str(loops))
    for number in range(count):
        folder = root / "submitted" / f"student{number:03}" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.ipynb").write_text(json.dumps(made))
    return root


def _stock(root: Path, *words: str) -> float:
    find_own_scripts()
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words], cwd=root, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return time.perf_counter() - start


def ours(root: Path, name: str, jobs: int) -> float:
    """Seconds a submission: read, recognised, repaired, run, recorded, its page written."""
    options = Options(root, out=root / f"pages{jobs}")
    assignments = load(root, name)
    with (
        Warm(jobs=jobs, limits=Limits()) as warm,
        Record(f"sqlite:///{root / f'ours{jobs}.db'}") as record,
        collect([root / "submitted"]) as found,
    ):
        record.enter(assignments[0])

        def finished(work, entry) -> None:
            write(options.page(name, work.student), feedback(entry, work.assignment, outputs(work.outcomes)))

        grading = Grading(warm.grade, record, LatePolicy(), finished=finished)
        start = time.perf_counter()
        grading.grade(works(found.submissions, assignments))
        seconds = time.perf_counter() - start
    assert all(entry["score"] == len(QUESTIONS) for entry in grading.entries.values()), grading.problems
    return seconds / len(grading.entries)


def stock(root: Path, name: str, count: int) -> float:
    """nbgrader's marginal seconds a submission."""
    for _ in range(2):  # the first only warms the disk's cache
        one = _stock(root, "autograde", name, "--student=student000", "--force")
    several = _stock(root, "autograde", name, f"--student=student00[0-{count}]", "--force")
    return (several - one) / count


def otter(root: Path, count: int) -> float | None:
    """Seconds of `otter run` a submission; None where otter-grader is not installed."""
    if importlib.util.find_spec("otter") is None:
        return None
    folder = root / "otter"
    folder.mkdir()
    nbformat.write(new_notebook(cells=list(_otter_cells())), folder / "all.ipynb")
    subprocess.run([sys.executable, "-m", "otter", "assign", "all.ipynb", "dist"], cwd=folder, check=True)
    (archive,) = (folder / "dist" / "autograder").glob("*.zip")
    start = time.perf_counter()
    for _ in range(count):
        command = [sys.executable, "-m", "otter", "run", "-a", str(archive), "dist/autograder/all.ipynb"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (time.perf_counter() - start) / count


def _otter_cells() -> Iterator[nbformat.NotebookNode]:
    """The light class's notebook as `otter assign` reads it; its solved copy is what is run."""
    yield new_raw_cell("# ASSIGNMENT CONFIG\ninit_cell: false\nexport_cell: false\nrun_tests: false")
    yield new_code_cell(GIVEN)
    for name, (answer, test) in QUESTIONS.items():
        yield new_raw_cell(f"# BEGIN QUESTION\nname: {name}\npoints: 1")
        yield new_raw_cell("# BEGIN SOLUTION")
        yield new_code_cell(answer.replace("{loops}", str(LIGHT)))
        yield new_raw_cell("# END SOLUTION")
        yield new_raw_cell("# BEGIN TESTS")
        yield new_code_cell(test)
        yield new_raw_cell("# END TESTS")
        yield new_raw_cell("# END QUESTION")


def rows(light: int = 24, work: int = 8, peers: int = 3) -> list[dict]:
    """A row a measurement: name, ours_ms, theirs_ms (None: not measured), how many times faster, the target."""
    found = []
    for name, loops, count, targets in (("light", LIGHT, light, (25, 35)), ("work", HEAVY, work, (5.5, 10))):
        with tempfile.TemporaryDirectory() as folder:
            root = make_class(Path(folder), name, loops, max(count, peers + 1))
            mine = {jobs: ours(root, name, jobs) for jobs in (1, 2)}
            theirs = stock(root, name, peers)
            for jobs, target in zip((1, 2), targets, strict=True):
                found.append(
                    _row(
                        f"{name} class, {jobs} worker{'s' * (jobs > 1)}, nbgrader", mine[jobs], theirs, target
                    )
                )
            if name == "light":
                found.append(_row("light class, 1 worker, otter run", mine[1], otter(root, peers), 40))
            found.append(
                {"name": f"{name} class, 2 workers against 1", "ours_ms": 1e3 * mine[2], "theirs_ms": 1e3 * mine[1],
                 "times": mine[1] / mine[2], "target": 1.7}
            )  # fmt: skip
    return found


def _row(name: str, mine: float, theirs: float | None, target: float) -> dict:
    return {
        "name": name, "ours_ms": 1e3 * mine, "theirs_ms": None if theirs is None else 1e3 * theirs,
        "times": None if theirs is None else theirs / mine, "target": target,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--light", type=int, default=24)
    parser.add_argument("--work", type=int, default=8)
    parser.add_argument("--peers", type=int, default=3, choices=range(1, 10))
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; times a submission")
    print(f"{'':44}{'ours':>10}{'theirs':>11}{'times':>8}{'target':>8}")
    for row in rows(options.light, options.work, options.peers):
        print(f"{row['name']:44}{row['ours_ms']:8.0f}ms", end="")
        if row["times"] is None:
            print(f"{'not measured: otter-grader is not installed':>55}")
            continue
        met = "" if row["times"] >= row["target"] else "  missed"
        print(f"{row['theirs_ms']:9.0f}ms{row['times']:8.1f}{row['target']:8.1f}{met}")


if __name__ == "__main__":
    main()
