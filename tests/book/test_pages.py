"""The built book as files: nothing that a page refers to is missing, and every chapter is whole."""

import re
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from built import CHAPTERS, PAGES, ROOT, page

from coursekit.authoring.course import Course
from coursekit.authoring.source import read
from coursekit.book import notebooks
from coursekit.figures import palette


@pytest.mark.parametrize("name", PAGES)
def test_every_internal_link_leads_to_a_file_and_to_a_place_in_it(html, name):
    here = html / f"{name}.html"
    for target in page(here).targets:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or target == "#":
            continue
        file = (here.parent / unquote(parts.path)).resolve() if parts.path else here
        assert file.is_file(), f"{name}: {target}"
        if parts.fragment:
            assert unquote(parts.fragment) in page(file).ids, f"{name}: {target}"
    assert set(re.findall(r"url\(#([\w-]+)\)", page(here).text)) <= set(page(here).ids)


@pytest.mark.parametrize("name", PAGES)
def test_the_colab_buttons_open_the_chapter_and_its_own_assignments(html, name):
    links = {t for t in page(html / f"{name}.html").targets if "://" in t and t.endswith(".ipynb")}
    source = (ROOT / f"{name}.md").read_text()
    head = yaml.safe_load(source.split("---")[1]) if source.startswith("---\n") else {}
    assignments = head.get("assignment", [])
    assignments = assignments if isinstance(assignments, list) else [assignments]
    course = Course(ROOT)
    chapter = (
        {course.written.colab(notebooks.path(name))} if name in CHAPTERS or "notebook" in head else set()
    )
    assert links == {course.colab_url(a) for a in assignments} | chapter
    for link in links:
        home = html if link in chapter else ROOT
        assert (home / re.search(r"(chapters|notebooks)/.*", urlsplit(link).path)[0]).is_file()


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_all_that_a_chapter_has(html, name):
    chapter = page(html / f"{name}.html")
    headings = [heading.removesuffix("#") for heading in chapter.headings]
    wanted = ["The idea", "Training it", "Common mistakes", "Exercises", "Read on"]
    assert [h for h in (re.sub(r"^[\d.]+\s*", "", h) for h in headings) if h in wanted] == wanted
    assert "ck-slider" in chapter.classes
    assert "equation-card" in chapter.classes
    assert "colab" in chapter.classes
    training = chapter.text.split('id="training-it"')[1].split('id="common-mistakes"')[0]
    labels = re.findall(r'role="img" aria-label="([^"]*)"', training)
    assert any("limit" in label for label in labels), "no picture of a training run with its limit"


def test_the_chapters_are_numbered_in_a_row(html):
    titles = [re.search(r"<title>(.*?)</title>", page(html / f"{name}.html").text)[1] for name in CHAPTERS]
    assert [title.split(".")[0] for title in titles] == [str(n) for n in range(1, len(CHAPTERS) + 1)]
    assert len(CHAPTERS) >= 19


def test_the_book_has_thirty_sliders(html):
    assert sum(page(html / f"{name}.html").classes.count("ck-slider") for name in CHAPTERS) >= 30


@pytest.mark.parametrize("sheet", ["course.css", "icons.css"])
def test_the_style_takes_its_colours_from_the_palette(sheet):
    style = (ROOT / "coursekit" / "book" / "theme" / "static" / sheet).read_text()
    colours = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", style))
    assert colours <= {*palette.PALETTE, "#fff"}


def test_the_page_for_gpu_runtimes_is_a_notebook_too_and_installs_the_wheel(html):
    course = Course(ROOT)
    assert f"coursekit[grade] @ {course.wheel_url}" in (html / "chapters" / "gpu.ipynb").read_text()
    shown = page(html / "book" / "guides" / "gpu.html").targets
    assert course.written.colab("chapters/gpu.ipynb") in shown


def test_solutions_are_not_published(html):
    published = [p for p in html.rglob("*") if p.is_file()]
    assert not [p for p in published if "solutions" in p.parts]
    course = Course(ROOT)
    sentences = [
        m.sentence
        for name in course.assignments()
        for q in read(course.solutions / name / f"{name}.md").questions
        for m in q.mistakes
    ]
    assert sentences
    for path in published:
        if path.suffix in (".html", ".md", ".txt", ".ipynb", ".js", ".json"):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not any(s in text for s in sentences), path


def test_the_book_publishes_the_wheel_that_students_install(html):
    name = Course(ROOT).wheel_url.rsplit("/", 1)[1]
    assert (html / "wheels" / name).is_file()
