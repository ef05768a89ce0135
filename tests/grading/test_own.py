"""What a student is told never holds what a hidden test expected; what was written for them reaches them whole."""

import json
import re
from dataclasses import replace
from itertools import permutations

import nbformat
import pytest
import small_course as small
import torch
from traitlets.config import Config

from coursekit import checks
from coursekit.checks.diagnosis.nearby import compared_finding
from coursekit.grading.assignment import master
from coursekit.grading.facts import Assignment, Handed, Verdict, Work
from coursekit.grading.pages.describe import describe, printed
from coursekit.grading.pages.feedback import _hint, feedback
from coursekit.grading.pages.shelf import Shelf
from coursekit.grading.pipeline import ready
from coursekit.grading.submissions.recognise import read_notebook
from coursekit.models import captioning, cells, rnn_lm, trigram
from coursekit.notation.compare.comparison import Comparison
from coursekit.notation.compare.mutate import mutations
from coursekit.notation.equations import Equations
from coursekit.notation.show import show

GRAPH = [("x1", "h1", "W"), ("h0", "h1", "H"), ("h1", "h2", "H"), ("x2", "h2", "W"), ("h2", "y2", "U")]


def test_a_number_that_a_check_expected_is_left_out():
    result = checks.closed_form("2*N", symbols=["N"], oracle=lambda N: N * N, at=[{"N": 3}])
    assert result.sentence == "`2*N` is not right: with N = 3 it gives 6, and counting gives 9."
    assert result.own == "`2*N` is not right: with N = 3 it gives 6."


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
            said = result.own
            sentences.add(re.sub("`[^`]*`|[0-9.]+", "…", said))
            mine, theirs = answer.replace(" ", ""), right.replace(" ", "")
            leaked = [p for p in quoted(said) if p in theirs and p not in mine and p not in ("n", "m")]
            assert leaked == [], (answer, right, result.sentence)
            assert "expected" not in said
            assert not re.search(r"should be|times the right one|too (large|small)", said), said
    assert len(sentences) >= 4, "there is more to say than that it is wrong"


def test_how_far_a_tensor_is_off_is_not_told_in_numbers():
    """The number, divided out, would be the right value."""
    cases = [{"g": torch.tensor([3.0, 4.0, 1.0]), "n": n} for n in (1.0, 2.0)]
    result = checks.function(lambda g, n: 0.731245 * g, lambda g, n: g, cases)
    assert "0.731245 times the right one" in result.sentence, "as the check says it in the notebook"
    assert result.own.endswith("is off by a constant factor.")


@pytest.mark.parametrize(
    "equations",
    [captioning.EQUATIONS, rnn_lm.EQUATIONS, trigram.EQUATIONS, cells.UGRNN.equations, cells.LSTM.equations],
)
def test_no_piece_of_the_right_equations_is_told(equations):
    """Of every mistake that the language can name: what only the right equation has is not in the sentence."""
    found = 0
    for mistake in mutations(Equations(equations).system):
        right, wrong = ("".join(show(e).split()) for e in (mistake.old, mistake.new))
        compared = Comparison(False, mistake.sentence, mistake.tensor, mistake.kind)
        own = compared_finding(compared).said(own=True)
        assert set(quoted(own)) <= {mistake.tensor}, own
        assert own != "This is not right yet.", mistake.kind
        found += any(piece in right and piece not in wrong for piece in quoted(mistake.sentence))
    assert found > 10, "as the check says it in the notebook, the right piece is there"


def test_the_numbers_that_equations_should_give_are_not_told():
    result = checks.equations("y[j] = sigmoid(W[j,I] x[I])", "y[j] = tanh(W[j,I] x[I])")
    assert "right" in result.columns
    assert result.own == "An activation is wrong or missing in `y`."
    result = checks.equations("y[j] = 3 tanh(W[j,I] x[I])", "y[j] = tanh(W[j,I] x[I])")
    assert result.own == "A constant factor is wrong in `y`."


def test_the_work_that_is_enough_is_not_told():
    case = {"a": torch.ones(3, 4), "b": torch.ones(4, 5)}
    product = lambda a, b: a @ b
    for bound, words in ({"at_most": 15}, "more"), ({"exactly": 15}, "more"), ({"exactly": 300}, "fewer"):
        result = checks.operations(product, case, **bound)
        assert str(*bound.values()) in result.sentence
        assert result.own.endswith(f"does 60 multiply-adds, {words} than are needed.")


def test_a_hint_is_given_where_the_author_has_named_no_mistake():
    verdict = Verdict("test_x", "n", 0.0, 1.0, "failed", "`x` is not right.", "other")
    source = "MISTAKES = checks.planted('x', [('sign', 'The sign is turned.', 'x = -1')])\nassert x > 0, 'Too small.'"
    assert "Run the check" in _hint(verdict, source)
    assert _hint(replace(verdict, kind="sign", sentence="The sign is turned."), source) == ""
    assert _hint(replace(verdict, kind="", sentence="Too small."), source) == ""
    assert _hint(replace(verdict, kind="empty"), source) == ""
    assert "loop" in _hint(replace(verdict, kind="", status="timeout"), source)


