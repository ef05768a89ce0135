"""The page that grades on a GPU runtime, run cell by cell on a machine without one, as a notebook would run it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import jupytext
import pytest
import small_course as small

from coursekit.book.vendor import wheel

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "book" / "guides" / "gpu.md"


@pytest.mark.slow
def test_every_cell_of_the_gpu_page_runs_and_a_class_is_graded(tmp_path):
    wheel(tmp_path)
    (made,) = (tmp_path / "wheels").glob("*.whl")
    course = small.write_course(tmp_path / "made" / "my course", {"sums": {"sums": small.sums()}})
    shutil.make_archive(str(tmp_path / "course"), "zip", course.parent)
    asks = "import torch\ndef norm(xs):\n    return torch.tensor(xs, device='cuda').double().norm().item()"
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        for number, more in enumerate(({}, {"norm": asks}, {"norm": "def norm(xs):\n    return 0"})):
            name = f"student{number}_{100 + number}_{900 + number}_sums.ipynb"
            archive.writestr(name, small.saved(small.solved(small.sums(), **more)))
    cells = [c.source for c in jupytext.read(PAGE, fmt="md:myst").cells if c.cell_type == "code"]
    # A runtime lends the new environment its torch; here this Python does, and what pip would fetch as well.
    lend = "next((HOME / 'grader' / 'lib').glob('*/site-packages')).joinpath('runtime.pth').write_text({!r})"
    cells.insert(2, lend.format(sysconfig.get_path("purelib")))
    code = "\n".join(cells).replace("WHEEL_ADDRESS", made.as_uri())
    scripts = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    apart = {"PATH": scripts, "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, **apart},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "none here: its path is not proved" in done.stdout
    assert "✓   proved    a product there gives the CPU's numbers" in done.stdout
    with zipfile.ZipFile(tmp_path / "graded.zip") as archive:
        assert {"gradebook.db", "pages/sums/report.html"} <= set(archive.namelist())
        archive.extract("gradebook.db", tmp_path / "home")
    with sqlite3.connect(tmp_path / "home" / "gradebook.db") as book:
        rows = dict(book.execute("select student, json_extract(record, '$.score') from coursekit_graded"))
    assert rows == {"student0 (100)": 6, "student1 (101)": 6, "student2 (102)": 3}


def test_the_page_says_what_was_not_tried():
    assert "**Not tried**: a real GPU" in PAGE.read_text(encoding="utf-8")
