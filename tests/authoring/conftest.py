"""A copy of the course that a test may release, submit to and grade with stock nbgrader."""

import shutil
from pathlib import Path

import pytest

from coursekit.authoring.course import Course

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def released_course(tmp_path_factory):
    """The course's sources in a folder with a space in its name, released there."""
    from coursekit.authoring.release import release

    root = tmp_path_factory.mktemp("a course") / "with spaces"
    shutil.copytree(ROOT / "solutions", root / "solutions")
    for name in ("_config.yml", "nbgrader_config.py"):
        shutil.copy(ROOT / name, root / name)
    course = Course(root)
    release(course)
    return course
