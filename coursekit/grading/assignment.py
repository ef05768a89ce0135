"""The instructor's side of an assignment: its notebooks, cell by cell, with what students were given.

Read from this course (`solutions/NAME/NAME.md`) or from any nbgrader course directory
(`source/NAME/*.ipynb`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from .run.outcome import Task


def load(course: Path, only: str | None = None, refused: list[Problem] | None = None) -> list[Assignment]:
    """Every assignment of a course folder (or the one named), ready to grade against.

    One that cannot be used ends it all or, where a list `refused` is given, only goes into that."""
    every = dict((_ours if (course / "solutions").is_dir() else _theirs)(course))
    if not every:
        raise GradingError(
            f"{course} has no assignment: expected solutions/NAME/NAME.md or, in an nbgrader course, "
            "source/NAME/*.ipynb"
        )
    if only is not None and only not in every:
        raise GradingError(f"{course} has no assignment named {only!r}; it has {', '.join(every)}")
    found = []
    for name in every if only is None else [only]:
        try:
            found.append(every[name]())
        except GradingError as error:
            if only or refused is None:
                raise
            refused.append(Problem("(the instructor)", name, str(error)))
    if refused and not found:
        raise GradingError(refused[0].sentence)
    return found


def load_one(course: Path, name: str) -> Assignment:
    return load(course, name)[0]


def _ours(course: Path) -> Iterator[tuple[str, Callable[[], Assignment]]]:
    from ..authoring.course import Course
    from ..authoring.release import instructor_notebook
    from ..authoring.release import settings as settings_of_release
    from ..authoring.source import read

    here = Course(course.resolve())

    def make(name: str) -> Assignment:
        path = here.source(name)
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


@contextmanager
def _refused(before: str, after: str = "", line: int = 0) -> Iterator[None]:
    """Whatever a library raises here (nbformat, jsonschema, nbgrader, jinja, a kernel: each its own) is one sentence,
    with one line of what it said."""
    try:
        yield
    except Exception as error:
        words = str(getattr(error, "message", error)).strip().splitlines() or [type(error).__name__]
        raise GradingError(f"{before}: {words[line]}{after}") from error


def _read(path: Path) -> nbformat.NotebookNode:
    with _refused(f"{path} is not a notebook that can be read"):
        found: nbformat.NotebookNode = nbformat.read(path, as_version=4)
    return found


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
        with _refused(f"{path}: nbgrader cannot make its AUTOTEST lines into tests", line=-1):
            maker.preprocess(notebook, {"metadata": {"path": str(path.parent)}})
    finally:
        maker.log.disabled = False
    return notebook


def _marked(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """The notebook, if nbgrader's own rules for its marks hold; marks of an older nbgrader are brought up to date."""
    marks = MetadataValidator()
    with _refused(f"{path} is refused, as nbgrader refuses it", "; mend this cell in its assignment toolbar"):
        marks.validate_nb(marks.upgrade_notebook_metadata(notebook))
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
        with _refused(f"{name} cannot be released"):  # an unclosed ### BEGIN, or a setting of the wrong type
            copy, resources = step(config=config, enforce_metadata=False).preprocess(copy, resources)
    return copy


def _cell(whole: nbformat.NotebookNode, released: nbformat.NotebookNode) -> MasterCell:
    info = whole.metadata.get("nbgrader", {})
    grade_id = info.get("grade_id", "")
    graded, solution, task = info.get("grade", False), info.get("solution", False), info.get("task", False)
    kind, code = whole.cell_type, whole.cell_type == "code"
    if task:
        role = "task"
    elif graded:
        role = "test" if code and not solution else "manual"
    else:
        role = "solution" if solution else "given" if code else "text"
    points = float(info.get("points", 0) or 0) if graded or task else 0.0
    return MasterCell(kind, whole.source, released.source, role, grade_id, points, whole.get("id", ""))


def references(assignment: Assignment) -> Iterator[Task]:
    """The instructor's own solution of each notebook, by its name."""
    for own in assignment.masters:
        run = (
            cell
            for cell in own.cells
            if cell.role in ("given", "test") or (cell.answer and cell.kind == "code")
        )
        yield Task(own.name, tuple(cell.as_task() for cell in run), files=assignment.files)
