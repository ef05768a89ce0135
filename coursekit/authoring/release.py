"""`solutions/NAME/NAME.md` -> `notebooks/NAME/NAME.ipynb`, by nbgrader's own generation.

Everything is made before anything is written: a release that fails leaves `notebooks/` as it was. The same source
gives the same bytes.
"""

import ast
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from traitlets.config import Config

from ..files import write, write_new
from ..runtime import find_own_scripts
from .course import Course
from .fences import BEGIN_HIDDEN, without_markers
from .minutes import in_words
from .publish import leaks
from .source import DEFAULTS, Source, SourceError, read
from .visible import boxes, complete, made_from, speaking

STUB = "# YOUR CODE HERE\n..."  # what a student's cell says instead of the solution: it runs, and answers nothing
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
# What `nbgrader generate_assignment` does to a notebook, less what it keeps in a gradebook.
STEPS = [step for step in GenerateAssignment.preprocessors.default() if step is not SaveCells]
COPIES = (
    "A function that you write leaves what it is given as it was: work on a copy, and return what is new."
)
CLOSING = """## Before you hand in

Save the notebook, then run this cell. It runs everything once more from the top, as the grader will, shows the points \
that the visible checks give, and hands you the file to upload."""


def instructor_notebook(source: Source, course: Course, named: bool = True) -> nbformat.NotebookNode:
    """The notebook with solutions, hidden tests and, if `named`, the mistakes that those can recognise."""
    notebook: nbformat.NotebookNode = nbformat.from_dict(json.loads(json.dumps(source.notebook)))
    owner = {test: q for q in source.questions for test in q.tests}
    for cell in notebook.cells:
        info = cell.metadata.get("nbgrader")
        if info and info["grade_id"] in owner:
            question, key = owner[info["grade_id"]], f"{source.name}/{info['grade_id']}"
            text = complete(cell.source, question, source.name, info["points"])
            text = speaking(text, key if _said(course, source.name) else "", question.hints)
            if question.mistakes:  # what the hidden tests need to name a wrong answer
                told = question.mistakes if named else []
                planted = [(m.name, m.sentence, without_markers(m.answer)) for m in told]
                body = "\n".join(f"    {item!r}," for item in planted)
                more = f"MISTAKES = checks.planted({question.id!r}, [\n{body}\n], globals())"
                text = text.replace(BEGIN_HIDDEN, f"{BEGIN_HIDDEN}\n{more}", 1)
            cell.source = text
    takes = f"{source.points:g} points; about {in_words(source)}, once the chapters are read. {COPIES}"
    first = opening(course, f"notebooks/{source.name}/{source.name}.ipynb", f"\n\n{takes}")
    closing = [
        nbformat.v4.new_markdown_cell(CLOSING, id="closing"),
        _locked("finish", "checks.whole_notebook()"),
    ]
    notebook.cells = [*first, *notebook.cells, *closing]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "colab": {"name": f"{source.name}.ipynb", "provenance": []},
        "coursekit": {"assignment": source.name},
    }
    notebook.metadata = nbformat.from_dict(metadata)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _said(course: Course, name: str) -> Path | None:
    """Where the package keeps the locked sentences of an assignment; None for a course that is not its own."""
    folder = course.root / "coursekit" / "checks" / "said"
    return folder / f"{name}.json" if folder.is_dir() else None


def opening(course: Course, path: str, more: str = "") -> list[nbformat.NotebookNode]:
    """The first two cells of a notebook that is public at `path`: its button, and what installs the course."""
    badge = f"[![Open in Colab]({BADGE})]({course.written.colab(path)})"
    install = (
        "# Run this cell first. It installs the course's package where it is missing, and else does nothing.\n"
        "import importlib.util\n\n"
        'if importlib.util.find_spec("coursekit") is None:\n'
        f"    %pip install -qqq {course.wheel_url}\n"
        "    importlib.invalidate_caches()\n"
        'if importlib.util.find_spec("coursekit") is None:\n'
        f'    print("The course\'s package could not be fetched from {course.wheel_url}: "\n'
        '          "look whether this notebook is online, and run this cell again; "\n'
        '          "if that address does not open in a browser, tell your instructor.")\n'
        "else:\n"
        "    from coursekit import checks\n\n"
        "    checks.warm()  # so that no check is slow"
    )
    return [nbformat.v4.new_markdown_cell(badge + more, id="colab"), _locked("setup", install)]


def _locked(name: str, source: str) -> nbformat.NotebookNode:
    info = {**DEFAULTS, "locked": True, "grade_id": name}
    cell: nbformat.NotebookNode = nbformat.v4.new_code_cell(source, id=name, metadata={"nbgrader": info})
    return cell


