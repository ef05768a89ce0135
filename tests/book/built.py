"""The pages of the toc, and a built page taken apart."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"], *(c["file"] for part in TOC["parts"] for c in part["chapters"])]
CHAPTERS = [page for page in PAGES if page.startswith("book/chapters/")]


class Page(HTMLParser):
    """A page's ids, what it refers to, its headings, its classes with the words that stand below each section."""

    def __init__(self, path: Path):
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.labels: list[str] = []
        self.classes: list[str] = []
        self.headings: list[str] = []
        self._heading = False
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        have = dict(attrs)
        if have.get("id"):
            self.ids.append(have["id"])
        self.targets += [have[name] for name in ("href", "src") if have.get(name)]
        self.labels += [have["aria-label"]] if have.get("role") == "img" and have.get("aria-label") else []
        self.classes += (have.get("class") or "").split()
        if tag == "h2":
            self._heading = True
            self.headings.append("")

    def handle_endtag(self, tag):
        self._heading = self._heading and tag != "h2"

    def handle_data(self, data):
        if self._heading:
            self.headings[-1] += data


@cache
def page(path: Path) -> Page:
    return Page(path)
