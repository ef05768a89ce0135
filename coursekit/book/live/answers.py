"""What a live page asks, answered. This module runs in the reader's browser: no torch, no Sphinx, nothing of a disk.

A question is a line of JSON, `{"kind": "show", "text": …}`; the answer is another. What was typed is only ever read as
equations. Text that cannot be read gives `{"error": …}` with its place; a formula within a text stands as {math}`…`.
"""

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from math import prod
from random import Random
from typing import Any

from ... import notation
from ...notation import Equations, NotationError
from ...notation.latex import page_name
from ...notation.meaning.table import Table
from ...notation.system import Tensor
from .. import card_tabs
from . import judging, practice

TABS = ("Shapes", "Cost", "Gradient", "Code", "Graph")
Block = dict[str, object]


def answer(question: str) -> str:
    """The answer to one question; never an exception for what a reader typed."""
    asked = json.loads(question)
    try:
        told = KINDS[asked["kind"]](asked)
    except NotationError as error:
        where = {"line": error.line, "column": error.column, "width": error.width}
        told = {"error": {"message": error.message, **where}}
    return json.dumps(told)


# ── a card ───────────────────────────────────────────────────────────────────────────────────


def show(asked: Mapping[str, Any]) -> Block:
    """The formula as it was read, and what stands in the open tab."""
    equations = Equations(asked["text"])
    try:
        options = card_tabs.Options.read(equations, asked.get("options") or {})
    except NotationError:  # a name that they speak of is gone
        options = card_tabs.Options.read(equations, {})
    tabs = asked.get("tabs") or [asked.get("tab") or TABS[0]]
    return {
        "latex": card_tabs.display(equations),
        "words": card_tabs.words(equations),
        "said": said(equations),
        "tabs": {name: tab(name, equations, options) for name in tabs},
    }


def said(equations: Equations) -> str:
    """What was read, as one sentence."""
    listed: Callable[[Iterable[str]], str] = lambda names: ", ".join(
        f"{{math}}`{page_name(n)}`" for n in names
    )
    made, given = listed(dict.fromkeys(equations.outputs)), listed(equations.inputs)
    return f"Read: {made} from {given}." if given else f"Read: {made}."


def tab(name: str, equations: Equations, options: card_tabs.Options) -> list[Block]:
    """The blocks of a tab, one below the other."""
    if name in ("Shapes", "Cost"):
        table = (card_tabs.shapes if name == "Shapes" else card_tabs.costs)(equations, options)
        return [{"table": [list(table.head), *map(list, table.rows)]}]
    if name == "Gradient":
        start, back = card_tabs.gradient(equations, options)
        blocks: list[Block] = [{"text": start}, {"math": back}]
        return blocks if back else blocks[:1]
    if name == "Code":
        return [{"code": card_tabs.code(equations)}]
    drawing = equations.draw()
    return [{"svg": drawing.svg(), "words": drawing.words}]


# ── numbers ──────────────────────────────────────────────────────────────────────────────────

MOST_ENTRIES = 400


def numbers(asked: Mapping[str, Any]) -> Block:
    """The equations run on numbers of chance: of sizes that the reader may set, the same for the same seed."""
    equations = Equations(asked["text"])
    system = equations.system
    chance = Random(int(asked.get("seed", 0)))
    sizes = _sizes(equations, asked.get("sizes") or {})
    given = {name: _drawn(system.tensors[name], sizes, chance) for name in equations.inputs}
    edges = {name: 0.0 for name in system.boundary if name not in system.padded}
    made = equations.evaluate(given, edges, {d: n for d, n in sizes.items() if d in system.aliases.values()})
    tensors = {**given, **made}
    rows = [[f"{{math}}`{page_name(name)}`", _written(value)] for name, value in tensors.items()]
    return {"sizes": sizes, "blocks": [{"table": [["tensor", "numbers"], *rows]}]}


def _sizes(equations: Equations, asked: Mapping[str, Any]) -> dict[str, int]:
    """A size for every dimension that an input has, all different where the reader says nothing."""
    dims = dict.fromkeys(d for n in equations.inputs for d in equations.system.tensors[n].dims)
    sizes = {}
    for at, dim in enumerate(d for d in dims if not d.isdigit()):
        size = int(asked.get(dim, 2 + at % 3))
        if not 1 <= size <= 9:
            raise NotationError(f"the size {dim} is {size}; in the page a size is from 1 to 9")
        sizes[dim] = size
    return sizes


def _drawn(tensor: Tensor, sizes: Mapping[str, int], chance: Random) -> Any:
    """Nested lists of numbers with two decimals; of whole numbers for a tensor that is an index."""
    shape = [int(d) if d.isdigit() else sizes[d] for d in tensor.dims]
    if prod(shape) > MOST_ENTRIES:
        raise NotationError(
            f"`{tensor.name}` would have more than {MOST_ENTRIES} numbers; make a size smaller"
        )
    words = sizes.get(tensor.indexes, 2) if tensor.indexes else 0
    flat = [chance.randrange(words) if words else round(chance.uniform(-1, 1), 2) for _ in range(prod(shape))]
    return Table(shape, flat).nested()


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return str(value) if isinstance(value, int) else f"{value:.3g}"


# ── questions ────────────────────────────────────────────────────────────────────────────────


def compare(asked: Mapping[str, Any]) -> Block:
    """Whether two texts say the same, and if not, what the second does otherwise."""
    found = Equations(asked["reference"]).compare(Equations(asked["text"]))
    return {"right": found.equal, "sentence": found.message, "mistake": found.kind}


def exercise(asked: Mapping[str, Any]) -> Block:
    """A question of the practice page, and its answer for whoever gives up."""
    made = practice.question(asked["seed"], asked["level"], asked["number"])
    return {**made, "latex": card_tabs.display(Equations(made["shown"])), "solution": judging.shown(made)}


KINDS: dict[str, Callable[[Mapping[str, Any]], Block]] = {
    "show": show,
    "read": lambda asked: {"read": judging.read(asked["question"], asked["text"])},
    "judge": lambda asked: asdict(judging.judge(asked["question"], asked["text"])),
    "compare": compare,
    "practice": exercise,
    "numbers": numbers,
}

# ── the first answers, before anyone asks ────────────────────────────────────────────────────

CELL = """
parameters W, U, B
h[b,t,j] = sigmoid(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])
J = log(g[B,T,J] h[B,T,J])
"""
LAYER = "y[b,j] = tanh(W[j,I] x[b,I])"
FIRST: list[dict[str, Any]] = [
    {"kind": "show", "text": CELL + "y[b] = h[b,"},
    {"kind": "show", "text": CELL + "y[c] = h[b,T,C]"},
    {"kind": "judge", "question": {"kind": "mend", "answer": LAYER}, "text": "y[b,j] = tanh(W[I,j] x[b,I])"},
    {
        "kind": "judge",
        "question": {"kind": "derive", "given": CELL, "answer": "dJ/dg[b,t,j] = h[b,t,j]"},
        "text": "dJ/dg[b,t,j] = h[b,t,j] / (g[B,T,J] h[B,T,J])",
    },
]
PROOF = {"kind": "show", "text": CELL, "tabs": TABS}


def warm() -> None:
    """Import and use everything once, so that the memory that a page restores has it ready."""
    for module in pkgutil.walk_packages(notation.__path__, f"{notation.__name__}."):
        with suppress(ModuleNotFoundError):  # what needs torch is not for a page
            importlib.import_module(module.name)
    for question in (*FIRST, PROOF):
        answer(json.dumps(question))
