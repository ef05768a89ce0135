"""What the directives of the living book share: a block with a name and a content, written in MyST and in HTML."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)


class Block(SphinxDirective):
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
