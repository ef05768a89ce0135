"""A class to grade: an nbgrader course directory with right submissions of one assignment, light or with work."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from coursekit.grading import Cell, Task
from coursekit.runtime import find_own_scripts

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


def questions(loops: int) -> dict[str, tuple[str, str]]:
    """Question -> its right answer, its test; `loops` sets how long the answers compute."""
    return {name: (a.replace("{loops}", str(loops)), test) for name, (a, test) in QUESTIONS.items()}


def task(loops: int, name: str = "one") -> Task:
    """One submission, repaired, as the grader's core takes it."""
    cells = [Cell(GIVEN, "given")]
    for question, (answer, test) in questions(loops).items():
        cells += [
            Cell(answer, "solution", question, reference=answer),
            Cell(test, "test", f"test_{question}", 1.0),
        ]
    return Task(name, tuple(cells))


def _notebook(loops: int) -> nbformat.NotebookNode:
    cells = [_cell(GIVEN, "given", locked=True)]
    for name, (answer, test) in questions(loops).items():
        cells += [
            _cell(f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION", name, solution=True),
            _cell(test, f"test_{name}", grade=True, locked=True, points=1),
        ]
    made = new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def _cell(source: str, grade_id: str, **marks) -> nbformat.NotebookNode:
    plain = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
    return new_code_cell(source, metadata={"nbgrader": {**plain, "grade_id": grade_id, **marks}})


def make_class(root: Path, name: str, loops: int, count: int) -> Path:
    """The course directory, with `count` students."""
    (root / "source" / name).mkdir(parents=True)
    nbformat.write(_notebook(loops), root / "source" / name / f"{name}.ipynb")
    (root / "nbgrader_config.py").write_text("c = get_config()\n")
    nbgrader(root, "generate_assignment", name)
    made = nbformat.read(root / "release" / name / f"{name}.ipynb", as_version=4)
    for cell in made.cells:
        answer = questions(loops).get(cell.metadata["nbgrader"]["grade_id"])
        if answer:
            cell.source = answer[0]
    for number in range(count):
        folder = root / "submitted" / f"student{number:04}" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.ipynb").write_text(json.dumps(made))
    return root


def nbgrader(root: Path, *words: str) -> float:
    """Seconds of one of nbgrader's own commands in a course directory."""
    find_own_scripts()
    start = time.perf_counter()
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return time.perf_counter() - start
