"""Wheels and environments for tests of what a user installs: made once, without asking an index for what is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def shared_folder(tmp_path_factory, name: str) -> Path:
    """A folder that all workers of a run have in common."""
    base = tmp_path_factory.getbasetemp()
    shared: Path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    shared.mkdir(exist_ok=True)
    return shared


def built_wheel(tmp_path_factory) -> Path:
    """The course's wheel, built once for all workers of a run."""
    shared = shared_folder(tmp_path_factory, "wheels")
    with FileLock(shared / "lock"):
        if not list(shared.glob("*.whl")):
            pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
            subprocess.run([*pip, "-w", str(shared), str(ROOT)], check=True)
    (wheel,) = shared.glob("coursekit-*.whl")
    return wheel


def needed(requirements: list[str]) -> dict[str, Distribution]:
    """What pip would install for these in an empty environment with the versions that are here, by name."""
    found: dict[str, Distribution] = {}
    todo, seen = [Requirement(text) for text in requirements], set()
    while todo:
        asked = todo.pop()
        if (key := (asked.name, *sorted(asked.extras))) in seen:
            continue
        seen.add(key)
        found[canonicalize_name(asked.name)] = here = distribution(asked.name)
        assert asked.specifier.contains(here.version, prereleases=True), f"{asked}: {here.version} is here"
        further = [Requirement(text) for text in here.requires or ()]
        extras = asked.extras or {""}
        todo += [r for r in further if not r.marker or any(r.marker.evaluate({"extra": e}) for e in extras)]
    return found


def link_into(environment: Path, distributions: dict[str, Distribution]) -> None:
    """Put these into an environment as pip would, file by file; a script gets this environment's Python."""
    python = environment / "bin" / "python"
    (home,) = environment.glob("lib/python*/site-packages")
    for one in distributions.values():
        for file in one.files or ():
            if ".." in file.parts:  # a script or a manual, outside of the packages
                continue
            target = home / file
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file.locate(), target)
            except (
                FileNotFoundError,
                FileExistsError,
            ):  # a compiled file that was never made, or is listed twice
                continue
            except OSError:  # another disk
                shutil.copy(file.locate(), target)
        for script in one.entry_points.select(group="console_scripts"):
            path = environment / "bin" / script.name
            path.write_text(
                f"#!{python}\nimport sys\nfrom {script.module} import {script.attr} as main\nsys.exit(main())\n"
            )
            path.chmod(0o755)
