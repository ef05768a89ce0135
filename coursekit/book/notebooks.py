"""A Sphinx extension: every chapter as a notebook of its own, for Colab and for download: `chapters/NAME.ipynb`; and
so is a page whose front matter says `notebook:`. And a page's Colab buttons, of the chapter and of its assignments.

A notebook's text knows no directives: cards become formulas, questions keep their statement and not their answer,
references become links into the book. The code of a picture is folded.

A page says `assignment: bptt` in its front matter, or `assignment: [dependencies, lab]`; the buttons in its header, and
`{colab-button}` in its text, open these assignments' student notebooks.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..authoring.course import Course
from ..files import write
from ..notation import Equations
from . import card_tabs
from .execute import read

FOLDER = "book/chapters/"
_FENCE = re.compile(r"^(`{3,}|:{3,})\{([\w-]+)\} ?([^\n]*)\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"^:([\w-]+): *(.*)\n", re.MULTILINE)
_ROLE = re.compile(r"\{([\w:]+)\}`([^`<]*?)(?: *<([^>`]+)>)?`")
_TARGET = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
_NUMBER = re.compile(r"^\$\$ \(([\w-]+)\)$", re.MULTILINE)
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}


def path(page: str) -> str:
    """Where the notebook of a chapter lies in the published tree."""
    return f"chapters/{page.rpartition('/')[2]}.ipynb"


def offered(app: Sphinx, page: str) -> bool:
    """Is the page a notebook too? Every chapter, and whichever says `notebook:` in its front matter."""
    return page.startswith(FOLDER) or "notebook" in (app.env.metadata.get(page) or {})


class Writer:
    """What a page says in its own words, in the words of a notebook."""

    def __init__(self, app: Sphinx, course: Course):
        self.base, self.course = course.written.site, course
        self.labels = app.env.domains["std"].labels
        self.numbers = app.env.domains["math"].equations
        works = app.env.domains["cite"].bibdata.data.entries  # type: ignore[attr-defined]
        self.works = {key: _short(entry) for key, entry in works.items()}

    def notebook(self, page: str, source: nbformat.NotebookNode) -> nbformat.NotebookNode:
        from ..authoring.release import opening  # which brings nbgrader

        here = f"{self.base}/{page}.html"
        cells = opening(self.course, path(page))
        cells[0].source += f" · [the page in the book]({here})"
        cells[1].metadata = {}  # nobody grades a chapter
        if not page.startswith(FOLDER):
            del cells[1]  # it says itself what it installs
        for cell in source.cells:
            if cell.cell_type == "markdown":
                cells.append(nbformat.v4.new_markdown_cell(self.text(cell.source, here)))
            elif "hide-input" in cell.metadata.get("tags", ()):
                cells.append(nbformat.v4.new_code_cell("#@title A picture\n" + cell.source, metadata=FOLDED))
            else:
                text = cell.source.replace("WHEEL_ADDRESS", self.course.wheel_url)
                cells.append(nbformat.v4.new_code_cell(text))
        for n, cell in enumerate(cells):
            cell.id = f"cell-{n}"  # the same bytes each time
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        facts = {"kernelspec": kernel, "colab": {"name": Path(path(page)).name, "provenance": []}}
        made: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=facts)
        return made

    def text(self, text: str, here: str) -> str:
        text = _TARGET.sub("", text)
        text = _FENCE.sub(lambda found: self.fence(found[2], found[3], found[4], here), text)
        text = _NUMBER.sub(lambda found: f"$$\n{self.role('eq', found[1])}", text)
        return _ROLE.sub(lambda found: self.role(found[1], found[3] or found[2], found[2]), text)

    def fence(self, name: str, argument: str, body: str, here: str) -> str:
        said = body.partition("\n---\n")[0]
        if name == "equation-card":
            options = dict(_OPTION.findall(body))
            tex = card_tabs.display(Equations(_OPTION.sub("", body)))
            return f"**{options.get('title', '')}** {self.role('eq', f'eq-{argument}')}\n\n$$\n{tex}\n$$\n"
        if name == "question":
            return f"**A question.** {said}\n\n*It is answered [in the book]({here}).*\n"
        if name == "live-figure":
            return f"*A picture that computes, [in the book]({here}):* {_OPTION.sub('', said)}\n"
        if name == "colab-button":
            return f"[Do “{argument}” in Colab]({self.course.colab_url(argument)})\n"
        return "" if name == "bibliography" else _OPTION.sub("", body)

    def role(self, kind: str, target: str, shown: str = "") -> str:
        if kind == "ref" and target in self.labels:
            page, anchor, title = self.labels[target]
            return f"[{title if shown in ('', target) else shown}]({self.base}/{page}.html#{anchor})"
        if kind == "eq":
            return f"({self.numbers[target][1]})" if target in self.numbers else ""
        if kind.startswith("cite"):
            works = [self.works.get(key.strip(), key) for key in target.split(",")]
            return "; ".join(works) if kind == "cite:t" else f"({'; '.join(works)})"
        return shown


def _short(entry: Any) -> str:
    """`Cho et al. 2014`."""
    names = [" ".join([*person.prelast_names, *person.last_names]) for person in entry.persons["author"]]
    who = names[0] + (" et al." if len(names) > 2 else f" and {names[1]}" if len(names) == 2 else "")
    return f"{who} {entry.fields['year']}"


def _offer(app: Sphinx, pagename: str, _: str, context: dict[str, str], doctree: nodes.document) -> None:
    """The theme's download menu asks for it by this name."""
    if offered(app, pagename):
        context["ipynb_source"] = f"../{path(pagename)}"


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        writer = Writer(app, Course(Path(app.srcdir)))
        for page in sorted(app.env.found_docs):
            source = read(app.env, page) if offered(app, page) else None
            if source is not None:
                made = nbformat.writes(writer.notebook(page, source))
                write(Path(app.outdir) / path(page), made + "\n")


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
    if offered(app, page):
        what = "Chapter" if page.startswith(FOLDER) else "Notebook"
        links.insert(0, (course.written.colab(path(page)), what, f"Run this {what.lower()} in Colab"))
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
    app.connect("html-page-context", _offer, priority=400)
    app.connect("build-finished", _write, priority=930)
    app.add_directive("colab-button", ColabButton)
    app.connect("env-check-consistency", _check)
    app.connect("html-page-context", _header_buttons, priority=502)
    app.connect("html-page-context", _without_thebe, priority=900)
