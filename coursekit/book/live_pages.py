"""What answers or computes in the page: `{live-language}` and `{live-practice}`, two pages that are made of answers;

`{live-figure} NAME`: a picture that computes, from equations that were compiled when the book was built.

    ```{live-figure} held
    :picture: gate                       (one of theme/static/pictures.js)
    :data: coursekit.figures.live.words  (a function whose value the picture is given)
    :steps: 300                          (how far the still picture has gone, of one that moves)
    What the reader sees, and what a dial shows.
    ---
    gate: h[t] = G[t] h[t-1] + (1 - G[t]) x[t]
    cell: {equations: …, loss: J, wrt: [W, U]}       (with its gradient)
    ```

Paper, and a browser without scripts, have the still picture, which the same code drew from the same equations.
"""

import json
import pkgutil
import textwrap
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from ..notation import Equations, NotationError
from . import card_tabs, vendor
from .cards import Block, find, raw
from .live.practice import LEVELS
from .theme import static

STILL = """
globalThis.self = globalThis;
const [pictures_file, file, name, picture, steps] = process.argv.slice(1);
require(pictures_file), require(file);
const p = pictures[picture], dials = Object.fromEntries(p.dials.map(d => [d.name, d.value]));
const state = p.start(liveFigures[name], dials, chance(1));
for (let n = 0; n < +steps; n++) p.step(state, dials);
console.log(JSON.stringify({ svg: p.draw(state, dials), words: p.words(state, dials) }));
"""


class LiveFigure(Block):
    option_spec: ClassVar = {
        "picture": directives.unchanged_required,
        "data": directives.unchanged_required,
        "steps": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        caption, _, facts = "\n".join(self.content).partition("\n---\n")
        root = Path(self.env.srcdir)
        shelf = root / "_build" / "vendor" / "figures" / f"{name}.js"
        pictures = static(root)["pictures.js"]
        self.env.note_dependency(str(pictures))
        try:
            models = {key: _model(value) for key, value in yaml.safe_load(facts).items()}
            given = find(self.options["data"])() if "data" in self.options else None
            shelf.parent.mkdir(parents=True, exist_ok=True)
            shelf.write_text(compiled(name, models, given), encoding="utf-8")
            drawn = still(pictures, shelf, name, self.options["picture"], self.options.get("steps", 0))
        except (NotationError, yaml.YAMLError, vendor.BuildError) as error:
            return self.refused(error)
        names = f'data-name="{escape(name)}" data-picture="{escape(self.options["picture"])}"'
        words = escape(drawn["words"])
        image = f'<div class="live-still" role="img" aria-label="{words}">{drawn["svg"]}</div>'
        start = f'<figure class="live-figure" {names}>{image}<figcaption>'
        texts = (f"```{{math}}\n{card_tabs.display(forward)}\n```" for forward, _ in models.values())
        fold = "</figcaption><details><summary>The equations that run here</summary>"
        equations = self.box("\n\n".join(texts))
        return [raw(start), self.box(caption), raw(fold), equations, raw("</details></figure>")]


def _model(value: str | dict[str, Any]) -> tuple[Equations, Equations | None]:
    """The equations, and their gradient where a loss is named."""
    if isinstance(value, str):
        return Equations(value), None
    forward = Equations(value["equations"])
    return forward, forward.grad(value["loss"], value["wrt"])


def compiled(name: str, models: dict[str, tuple[Equations, Equations | None]], given: object) -> str:
    """A script that puts the figure's functions, the shapes of what it is given, and its data into `liveFigures`."""
    lines = ["(() => {", f"const figure = {{ data: {json.dumps(given)}, models: {{}} }};"]
    for key, (forward, back) in models.items():
        tensors = forward.system.tensors
        shapes = {n: tensors[n].dims for n in forward.inputs if back and f"d{n}" in back.outputs}
        lines += ["{", forward.javascript("forward")]
        after: dict[str, float] = {}
        if back:
            after = {n: 0.0 for n in back.system.boundary if n not in forward.system.boundary}
            lines.append(back.javascript("backward"))
        facts = f"shapes: {json.dumps(shapes)}, after: {json.dumps(after)}"
        own = "forward, backward" if back else "forward"
        lines += [f"figure.models[{json.dumps(key)}] = {{ {own}, {facts} }};", "}"]
    lines += [f"(self.liveFigures ??= {{}})[{json.dumps(name)}] = figure;", "})();"]
    return "\n".join(lines) + "\n"


def still(pictures: Path, file: Path, name: str, picture: str, steps: int) -> dict[str, str]:
    """The picture and its words, as the page's own scripts make them."""
    command = ("-e", STILL, pictures, file, name, picture, steps)
    drawn: dict[str, str] = json.loads(vendor.run_node("its picture cannot be drawn", *command))
    return drawn


# Of the models, which bring torch: a second and a half, and one page shows them.
EXAMPLES = {
    "the recurrent language model": "rnn_lm.EQUATIONS",
    "a recurrent cell": "Vanilla.equations",
    "the update-gate RNN": "UGRNN.equations",
    "the gated recurrent unit": "GRU.equations",
    "the LSTM": "LSTM.equations",
    "self-attention": "attention.SELF",
    "causal attention": "attention.CAUSAL",
    "layer norm": "transformer.LAYER_NORM",
    "a feed-forward layer": "transformer.FEED_FORWARD",
    "a convolution with stride 2": "convolution.STRIDE_2",
    "a gated convolution": "convolution.UPDATE_GATE",
    "a recurrence over a grid": "grid.EQUATIONS",
    "skip-gram and its gradients": "skipgram.SKIPGRAM",
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
        written = {name: pkgutil.resolve_name(f"coursekit.models.{of}") for name, of in EXAMPLES.items()}
        texts = {name: textwrap.dedent(text).strip() for name, text in written.items()}
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
    app.add_directive("live-figure", LiveFigure)
    app.add_directive("live-language", LiveLanguage)
    app.add_directive("live-practice", LivePractice)
    app.connect("html-page-context", _scripts)
