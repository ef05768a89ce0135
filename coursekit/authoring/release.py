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
from .source import DEFAULTS, Question, Source, SourceError, read
from .visible import boxes, complete, made_from, speaking

STUB = "# YOUR CODE HERE\n..."  # what a student's cell says instead of the solution: it runs, and answers nothing
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"


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
            cell.source = _with_mistakes(text, question, named) if BEGIN_HIDDEN in text else text
    takes = f"{source.points:g} points; about {in_words(source)}, once the chapters are read. "
    takes += (
        "A function that you write leaves what it is given as it was: work on a copy, and return what is new."
    )
    first = opening(course, f"notebooks/{source.name}/{source.name}.ipynb", f"\n\n{takes}")
    notebook.cells = [*first, *notebook.cells, *_closing()]
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "colab": {"name": f"{source.name}.ipynb", "provenance": []},
            "coursekit": {"assignment": source.name},
        }
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _said(course: Course, name: str) -> Path | None:
    """Where the package keeps the locked sentences of an assignment; None for a course that is not its own."""
    folder = course.root / "coursekit" / "checks" / "said"
    return folder / f"{name}.json" if folder.is_dir() else None


def _with_mistakes(text: str, question: Question, named: bool) -> str:
    """Give the hidden tests their `MISTAKES`: what they need to name a wrong answer."""
    if not question.mistakes:
        return text
    planted = [(m.name, m.sentence, without_markers(m.answer)) for m in question.mistakes if named]
    body = "\n".join(f"    {item!r}," for item in planted)
    statement = f"MISTAKES = checks.planted({question.id!r}, [\n{body}\n], globals())"
    rows = text.split("\n")
    at = next(n for n, row in enumerate(rows) if BEGIN_HIDDEN in row)
    return "\n".join([*rows[: at + 1], statement, *rows[at + 1 :]])


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


def _closing() -> list[nbformat.NotebookNode]:
    text = (
        "## Before you hand in\n\n"
        "Save the notebook, then run this cell. It runs everything once more from the top, as the grader will, shows "
        "the points that the visible checks give, and hands you the file to upload."
    )
    return [nbformat.v4.new_markdown_cell(text, id="closing"), _locked("finish", "checks.whole_notebook()")]


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
    config.CourseDirectory = Config(
        root=str(root), db_url=f"sqlite:///{root / 'gradebook.db'}", assignment_id=name,
        source_directory=f"{below}source", release_directory=f"{below}release",
    )  # fmt: skip
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


def _finish(notebook: nbformat.NotebookNode) -> str:
    """The released notebook as text, the same at every build."""
    for cell in notebook.cells:
        cell.metadata.pop("deletable", None)
        if cell.metadata.get("nbgrader", {}).get("locked"):
            cell.metadata["editable"] = False
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return f"{nbformat.writes(notebook, version=4, sort_keys=True)}\n"


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
    _stubs_are_python(source, released)
    text = _finish(released)
    for line, word in leaks(source, text):
        message = f"the released notebook would still say `{word}`; keep it inside the markers"
        raise SourceError(path, line, message)
    return text


def _stubs_are_python(source: Source, released: nbformat.NotebookNode) -> None:
    """A solution cut out of the middle of an expression leaves a cell that no student could run."""
    lines = {q.id: q.line for q in source.questions}
    for cell in released.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if cell.cell_type == "code" and grade_id in lines:
            try:
                ast.parse(cell.source)
            except SyntaxError as error:
                message = f"without its solution `{grade_id}` is not Python ({error.msg}); "
                message += "put whole statements inside the markers"
                raise SourceError(source.path, lines[grade_id], message) from error


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
    stale = [name for name in names or known if not _fresh(course, name)]
    staged: list[tuple[str, str, Path]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or known:
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
            _stamp(course, name).write_text(_made_from(course, name))
    return [course.released(name) for name in names or known]


def _lock_sentences(course: Course, name: str) -> None:
    """Make the locked sentences of an assignment anew where it or a check has changed: each mistake is run once."""
    source, target = read(course.source(name)), _said(course, name)
    if target is None:
        return
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    if (known.get(""), known.get("#")) != (made_from(source), _code()):
        write(target, json.dumps({"#": _code(), **boxes(source, known)}, indent=0, sort_keys=True) + "\n")


def _stamp(course: Course, name: str) -> Path:
    return course.build / "release" / f".{name}.stamp"


def _fresh(course: Course, name: str) -> bool:
    """Nothing that the release is made from has changed since, and nobody has touched what was made."""
    stamp = _stamp(course, name)
    there = (stamp, course.released(name), course.root / "gradebook.db")
    return all(path.exists() for path in there) and stamp.read_text() == _made_from(course, name)


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
