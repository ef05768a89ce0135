"""`{equation-card}`: equations of the course's language, typeset, with tabs for shapes, cost, gradient and code.

    ```{equation-card} gru
    :title: The gated recurrent unit
    :parameters: W_hr, W_xr         (what the cost counts; default: the text's `parameters` line)
    :gradient: h                    (the tensor to differentiate; default: the last one defined)
    :wrt: W_hr                      (with respect to these; default: the parameters, or all inputs)
    :source: coursekit.models.GRU   (a Python object whose source the Code tab also shows)
    h[b,t,j] = …
    ```

All of it is computed from the one text. The equation is numbered, and {eq}`eq-gru` refers to it. Text that does not
parse and names that are not there fail the build, with the page's file and line.
"""

import inspect
import json
import pkgutil
import textwrap
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..notation import Equations, NotationError
from . import card_tabs

log = logging.getLogger(__name__)


class Block(SphinxDirective):
    """What the directives of the living book share: a name and a content, written in MyST and in HTML."""

    required_arguments = 1
    has_content = True

    def box(self, text: str, *classes: str) -> nodes.container:
        """A text in MyST, as a container."""
        box = nodes.container(classes=list(classes))
        self.set_source_info(box)
        self.state.nested_parse(StringList(text.splitlines(), source=""), 0, box)
        return box

    def refused(self, error: object, line: int = 0) -> list[nodes.Node]:
        """Nothing; the build fails, and says where."""
        log.warning(
            "%s %s: %s", self.name, self.arguments[0], error, location=(self.env.docname, self.lineno + line)
        )
        return []


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


class EquationCard(Block):
    option_spec: ClassVar = {
        "title": directives.unchanged_required,
        "parameters": names,
        "gradient": directives.unchanged_required,
        "wrt": names,
        "source": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        try:
            text = self.text()
        except NotationError as error:
            return self.refused(_told(error), self.offset() + error.line if error.line else 0)
        box = self.box(text, "equation-card")
        # The text itself, for a reader who wants to change it; no one sees it here.
        kept = {
            name: self.options[name] for name in ("parameters", "gradient", "wrt") if name in self.options
        }
        attributes = f'data-name="{escape(self.arguments[0])}" data-options="{escape(json.dumps(kept))}"'
        own = escape("\n".join(self.content))
        box.insert(0, raw(f'<template class="card-text" {attributes}>{own}</template>'))
        return [box]

    def offset(self) -> int:
        """How many lines of options stand before the equations: found in the page itself, for MyST's own
        `content_offset` is too large where blank lines end the card."""
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8").splitlines()
        after, own = page[self.lineno :], list(self.content)
        found = (k for k in range(len(after)) if after[k : k + len(own)] == own)
        return next(found, self.content_offset)

    def text(self) -> str:
        """The card in MyST."""
        equations = Equations("\n".join(self.content))
        options = card_tabs.Options.read(equations, self.options)
        start, back = card_tabs.gradient(equations, options)
        tabs = {
            "Shapes": str(card_tabs.shapes(equations, options)),
            "Cost": str(card_tabs.costs(equations, options)),
            "Gradient": start + (f"\n\n```{{math}}\n{back}\n```" if back else ""),
            "Code": f"````python\n{card_tabs.code(equations)}\n````{self.source()}",
        }
        items = "\n".join(f"`````{{tab-item}} {name}\n{text}\n`````" for name, text in tabs.items())
        title = f"```{{rubric}} {self.options['title']}\n```\n" if "title" in self.options else ""
        said = card_tabs.words(equations)
        below = f"```{{div}} card-words\n{said}\n```\n" if said else ""
        return (
            f"{title}```{{math}}\n:label: eq-{self.arguments[0]}\n{card_tabs.display(equations)}\n```\n"
            f"{below}\n``````{{tab-set}}\n{items}\n``````\n"
        )

    def source(self) -> str:
        """The source of the object that `:source:` names, as a block of code."""
        path = self.options.get("source")
        if path is None:
            return ""
        found = find(path)
        self.env.note_dependency(inspect.getsourcefile(found) or "")
        lines = textwrap.dedent(inspect.getsource(found)).rstrip()
        return f"\n\nThe same in the course's own package, `{path}`:\n\n````python\n{lines}\n````"


def _told(error: NotationError) -> str:
    """The sentence, and the equation with its caret below it."""
    rest = str(error).partition("\n")[2]
    return error.message + ("\n" + rest if rest else "")


def find(path: str) -> Any:
    """The class, function or module of a dotted path."""
    with suppress(ImportError, AttributeError, ValueError):
        found = pkgutil.resolve_name(path)
        if inspect.isclass(found) or inspect.isfunction(found) or inspect.ismodule(found):
            return found
    raise NotationError(f"source: there is no class, function or module `{path}`")


def setup(app: Sphinx) -> None:
    app.add_directive("equation-card", EquationCard)
