"""What a student is told never holds what a hidden test expected; what was written for them reaches them whole."""

import json
import re
from itertools import permutations
from pathlib import Path

import nbformat
import pytest
import small_course as small
import torch
from traitlets.config import Config

from coursekit import checks
from coursekit.authoring.course import Course
from coursekit.authoring.source import read
from coursekit.grading.assignment import Assignment, master
from coursekit.grading.autograded import write_autograded
from coursekit.grading.describe import describe, outputs
from coursekit.grading.feedback import feedback
from coursekit.grading.pipeline import Work
from coursekit.grading.recognise import read_notebook
from coursekit.grading.telling import hint, told
from coursekit.models import captioning, cells, rnn_lm, trigram
from coursekit.notation.compare.mutate import mutations
from coursekit.notation.equations import Equations
from coursekit.notation.show import show

ROOT = Path(__file__).resolve().parents[2]
GRAPH = [("x1", "h1", "W"), ("h0", "h1", "H"), ("h1", "h2", "H"), ("x2", "h2", "W"), ("h2", "y2", "U")]


def test_a_number_that_a_check_expected_is_left_out():
    assert told("2*N is not right: with N=3 it gives 6, and counting gives 9.") == (
        "2*N is not right: with N=3 it gives 6."
    )
    assert told("Entry 2 is 0.5 and should be 0.12.") == "Entry 2 is 0.5."
    assert told("You dropped the factor h(1-h).") == "You dropped the factor h(1-h)."


def quoted(sentence: str) -> list[str]:
    """The pieces of formulas and equations in a sentence, without white space."""
    return ["".join(piece.split()) for piece in re.findall("`([^`]*)`", sentence)]


FORMULAS = [
    "n", "n**2", "3*n**2", "n*m", "7*n*m", "n**2 + n*m", "n**2 + 5*n*m", "n + 1", "n**2 + n*m + 11*m", "n**2 + 2*m**3",
    "(n + 1)**2", "log(n)", "2**n", "n/m",
]  # fmt: skip


@pytest.mark.parametrize("check", [checks.closed_form, checks.big_o])
def test_no_piece_of_the_right_formula_is_told(check):
    """Of every formula taken for every other: what only the right one has is not in the sentence."""
    sentences = set()
    for answer, right in permutations(FORMULAS, 2):
        result = check(answer, right, symbols=["n", "m"])
        if not result.ok:
            said = told(result.sentence)
            sentences.add(re.sub("`[^`]*`|[0-9.]+", "…", said))
            mine, theirs = answer.replace(" ", ""), right.replace(" ", "")
            leaked = [p for p in quoted(said) if p in theirs and p not in mine and p not in ("n", "m")]
            assert leaked == [], (answer, right, result.sentence)
            assert "expected" not in said
            assert not re.search(r"should be|times the right one|too (large|small)", said), said
    assert len(sentences) >= 4, "there is more to say than that it is wrong"


def test_how_far_a_tensor_is_off_is_not_told_in_numbers():
    """The number, divided out, would be the right value."""
    cases = [{"g": torch.tensor([3.0, 4.0]), "n": n} for n in (1.0, 2.0)]
    result = checks.function(lambda g, n: g * n, lambda g, n: g * n / g.norm() ** n, cases)
    assert "(here 5)" in result.sentence, "as the check says it in the notebook"
    assert told(result.sentence).endswith("times a number that differs from case to case.")


@pytest.mark.parametrize(
    "equations",
    [captioning.EQUATIONS, rnn_lm.EQUATIONS, trigram.EQUATIONS, cells.UGRNN.equations, cells.LSTM.equations],
)
def test_no_piece_of_the_right_equations_is_told(equations):
    """Of every mistake that the language can name: what only the right equation has is not in the sentence."""
    found = 0
    for mistake in mutations(Equations(equations).system):
        right, wrong = ("".join(show(e).split()) for e in (mistake.old, mistake.new))
        leaked = [piece for piece in quoted(told(mistake.sentence)) if piece in right and piece not in wrong]
        assert leaked == [], mistake.sentence
        found += any(piece in right and piece not in wrong for piece in quoted(mistake.sentence))
    assert found > 10, "as the check says it in the notebook, the right piece is there"


def test_the_numbers_that_equations_should_give_are_not_told():
    result = checks.equations("y[j] = sigmoid(W[j,I] x[I])", "y[j] = tanh(W[j,I] x[I])")
    assert "should be" in result.sentence
    assert told(result.sentence) == "You used `sigmoid` in `y`, and that is not right."
    result = checks.equations("y[j] = 3 tanh(W[j,I] x[I])", "y[j] = tanh(W[j,I] x[I])")
    assert told(result.sentence) == "`y` is off by a constant factor."


