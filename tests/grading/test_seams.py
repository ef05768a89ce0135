"""Hostile submissions where two parts meet (see `hostile_seams.py`): other courses' tests, tensors that are kept, and
what the grader's own process holds of a submission.
"""

from __future__ import annotations

import pytest
from hostile_seams import DOUBTED, FOREIGN, KEPT
from test_kept import GIVEN, LOOP, TEST

from coursekit.grading import Limits
from coursekit.grading.run import names

ROOMY = Limits(cell_cpu=20, cell_wall=60, notebook_wall=60, memory=1024)
AFTER = ("solution", "def honest(x): return x + 1"), ("test", "assert honest(1) == 2")


@pytest.mark.parametrize("attack", FOREIGN)
def test_another_courses_test_is_not_passed_by_an_object(grade_cells, attack):
    test, answer = FOREIGN[attack]
    cells = [
        ("given", "import numpy as np\nimport torch"),
        ("solution", answer),
        ("test", test, {"leans": ()}),
    ]
    outcome = grade_cells(*cells, *AFTER)
    assert [t.score for t in outcome.tests] == [0, 1], (outcome.tests, outcome.log)
    assert outcome.tests[0].sentence


@pytest.mark.parametrize("attack", DOUBTED)
def test_what_compares_with_anything_is_never_passed_in_silence(grade_cells, attack):
    test, answer = DOUBTED[attack]
    cells = [
        ("given", "import numpy as np\nimport torch"),
        ("solution", answer),
        ("test", test, {"leans": ()}),
    ]
    outcome = grade_cells(*cells, *AFTER)
    first, after = outcome.tests
    assert first.score == 0 or outcome.flags, first
    assert after.score == 1


@pytest.mark.parametrize("attack", KEPT)
def test_no_operator_reaches_past_its_tensors_or_stops_the_examiner(warm, task_of, attack):
    head = """
import gc, json, torch
from coursekit.grading.run import lent
def ask(name, args, kwargs={}):
    return lent.line().peer.request("operator", json.dumps([name, args, kwargs]))
told = []
"""
    body = "".join(f"        {line}\n" for line in KEPT[attack].strip().splitlines())
    tried = f"    out = []\n    try:\n{body}    except Exception as error: told.append(str(error))"
    cells = [
        ("given", GIVEN), ("solution", head + LOOP.replace("    out = []", tried)), ("test", TEST),
        ("test", "print(told)"), *AFTER,
    ]  # fmt: skip
    (outcome,) = warm.grade([task_of(*cells, limits=ROOMY, id=attack)])
    first, told, after = outcome.tests
    assert first.status in ("passed", "failed"), first
    printed = "".join(str(o.data) for o in told.outputs)
    assert "refused" in printed or "failed" in printed, printed
    assert after.score == 1


def test_the_words_of_a_failed_operator_say_no_hidden_number(warm, task_of):
    """They are told only where numbers that are all zero would have failed in the same words."""
    head = "import torch\nsaid = []\n"
    tries = ["torch.ones(3).index_select(0, (q[0, :1] * 1e6).long())", "q @ q", "q.reshape(7, 7, 7)"]
    body = "".join(
        f"    try: {line}\n    except Exception as error: said.append(str(error))\n"
        for line in tries[1:] + tries[:1]
    )
    cells = [
        ("given", GIVEN), ("solution", head + LOOP.replace("    out = []\n", f"    out = []\n{body}")),
        ("test", TEST), ("test", "print(said[:3])"),
    ]  # fmt: skip
    (outcome,) = warm.grade([task_of(*cells, limits=ROOMY)])
    printed = "".join(str(o.data) for o in outcome.tests[1].outputs)
    assert "cannot be multiplied" in printed, printed
    assert "is invalid for input of size" in printed, printed
    assert "an operation failed on the numbers" in printed, printed


def test_the_outputs_of_one_submission_are_bounded_together(grade_cells):
    """The grader's own process holds them: many cells, each within its bounds, would use it up."""
    loud = "display({'text/html': 'x' * 1_900_000}, raw=True)\n" * 8
    outcome = grade_cells(*[("extra", loud)] * 12, *AFTER, limits=ROOMY)
    kept = sum(len(o.data) for cell in outcome.cells for o in cell.outputs)
    assert 2_000_000 < kept < 32_000_000
    assert outcome.score == 1


@pytest.mark.parametrize(
    "source", ["-" * 2500 + "1", "torch" + ".a" * 2500, "x\n" * 2_000_000, "f(" * 150 + ")" * 150]
)
def test_code_of_any_shape_is_read_or_left_unread(source):
    found = names.names_of(source)
    assert names.imports_from(source + "\n", "coursekit.models") is False
    assert found.binds == set()


@pytest.mark.parametrize("link", [".a", ".a()", "[0].a"])
def test_a_long_chain_is_read_once_and_not_once_for_each_link(link, monkeypatch):
    """Many cells of such chains would hold up the whole class: they are read in the grader's own process."""
    steps, path = 0, names._path

    def counted(node, passed=None):
        nonlocal steps
        steps += 1
        return path(node, passed)

    monkeypatch.setattr(names, "_path", counted)
    chain = "coursekit.models" + link * 700
    assert names.imports_from(f"importlib\n{chain}", "coursekit.models")
    assert steps == 1
