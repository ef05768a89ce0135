"""A Sphinx extension: every page says what it may do, and its browser holds it to that.

Scripts are the book's own files, and those few that stand in the page itself, by their digests; nothing comes from
another host, nothing goes there, and no text that a reader typed or followed can become a script.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

from sphinx.application import Sphinx

RULES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # a formula's place and a figure's colour are styles of their own
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
}
_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
_HANDLER = re.compile(r'<[^>]*?\son[a-z]+="([^"]*)"')
_ROLE = re.compile(r' role="doc-(biblioentry|backlink)"|(?<=<div) role="list"(?= class="citation)')
_TEMPLATES = re.compile(r"<template\b.*?</template>", re.DOTALL)
NAME = "Content-Security-Policy"


def policy(html: str, shown: Iterable[str] = ()) -> str:
    """The policy of one page. `shown` are other pages that it reads to show parts of them, as the search page does."""
    live = _TEMPLATES.sub("", html)
    inline = {_digest(text) for text in _SCRIPT.findall(live)}
    handlers = {_digest(unescape(text)) for page in (live, *shown) for text in _HANDLER.findall(page)}
    scripts = [RULES["script-src"], *sorted(inline | handlers), *(["'unsafe-hashes'"] if handlers else [])]
    return "; ".join(f"{name} {value}" for name, value in {**RULES, "script-src": " ".join(scripts)}.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        pages = {page: page.read_text(encoding="utf-8") for page in Path(app.outdir).rglob("*.html")}
        for page, html in pages.items():
            head = re.search(r"<head[^>]*>", html)
            if head and f'http-equiv="{NAME}"' not in html:
                shown = pages.values() if page.name == "search.html" else ()
                meta = f'<meta http-equiv="{NAME}" content="{policy(html, shown)}"/>'
                html = html[: head.end()] + meta + html[head.end() :]
                # The roles that docutils gives a list of works are no longer allowed.
                html = _ROLE.sub("", html)
                # A script says which it is; without one, a page that says neither has no colours at all.
                html = html.replace(' data-theme="auto"', ' data-theme="light"', 1)
                page.write_text(html, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _write, priority=950)
