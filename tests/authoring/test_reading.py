"""An assignment's introduction names the pages that a student should have read, by the titles that they bear."""

import re
from pathlib import Path

import pytest
import yaml

from coursekit.authoring.course import Course
from coursekit.authoring.source import read

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)

PAGE = re.compile(r"\A(?:---\n(?P<head>.*?)\n---\n)?(?:.*?\n)?# (?P<title>[^\n]+)\n", re.DOTALL)
TITLE = re.compile(r"\*([^*]+)\*")
SENTENCE = re.compile(r"[^.]*\b(?:chapters?|pages?) \*[^.]*\.")  # one that names a page by its title


def pages() -> dict[str, dict]:
    """The front matter of every page of the book, by the page's title."""
    found = {}
    for path in sorted((ROOT / "book").rglob("*.md")):
        page = PAGE.match(path.read_text(encoding="utf-8"))
        assert page is not None, f"{path.relative_to(ROOT)} has no title"
        found[page["title"].strip()] = yaml.safe_load(page["head"] or "") or {}
    return found


def named(assignment: str) -> set[str]:
    """The titles in the introduction: everything before the first code cell."""
    introduction = []
    for cell in read(COURSE.solutions / assignment / f"{assignment}.md").notebook.cells:
        if cell.cell_type == "code":
            break
        introduction.append(cell.source)
    text = " ".join(" ".join(introduction).split())
    return {title for sentence in SENTENCE.findall(text) for title in TITLE.findall(sentence)}


@pytest.mark.parametrize("assignment", COURSE.assignments())
def test_the_introduction_names_pages_of_the_book_and_all_that_lead_to_it(assignment):
    titles = named(assignment)
    book = pages()
    assert titles, "the introduction names no page to read"
    assert titles <= book.keys(), f"not in the book: {titles - book.keys()}"
    leading = {title for title, head in book.items() if head.get("assignment") == assignment}
    assert leading <= titles, f"lead to this assignment, and are not named: {leading - titles}"
