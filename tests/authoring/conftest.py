"""A copy of the course that a test may release, submit to and grade with stock nbgrader."""

import shutil
from pathlib import Path

import pytest

from coursekit.authoring.course import Course

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def course_with(tmp_path_factory, empty_gradebook):
    """Some assignments of the course in a folder with a space in its name, released there."""
    from coursekit.authoring.release import release

    def make(*names: str) -> Course:
        root = tmp_path_factory.mktemp("course") / "a course with spaces"
        for name in names:
            shutil.copytree(ROOT / "solutions" / name, root / "solutions" / name)
        for file in ("_config.yml", "nbgrader_config.py"):
            shutil.copy(ROOT / file, root / file)
        shutil.copy(empty_gradebook, root / "gradebook.db")
        course = Course(root)
        release(course)
        return course

    return make
