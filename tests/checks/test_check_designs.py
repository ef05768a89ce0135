"""Open designs by their properties (problem 2.1), and unrolled graphs by their edges (problem 1.3.a)."""

import pytest
import torch

from coursekit import checks
from coursekit.checks import Mistake, Property


def rows(*weights):
    return torch.tensor(weights, dtype=torch.float64)[None, None, None]


ONE, TWO, FLAT = rows(1.0, 0, 0, 0), rows(0.5, 0.5, 0, 0), rows(0.25, 0.25, 0.25, 0.25)

FOCUS = [
    Property("finite", "It is not finite on one-hot rows: 0 ln 0 must be 0.", lambda f: torch.isfinite(f(ONE))),
    Property("order", "A one-hot row must cost less than a spread one.",
             lambda f: (f(ONE) < f(TWO) < f(FLAT), [("one-hot", float(f(ONE))), ("uniform", float(f(FLAT)))])),
    Property("positions", "It must not depend on where the words stand.",
             lambda f: torch.allclose(f(rows(0.7, 0.1, 0.2, 0)), f(rows(0.2, 0, 0.7, 0.1)))),
]  # fmt: skip


def entropy(a):
    return -(a * torch.where(a > 0, a, 1).log()).sum(-1).mean()


@pytest.mark.parametrize(
    "design", [entropy, lambda a: (1 - (a**2).sum(-1)).mean(), lambda a: -a.max(-1).values.log().mean(),
               lambda a: (1 - a.max(-1).values).mean()],
    ids=["entropy", "gini", "-ln max", "1 - max"],
)  # fmt: skip
def test_every_design_with_the_properties_passes(design):
    assert checks.properties(design, FOCUS).ok


@pytest.mark.parametrize(
    ("design", "failed"),
    [
        (lambda a: -entropy(a), {"order"}),
        (lambda a: -(a * a.log()).sum(-1).mean(), {"finite", "order", "positions"}),
        (lambda a: (a * torch.arange(4) ** 2).sum(-1).mean(), {"positions"}),
        (lambda a: "small", {"finite", "order", "positions"}),
        (lambda a: a.nope, {"finite", "order", "positions"}),
        (lambda a: None, {"finite", "order", "positions"}),
    ],
    ids=["negative entropy", "naive log", "variance of position", "text", "error", "nothing"],
)
def test_design_without_a_property_hears_which(design, failed):
    result = checks.properties(design, FOCUS)
    assert {name for name, part in result.parts.items() if not part.ok} == failed


def test_failed_property_shows_its_sentence_and_numbers():
    result = checks.properties(lambda a: -entropy(a), FOCUS)
    assert result.sentence == "A one-hot row must cost less than a spread one."
    assert [row[0] for row in result.rows] == ["one-hot", "uniform"]


def test_named_design_gets_its_sentence():
    sign = Mistake("sign", "You maximise entropy: turn the sign.", frozenset({"order"}))
    assert checks.properties(lambda a: -entropy(a), FOCUS, mistakes=[sign]).sentence == sign.sentence
    assert checks.properties(entropy, FOCUS, mistakes=[sign]).ok


def test_design_itself_may_be_the_mistake_and_is_known_by_its_values():
    turned = Mistake("turned", "You maximise entropy: turn the sign.", lambda a: -entropy(a))
    gini = Mistake(
        "gini", "You maximise the Gini index: turn the sign.", lambda a: ((a**2).sum(-1) - 1).mean()
    )
    for design in (turned, gini):  # both fail the same property
        found = checks.properties(lambda a, wrong=design.wrong: wrong(a), FOCUS, mistakes=[turned, gini])
        assert found.mistake == design.name
    assert checks.properties(lambda a: -2 * entropy(a), FOCUS, mistakes=[turned, gini]).mistake == ""


def test_data_has_properties_too():
    three = [Property("three", "Three are asked for.", lambda a: len(a) == 3)]
    assert checks.properties({1, 2, 3}, three).ok
    pair = Mistake("pair", "A pair is not enough.", {1, 2})
    assert checks.properties({1, 2}, three, mistakes=[pair]).mistake == "pair"
    assert checks.properties({1, 5}, three, mistakes=[pair]).sentence == "Three are asked for."


@pytest.mark.parametrize(("answer", "kind"), [(None, "empty"), (..., "empty"), (3, "untried")])
def test_design_that_is_no_function_gets_a_sentence(answer, kind):
    assert checks.properties(answer, FOCUS).kind == kind


UNROLLED = {
    edge
    for s in (1, 2, 3)
    for edge in (
        (f"x{s}", f"e{s}", "L"),
        (f"e{s}", f"h{s}", "I"),
        (f"h{s - 1}", f"h{s}", "H"),
        (f"h{s}", f"y{s}", "U"),
    )
}


@pytest.mark.parametrize(
    "form", [set, list, lambda e: [list(x) for x in e], lambda e: "\n".join(f"{a} -> {b} : {c}" for a, b, c in e),
             lambda e: [f"{a}→{b}: {c}" for a, b, c in e]],
)  # fmt: skip
def test_right_graph_passes_in_every_form(form):
    assert checks.edges(form(UNROLLED), UNROLLED).ok


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda e: e - {("h0", "h1", "H")}, "missing", "missing"),
        (lambda e: e | {("h0", "h2", "H")}, "extra", "`h0 → h2` (H) does not belong"),
        (
            lambda e: e - {("h0", "h1", "H")} | {("h1", "h0", "H")},
            "reversed",
            "`h1 → h0` (H) points the wrong way",
        ),
        (
            lambda e: e - {("h0", "h1", "H")} | {("h0", "h1", "U")},
            "label",
            "`h0 → h1` (U) has the wrong label",
        ),
    ],
)
def test_wrong_graph_hears_which_edge(change, kind, words):
    result = checks.edges(change(UNROLLED), UNROLLED)
    assert not result.ok
    assert result.kind == kind
    assert words in result.sentence


