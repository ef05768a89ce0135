"""A Sphinx extension: the search finds what a reader types. Numbers of pictures, outputs and hidden code are no words
of the book; the terms that `{index}` names lead to their section before all else."""

import pickle
from pathlib import Path

import sphinx.search
from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx

from ..files import replacing

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


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _keep_terms)
    sphinx.search.WordCollector = Words  # type: ignore[misc]