def test_the_work_that_is_enough_is_not_told():
    raw = "`f` does 1 200 multiply-adds where 300 are"
    assert told(f"{raw} enough, 4 times as many.") == "`f` does 1 200 multiply-adds, more than are needed."
    assert told(f"{raw} needed, 4 times as many.") == "`f` does 1 200 multiply-adds, more than are needed."
    assert told("`f` does 12 multiply-adds where 300 are needed.") == (
        "`f` does 12 multiply-adds, fewer than are needed."
    )


def test_a_hint_is_given_where_the_author_has_named_no_mistake():
    question = {"sentence": "`x` is not right.", "kind": "other", "status": "failed", "score": 0, "max": 1}
    source = "MISTAKES = checks.planted('x', [('sign', 'The sign is turned.', 'x = -1')])\nassert x > 0, 'Too small.'"
    assert "Run the check" in hint(question, source)
    assert hint({**question, "kind": "sign", "sentence": "The sign is turned."}, source) == ""
    assert hint({**question, "kind": "", "sentence": "Too small."}, source) == ""
    assert hint({**question, "kind": "empty"}, source) == ""
    assert "loop" in hint({**question, "kind": "", "status": "timeout"}, source)


def test_missing_edges_are_counted_and_not_named():
    for drawn in range(1, len(GRAPH)):
        result = checks.edges(GRAPH[:drawn], GRAPH)
        assert f"`{GRAPH[-1][0]} → {GRAPH[-1][1]}`" in result.sentence or len(GRAPH) - drawn > 3
        lacking = len(GRAPH) - drawn
        assert told(result.sentence) == f"{lacking} {'edge is' if lacking == 1 else 'edges are'} missing."


def test_the_students_own_wrong_edges_are_still_named():
    result = checks.edges([*GRAPH[1:], ("h1", "x1", "W"), ("y2", "h0", "V")], [*GRAPH, ("y2", "z", "Z")])
    assert told(result.sentence) == (
        "`h1 → x1` (W) points the wrong way. `y2 → h0` (V) does not belong to the graph. 1 edge is missing."
    )


def test_the_right_options_are_not_told():
    result = checks.choice({"a", "b"}, {"b", "c", "e"}, options=list("abcdef"))
    assert "`c` should be chosen" in result.sentence
    assert told(result.sentence) == "Not exactly the right options are chosen."


def test_the_right_order_is_not_told():
    result = checks.ordering(["b", "a", "c"], ["a", "b", "c"])
    assert "`a` must come before `b`" in result.sentence
    assert told(result.sentence) == "Not in order yet."


def test_no_sentence_of_a_named_mistake_is_changed():
    course = Course(ROOT)
    sentences = [
        mistake.sentence
        for name in course.assignments()
        for question in read(course.solutions / name / f"{name}.md").questions
        for mistake in question.mistakes
    ]
    assert len(sentences) > 100
    assert [s for s in sentences if told(s) != s.strip()] == []


def test_neither_the_page_nor_the_notebook_for_the_formgrader_tells_the_answer(warm, tmp_path):
    book = small.notebook(
        small.text("# Which are right, and which edges are there?"),
        small.code("from coursekit import checks", "given", locked=True),
        small.code("picked = {'kiwi'}  ### BEGIN SOLUTION\n### END SOLUTION", "pick", solution=True),
        small.check(
            "test_pick", 2, "", "checks.choice(picked, {'apple', 'kiwi'}, options=['apple', 'kiwi', 'plum']).require()"
        ),
        small.code("drawn = []  ### BEGIN SOLUTION\n### END SOLUTION", "draw", solution=True),
        small.check("test_draw", 2, "", "checks.edges(drawn, [('pear', 'fig'), ('a', 'b')]).require()"),
    )  # fmt: skip
    assignment = Assignment("fruit", (master("fruit", book, Config()),))
    made = small.solved(book, pick="picked = {'kiwi'}", draw="drawn = ['a -> b']")
    cells, _ = read_notebook(json.dumps(made).encode())
    work = Work("ada", assignment, None, "here", [("fruit.ipynb", assignment.masters[0], cells)])
    (task,) = work.tasks({})
    (work.outcomes["fruit"],) = warm.grade([task])
    entry = describe(work, frozenset())
    page = feedback(entry, assignment, outputs(work.outcomes))
    write_autograded(tmp_path, work, tmp_path)
    kept = nbformat.read(tmp_path / "autograded" / "ada" / "fruit" / "fruit.ipynb", as_version=4)
    shown = "".join(o.get("text", "") for c in kept.cells if c.cell_type == "code" for o in c.outputs)
    for text in (page, shown):
        assert "Not exactly the right options are chosen." in text
        assert "1 edge is missing." in text
        assert "apple" not in text
        assert "pear" not in text
    assert "apple" in entry["questions"][0]["detail"], "the instructor may know"
