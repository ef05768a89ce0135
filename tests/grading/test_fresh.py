"""The wheel alone, in an empty environment, grades another's nbgrader course: no torch, nothing of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import small_course as small

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "import importlib.util as u, coursekit; print(u.find_spec('torch'), coursekit.__file__)"


def run(*command: object, codes: tuple[int, ...] = (0,), **more) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=800, env=environment, **more
    )
    assert done.returncode in codes, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_grades_another_course_without_torch(tmp_path):
    wheels, venv = tmp_path / "wheels", tmp_path / "venv"
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", wheels, ROOT)
    (wheel,) = wheels.glob("coursekit-*.whl")
    run(sys.executable, "-m", "venv", venv)
    python = venv / "bin" / "python"
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--prefer-binary")
    run(*pip, "--constraint", ROOT / "requirements.txt", f"{wheel}[grade]")
    course = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    for student, made in (("ada", small.solved(small.sums())), ("kurt", small.released(small.sums()))):
        (tmp_path / "class" / student).mkdir(parents=True)
        nbformat.write(made, tmp_path / "class" / student / "sums.ipynb")
    torch, where = run(python, "-c", PROGRAM, cwd=tmp_path).split()
    assert torch == "None"
    assert Path(where).is_relative_to(venv)
    out = run(venv / "bin" / "coursekit", "grade", tmp_path / "class", cwd=course)
    rows = [line.split()[:3] for line in out.splitlines()]
    assert ["ada", "sums", "6/10"] in rows
    assert ["kurt", "sums", "0/10"] in rows
    sheet = tmp_path / "grades.csv"
    run(venv / "bin" / "coursekit", "export", "sums", sheet, cwd=course)
    assert "ada,6,10,waiting,1,2,3," in sheet.read_text()
