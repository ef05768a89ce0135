"""`solutions/NAME/NAME.md` -> `notebooks/NAME/NAME.ipynb`, by nbgrader's own generation.

Everything is made in a scratch folder and moved into place at the end: a release that fails leaves
`notebooks/` as it was. The same source gives the same bytes.
"""

import ast
import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
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


def _generate(root: Path, name: str, below: str = "") -> Path:
    """Run nbgrader's generate_assignment on `root/source/NAME`, or `below` the root; the released folder.

    Only what is below a course's root is entered in its gradebook: nbgrader takes seconds to make one.
    """
    config = settings()
    folders = {"source_directory": f"{below}source", "release_directory": f"{below}release"}
    database = f"sqlite:///{root / 'gradebook.db'}"
    config.CourseDirectory = Config(root=str(root), db_url=database, assignment_id=name, **folders)
    config.GenerateAssignment.force = True
    config.GenerateAssignment.no_database, config.SaveCells.enabled = not below, bool(below)
    converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
    find_own_scripts()
    heard = _Ear()
    converter.log.handlers, converter.log.propagate = [heard], False
    try:
        converter.start()
    except (NbGraderException, RuntimeError) as error:
        raise NbGraderException(heard.reason or str(error)) from error
    return root / f"{below}release" / name


class _Ear(logging.Handler):
    """nbgrader says what is wrong in its log and raises "see above": this keeps the exception it logged."""

    reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().strip()
        if message.startswith("Traceback"):
            self.reason = message.splitlines()[-1]


def build(path: Path, course: Course, scratch: Path) -> str:
    """The released notebook's text for one source; `scratch` is a folder that may be filled."""
    source = read(path)
    instructor = scratch / "source" / source.name
    instructor.mkdir(parents=True, exist_ok=True)
    notebook = instructor_notebook(source, course)
    nbformat.write(notebook, instructor / f"{source.name}.ipynb", version=4)
    for extra in sorted(path.parent.iterdir()):
        if extra.suffix != ".md" and extra.is_file():
            shutil.copy(extra, instructor / extra.name)
    try:
        made = _generate(scratch, source.name)
    except NbGraderException as error:
        raise SourceError(path, 1, f"nbgrader refused it: {error}") from error
    released = nbformat.read(made / f"{source.name}.ipynb", as_version=4)
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
    return text


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
    staged: list[tuple[str, str, Path]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in stamps:
            if name in stale:
                scratch = Path(folder) / name
                text = build(course.source(name), course, scratch)
                staged.append((name, text, scratch / "source" / name))
            if progress:
                progress(name)
        # Only now, with every source proved releasable, is anything outside the scratch folder touched.
        for name, text, instructor in staged:
            write_new(course.released(name), text)
            _lock_sentences(course, name)
            shutil.copytree(instructor, course.build / "source" / name, dirs_exist_ok=True)
            _generate(course.root, name, "_build/")
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
