"""The instructor's side of an assignment: its notebooks, cell by cell, with what students were given.

Read from this course (`solutions/NAME/NAME.md`) or from any nbgrader course directory
(`source/NAME/*.ipynb`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import nbformat
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions
from traitlets.config import Config

from .errors import GradingError
from .nbgrader_config import settings


def fold(text: str) -> str:
    """A cell's text without white space, for comparing."""
    return "".join(text.split())


@dataclass(frozen=True)
class MasterCell:
    """A cell of the instructor's notebook."""

    kind: str  # "code", "markdown", "raw"
    source: str  # the instructor's, with solution and hidden tests
    released: str  # what the student was given
    # "solution", "test", "given", "text"; "manual": an answer that a person grades; "task": work of any form
    # that a person grades, described in this cell
    role: str
    grade_id: str = ""
    points: float = 0.0
    cell_id: str = ""  # the notebook's own id, which Colab moves into the metadata


@dataclass(frozen=True)
class Master:
    """One notebook of an assignment."""

    name: str
    cells: tuple[MasterCell, ...]
    notebook: nbformat.NotebookNode = field(compare=False, repr=False)

    @cached_property
    def by_id(self) -> dict[str, MasterCell]:
        return {cell.grade_id: cell for cell in self.cells if cell.grade_id}

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """Each cell's released text without its white space, for comparing."""
        return tuple(fold(cell.released) for cell in self.cells)


@dataclass(frozen=True)
class Assignment:
    """An assignment: one notebook or several, and the files that lie beside them."""

    name: str
    masters: tuple[Master, ...]
    files: dict[str, bytes] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Changes when anything that decides a grade changes."""
        total = hashlib.sha256()
        for master in self.masters:
            for cell in master.cells:
                total.update(
                    f"{master.name}\0{cell.grade_id}\0{cell.role}\0{cell.points}\0{cell.source}\0".encode()
                )
        for name, data in sorted(self.files.items()):
            total.update(name.encode() + b"\0" + data)
        return total.hexdigest()


def load(course: Path, only: str | None = None) -> list[Assignment]:
    """Every assignment of a course folder (or the one named), ready to grade against."""
    found = list(_ours(course, only)) if (course / "solutions").is_dir() else list(_theirs(course, only))
    if not found and only and (known := [assignment.name for assignment in load(course)]):
        raise GradingError(f"{course} has no assignment named {only!r}; it has {', '.join(known)}")
    if not found:
        raise GradingError(
            f"{course} has no assignment: expected solutions/NAME/NAME.md or, in an nbgrader course, "
            "source/NAME/*.ipynb"
        )
    return found


def _ours(course: Path, only: str | None) -> Iterator[Assignment]:
    from ..authoring.course import Course
    from ..authoring.release import instructor_notebook
    from ..authoring.source import read

    here = Course(course.resolve())
    for name in here.assignments():
        if only in (None, name):
            path = here.solutions / name / f"{name}.md"
            notebook = instructor_notebook(read(path), here)
            files = {
                p.name: p.read_bytes() for p in sorted(path.parent.iterdir()) if p.is_file() and p != path
            }
            yield Assignment(name, (master(name, notebook, Config()),), files)


def _theirs(course: Path, only: str | None) -> Iterator[Assignment]:
    config = settings(course / "nbgrader_config.py")
    source = course / config.CourseDirectory.get("source_directory", "source")
    if not source.is_dir():
        return
    for folder in sorted(p for p in source.iterdir() if p.is_dir() and only in (None, p.name)):
        notebooks = sorted(folder.glob("*.ipynb"))
        if not notebooks:
            continue
        masters = tuple(master(p.stem, _read(p), config) for p in notebooks)
        files = {
            str(p.relative_to(folder)): p.read_bytes()
            for p in sorted(folder.rglob("*"))
            if p.is_file() and p.suffix not in (".ipynb", ".pyc") and not _hidden(p.relative_to(folder))
        }
        yield Assignment(folder.name, masters, files)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _read(path: Path) -> nbformat.NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat, json and jsonschema each raise their own
        words = str(error).splitlines() or [type(error).__name__]
        raise GradingError(f"{path} is not a notebook that can be read: {words[0]}") from error


def master(name: str, notebook: nbformat.NotebookNode, config: Config) -> Master:
    """The instructor's notebook, taken apart."""
    given = _released(name, notebook, config)
    cells = tuple(_cell(whole, part) for whole, part in zip(notebook.cells, given.cells, strict=True))
    ids = [cell.grade_id for cell in cells if cell.grade_id]
    for grade_id in ids:
        if ids.count(grade_id) > 1:
            raise GradingError(f"{name}: the grade_id `{grade_id}` stands on {ids.count(grade_id)} cells")
    return Master(name, cells, notebook)


def _released(name: str, notebook: nbformat.NotebookNode, config: Config) -> nbformat.NotebookNode:
    """The notebook as students got it, by nbgrader's own steps."""
    copy = nbformat.from_dict(notebook)
    resources: dict = {}
    for step in (ClearSolutions, ClearHiddenTests, ClearMarkScheme):
        try:
            copy, resources = step(config=config, enforce_metadata=False).preprocess(copy, resources)
        except Exception as error:  # an unclosed ### BEGIN, or a setting of the wrong type
            raise GradingError(f"{name} cannot be released: {error}") from error
    return copy


def _cell(whole: nbformat.NotebookNode, released: nbformat.NotebookNode) -> MasterCell:
    info = whole.metadata.get("nbgrader", {})
    grade_id = info.get("grade_id", "")
    graded, solution, task = info.get("grade", False), info.get("solution", False), info.get("task", False)
    if task:
        role = "task"
    elif graded and solution:
        role = "manual"
    elif graded:
        role = "test" if whole.cell_type == "code" else "manual"
    elif solution:
        role = "solution"
    else:
        role = "given" if whole.cell_type == "code" else "text"
    points = float(info.get("points", 0) or 0) if graded or task else 0.0
    return MasterCell(
        whole.cell_type,
        whole.source,
        released.source,
        role,
        grade_id,
        points,
        whole.get("id", ""),
    )
