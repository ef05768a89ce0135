"""The book as a reader's browser has it."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from coursekit.authoring.course import Course
from coursekit.authoring.source import read

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"], *(c["file"] for part in TOC["parts"] for c in part["chapters"])]
SHOTS = ROOT / "_build" / "screenshots"


class Visit:
    """One page, opened, with all it said and asked for."""

    def __init__(self, browser, site, page, **context):
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.errors, self.asked = [], []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.goto(f"{site}/{page}.html", wait_until="load")
        self.page.wait_for_function("!window.MathJax || !MathJax.startup || !!MathJax.startup.document")
        self.page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.context.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_asks_no_other_host(browser, site, page):
    with Visit(browser, site, page, viewport={"width": 1200, "height": 900}) as visit:
        outside = [u for u in visit.asked if not u.startswith((site, "data:"))]
        assert outside == []
        assert visit.errors == []
        raw = visit.page.locator(".math.notranslate").all()
        assert all(m.locator("mjx-container").count() for m in raw), "an equation was not rendered"
        assert visit.page.locator("mjx-merror").count() == 0
        assert visit.page.locator("img:not([alt])").count() == 0
        assert visit.page.locator(".search-button-field:visible, .search-button__button:visible").count() <= 1
        SHOTS.mkdir(parents=True, exist_ok=True)
        visit.page.screenshot(path=SHOTS / f"{page.replace('/', '-')}.png", full_page=True)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(browser, site, page):
    with Visit(browser, site, page, viewport={"width": 390, "height": 844}, color_scheme="dark") as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
        visit.page.screenshot(path=SHOTS / f"{page.replace('/', '-')}-phone.png", full_page=True)


@pytest.mark.parametrize("page", PAGES)
def test_the_colab_button_opens_the_pages_own_assignment_and_is_nowhere_else(html, page):
    text = (html / f"{page}.html").read_text()
    links = set(re.findall(r'https://colab\.research\.google\.com[^"\s]*', text))
    source = (ROOT / f"{page}.md").read_text()
    head = yaml.safe_load(source.split("---")[1]) if source.startswith("---\n") else {}
    assignment = head.get("assignment")
    assert links == ({Course(ROOT).colab_url(assignment)} if assignment else set())
    for link in links:
        file = urlsplit(link).path.split("/blob/main/")[1]
        assert (ROOT / file).is_file()


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