def test_missing_edge_is_named_only_where_the_answer_is_known():
    lacking = UNROLLED - {("h0", "h1", "H")}
    assert checks.edges(lacking, UNROLLED).sentence == "`h0 → h1` (H) is missing."
    assert checks.edges(lacking, UNROLLED).own == "1 edge is missing."


def test_reversed_edge_is_not_told_twice():
    turned = UNROLLED - {("h0", "h1", "H")} | {("h1", "h0", "H")}
    assert "missing" not in checks.edges(turned, UNROLLED).sentence


def test_optional_edges_may_be_there():
    biases = {("b1", "h1", "b1")}
    assert checks.edges(UNROLLED | biases, UNROLLED, optional=biases).ok
    assert checks.edges(UNROLLED, UNROLLED | biases, optional=biases).ok
    assert not checks.edges(UNROLLED | {("b2", "h1", "b1")}, UNROLLED, optional=biases).ok


def test_named_graph_gets_its_sentence():
    skip = Mistake("skip", "The state passes through every step.", UNROLLED | {("h0", "h2", "H")})
    assert checks.edges(skip.wrong, UNROLLED, mistakes=[skip]).mistake == "skip"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(None, "empty"), (set(), "empty"), (3, "type"), ([3], "type"), ([("a",)], "type"), ("a b", "type")],
)
def test_answer_that_is_no_graph_gets_a_sentence(answer, kind):
    assert checks.edges(answer, UNROLLED).kind == kind


def test_an_answer_of_data_that_is_not_there_is_no_empty_function():
    result = checks.properties(None, FOCUS)
    assert (result.sentence, result.kind) == ("There is no answer here yet.", "empty")


def test_a_mistake_that_names_no_property_is_the_authors_error():
    spread = Mistake("spread", "You reward spread rows.", frozenset({"order", "oder"}))
    with pytest.raises(
        ValueError, match="'oder', which is no part here; they are 'finite', 'order', 'positions'"
    ):
        checks.properties(lambda a: -entropy(a), FOCUS, mistakes=[spread])


FOUR = [
    checks.Property("pair", "Return two numbers.", lambda f: len(f()) == 2),
    checks.Property("order", "The first must be smaller.", lambda f: f()[0] < f()[1]),
    checks.Property("sum", "They must sum to one.", lambda f: abs(sum(f()) - 1) < 1e-9),
]


def test_a_test_that_breaks_after_another_failed_says_nothing_of_its_own():
    result = checks.properties(lambda: (0.5,), FOUR)
    assert result.sentence == "Return two numbers. They must sum to one."
    assert [part.ok for part in result.parts.values()] == [False, False, False]


def test_tests_that_all_break_are_told_by_the_first():
    result = checks.properties(lambda: 3, FOUR)
    assert result.sentence.startswith("Return two numbers. (It could not be tried: TypeError")
    assert "The first must be smaller" not in result.sentence
    assert not any(part.ok for part in result.parts.values())


def test_an_edge_drawn_both_ways_is_one_too_many():
    expected = {("a", "b"), ("b", "c")}
    result = checks.edges({("a", "b"), ("b", "a"), ("b", "c")}, expected)
    assert (result.sentence, result.kind) == ("`b → a` does not belong to the graph.", "extra")
    result = checks.edges({("a", "b"), ("b", "a")}, expected)
    assert result.sentence.startswith("`b → a` does not belong to the graph. ")
    assert result.sentence.endswith(" missing.")


def test_a_label_on_an_edge_that_has_none_is_the_wrong_label():
    result = checks.edges({("a", "b", "W"), ("b", "c")}, {("a", "b"), ("b", "c")})
    assert (result.sentence, result.kind) == ("`a → b` (W) has the wrong label.", "label")


def test_an_edge_drawn_with_two_labels_is_one_too_many():
    wanted = {("a", "b", "W"), ("b", "c", "U")}
    result = checks.edges(wanted | {("a", "b", "U")}, wanted)
    assert result.sentence == "`a → b` (U) does not belong to the graph."


def test_what_follows_from_a_nan_is_no_finding_of_its_own():
    logarithm, certain = lambda x: (x * x.log()).sum(), torch.tensor([0.0, 1.0])
    required = [
        Property("finite", "Mind 0 times ln 0.", lambda f: bool(f(certain).isfinite())),
        Property("order", "The order must not matter.", lambda f: f(certain) == f(certain.flip(0))),
        Property("scale", "Twice is more.", lambda f: f(torch.tensor([2.0, 2.0])) < f(torch.tensor([1.0, 1.0]))),
    ]  # fmt: skip
    result = checks.properties(logarithm, required)
    assert (
        result.sentence
        == "Mind 0 times ln 0. (Your answer gives a NaN there, which is no number.) Twice is more."
    )
    assert [part.ok for part in result.parts.values()] == [False, False, False]
