"""A Sphinx extension: how the book is found, by its own search and by others.

Numbers of pictures, outputs and hidden code are no words of the book; the terms that `{index}` names lead to their
section before all else. Each page says in a sentence what it is about, for search engines and for a link that is
shared; beside the pages lie their list, the picture of a shared link, a page for an address that is not there, and the
door at the root.
"""

import pickle
import re
from html import escape
from pathlib import Path
from typing import Any

import sphinx.search
from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx

from ..authoring.course import Course
from ..files import replacing, write
from .theme import static

UNREAD = {"cell_output", "tag_hide-input", "live-figure"}


class Words(sphinx.search.WordCollector):
    """The words of a page, without what a reader does not read."""

    def dispatch_visit(self, node: nodes.Node) -> None:
        drawn = isinstance(node, nodes.raw)
        if drawn or (isinstance(node, nodes.Element) and UNREAD & set(node.get("classes", ()))):
            raise nodes.SkipNode
        super().dispatch_visit(node)


def _keep_terms(app: Sphinx, error: Exception | None) -> None:
    """Sphinx stores its environment before it writes, and learns the terms of `{index}` while it writes: a build that
    writes one page would forget the terms of all the others."""
    if error is None and app.builder.name == "html":
        with replacing(Path(app.doctreedir) / ENV_PICKLE_FILENAME) as file:
            pickle.dump(app.env, file, pickle.HIGHEST_PROTOCOL)


LONGEST = 200  # characters of a description: more is cut off where it is shown


def describe(doctree: nodes.document | None) -> str:
    """The first paragraph, whole sentences as far as there is room."""
    paragraphs = doctree.findall(nodes.paragraph) if doctree else ()
    text = next(filter(None, (" ".join(p.astext().split()) for p in paragraphs)), "")
    if len(text) <= LONGEST:
        return text
    whole, stop, _ = text[:LONGEST].rpartition(". ")
    return f"{whole}." if stop else f"{text[: LONGEST - 1]}…"


def _meta(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    base = Course(Path(app.srcdir)).written.site
    book = app.config.html_title
    title = re.sub(r"<[^>]+>", "", context.get("title") or book)
    said = {
        "og:title": title, "og:site_name": book, "og:type": "article",
        "og:url": f"{base}/{page}.html",
    }  # fmt: skip
    if "shared.png" in static(Path(app.srcdir)):
        said |= {
            "og:image": f"{base}/_static/shared.png", "og:image:alt": f"A picture of the book “{book}”",
            "twitter:card": "summary_large_image",
        }  # fmt: skip
    if about := describe(doctree):
        said |= {"description": about, "og:description": about}
    kinds = {name: "property" if name.startswith("og:") else "name" for name in said}
    lines = (f'<meta {kinds[name]}="{name}" content="{escape(text)}"/>' for name, text in said.items())
    canonical = f'<link rel="canonical" href="{base}/{page}.html"/>'
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines, canonical])


def _files(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    home, base = Path(app.outdir), Course(Path(app.srcdir)).written.site
    first = app.config.root_doc
    pages = sorted(name for name in app.env.found_docs if (home / f"{name}.html").is_file())
    listed = "".join(f"<url><loc>{base}/{name}.html</loc></url>" for name in pages)
    there = f"{base}/{first}.html"
    missing = f"Not found: {app.config.html_title}"
    files = {
        "sitemap.xml": f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>\n',
        "robots.txt": f"User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n",
        "index.html": _page(app.config.project, there, f"{first}.html", "Open the book"),
        # It is served at any depth: its links begin at the root of the book.
        "404.html": _page(missing, "", there, "This page is not here. To the book"),
    }
    for name, text in files.items():
        write(home / name, text)


def _page(title: str, canonical: str, target: str, words: str) -> str:
    """A page by itself; with a canonical address it is a door, which opens by itself."""
    head = f'<link rel="canonical" href="{canonical}"/><meta http-equiv="refresh" content="0; url={target}"/>'
    style = "body{font:1.2rem/1.5 system-ui,sans-serif;margin:20vh auto;max-width:30rem;padding:0 1rem}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"/>{head if canonical else ""}'
        f"<style>:root{{color-scheme:light dark}}{style}</style></head>"
        f'<body><main><h1>{escape(title)}</h1><p><a href="{target}">{words}</a></p></main></body></html>\n'
    )


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _keep_terms)
    sphinx.search.WordCollector = Words  # type: ignore[misc]
    app.connect("html-page-context", _meta)
    app.connect("build-finished", _files, priority=940)
