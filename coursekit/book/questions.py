"""`{question} NAME`: a question in the page, judged where it is read. It is written as a text, a line `---`, and facts.

    ```{question} rnn-bias
    Write the state of a recurrent network whose bias is added, with the matrix first.
    ---
    kind: write                               (or mend, complete, differentiate, cost, derive, choose, order)
    answer: h[t,j] = tanh(W[j,I] h[t-1,I] + b[j])
    wrong: {"h[t,j] = tanh(W[j,I] h[t,I] + b[j])": the step}     (an answer, and words of the sentence that it must get)
    mistakes: {"h[t,j] = W[j,I] h[t-1,I]": The function is left out.}      (an answer, and a sentence of one's own)
    hints: [Which state does it read?, The one of the step before.]
    ```

`mend` has also `start`, the text with the mistake; `complete` a text `given` with … in it; `differentiate` the texts
`given`, `loss` and `wrt`; `cost` the text `given` and a `count`; `derive` a system `given`, the derivation `answer`,
its `start`, with which the reader goes on, and perhaps `reach`, a name that the last line must have. `choose` has
`options`, a list of [text, true or false, sentence]; `order` has `lines` in their right order. Each is tried when the
page is built: the right answer must be right, the wrong ones wrong; else the build fails, with the page's line.
"""

import json
import re
from collections.abc import Mapping
from html import escape
from random import Random
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from ..notation import Equations, NotationError
from ..notation.latex import latex
from ..notation.parse.parser import parse
from . import card_tabs
from .cards import Block, raw
from .live import judging

_MATH = re.compile(r"\$([^$]+)\$")
# The kinds: what stands above a question, and the facts that it must have.
KINDS = {
    "write": ("Write it", {"answer"}),
    "mend": ("Find the mistake", {"answer", "start"}),
    "complete": ("Complete it", {"answer", "given"}),
    "differentiate": ("Differentiate it", {"given", "loss", "wrt"}),
    "cost": ("Count it", {"given", "count"}),
    "derive": ("Go on with the derivation", {"given", "answer", "start"}),
    "choose": ("Choose", {"options"}),
    "order": ("Put in order", {"lines"}),
}
MAY = {"kind", "hints", "wrong", "mistakes", "parameters", "why", "reach"}


class QuestionError(ValueError):
    """A question that cannot be asked; the message says why."""


class Question(Block):
    def run(self) -> list[nodes.Node]:
        text, _, facts = "\n".join(self.content).partition("\n---\n")
        try:
            question = prove(yaml.safe_load(facts))
        except (QuestionError, NotationError, yaml.YAMLError) as error:
            return self.refused(error)
        kind = question["kind"]
        box = self.box("\n".join([text, "", *_given(question)]), "question", f"question-{kind}")
        box.insert(0, nodes.rubric("", KINDS[kind][0]))
        if kind in ("choose", "order"):
            box += self.rows(question)
        for hint in question.get("hints", ()):
            box += self.folded("hint", "Hint", str(hint))
        box += self.folded("answer", "Answer", _answer(question))
        data = {k: v for k, v in question.items() if k not in ("hints", "wrong", "options", "lines")}
        if "mistakes" in data:
            data["mistakes"] = {t: _MATH.sub(r"{math}`\1`", said) for t, said in data["mistakes"].items()}
        name, shown = escape(self.arguments[0]), escape(json.dumps({**data, "name": self.arguments[0]}))
        template = f'<template class="question-data" data-name="{name}" data-question="{shown}"></template>'
        box += raw(template)
        return [box]

    def rows(self, question: Mapping[str, Any]) -> nodes.Node:
        """The options or the lines, as a list; what the script needs to know of each is in its classes."""
        listed = nodes.bullet_list(classes=["question-rows"])
        if question["kind"] == "choose":
            entries = [(text, "right" if right else "wrong", why) for text, right, why in question["options"]]
        else:
            right = [(text, f"place-{n}", "") for n, text in enumerate(question["lines"])]
            entries, chance = list(right), Random(self.arguments[0])
            while entries == right:
                chance.shuffle(entries)
        for text, mark, why in entries:
            item = nodes.list_item("", *self.box(str(text)).children, classes=[mark])
            if why:
                item += self.box(str(why), "question-why")
            listed += item
        return listed

    def folded(self, name: str, title: str, text: str) -> list[nodes.Node]:
        start = f'<details class="question-{name}"><summary>{title}</summary>'
        return [raw(start), self.box(text, "question-folded"), raw("</details>")]


