"""A Sphinx extension: a page's Colab buttons, of the chapter and of its assignments; no script that would load
anything from another host.

A page says `assignment: bptt` in its front matter, or `assignment: [dependencies, lab]`; the buttons in its
header, and `{colab-button}` in its text, open these assignments' student notebooks.
"""

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..authoring.course import Course
from . import notebooks

log = logging.getLogger(__name__)


def assignments(metadata: dict[str, str]) -> list[str]:
    """The assignments that a page's front matter names; Sphinx keeps a list there as text."""
    named = yaml.safe_load(metadata.get("assignment") or "[]")
    return named if isinstance(named, list) else [str(named)]


def _check(app: Sphinx, _env: object) -> None:
    """A page whose assignment does not exist fails the build (warnings are errors)."""
    course = Course(Path(app.srcdir))
    for page, metadata in app.env.metadata.items():
        for name in assignments(metadata):
            if not (course.notebooks / name / f"{name}.ipynb").is_file():
                sentence = "there is no notebooks/%s/%s.ipynb; run `coursekit release`"
                log.warning(sentence, name, name, location=(page, 1))


def _header_buttons(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: object) -> None:
    course = Course(Path(app.srcdir))
    links = [
        (course.colab_url(name), f"Assignment: {name}", f"Do the assignment “{name}” in Colab")
        for name in assignments(app.env.metadata.get(page) or {})
    ]
    if notebooks.offered(app, page):
        what = "Chapter" if page.startswith(notebooks.FOLDER) else "Notebook"
        links.insert(0, (notebooks.colab(course, page), what, f"Run this {what.lower()} in Colab"))
    look = {"type": "link", "icon": "fas fa-play", "label": "colab-button"}
    if "header_buttons" in context:
        buttons = [{**look, "url": url, "text": text, "tooltip": tip} for url, text, tip in links]
        context["header_buttons"][:0] = buttons


def _without_thebe(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: object) -> None:
    """Jupyter Book adds a script that would fetch Thebe from a CDN, on some pages twice. No page here uses it."""
    said = (
        (s, f"{getattr(s, 'attributes', '')} {getattr(s, 'filename', s)}") for s in context["script_files"]
    )
    context["script_files"] = [script for script, text in said if "thebe" not in text.lower()]


class ColabButton(SphinxDirective):
    """`{colab-button}` in a page's text: a link that looks like a button."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        course = Course(Path(self.env.app.srcdir))
        if not (course.notebooks / name / f"{name}.ipynb").is_file():
            raise self.error(f"there is no notebooks/{name}/{name}.ipynb; run `coursekit release`")
        link = nodes.reference("", f"Do “{name}” in Colab", refuri=course.colab_url(name), classes=["colab"])
        return [nodes.paragraph("", "", link, classes=["colab-button"])]


def setup(app: Sphinx) -> None:
    app.add_directive("colab-button", ColabButton)
    app.connect("env-check-consistency", _check)
    app.connect("html-page-context", _header_buttons, priority=502)
    app.connect("html-page-context", _without_thebe, priority=900)
