"""The guide from nothing to a graded class, run literally: each of its commands, in its order, in an empty folder."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit.authoring.course import Course, CourseError, new
from coursekit.authoring.minutes import MINUTES, kind
from coursekit.authoring.source import read

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "book" / "guides" / "own_course.md"


def commands() -> list[str]:
    """The guide's blocks of commands."""
    blocks = re.findall(r"^(`{3,})sh\n(.*?)^\1$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [text for _, text in blocks]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The course after all commands, and what each block said."""
    home, tools = tmp_path_factory.mktemp("a teacher"), tmp_path_factory.mktemp("bin")
    program = tools / "coursekit"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m coursekit "$@"\n')
    program.chmod(0o755)
    script = "\n".join([f'export PATH="{tools}:$PATH"', *(f"{block}echo '=== next'" for block in commands())])
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=home, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return home, done.stdout.split("=== next\n")


@pytest.mark.slow
@pytest.mark.timeout(1600)
def test_the_guide_leads_from_nothing_to_a_graded_class(followed):
    home, said = followed
    course = home / "my-course"
    assert "neuron/scaled" in said[2], "the guide's own question is proved with the others"
    standing = re.search(r"^neuron +2030-12-01.* (\d+) +(\d+) +\d+ +(\d+) +\d+$", said[3], re.MULTILINE)
    assert standing, said[3]
    assert int(standing[1]) == 11, "twelve handed in, one upload broke off"
    assert "missing: nobody" in said[3]
    rows = {row["student"]: row for row in csv.DictReader((course / "grades.csv").open())}
    assert (rows["ada"]["score"], rows["ada"]["max_score"], rows["ada"]["why_slow"]) == ("43", "43", "4")
    assert rows["alan"]["why_slow"] == "", "nobody has read that one yet"
    assert "Both points are there." in (course / "_build/grades/neuron/feedback/ada.html").read_text()
    assert "Handed Nothing In" not in (course / "_build/grades/term.html").read_text()


@pytest.mark.slow
def test_the_new_course_is_published_without_its_answers(followed):
    home, _ = followed
    tree = home / "public"
    assert (tree / "book" / "chapters" / "neuron.html").is_file()
    notebook = (tree / "notebooks" / "neuron" / "neuron.ipynb").read_text()
    assert "https://owner.github.io/my-course/wheels/coursekit-" in notebook
    assert "torch.outer" not in notebook
    assert not list(tree.rglob("solutions"))
    assert list(tree.glob("wheels/coursekit-*.whl"))


@pytest.mark.slow
def test_its_book_takes_style_and_scripts_from_the_package(followed):
    html = followed[0] / "my-course" / "_build" / "html"
    page = (html / "book" / "chapters" / "neuron.html").read_text()
    assert "<title>One layer of neurons" in page
    for name in ("course.css", "live.js", "page.js"):
        assert f"_static/{name}" in page
        assert (html / "_static" / name).is_file()
    assert "ck-slider" in page
    assert "equation-card" in page


def test_a_new_course_has_one_question_of_each_kind(tmp_path):
    home = new(tmp_path / "mine")
    source = read(Course(home).source("neuron"))
    assert sorted(map(kind, source.questions)) == sorted(MINUTES)


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(CourseError, match="is not empty; name a folder that is"):
        new(tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_course_is_begun_whole_or_not_at_all_and_in_the_folder_that_one_stands_in(tmp_path, monkeypatch):
    home = tmp_path / "mine"
    home.mkdir()
    monkeypatch.chdir(home)
    made = home.stat().st_ino
    new(Path("."))
    assert home.stat().st_ino == made
    assert Path("_config.yml").is_file()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coursekit.files.os.replace", full)
    with pytest.raises(CourseError, match=r"other cannot be made: .*No space left on device"):
        new(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
