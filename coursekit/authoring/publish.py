"""`coursekit publish DIR`: all of the course that may be public, and nothing else.

The built book, with its chapters as notebooks and the wheel, and the students' notebooks; each with the addresses at
which it will be found. The tree is made beside its place, searched for answers, and only then put there.
"""

import hashlib
import html
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from ..files import write
from .course import Addresses, Course, CourseError
from .fences import BEGIN_HIDDEN, BEGIN_SOLUTION, inside_markers, outside_markers
from .source import Question, Source, read

MARK = ".coursekit-public"  # in a folder that `publish` made, and may therefore replace
TEXT = {".html", ".ipynb", ".js", ".json", ".md", ".py", ".txt", ".xml", ".css", ".svg", ".map", ""}
PRIVATE = {"solutions", "gradebook.db", "submitted", "autograded", ".git"}
SAMPLE = "coursekit/authoring/sample/"
_TAG = re.compile(r"<[^>]*>")


def publish(course: Course, book: Path, target: Path) -> Path:
    """Write the public tree, with the built `book` in it; nothing is changed where anything is wrong."""
    public = course.public
    target = target.resolve()
    if target.exists() and any(target.iterdir()) and not (target / MARK).exists():
        raise CourseError(f"{target} is not empty, and not a published tree; name an empty folder")
    if course.root.resolve().is_relative_to(target):
        raise CourseError(f"{target} holds the course itself; name a folder of its own")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".publishing-") as desk:
        tree = Path(desk) / "tree"
        shutil.copytree(book, tree, ignore=shutil.ignore_patterns("*.partial", ".buildinfo"))
        for name in course.assignments():
            notebook = course.released(name)
            if not notebook.is_file():
                raise CourseError(f"{notebook} is missing; run `coursekit release`")
            write(tree / "notebooks" / name / notebook.name, notebook.read_bytes())
        for name in (MARK, ".nojekyll"):  # the latter: GitHub serves the files as they are
            write(tree / name, "")
        _address(course, public, tree)
        for where, what in found_answers(course, tree):
            raise CourseError(f"nothing was published: {where} would give away {what}")
        if target.exists():
            target.rename(Path(desk) / "before")
        tree.rename(target)
    return target


def _address(course: Course, public: Addresses, tree: Path) -> None:
    """Give the wheel the name of its content, and every page and notebook the addresses of this tree."""
    for folder in ("notebooks", "chapters"):
        _swap(tree, course.written.colab(f"{folder}/"), public.colab(f"{folder}/"))
    wheel = next((tree / "wheels").glob("*.whl"), None)
    if wheel is None:
        raise CourseError("the book has no wheel; build it with `coursekit book`")
    # A build number may follow a wheel's version, and is no part of it: so a student never gets an old one.
    version, rest = wheel.name.split("-py3-", 1)
    with zipfile.ZipFile(wheel) as archive:
        parts = sorted((info.filename, archive.read(info)) for info in archive.infolist())
    content = hashlib.sha256(b"\0".join(name.encode() + b"\0" + data for name, data in parts)).hexdigest()
    named = wheel.with_name(f"{version}-0{content[:12]}-py3-{rest}")
    wheel.rename(named)
    _swap(tree, f"{course.written.site}/wheels/{wheel.name}", f"{public.site}/wheels/{named.name}")
    _swap(tree, course.written.site, public.site)


def _swap(tree: Path, old: str, new: str) -> None:
    for path, text in _texts(tree):
        if old in text:
            write(path, text.replace(old, new))


