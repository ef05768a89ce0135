"""The instructor's side of an assignment: its notebooks, cell by cell, with what students were given.

Read from this course (`solutions/NAME/NAME.md`) or from any nbgrader course directory
(`source/NAME/*.ipynb`).
"""

import sys
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

PRIVATE = ("solutions", "source", "release", "submitted", "autograded", "feedback", "_build")


def load(course: Path, only: str | None = None, refused: list[Problem] | None = None) -> list[Assignment]:
    """Every assignment of a course folder (or the one named), ready to grade against.

    One that cannot be used ends it all or, where a list `refused` is given, only goes into that."""
    every = (_ours if (course / "solutions").is_dir() else _theirs)(course)
    if not every:
        expected = "solutions/NAME/NAME.md or, in an nbgrader course, source/NAME/*.ipynb"
        raise GradingError(f"{course} has no assignment: expected {expected}")
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


def _ours(course: Path) -> dict[str, Callable[[], Assignment]]:
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

    return {name: partial(make, name) for name in here.assignments()}


def _theirs(course: Path) -> dict[str, Callable[[], Assignment]]:
    config = settings(course / "nbgrader_config.py")
    source = course / config.CourseDirectory.get("source_directory", "source")

    def make(folder: Path) -> Assignment:
        masters, files = [], {}
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
            if path.suffix == ".ipynb":
                masters += [_their_master(path, course, config)] if path.parent == folder else []
            elif path.is_file() and path.suffix != ".pyc" and not hidden:
                files[str(inside)] = path.read_bytes()
        return Assignment(folder.name, tuple(masters), files)

    folders = sorted(source.iterdir()) if source.is_dir() else ()
    return {folder.name: partial(make, folder) for folder in folders if any(folder.glob("*.ipynb"))}


@contextmanager
def _refused(before: str, after: str = "", line: int = 0) -> Iterator[None]:
    """Whatever a library raises here (nbformat, jsonschema, nbgrader, jinja, a kernel: each its own) is one sentence,
    with one line of what it said."""
    try:
        yield
    except Exception as error:
        words = str(getattr(error, "message", error)).strip().splitlines() or [type(error).__name__]
        raise GradingError(f"{before}: {words[line]}{after}") from error


def _their_master(path: Path, course: Path, config: Config) -> Master:
    with _refused(f"{path} is not a notebook that can be read"):
        notebook = nbformat.read(path, as_version=4)
    # The tests that nbgrader makes of its `### AUTOTEST` lines, by running the solution.
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
    # nbgrader's own rules for its marks; those of an older nbgrader are brought up to date.
    marks = MetadataValidator()
    with _refused(f"{path} is refused, as nbgrader refuses it", "; mend this cell in its assignment toolbar"):
        marks.validate_nb(marks.upgrade_notebook_metadata(notebook))
    return master(path.stem, notebook, config)


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
    graded, solution, task = (info.get(mark, False) for mark in ("grade", "solution", "task"))
    kind, code = whole.cell_type, whole.cell_type == "code"
    if task:
        role = "task"
    elif graded:
        role = "test" if code and not solution else "manual"
    else:
        role = "solution" if solution else "given" if code else "text"
    points = float(info.get("points", 0) or 0) if graded or task else 0.0
    texts, name = (whole.source, released.source), info.get("grade_id", "")
    return MasterCell(kind, *texts, role, name, points, whole.get("id", ""))


def private_folders(course: Path) -> list[Path]:
    """What no submission may see, even of a course that lies inside the system's or Python's own folders."""
    root = course.resolve()
    shown = (Path(path).resolve() for path in (__file__, sys.prefix, sys.base_prefix))
    if any(path.is_relative_to(root) for path in shown):  # a course with its own Python in it
        return [root / name for name in PRIVATE if (root / name).is_dir()]
    return [root]


def references(assignment: Assignment) -> Iterator[Task]:
    """The instructor's own solution of each notebook, by its name."""
    for own in assignment.masters:
        run = [c for c in own.cells if c.role in ("given", "test") or (c.answer and c.kind == "code")]
        yield Task(own.name, tuple(cell.as_task() for cell in run), files=assignment.files)
