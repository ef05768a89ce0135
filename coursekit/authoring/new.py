"""`coursekit new FOLDER`: a course of one's own, which releases, proves, builds and grades at once.

What it begins with lies in `sample/`, file by file: one chapter, one assignment with a question of each kind, tests.
"""

import tempfile
from pathlib import Path

from ..files import write
from .course import CourseError

SAMPLE = Path(__file__).with_name("sample")
RENAMED = {
    "gitignore.txt": ".gitignore"
}  # what would act here, or be taken for this package's code, is a .txt
TITLE = "COURSE"  # stands for the folder's name


def new(folder: Path) -> Path:
    """Write the sample into a new or empty folder: all of it, or nothing."""
    home = folder.resolve()
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise CourseError(f"{home} is not empty; name a folder that is, or one that is not there yet")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".new-") as desk:
            made = Path(desk, "course")
            for path in sorted(p for p in SAMPLE.rglob("*") if p.is_file()):
                name = RENAMED.get(path.name, path.name.removesuffix(".txt"))
                text = path.read_text(encoding="utf-8").replace(TITLE, home.name)
                write(made / path.relative_to(SAMPLE).with_name(name), text)
            home.mkdir(
                exist_ok=True
            )  # it may be the folder that the user stands in, which must not be replaced
            for child in made.iterdir():
                child.rename(home / child.name)
    except OSError as error:
        raise CourseError(f"{home} cannot be made: {error.strerror or error}; name another folder") from error
    return home