def _texts(tree: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(p for p in tree.rglob("*") if p.is_file() and p.suffix in TEXT):
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def found_answers(course: Course, tree: Path) -> Iterator[tuple[str, str]]:
    """Where in the tree, what: a private file, a line of a solution in a notebook, a hidden test anywhere."""
    for path in sorted(tree.rglob("*")):
        if private := PRIVATE & set(path.relative_to(tree).parts):
            yield str(path.relative_to(tree)), f"`{private.pop()}`"
    sources = [read(course.source(name)) for name in course.assignments()]
    tests = (test for source in sources for question in source.questions for test in question.tests.items())
    hidden = [(name, text) for name, test in tests if len(text := fold(inside_markers(test))) > 40]
    texts = ((str(path.relative_to(tree)), text) for path, text in _texts(tree))
    for where, text in chain(texts, *map(_inside, tree.glob("wheels/*.whl"))):
        folded = fold(html.unescape(_TAG.sub("", text)) if where.endswith(".html") else text)
        marked = any(fold(mark) in folded for mark in (BEGIN_SOLUTION, BEGIN_HIDDEN))
        if marked and where.endswith((".ipynb", ".md")):
            yield where, "what stands between solution markers"
        for name, secret in hidden:
            if secret in folded:
                yield where, f"the hidden test `{name}`"
    for source in sources:
        released = tree / "notebooks" / source.name / f"{source.name}.ipynb"
        for _, line in leaks(source, released.read_text(encoding="utf-8")):
            yield str(released.relative_to(tree)), f"`{line}`"


def _inside(wheel: Path) -> Iterator[tuple[str, str]]:
    """The text of the wheel's files; but what `coursekit new` begins with has its answers in it, for everyone."""
    with zipfile.ZipFile(wheel) as archive:
        for name in (name for name in archive.namelist() if not name.startswith(SAMPLE)):
            yield f"wheels/{wheel.name}:{name}", archive.read(name).decode("utf-8", "replace")


def commit(course: Course, tree: Path) -> str:
    """Commit the tree, as it is and alone, to the branch that GitHub Pages serves; the working tree is not touched."""
    branch = course.public.branch
    if _git(course, "branch", "--show-current") == branch:
        raise CourseError(f"the branch {branch} is checked out; change to another and publish from there")
    with tempfile.TemporaryDirectory() as desk:
        apart = {"GIT_INDEX_FILE": str(Path(desk) / "index"), "GIT_WORK_TREE": str(tree)}
        apart["GIT_DIR"] = _git(course, "rev-parse", "--absolute-git-dir")
        _git(course, "-C", str(tree), "add", "--all", "--force", ".", more=apart)
        made = _git(course, "write-tree", more=apart)
    before = _git(course, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", fails=True)
    if before and _git(course, "rev-parse", f"{before}^{{tree}}") == made:
        return branch
    parents = ["-p", before] if before else []
    now = _git(course, "rev-parse", "--short", "HEAD", fails=True) or "the working tree"
    done = _git(course, "commit-tree", made, *parents, "-m", f"The course as of {now}")
    _git(course, "update-ref", f"refs/heads/{branch}", done, before or "")
    return branch


def _git(course: Course, *words: str, fails: bool = False, more: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *words], cwd=course.root, env={**os.environ, **(more or {})}, capture_output=True, text=True
    )
    if done.returncode and not fails:
        reason = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise CourseError(f"the tree was not committed; git says: {reason}")
    return done.stdout.strip()


_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d+\.\d+")
_TELLING = 5  # what is as short as this gives nothing away in a hint
_SHORT = 4  # a line with fewer words than this gives nothing away by itself
# An answer that is a formula in quotation marks.
_FORMULA = re.compile(r"""["']([\w\s().{}\\-]*[*+/^][\w\s*+/^().{}\\-]*)["']""")


def leaks(source: Source, released: str) -> Iterator[tuple[int, str]]:
    """Each secret line that the released text still holds, with the line of its question."""
    public = fold("\n".join(outside_markers(c.source) for c in source.notebook.cells))
    text = fold(released)
    for line, secret in dict.fromkeys(_secrets(source)):  # a line that several answers share is one leak
        folded = fold(secret)
        if folded in text and folded not in public:
            yield line, secret
    for question in source.questions:
        for formula in _FORMULA.findall(inside_markers(question.solution)):
            if len(fold(formula)) > 6 and fold(formula) in text:
                yield question.line, formula
        for hint in question.hints:
            for said in _answers(question):
                if fold(said) in fold(hint):
                    yield question.line, said


def _answers(question: Question) -> Iterator[str]:
    """What no hint may say: a value, or what a line of the answer computes or returns."""
    for row in inside_markers(question.solution).splitlines():
        quoted = re.findall(r"""["']([^"']+)["']""", row)
        for side in (*quoted, re.split(r"(?<![=<>!])=(?!=)|return ", row)[-1]):
            if len(fold(side)) > _TELLING and re.search(r"[^\w\s]", side):
                yield side.strip()


def _secrets(source: Source) -> Iterator[tuple[int, str]]:
    for question in source.questions:
        answers = [question.solution, *(m.answer for m in question.mistakes), *question.tests.values()]
        rows = (row for text in answers for row in inside_markers(text).splitlines())
        yield from ((question.line, row.strip()) for row in rows if len(_WORD.findall(row)) >= _SHORT)
        yield from ((question.line, mistake.sentence) for mistake in question.mistakes)


def fold(text: str) -> str:
    """Without white space and JSON's escapes, so that a line is found however it was wrapped."""
    return re.sub(r'[\s\\"]', "", text.replace("\\n", " "))