def prove(question: object) -> dict[str, Any]:
    """The question, if it can be asked: complete, its answer right, each wrong answer wrong and told so."""
    if not isinstance(question, dict) or question.get("kind") not in KINDS:
        kinds = ", ".join(KINDS)
        raise QuestionError(f"below the line `---` stand its facts, `kind` among them: one of {kinds}")
    kind, facts = question["kind"], set(question)
    needs = KINDS[kind][1]
    said = [f"`{n}` is missing" for n in sorted(needs - facts)]
    said += [f"`{n}` is not known" for n in sorted(facts - needs - MAY)]
    if said:
        raise QuestionError(f"{'; '.join(said)}. A question to {kind} has {', '.join(sorted(needs | MAY))}")
    if kind == "choose":
        rows = question["options"]
        whole = all(isinstance(r, list) and len(r) == 3 for r in rows)
        if not whole or {bool(r[1]) for r in rows} != {True, False}:
            raise QuestionError("`options` are [text, true or false, why], at least one right and one wrong")
    elif kind == "order":
        if len(set(question["lines"])) < max(3, len(question["lines"])):
            raise QuestionError("`lines` are at least three, all different")
    else:
        _prove_judged(question)
    return question


def _prove_judged(question: dict[str, Any]) -> None:
    if question["kind"] == "cost" and question["count"] not in judging.COUNTS:
        raise QuestionError(f"`count` is one of {', '.join(judging.COUNTS)}")
    verdict = judging.judge(question, judging.shown(question))
    if not verdict.right:
        raise QuestionError(f"its own answer is judged wrong: {verdict.sentence}")
    wrong = {**(question.get("wrong") or {}), **(question.get("mistakes") or {})}
    if question["kind"] in ("mend", "derive"):
        wrong.setdefault(question["start"], "")
    for text, words in wrong.items():
        verdict = judging.judge(question, text)
        if verdict.right:
            raise QuestionError(f"the wrong answer `{text}` is judged right")
        if words and words not in verdict.sentence:
            raise QuestionError(
                f"the wrong answer `{text}` must hear “{words}”, and hears: {verdict.sentence}"
            )


def _given(question: Mapping[str, Any]) -> list[str]:
    """What is given, typeset below the statement; where all is to be written, the shapes."""
    kind = question["kind"]
    if kind == "write":
        equations = Equations(question["answer"])
        shape = {
            t.name: f"`{t.name}` ({', '.join(t.dims) or 'a number'})"
            for t in equations.system.tensors.values()
        }
        given = ", ".join(shape[name] for name in equations.inputs)
        return [f"Asked: {shape[equations.outputs[-1]]}. Given: {given}."]
    if kind == "complete":
        tex = latex(parse(question["given"].replace(judging.BLANK, "Blankq")), page=True)
        tex = tex.replace(r"\text{Blankq}", r"\boxed{\;?\;}")
    elif shown := question.get("start" if kind == "mend" else "given"):
        tex = card_tabs.display(Equations(re.sub(r"(?m)^\s*distribution .*$", "", shown)))
    else:
        return []
    return ["```{math}", *tex.splitlines(), "```"]


def _answer(question: Mapping[str, Any]) -> str:
    kind, why = question["kind"], question.get("why", "")
    if kind == "choose":
        told = [f"- {text}: {sentence}" for text, right, sentence in question["options"] if right]
    elif kind == "order":
        told = [f"{n}. {line}" for n, line in enumerate(question["lines"], 1)]
    else:
        told = ["```text", judging.shown(question), "```"]
    return "\n".join([*told, "", why])


def setup(app: Sphinx) -> None:
    app.add_directive("question", Question)