def test_missing_edges_are_counted_and_not_named():
    for drawn in range(1, len(GRAPH)):
        result = checks.edges(GRAPH[:drawn], GRAPH)
        assert f"`{GRAPH[-1][0]} → {GRAPH[-1][1]}`" in result.sentence or len(GRAPH) - drawn > 3
        lacking = len(GRAPH) - drawn
        assert result.own == f"{lacking} {'edge is' if lacking == 1 else 'edges are'} missing."


def test_the_students_own_wrong_edges_are_still_named():
    result = checks.edges([*GRAPH[1:], ("h1", "x1", "W"), ("y2", "h0", "V")], [*GRAPH, ("y2", "z", "Z")])
    assert result.own == (
        "`h1 → x1` (W) points the wrong way. `y2 → h0` (V) does not belong to the graph. 1 edge is missing."
    )


def test_the_right_options_are_not_told():
    result = checks.choice({"a", "b"}, {"b", "c", "e"}, options=list("abcdef"))
    assert "`c` should be chosen" in result.sentence
    assert result.own == "Not exactly the right options are chosen."


def test_the_right_order_is_not_told():
    result = checks.ordering(["b", "a", "c"], ["a", "b", "c"])
    assert "`a` must come before `b`" in result.sentence
    assert result.own == "Not in order yet."


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
    work = Work("ada", assignment, None, "here", [Handed("fruit.ipynb", assignment.masters[0], cells)])
    (work.outcomes["fruit"],) = warm.grade(ready(work, {}).values())
    entry = describe(work)
    page = feedback(entry, assignment, printed(work.outcomes))
    Shelf(tmp_path / "pages", tmp_path).put(work, entry, {})
    kept = nbformat.read(tmp_path / "autograded" / "ada" / "fruit" / "fruit.ipynb", as_version=4)
    shown = "".join(o.get("text", "") for c in kept.cells if c.cell_type == "code" for o in c.outputs)
    for text in (page, shown):
        assert "Not exactly the right options are chosen." in text
        assert "1 edge is missing." in text
        assert "apple" not in text
        assert "pear" not in text
    assert "apple" in entry.questions[0].detail, "the instructor may know"


def numbers_in(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]


def model(seed: int) -> dict:
    g = torch.Generator().manual_seed(seed)
    sizes = {"h": (4,), "W": (4, 4), "U": (4, 6), "b": (4,)}
    return {name: torch.randn(size, generator=g, dtype=torch.float64) for name, size in sizes.items()}


def forward(h, W, U, b):
    s = torch.sigmoid(h @ W + b)
    return {"s": s, "p": torch.softmax(s @ U, 0)}


SPOILS = {
    "sign": lambda v: -v,
    "twice": lambda v: 2 * v,
    "odd factor": lambda v: 0.731245 * v,
    "one more": lambda v: v + 1,
    "zero": lambda v: 0 * v,
    "rows": lambda v: v[None],
    "unnormalised": lambda v: v * (1 + v.sum()),
    "rolled": lambda v: v.roll(1),
    "nan": lambda v: v / 0,
    "float32": lambda v: (3 * v).float(),
    "list": lambda v: (v * v).tolist(),
    "text": lambda v: "no",
    "stopped": lambda v: v @ torch.ones(99, dtype=v.dtype),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_no_right_number_of_a_function_or_a_gradient_is_told(spoil):
    """Whatever is wrong with a tensor, a page holds none of the numbers that the right one has."""
    cases = [model(1), model(2)]

    def answer(h, W, U, b):
        found = forward(h, W, U, b)
        return {**found, "p": SPOILS[spoil](found["p"])}

    def slope(h, W, U, b):
        s = torch.sigmoid(h @ W + b)
        return SPOILS[spoil](s * (1 - s) * U.sum(1))

    loss = lambda h, W, U, b: (torch.sigmoid(h @ W + b) @ U).sum()
    truth = [
        torch.autograd.grad(loss(**(c | {"b": (b := c["b"].clone().requires_grad_())})), b)[0] for c in cases
    ]
    for result, rights in (
        (checks.function(answer, forward, cases, returns=["s", "p"]), [forward(**c)["p"] for c in cases]),
        (checks.gradients(slope, loss, cases, ["b"]), truth),
    ):
        assert not result.ok
        told = [n for n in numbers_in(result.own) if n != int(n)]
        for right in rights:
            assert not any(abs(n - float(r)) < 1e-4 * abs(float(r)) for n in told for r in right), result.own
        assert "times the right" not in result.own


@pytest.mark.parametrize(
    "answer", [-7.6009, 7.6009 / 0.6931, 760.09, 1 / 7.6009, 8.0, "7", None, float("nan")]
)
def test_no_right_number_is_told_of_a_number(answer):
    for result in (
        checks.value(answer, 7.6009),
        checks.value({"a": answer, "b": 1}, {"a": 7.6009, "b": 2.75}),
    ):
        assert not result.ok
        assert not any(abs(n - right) < 1e-3 for n in numbers_in(result.own) for right in (7.6009, 2.75))
