"""Where the course lies and what it is called: read once, from `_config.yml` at its root."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from ..expected import Expected
from ..files import write
from ..version import __version__


class CourseError(Expected):
    """The course folder is not usable; the message says what to do."""


# Nobody can own it; `coursekit publish` puts the true address in its place.
NOWHERE = "https://course.invalid"
PAGES = "gh-pages"


@dataclass(frozen=True)
class Addresses:
    """Where a course is public: its site, and the branch of a repository on GitHub that holds the same files."""

    site: str
    repository: str  # "owner/name"
    branch: str = PAGES

    def colab(self, path: str) -> str:
        """What opens a notebook of the published tree in Colab."""
        if not self.repository:
            return f"{NOWHERE}/{path}"
        return f"https://colab.research.google.com/github/{self.repository}/blob/{self.branch}/{path}"


@dataclass(frozen=True)
class Course:
    """A course folder: `solutions/`, `notebooks/`, `book/` and the `_config.yml` beside them."""

    root: Path

    @classmethod
    def find(cls, start: Path | str = ".") -> "Course":
        """The course that `start` lies in: the nearest folder up with `_config.yml` and `solutions/`."""
        start = Path(start).resolve()
        for folder in (start, *start.parents):
            if (folder / "_config.yml").is_file() and (folder / "solutions").is_dir():
                return cls(folder)
        raise CourseError(
            f"{start} is not inside a course: no folder from here up has both `_config.yml` and `solutions/`; "
            "change into the course's folder or name it with --course"
        )

    @cached_property
    def config(self) -> dict[str, Any]:
        return yaml.safe_load((self.root / "_config.yml").read_text(encoding="utf-8")) or {}

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    def source(self, assignment: str) -> Path:
        return self.solutions / assignment / f"{assignment}.md"

    def released(self, assignment: str) -> Path:
        return self.notebooks / assignment / f"{assignment}.ipynb"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def build(self) -> Path:
        return self.root / "_build"

    def assignments(self) -> list[str]:
        return sorted(p.parent.name for p in self.solutions.glob("*/*.md") if p.stem == p.parent.name)

    @property
    def written(self) -> Addresses:
        """The addresses that a release writes down; those that `_config.yml` does not set lead nowhere."""
        place, branch = self._repository
        return Addresses(self._site or NOWHERE, place, branch)

    @property
    def public(self) -> Addresses:
        """Where a published tree is found: as `_config.yml` says, or else by the git remote `origin`, on GitHub."""
        place, branch = self._repository
        if not place:
            asked = ["git", "-C", str(self.root), "remote", "get-url", "origin"]
            found = subprocess.run(asked, capture_output=True, text=True)
            match = re.fullmatch(r".*github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?", found.stdout.strip())
            place = match[1] if match else ""
        if not place:
            raise CourseError(
                "it is not known where the course will be published: add the git remote of its repository on GitHub "
                "(`git remote add origin …`), or set `repository: {url: …}` in _config.yml"
            )
        owner, name = place.split("/")
        host = f"{owner.lower()}.github.io"
        site = f"https://{host}" + ("" if name.lower() == host else f"/{name}")
        return Addresses(self._site or site, place, branch)

    @property
    def _site(self) -> str:
        return str((self.config.get("html") or {}).get("baseurl") or "").rstrip("/")

    @property
    def _repository(self) -> tuple[str, str]:
        found = self.config.get("repository") or {}
        place = str(found.get("url") or "").rstrip("/").removeprefix("https://github.com/")
        return place, str(found.get("branch") or PAGES)

    @property
    def wheel_url(self) -> str:
        """Where the published book offers the wheel that a student's first cell installs."""
        return f"{self.written.site}/wheels/coursekit-{__version__}-py3-none-any.whl"

    def colab_url(self, assignment: str) -> str:
        return self.written.colab(f"notebooks/{assignment}/{assignment}.ipynb")


SAMPLE = Path(__file__).with_name("sample")
# What would act here, or be taken for this package's code, is a .txt.
RENAMED = {"gitignore.txt": ".gitignore"}
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
            home.mkdir(exist_ok=True)  # the user may stand in it: it must not be replaced
            for child in made.iterdir():
                child.rename(home / child.name)
    except OSError as error:
        raise CourseError(f"{home} cannot be made: {error.strerror or error}; name another folder") from error
    return home
