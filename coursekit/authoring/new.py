"""`coursekit new FOLDER`: a course of one's own, which releases, proves, builds and grades at once.

What it begins with lies in `sample/`, file by file: one chapter, one assignment with a question of each kind, tests.
"""

from __future__ import annotations

from pathlib import Path

from ..files import write
from .course import CourseError

SAMPLE = Path(__file__).with_name("sample")
RENAMED = {
    "gitignore.txt": ".gitignore"
}  # what would act in this repository, or be taken for its code, is a .txt here
TITLE = "COURSE"  # stands for the folder's name


def new(folder: Path) -> Path:
    """Write the sample into a new or empty folder."""
    home = folder.resolve()
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise CourseError(f"{home} is not empty; name a folder that is, or one that is not there yet")
    for path in sorted(p for p in SAMPLE.rglob("*") if p.is_file()):
        place = home / path.relative_to(SAMPLE)
        name = RENAMED.get(path.name, path.name.removesuffix(".txt"))
        write(place.with_name(name), path.read_text(encoding="utf-8").replace(TITLE, home.name))
    return home
