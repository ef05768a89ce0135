"""A Sphinx extension: style rules for classes that no page has are left out of what the book serves.

The theme's style alone is 400 kB, nearly all of it for pages of another kind.
"""

import re
from collections.abc import Iterator
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


def _slim_all(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        known = classes(Path(app.outdir))
        for sheet in (Path(app.outdir) / "_static").rglob("*.css"):
            if sheet.name not in OURS:
                sheet.write_text(slim(sheet.read_text(encoding="utf-8"), known), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _slim_all, priority=900)
