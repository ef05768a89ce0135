"""Where the course lies and what it is called: read once, from `_config.yml` at its root."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from ..version import __version__


class CourseError(Exception):
    """The course folder is not usable; the message says what to do."""


@dataclass(frozen=True)
class Course:
    """A course folder: `solutions/`, `notebooks/`, `book/` and the `_config.yml` beside them."""

    root: Path

    @classmethod
    def find(cls, start: Path | str = ".") -> Course:
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
    def config(self) -> dict:
        return yaml.safe_load((self.root / "_config.yml").read_text(encoding="utf-8")) or {}

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def build(self) -> Path:
        return self.root / "_build"

    def assignments(self) -> list[str]:
        return sorted(p.parent.name for p in self.solutions.glob("*/*.md") if p.stem == p.parent.name)

    @property
    def wheel_url(self) -> str:
        """Where the published book offers the wheel that a student's first cell installs."""
        base = self.config.get("html", {}).get("baseurl", "").rstrip("/")
        return f"{base}/wheels/coursekit-{__version__}-py3-none-any.whl"

    def colab_url(self, assignment: str) -> str:
        repository = self.config.get("repository", {})
        place = repository.get("url", "").rstrip("/").removeprefix("https://github.com/")
        branch = repository.get("branch", "main")
        notebook = f"notebooks/{assignment}/{assignment}.ipynb"
        return f"https://colab.research.google.com/github/{place}/blob/{branch}/{notebook}"
