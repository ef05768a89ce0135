"""Where a hidden test tries several sizes, the visible check tries two at least: nothing is right here by one size."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pytest
import torch

from coursekit import checks
from coursekit.authoring.corners import recorded
from coursekit.authoring.course import Course
from coursekit.authoring.fences import without_markers
from coursekit.authoring.source import read
from coursekit.grading.prove import _definitions

COURSE = Course.find(__file__)
LONG = {"lab/learn", "grids/train"}  # each trains a network on one text or set of images, at one size


def sizes(calls):
    """The shapes and the whole numbers that a function was called with, one set a parameter."""
    whole = re.compile(r"-?\d+")
    return {
        name: {str(shape or text) for text, shape, *_ in seen if shape or whole.fullmatch(text)}
        for name, seen in calls.items()
    }


@pytest.mark.parametrize("assignment", COURSE.assignments())
def test_the_visible_check_has_two_sizes_where_the_hidden_one_has(assignment):
    source = read(COURSE.source(assignment))
    tests = {test: q for q in source.questions for test in q.tests}
    scope, seen, narrow = {"checks": checks}, {}, []
    before = torch.get_default_dtype()

    def run(text, **names):
        own = {**scope, **names, "MISTAKES": []}
        with redirect_stdout(StringIO()):
            exec(compile(text, "<cell>", "exec"), own)

    try:
        for cell in source.notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if name in tests and re.search(rf"^def {tests[name].id}\(", tests[name].solution, re.MULTILINE):
                question = tests[name].id
                counted = (
                    "checks.operations(" in cell.source
                )  # arguments that are written down cannot be counted
                if f"{assignment}/{question}" not in LONG and not counted:
                    shown, _, hidden = cell.source.partition("### BEGIN HIDDEN TESTS")
                    for part, text in (("shown", shown), ("hidden", _definitions(shown) + "\n" + hidden)):
                        calls = seen.setdefault((question, part), {})
                        run(text, **{question: recorded(scope[question], calls)})
            if name in tests:
                exec(_definitions(cell.source.partition("### BEGIN HIDDEN TESTS")[0]), scope)
            elif cell.cell_type == "code":
                with redirect_stdout(StringIO()):
                    exec(without_markers(cell.source), scope)
    finally:
        torch.set_default_dtype(before)
    for question in {q for q, _ in seen}:
        shown, hidden = (sizes(seen[question, part]) for part in ("shown", "hidden"))
        narrow += [f"{question}: {n}" for n in hidden if len(hidden[n]) > 1 and len(shown.get(n, ())) == 1]
    assert seen or not any(q.solution.startswith("def") for q in source.questions)
    assert not narrow, "; ".join(sorted(narrow))