def settings() -> Config:
    """nbgrader's settings for this course's notebooks."""
    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    return config


def build(path: Path, course: Course) -> tuple[str, nbformat.NotebookNode]:
    """The released notebook's text for one source, by nbgrader's own steps, and the instructor's notebook."""
    source = read(path)
    instructor = instructor_notebook(source, course)
    released: nbformat.NotebookNode = nbformat.from_dict(instructor)
    resources: dict[str, Any] = {}
    for step in STEPS:
        try:
            released, resources = step(config=settings()).preprocess(released, resources)
        except Exception as error:  # each of nbgrader's steps refuses in its own way
            raise SourceError(path, 1, f"nbgrader refused it: {error}") from error
    lines = {q.id: q.line for q in source.questions}
    for cell in released.cells:
        cell.metadata.pop("deletable", None)
        info = cell.metadata.get("nbgrader", {})
        if info.get("locked"):
            cell.metadata["editable"] = False
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        try:  # a solution cut out of the middle of an expression leaves a cell that no student could run
            ast.parse(cell.source if info.get("grade_id") in lines else "")
        except SyntaxError as error:
            message = f"without its solution `{info['grade_id']}` is not Python ({error.msg}); "
            message += "put whole statements inside the markers"
            raise SourceError(source.path, lines[info["grade_id"]], message) from error
    text = f"{nbformat.writes(released, version=4, sort_keys=True)}\n"
    for line, word in leaks(source, text):
        message = f"the released notebook would still say `{word}`; keep it inside the markers"
        raise SourceError(path, line, message)
    return text, instructor


def _enter(course: Course, name: str) -> None:
    """Make the assignment of `_build/source` known to the gradebook, as an instructor of nbgrader does."""
    config = settings()
    folders = {"source_directory": "_build/source", "release_directory": "_build/release"}
    database = f"sqlite:///{course.root / 'gradebook.db'}"
    config.CourseDirectory = Config(root=str(course.root), db_url=database, assignment_id=name, **folders)
    config.GenerateAssignment.force = True
    find_own_scripts()
    GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start()


def release(
    course: Course, names: list[str] | None = None, progress: Callable[[str], object] | None = None
) -> list[Path]:
    """Release the named assignments (default: all); the notebooks that were written or kept.

    The instructor's notebooks go to `_build/source/`, and the assignments are entered in `gradebook.db`
    at the root, so that stock nbgrader and the formgrader know them (see `nbgrader_config.py`).
    """
    known = course.assignments()
    for name in names or []:
        if name not in known:
            raise SourceError(course.source(name), 1, "there is no such source file")
    stamps = {name: course.build / "release" / f".{name}.stamp" for name in names or known}
    stale = [
        name
        for name, stamp in stamps.items()
        if not all(path.exists() for path in (stamp, course.released(name), course.root / "gradebook.db"))
        or stamp.read_text() != _made_from(course, name)
    ]
    staged = []
    for name in stamps:
        if name in stale:
            staged.append((name, *build(course.source(name), course)))
        if progress:
            progress(name)
    # Only now, with every source proved releasable, is anything written.
    for name, text, instructor in staged:
        write_new(course.released(name), text)
        _lock_sentences(course, name)
        home = course.build / "source" / name
        write(home / f"{name}.ipynb", nbformat.writes(instructor, version=4))
        for extra in sorted(course.source(name).parent.iterdir()):
            if extra.suffix != ".md" and extra.is_file():
                shutil.copy(extra, home / extra.name)
        _enter(course, name)
        stamps[name].write_text(_made_from(course, name))
    return [course.released(name) for name in stamps]


def _lock_sentences(course: Course, name: str) -> None:
    """Make the locked sentences of an assignment anew where it or a check has changed: each mistake is run once."""
    source, target = read(course.source(name)), _said(course, name)
    if target is None:
        return
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    if (known.get(""), known.get("#")) != (made_from(source), _code()):
        write(target, json.dumps({"#": _code(), **boxes(source, known)}, indent=0, sort_keys=True) + "\n")


def _made_from(course: Course, name: str) -> str:
    """A digest of the source, the configuration, the code, and the notebook that came of it."""
    sources = sorted(p for p in (course.solutions / name).rglob("*") if p.is_file())
    return _code() + _digest((*sources, course.root / "_config.yml", course.released(name)))


@cache
def _code() -> str:
    """A digest of the code that releases and that checks: it can move the outcome of a mistake, which is its key."""
    rooms = (Path(__file__).parent.parent / room for room in ("authoring", "checks"))
    return _digest(path for room in rooms for path in sorted(room.rglob("*.py")))


def _digest(paths: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes() if path.exists() else b"")
    return total.hexdigest()
