"""What `run` executes is text of its own: numbered variables, numbers, and words of torch; nothing that was typed."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import count

import pytest
import torch
from running import CONSTRUCTS, COURSE, system

from coursekit.notation.run import runner
from coursekit.notation.run.runner import run
from coursekit.notation.tree import rename_tensors, substitute

KNOWN = "like keep functions torch einsum pad partial inf nan range None lane t x function True False"
METHODS = """
tanh sigmoid relu exp log sqrt abs sin cos erf nn functional gelu silu softplus minimum maximum softmax log_softmax
where cat stack mm arange tensor expand permute transpose T reshape unsqueeze narrow unfold flip diagonal unbind split
movedim flatten unflatten select sum amax amin prod logsumexp argmax to dtype device long new_full new_tensor new_zeros
index_select any
"""


def foreign(text: str) -> list[str]:
    """Whatever stands in a text that is not ours."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Name, ast.arg)):
            word = node.id if isinstance(node, ast.Name) else node.arg
            found += (
                [word] if word not in KNOWN.split() and not re.fullmatch(r"[a-z]\d+(_\d*)?", word) else []
            )
        elif isinstance(node, ast.Attribute) and node.attr not in {*METHODS.split(), "inf"}:
            found.append(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [] if re.fullmatch(r"[A-Za-z,]*->[A-Za-z]*", node.value) else [node.value]
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.ClassDef)):
            found.append(type(node).__name__)
    return found


@pytest.fixture
def texts(monkeypatch):
    """Every text that is executed."""
    seen: list[str] = []
    executed = runner._executed
    monkeypatch.setattr(runner, "_executed", lambda text, scope: seen.append(text) or executed(text, scope))
    return seen


@pytest.mark.parametrize("name", [*COURSE, *CONSTRUCTS])
def test_what_is_executed_holds_nothing_that_was_typed(name, texts):
    case = COURSE.get(name) or CONSTRUCTS[name]
    inputs, boundary = case.drawn()
    run(system(case.text), inputs, boundary, case.sizes)
    assert texts
    assert [word for text in texts for word in foreign(text)] == []


HOSTILE = "__import__('os').system('touch /tmp/planted') #"


@pytest.mark.parametrize(
    "name", ["gru", "grid, boundary", "causal attention", "update-gate cnn", "skip-gram"]
)
def test_names_however_they_read_are_not_in_the_text(name, texts):
    """No parser lets such names pass; even so they could do nothing."""
    case, number = COURSE[name], count()
    made, (inputs, boundary) = system(case.text), case.drawn()
    names = {t: f"{HOSTILE}{next(number)}" for t in made.tensors}
    indices = {i: f"{i}\n{HOSTILE}" for ranges in made.ranges.values() for i in ranges}
    change = lambda node: substitute(rename_tensors(node, names), indices)
    equations = {e: change(e) for e in made.ranges}
    renamed = replace(
        made,
        tensors={names[t]: replace(tensor, name=names[t]) for t, tensor in made.tensors.items()},
        blocks=tuple(
            replace(b, equations=tuple(equations[e] for e in b.equations),
                    loops=tuple((indices[i], step) for i, step in b.loops))
            for b in made.blocks
        ),
        ranges={equations[e]: {indices[i]: d for i, d in r.items()} for e, r in made.ranges.items()},
        centered=frozenset(indices[i] for i in made.centered),
        padded=frozenset(names[t] for t in made.padded),
        boundary={names[t]: sides for t, sides in made.boundary.items()},
    )  # fmt: skip
    ours = run(made, inputs, boundary, case.sizes)
    given = {names[t]: x for t, x in inputs.items()}
    found = run(renamed, given, {names[t]: v for t, v in boundary.items()}, case.sizes)
    assert all(torch.equal(found[names[t]], x) for t, x in ours.items())
    assert [word for text in texts for word in foreign(text)] == []


def test_a_planted_name_would_be_seen():
    for planted in (
        "def f():\n    return os",
        "x1.system()",
        "import os",
        "open",
        "x1 + 'os'",
        "__import__('os')",
    ):
        assert foreign(planted)
    assert not foreign("def function(x1):\n    v2 = torch.tanh(x1)\n    return (v2,)")
