"""`{live-language}` and `{live-practice}`: two pages that are made of answers; and the scripts of every live page."""

import json
import textwrap
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from ..models import GRU, LSTM, UGRNN, Vanilla, attention, convolution, grid, rnn_lm, skipgram, transformer
from .cards import Block, raw
from .live.practice import LEVELS

EXAMPLES = {
    "the recurrent language model": rnn_lm.EQUATIONS,
    "a recurrent cell": Vanilla.equations,
    "the update-gate RNN": UGRNN.equations,
    "the gated recurrent unit": GRU.equations,
    "the LSTM": LSTM.equations,
    "self-attention": attention.SELF,
    "causal attention": attention.CAUSAL,
    "layer norm": transformer.LAYER_NORM,
    "a feed-forward layer": transformer.FEED_FORWARD,
    "a convolution with stride 2": convolution.STRIDE_2,
    "a gated convolution": convolution.UPDATE_GATE,
    "a recurrence over a grid": grid.EQUATIONS,
    "skip-gram and its gradients": skipgram.SKIPGRAM,
}
# A page loads the script of what stands in it, and no other.
SCRIPTS = {
    "question": ("questions.js",),
    "live-language": ("questions.js", "language.js"),
    "live-practice": ("questions.js", "practice.js"),
    "live-figure": ("pictures.js", "figures.js"),
}


class LiveLanguage(Block):
    """A card to begin with; a browser without scripts shows it as any other."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        texts = {name: textwrap.dedent(text).strip() for name, text in EXAMPLES.items()}
        first = next(iter(texts.values()))
        card = f"````{{equation-card}} live\n:title: Your equations\n{first}\n````"
        box = self.box(card, "live-language")
        box.insert(0, raw(f'<template data-examples="{escape(json.dumps(texts))}"></template>'))
        return [box]


class LivePractice(Block):
    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        return [raw(f'<div class="live-practice" data-levels="{LEVELS}"></div>')]


def _scripts(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: object) -> None:
    body = context.get("body") or ""
    found = (
        names for kind, names in SCRIPTS.items() if f'class="{kind} ' in body or f'class="{kind}"' in body
    )
    for name in dict.fromkeys(name for names in found for name in names):
        app.add_js_file(name, defer="defer", priority=900)


def setup(app: Sphinx) -> None:
    app.add_directive("live-language", LiveLanguage)
    app.add_directive("live-practice", LivePractice)
    app.connect("html-page-context", _scripts)
