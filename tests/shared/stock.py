"""Stock nbgrader over several assignments, in one process; its kernels are forked from one that has loaded torch.

nbgrader's own program starts anew for each assignment, and a kernel for each notebook: most of their time is spent on
importing. What is measured here is what nbgrader does, and that is the same: its API, its converters, its kernels.

    run_stock(course, [("generate_assignment", "bptt"), ("autograde", "bptt", "ada")], url, "torch", "coursekit.checks")
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path


def run_stock(course: Path, steps: Iterable[tuple[str, ...]], url: str, *warm: str) -> None:
    """`steps`: what is called of nbgrader's API, with what; `warm`: the modules that kernels have loaded already."""
    scripts = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]  # nbgrader calls alembic
    environment = {**os.environ, "PATH": scripts, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(list(steps)), url, *warm],
        cwd=course, env=environment, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def take_steps(steps: str, url: str, *warm: str) -> None:
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    from coursekit.book.kernels import warm_kernels

    with warm_kernels(*warm):
        config = PyFileConfigLoader("nbgrader_config.py").load_config()
        config.CourseDirectory.db_url = url
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        for call, *given in json.loads(steps):
            done = getattr(api, call)(*given)
            assert done["success"], (done["error"], done["log"])


if __name__ == "__main__":
    take_steps(*sys.argv[1:])
