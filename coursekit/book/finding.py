"""A Sphinx extension: the search finds what a reader types. Numbers of pictures, outputs and hidden code are no words
of the book; the terms that `{index}` names lead to their section before all else."""

from __future__ import annotations

import sphinx.search
from docutils import nodes
from sphinx.application import Sphinx

UNREAD = {"cell_output", "tag_hide-input", "live-figure"}


class Words(sphinx.search.WordCollector):
    """The words of a page, without what a reader does not read."""

    def dispatch_visit(self, node: nodes.Node) -> None:
        drawn = isinstance(node, nodes.raw)
        if drawn or (isinstance(node, nodes.Element) and UNREAD & set(node.get("classes", ()))):
            raise nodes.SkipNode
        super().dispatch_visit(node)


def setup(app: Sphinx) -> dict:
    sphinx.search.WordCollector = Words  # type: ignore[misc]
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
