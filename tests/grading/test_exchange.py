"""nbgrader's own release, fetch, submit and collect work with the repository's configuration as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import small_course as small

ROOT = Path(__file__).resolve().parents[2]
COURSE = "language-models-by-hand"


def nbgrader(folder: Path, home: Path, *words: str) -> None:
    environment = {
        **os.environ,
        "HOME": str(home),
        "NBGRADER_EXCHANGE": str(home / "exchange"),
        "USER": "ada",
    }
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr[-2000:])


@pytest.mark.slow
def test_what_a_student_fetches_and_submits_is_collected(tmp_path):
    root, desk = tmp_path / "course", tmp_path / "desk"
    desk.mkdir()
    for folder in ("source", "release"):
        (root / "_build" / folder / "sums").mkdir(parents=True)
        nbformat.write(small.sums(), root / "_build" / folder / "sums" / "sums.ipynb")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    nbgrader(root, tmp_path, "release_assignment", "sums")
    assert (tmp_path / "exchange" / COURSE / "outbound" / "sums" / "sums.ipynb").is_file()
    there = f"--Exchange.root={tmp_path / 'exchange'}"
    nbgrader(desk, tmp_path, "fetch_assignment", "sums", "--course", COURSE, there)
    (desk / "sums" / "sums.ipynb").write_bytes(small.saved(small.solved(small.sums(), mean="mine = 1")))
    nbgrader(desk, tmp_path, "submit", "sums", "--course", COURSE, there)
    nbgrader(root, tmp_path, "collect", "sums")
    (collected,) = (root / "submitted").glob("*/sums/sums.ipynb")
    assert "mine = 1" in collected.read_text()
