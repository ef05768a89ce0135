"""The wheel alone, in an empty environment, grades another's nbgrader course: no torch, nothing of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import nbformat
import pytest
import small_course as small
from environments import built_wheel, link_into, needed
from packaging.requirements import Requirement

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
def test_the_wheel_grades_another_course_without_torch(tmp_path, tmp_path_factory):
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    wheel = built_wheel(tmp_path_factory)
    with zipfile.ZipFile(wheel) as inside:  # what it asks for itself, not what is installed here
        (name,) = (name for name in inside.namelist() if name.endswith(".dist-info/METADATA"))
        asked = Parser().parsestr(inside.read(name).decode()).get_all("Requires-Dist", [])
    wanted = [r for r in map(Requirement, asked) if not r.marker or r.marker.evaluate({"extra": "grade"})]
    link_into(venv, needed([f"{r.name}[{','.join(r.extras)}]{r.specifier}" for r in wanted]))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "-q", "--no-index", f"{wheel}[grade]")  # all that it asks for must be there
    run(*pip, "check")
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
