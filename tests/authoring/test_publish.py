"""What `coursekit publish` writes: all that may be public, at its own addresses, and never an answer."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest

from coursekit.authoring.course import Course, CourseError
from coursekit.authoring.fences import inside_markers
from coursekit.authoring.publish import commit, found_answers, publish
from coursekit.authoring.release import opening
from coursekit.authoring.source import read
from coursekit.cli.doctor import _public as examine_public

ROOT = Path(__file__).resolve().parents[2]
NAME = "perplexity"
REMOTE = "git@github.com:Ada/course-1.git"
SITE = "https://ada.github.io/course-1"
COLAB = "https://colab.research.google.com/github/Ada/course-1/blob/gh-pages"


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def course(tmp_path) -> Course:
    """One assignment of the course, in a repository with a remote."""
    root = tmp_path / "a course"
    for part in (f"solutions/{NAME}", f"notebooks/{NAME}"):
        shutil.copytree(ROOT / part, root / part)
    shutil.copy(ROOT / "_config.yml", root)
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(root))
    git(root, "remote", "add", "origin", REMOTE)
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "All of it")
    return Course(root)


@pytest.fixture
def book(tmp_path, course) -> Path:
    """What a built book has in it, as far as publishing looks at it."""
    made = tmp_path / "html"
    (made / "wheels").mkdir(parents=True)
    wheel = made / "wheels" / course.wheel_url.rsplit("/", 1)[1]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("coursekit/__init__.py", "")
    (made / "chapters").mkdir()
    chapter = nbformat.v4.new_notebook(cells=opening(course, "chapters/rnn.ipynb"))
    nbformat.write(chapter, made / "chapters" / "rnn.ipynb")
    (made / "index.html").write_text(f'<a href="{course.colab_url(NAME)}">Colab</a>')
    return made


def test_the_tree_has_notebooks_chapters_and_a_wheel_with_its_own_addresses(course, book, tmp_path):
    tree = publish(course, book, tmp_path / "public")
    (wheel,) = (tree / "wheels").iterdir()
    assert re.fullmatch(r"coursekit-[\d.]+-0[0-9a-f]{12}-py3-none-any\.whl", wheel.name)
    assert f'href="{COLAB}/notebooks/{NAME}/{NAME}.ipynb"' in (tree / "index.html").read_text()
    for path, notebook in (
        (f"notebooks/{NAME}/{NAME}.ipynb", nbformat.read(tree / "notebooks" / NAME / f"{NAME}.ipynb", 4)),
        ("chapters/rnn.ipynb", nbformat.read(tree / "chapters" / "rnn.ipynb", 4)),
    ):
        assert f"({COLAB}/{path})" in notebook.cells[0].source
        assert f"%pip install -qqq {SITE}/wheels/{wheel.name}\n" in notebook.cells[1].source
        nbformat.validate(notebook)
    files = [p for p in tree.rglob("*") if p.is_file()]
    assert not any("solutions" in str(p.relative_to(tree)) for p in files)
    assert not any(b"course.invalid" in p.read_bytes() for p in files)


def test_other_code_gives_the_wheel_another_name_and_the_same_code_the_same(course, book, tmp_path):
    def wheel() -> str:
        return next(publish(course, book, tmp_path / "public").glob("wheels/*.whl")).name

    first = wheel()
    assert wheel() == first
    with zipfile.ZipFile(next(book.glob("wheels/*.whl")), "a") as archive:
        archive.writestr("coursekit/more.py", "x = 1")
    assert wheel() != first


def hidden_test(course: Course) -> str:
    source = read(course.solutions / NAME / f"{NAME}.md")
    return next(t for cell in source.notebook.cells if len(t := inside_markers(cell.source)) > 200)


PLANTED = {
    "a hidden test in a page": lambda book, text: (book / "page.html").write_text(
        f"<pre>{text.replace('<', '&lt;').replace('(', '<b>(</b>')}</pre>"
    ),
    "a hidden test in the wheel": lambda book, text: zipfile.ZipFile(next(book.glob("wheels/*.whl")), "a").writestr(
        "coursekit/planted.py", text
    ),
    "the source of an assignment": lambda book, text: (book / "notes.md").write_text(
        "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    ),
    "a folder of solutions": lambda book, text: shutil.copytree(
        ROOT / "solutions" / NAME, book / "_sources" / "solutions"
    ),
    "a gradebook": lambda book, text: (book / "gradebook.db").write_bytes(b"SQLite"),
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED)
def test_what_gives_an_answer_away_is_not_published(what, course, book, tmp_path):
    before = publish(course, book, tmp_path / "public")
    kept = {p: p.read_bytes() for p in before.rglob("*") if p.is_file()}
    PLANTED[what](book, hidden_test(course))
    with pytest.raises(CourseError, match="nothing was published"):
        publish(course, book, tmp_path / "public")
    assert {p: p.read_bytes() for p in before.rglob("*") if p.is_file()} == kept, "the last tree stands"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a course", "html", "public"]


def test_a_solution_line_in_a_students_notebook_is_found(course, book, tmp_path):
    tree = publish(course, book, tmp_path / "public")
    assert list(found_answers(course, tree)) == []
    path = tree / "notebooks" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][2]["source"] = "return -(pop[said] * torch.log(p[said])).sum()"
    path.write_text(json.dumps(notebook))
    assert [where for where, _ in found_answers(course, tree)] == [f"notebooks/{NAME}/{NAME}.ipynb"]


def test_a_folder_that_is_not_a_published_tree_is_left_alone(course, book, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(CourseError, match="is not empty, and not a published tree"):
        publish(course, book, tmp_path / "mine")
    (course.root.parent / ".coursekit-public").write_text("")
    with pytest.raises(CourseError, match="holds the course itself"):
        publish(course, book, course.root.parent)


def test_pages_holds_the_tree_alone_and_the_working_tree_is_not_touched(course, book, tmp_path):
    tree = publish(course, book, tmp_path / "public")
    status = git(course.root, "status", "--porcelain")
    assert commit(course, tree) == "gh-pages"
    listed = git(course.root, "ls-tree", "-r", "--name-only", "gh-pages").splitlines()
    assert sorted(listed) == sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file())
    first = git(course.root, "rev-parse", "gh-pages")
    commit(course, tree)
    assert git(course.root, "rev-parse", "gh-pages") == first, "the same tree is not committed twice"
    (tree / "index.html").write_text("changed")
    commit(course, tree)
    assert git(course.root, "rev-parse", "gh-pages^") == first
    assert git(course.root, "status", "--porcelain") == status
    assert git(course.root, "branch", "--show-current") == "main"


@pytest.mark.parametrize(
    ("remote", "site", "place"),
    [
        ("https://github.com/Ada/course", "https://ada.github.io/course", "Ada/course"),
        ("https://github.com/Ada/course.git", "https://ada.github.io/course", "Ada/course"),
        ("ssh://git@github.com/ada/ada.github.io.git", "https://ada.github.io", "ada/ada.github.io"),
    ],
)
def test_the_addresses_come_from_the_remote(remote, site, place, course):
    git(course.root, "remote", "set-url", "origin", remote)
    assert (course.public.site, course.public.repository) == (site, place)
    assert course.written.site == "https://course.invalid", "a release is the same in every fork"


def test_the_addresses_of_the_configuration_come_first(course):
    (course.root / "_config.yml").write_text(
        "repository: {url: https://github.com/u/public, branch: site}\nhtml: {baseurl: https://course.example/}\n"
    )
    assert course.public.site == "https://course.example"
    assert (
        course.public.colab("a.ipynb")
        == "https://colab.research.google.com/github/u/public/blob/site/a.ipynb"
    )


def test_without_any_address_nothing_is_published(course, book, tmp_path):
    git(course.root, "remote", "remove", "origin")
    with pytest.raises(CourseError, match="not known where the course will be published"):
        publish(course, book, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_doctor_says_what_a_colab_button_will_open(course, monkeypatch):
    monkeypatch.chdir(course.root)
    assert {f.part: f.text for f in examine_public(Path("."))} == {
        "published": f"at {SITE}/, by `coursekit publish DIR --pages`",
        "Colab button": f"opens {COLAB}/notebooks/{NAME}/{NAME}.ipynb",
    }
    git(course.root, "remote", "remove", "origin")
    (finding,) = examine_public(Path("."))
    assert not finding.ok
    assert "git remote add origin" in finding.text
