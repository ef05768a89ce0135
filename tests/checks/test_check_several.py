"""Answers of several parts: each is judged by itself, and earns its own points."""

import pytest

from coursekit import checks
from coursekit.checks import CheckFailed, Mistake

RIGHT = {"forward": "2*J**2", "backward": "4*J**2"}


def one(answer, right, mistakes):
    return checks.closed_form(answer, right, symbols=["J"], mistakes=mistakes)


def test_entries_are_checked_one_by_one():
    assert checks.entries(one, RIGHT, RIGHT).ok
    half = checks.entries(one, {"forward": "J**2", "backward": "4*J**2"}, RIGHT)
    assert [name for name, part in half.parts.items() if part.ok] == ["backward"]
    assert half.sentence.startswith("`forward`: ")
    assert half.score(4) == 2


@pytest.mark.parametrize("answer", [None, "2*J**2", {}])
def test_an_answer_that_is_no_dict_has_no_entries(answer):
    result = checks.entries(one, answer, RIGHT)
    assert not any(part.ok for part in result.parts.values())


def test_a_named_mistake_is_told_for_the_entry_that_makes_it():
    once = Mistake("once", "You counted the way back once.", {"forward": "2*J**2", "backward": "2*J**2"})
    result = checks.entries(one, {"forward": "2*J**2", "backward": "2*J**2"}, RIGHT, mistakes=[once])
    assert result.part("forward").ok
    assert result.part("backward").mistake == "once"


def test_parts_are_right_together_or_say_which_is_not():
    good, bad = checks.value(3, 3), checks.value(4, 3)
    assert checks.parts({"a": good, "b": good}).ok
    both = checks.parts({"a": good, "b": bad})
    assert (both.ok, both.sentence) == (False, bad.sentence)


def test_a_whole_score_is_all_or_nothing():
    both = checks.parts({"a": checks.value(3, 3), "b": checks.value(4, 3)})
    assert both.score(4) == 2
    with pytest.raises(CheckFailed):
        both.score(4, whole=True)
    assert checks.parts({"a": checks.value(3, 3)}).score(4, whole=True) == 4


def test_the_numbers_of_an_entry_stand_under_its_name():
    counted = {"forward": lambda J: 2 * J, "backward": lambda J: 4 * J}
    at = [{"J": 3}, {"J": 5}]
    by_count = lambda answer, oracle, own: checks.closed_form(answer, symbols=["J"], oracle=oracle, at=at)
    result = checks.entries(by_count, {"forward": "J", "backward": "J"}, counted)
    assert result.columns[0] == "entry"
    assert [row[0] for row in result.rows] == ["forward", "forward", "backward", "backward"]


def test_entries_whose_form_alone_was_looked_at_are_not_called_right():
    growth = lambda answer, right, own: checks.big_o(answer, right, symbols=["T", "V"])
    result = checks.entries(growth, {"one": "T", "every": "V"}, {"one": None, "every": None})
    assert result.kind == "form"
    assert result.sentence.count("handed in") == 1
    numbers = checks.value({2000: 7.5, 10000: 9}, {2000: None, 10000: None})
    assert numbers.kind == "form"
    assert "read as 7.5" in numbers.sentence
