"""A Sphinx extension: what is done to the finished pages before they are served.

Style rules for classes that no page has are left out: the theme's style alone is 400 kB, nearly all of it for pages of
another kind. And every page says what it may do, and its browser holds it to that: scripts are the book's own files,
and those few that stand in the page itself, by their digests; nothing comes from another host, nothing goes there, and
no text that a reader typed or followed can become a script.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path

from sphinx.application import Sphinx

OURS = {"course.css", "icons.css", "live.css"}
_CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
_INSIDE = re.compile(r"\([^()]*\)")  # :not(.x), :is(.x, .y): what stands there need not be on the page
_NEXT = re.compile(r'[{};]|"[^"]*"|/\*.*?\*/', re.DOTALL)


def slim(css: str, known: set[str]) -> str:
    """The rules of `css` that can hold where only the `known` classes are used, without the theme's icons."""
    kept = []
    for head, body in _rules(css):
        if body is None:
            kept.append(head)
        elif head.startswith(("@media", "@supports", "@layer")):
            inside = slim(body, known)
            kept.append(f"{head}{{{inside}}}" if inside else "")
        elif head.startswith("@"):
            kept.append("" if "Awesome" in body else f"{head}{{{body}}}")
        else:
            chosen = [s for s in re.split(r",(?![^()]*\))", head) if _can_hold(s, known)]
            kept.append(f"{','.join(chosen)}{{{body}}}" if chosen else "")
    return "".join(kept)


def _can_hold(selector: str, known: set[str]) -> bool:
    names = _CLASS.findall(_INSIDE.sub("", selector))
    return all(name in known and not name.startswith("fa-") and name not in ("fa", "fas") for name in names)


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Each (head, body) at the top level; a statement such as `@import …;` has no body."""
    start = opened = depth = 0
    for found in _NEXT.finditer(css):
        mark = found[0]
        if mark == "{":
            opened = found.start() if depth == 0 else opened
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                yield _plain(css[start:opened]), css[opened + 1 : found.start()]
                start = found.end()
        elif mark == ";" and depth == 0:
            yield _plain(css[start : found.end()]), None
            start = found.end()


def _plain(head: str) -> str:
    return re.sub(r"/\*.*?\*/", "", head, flags=re.DOTALL).strip()


def classes(html: Path) -> set[str]:
    """Every class that a page has, and every word that a script could give to one."""
    found: set[str] = set()
    for page in html.rglob("*.html"):
        for names in re.findall(r'class="([^"]*)"', page.read_text(encoding="utf-8")):
            found.update(names.split())
    for script in (html / "_static").rglob("*.js"):
        if script.name != "fontawesome.js":
            found.update(re.findall(r"[A-Za-z_][\w-]*", script.read_text(encoding="utf-8")))
    return found


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


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    home = Path(app.outdir)
    known = classes(home)
    for sheet in (home / "_static").rglob("*.css"):
        if sheet.name not in OURS:
            sheet.write_text(slim(sheet.read_text(encoding="utf-8"), known), encoding="utf-8")
    pages = {page: page.read_text(encoding="utf-8") for page in home.rglob("*.html")}
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
    app.connect("build-finished", _finish, priority=950)
