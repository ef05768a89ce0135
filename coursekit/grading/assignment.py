"""The instructor's side of an assignment: its notebooks, cell by cell, with what students were given.

Read from this course (`solutions/NAME/NAME.md`) or from any nbgrader course directory
(`source/NAME/*.ipynb`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions, InstantiateTests
from traitlets.config import Config

from ..runtime import find_own_scripts
from .errors import GradingError
from .facts import Assignment, Master, MasterCell, Problem
from .nbgrader_config import settings
from .run.outcome import Cell, Task


def load(course: Path, only: str | None = None, refused: list[Problem] | None = None) -> list[Assignment]:
    """Every assignment of a course folder (or the one named), ready to grade against.

    One that cannot be used ends it all or, where a list `refused` is given, only goes into that."""
    every = _ours if (course / "solutions").is_dir() else _theirs
    found = []
    for name, make in every(course):
        if only in (None, name):
            try:
                found.append(make())
            except GradingError as error:
                if only or refused is None:
                    raise
                refused.append(Problem("(the instructor)", name, str(error)))
    if refused and not found:
        raise GradingError(refused[0].sentence)
    if not found and only and (known := [assignment.name for assignment in load(course)]):
        raise GradingError(f"{course} has no assignment named {only!r}; it has {', '.join(known)}")
    if not found:
        raise GradingError(
            f"{course} has no assignment: expected solutions/NAME/NAME.md or, in an nbgrader course, "
            "source/NAME/*.ipynb"
        )
    return found


def _ours(course: Path) -> Iterator[tuple[str, Callable[[], Assignment]]]:
    from ..authoring.course import Course
    from ..authoring.release import instructor_notebook
    from ..authoring.release import settings as settings_of_release
    from ..authoring.source import read

    here = Course(course.resolve())

    def make(name: str) -> Assignment:
        path = here.solutions / name / f"{name}.md"
        notebook = instructor_notebook(read(path), here)
        files = {p.name: p.read_bytes() for p in sorted(path.parent.iterdir()) if p.is_file() and p != path}
        return Assignment(name, (master(name, notebook, settings_of_release()),), files)

    for name in here.assignments():
        yield name, partial(make, name)


def _theirs(course: Path) -> Iterator[tuple[str, Callable[[], Assignment]]]:
    config = settings(course / "nbgrader_config.py")
    source = course / config.CourseDirectory.get("source_directory", "source")

    def make(folder: Path) -> Assignment:
        masters = [
            master(p.stem, _marked(_with_tests(_read(p), p, course, config), p), config)
            for p in sorted(folder.glob("*.ipynb"))
        ]
        files = {
            str(p.relative_to(folder)): p.read_bytes()
            for p in sorted(folder.rglob("*"))
            if p.is_file() and p.suffix not in (".ipynb", ".pyc") and not _hidden(p.relative_to(folder))
        }
        return Assignment(folder.name, tuple(masters), files)

    for folder in sorted(source.iterdir()) if source.is_dir() else ():
        if any(folder.glob("*.ipynb")):
            yield folder.name, partial(make, folder)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _read(path: Path) -> nbformat.NotebookNode:
    try:
        found: nbformat.NotebookNode = nbformat.read(path, as_version=4)
        return found
    except Exception as error:  # nbformat, json and jsonschema each raise their own
        words = str(error).splitlines() or [type(error).__name__]
        raise GradingError(f"{path} is not a notebook that can be read: {words[0]}") from error


def _with_tests(
    notebook: nbformat.NotebookNode, path: Path, course: Path, config: Config
) -> nbformat.NotebookNode:
    """The notebook with the tests that nbgrader makes of its `### AUTOTEST` lines, by running the solution."""
    maker = InstantiateTests(config=config)
    if not (path.parent / maker.autotest_filename).exists():
        maker.autotest_filename = str((course / maker.autotest_filename).resolve())
    find_own_scripts()
    maker.log.disabled = True  # what it says there is in the error too
    try:
        maker.preprocess(notebook, {"metadata": {"path": str(path.parent)}})
    except Exception as error:  # its own, jinja's, YAML's, the kernel's
        words = str(error).strip().splitlines() or [type(error).__name__]
        raise GradingError(
            f"{path}: nbgrader cannot make its AUTOTEST lines into tests: {words[-1]}"
        ) from error
    finally:
        maker.log.disabled = False
    return notebook


def _marked(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """The notebook, if nbgrader's own rules for its marks hold; marks of an older nbgrader are brought up to date."""
    marks = MetadataValidator()
    try:
        marks.validate_nb(marks.upgrade_notebook_metadata(notebook))
    except Exception as error:  # jsonschema's, nbgrader's; KeyError where a mark is not there at all
        words = str(getattr(error, "message", error)).splitlines()[0]
        raise GradingError(
            f"{path} is refused, as nbgrader refuses it: {words}; mend this cell in its assignment toolbar"
        ) from error
    return notebook


def master(name: str, notebook: nbformat.NotebookNode, config: Config) -> Master:
    """The instructor's notebook, taken apart."""
    given = _released(name, notebook, config)
    cells = tuple(_cell(whole, part) for whole, part in zip(notebook.cells, given.cells, strict=True))
    return Master(name, cells, notebook)


def _released(name: str, notebook: nbformat.NotebookNode, config: Config) -> nbformat.NotebookNode:
    """The notebook as students got it, by nbgrader's own steps."""
    copy: nbformat.NotebookNode = nbformat.from_dict(notebook)
    resources: dict[str, Any] = {}
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


def references(assignment: Assignment) -> Iterator[Task]:
    """The instructor's own solution of each notebook, by its name."""
    for own in assignment.masters:
        yield Task(own.name, tuple(_own_cells(own)), files=assignment.files)


def _own_cells(own: Master) -> Iterator[Cell]:
    for cell in own.cells:
        if cell.role in ("given", "test"):
            yield Cell(cell.source, cell.role, cell.grade_id or cell.cell_id, cell.points)
        elif cell.kind == "code" and cell.role in ("solution", "manual"):
            yield Cell(cell.source, "solution", cell.grade_id, reference=cell.reference)
