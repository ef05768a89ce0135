"""What students get: the committed notebook is what release makes, and it says nothing it should not."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from coursekit.authoring.course import Course, CourseError
from coursekit.authoring.fences import inside_markers
from coursekit.authoring.publish import leaks
from coursekit.authoring.release import build, release
from coursekit.authoring.source import SourceError, read

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
NAMES = COURSE.assignments()


@pytest.fixture(scope="module")
def built():
    """Each assignment's released text, made once."""
    made = {}

    def build_once(name):
        if name not in made:
            path = COURSE.solutions / name / f"{name}.md"
            made[name], _ = build(path, COURSE)
        return made[name]

    return build_once


@pytest.fixture
def small(tmp_path, empty_gradebook):
    """A course with one small assignment, whose source a test may spoil."""
    (tmp_path / "_config.yml").write_text(
        "html: {baseurl: https://book.example}\nrepository: {url: https://github.com/a/b}\n"
    )
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    folder = tmp_path / "solutions" / "small"
    folder.mkdir(parents=True)
    (folder / "small.md").write_text(SMALL)
    return Course(tmp_path)


SMALL = """\
# Small

```{answer} double
def double(x):
    ### SOLUTION
    secret_doubling_constant = 1 + 1
    return secret_doubling_constant * x
```
```{test} 3
assert double(2) == 4
### HIDDEN TESTS
assert double(55) == 110, "hidden words that nobody may read"
```
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_notebook_is_what_release_makes(name, built):
    committed = (COURSE.notebooks / name / f"{name}.ipynb").read_text(encoding="utf-8")
    assert committed == built(name), f"run `coursekit release {name}` and commit notebooks/{name}"


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_a_solution_hidden_test_or_mistake_is_left(name, built):
    source = read(COURSE.solutions / name / f"{name}.md")
    assert list(leaks(source, built(name))) == []
    notebook = nbformat.reads(built(name), as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "BEGIN SOLUTION" not in text
    assert "HIDDEN TESTS" not in text
    assert "MISTAKES" not in text
    assert "checks.planted" not in text


@pytest.mark.parametrize("name", NAMES)
def test_the_opening_cells_carry_the_badge_and_install_the_published_wheel(name, built):
    badge, setup = nbformat.reads(built(name), as_version=4).cells[:2]
    assert COURSE.colab_url(name) in badge.source
    assert f"%pip install -qqq {COURSE.wheel_url}" in setup.source
    assert COURSE.wheel_url.startswith(COURSE.written.site)


def test_release_is_the_same_to_the_byte(small):
    source = small.solutions / "small" / "small.md"
    assert build(source, small) == build(source, small)


def test_release_removes_answers_and_keeps_the_visible_test(small):
    (path,) = release(small)
    text = path.read_text()
    assert "secret_doubling_constant" not in text
    assert "hidden words" not in text
    assert "assert double(2) == 4" in text
    assert (small.build / "source" / "small" / "small.ipynb").read_text().count(
        "secret_doubling_constant"
    ) == 2
    assert not list(path.parent.glob("*.partial"))


def test_a_planted_leak_is_found(small):
    source = read(small.solutions / "small" / "small.md")
    cell = {"source": "the answer is\nreturn secret_doubling_constant * x  # 1 2 3"}
    assert "return secret_doubling_constant * x" not in [
        s for _, s in leaks(source, json.dumps({"source": "nothing"}))
    ]
    question = source.questions[0]
    question.solution = question.solution.replace("* x", "* x + zero_more_words * 0")
    leaked = json.dumps({**cell, "source": inside_markers(question.solution)})
    assert [word for _, word in leaks(source, leaked)] == [
        "return secret_doubling_constant * x + zero_more_words * 0"
    ]


def test_a_source_that_cannot_be_released_leaves_everything_as_it_was(small):
    release(small)
    before = {p: p.read_bytes() for p in small.notebooks.rglob("*") if p.is_file()}
    path = small.solutions / "small" / "small.md"
    path.write_text(SMALL.replace("{test} 3", "{test} 3 double"))
    with pytest.raises(SourceError):
        release(small)
    assert {p: p.read_bytes() for p in small.notebooks.rglob("*") if p.is_file()} == before


def test_a_stub_that_is_not_python_is_refused(small):
    path = small.solutions / "small" / "small.md"
    path.write_text(SMALL.replace("def double(x):\n", "double = {\n    'a': 1,\n"))
    with pytest.raises(SourceError, match="whole statements inside the markers"):
        build(path, small)


def test_an_unknown_assignment_is_named(small):
    with pytest.raises(SourceError, match=r"larger\.md:1: there is no such source file"):
        release(small, ["larger"])


def test_a_folder_that_is_no_course_is_refused(tmp_path):
    with pytest.raises(CourseError, match="is not inside a course"):
        Course.find(tmp_path)


def test_a_second_release_does_only_what_changed(small):
    release(small)
    database = small.root / "gradebook.db"
    before = database.read_bytes()
    assert release(small) == [small.notebooks / "small" / "small.ipynb"]
    assert database.read_bytes() == before
    path = small.notebooks / "small" / "small.ipynb"
    whole = path.read_text()
    path.write_text(whole.replace("assert double(2) == 4", "assert True"))
    release(small)
    assert path.read_text() == whole, "an edited notebook is made again"
