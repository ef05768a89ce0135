"""A mistake opens its own sentence, on every machine, and nothing else opens it."""

import hashlib
import random
import time

import pytest

from coursekit.checks.shown.locked import SLIP, Named, Outcome, hours, lock, unlock

SALT = "bptt/grads_t"


def numbers(seed, part="", n=30):
    draw = random.Random(seed)
    return Outcome(part, numbers=tuple(draw.gauss(0, 1) for _ in range(n)))


def mistakes(count=12):
    return [
        (
            f"mistake {n}",
            f"Sentence {n}, with an ŷ.",
            [numbers(10 * n + k, part) for k, part in enumerate("UHb")],
        )
        for n in range(count)
    ]


BOXES = lock(mistakes(), SALT)


def test_the_same_mistakes_give_the_same_text_and_another_salt_another_one():
    assert lock(mistakes(), SALT) == BOXES != lock(mistakes(), "bptt/other")


def test_every_mistake_opens_its_own_sentence():
    for name, sentence, outcomes in mistakes():
        assert unlock(BOXES, outcomes) == [Named(name, sentence, ("U", "H", "b"))]


def test_no_sentence_can_be_read_and_no_other_outcome_opens_one():
    assert "Sentence" not in BOXES
    assert unlock(BOXES, [numbers(5000, "U"), numbers(5001, "H")]) == []


@pytest.mark.parametrize("noise", [1e-12, 1e-6, 2e-5])
def test_rounding_on_another_machine_still_opens_it(noise):
    draw = random.Random(7)
    for name, _, outcomes in mistakes() * 20:
        scale = max(abs(x) for o in outcomes for x in o.numbers)
        move = lambda x, scale=scale: x + draw.uniform(-noise, noise) * scale
        moved = [Outcome(o.part, numbers=tuple(map(move, o.numbers))) for o in outcomes]
        assert [m.name for m in unlock(BOXES, moved)] == [name]


def test_a_thousandth_more_does_not():
    moved = [Outcome(o.part, numbers=tuple(1.002 * x for x in o.numbers)) for o in mistakes()[0][2]]
    assert unlock(BOXES, moved) == []


def test_two_mistakes_in_two_parts_are_both_told():
    boxes = lock([("a", "First.", [numbers(1, "U")]), ("b", "Second.", [numbers(2, "H")])], SALT)
    found = unlock(boxes, [numbers(1, "U"), numbers(2, "H"), numbers(3, "b")])
    assert [(m.name, m.parts) for m in found] == [("a", ("U",)), ("b", ("H",))]


def test_a_mistake_that_would_spoil_a_part_which_is_right_was_not_made():
    assert unlock(BOXES, mistakes()[1][2][:1]) == []


def test_where_two_mistakes_look_alike_none_is_told():
    twins = [("a", "First.", [numbers(1)]), ("b", "Second.", [numbers(1)]), ("c", "Third.", [numbers(2)])]
    boxes = lock(twins, SALT)
    assert unlock(boxes, [numbers(1)]) == []
    assert [m.name for m in unlock(boxes, [numbers(2)])] == ["c"]


def test_a_part_that_two_mistakes_share_is_told_apart_by_another_part():
    pair = [("a", "First.", [numbers(1, "U"), numbers(2, "H")]), ("b", "Second.", [numbers(1, "U")])]
    boxes = lock(pair, SALT)
    assert [m.name for m in unlock(boxes, [numbers(1, "U"), numbers(2, "H")])] == ["a"]
    assert [m.name for m in unlock(boxes, [numbers(1, "U")])] == ["b"]


def test_text_numbers_with_their_own_tolerance_and_infinities_open_too():
    odd = (1.0, float("inf"), float("nan"), 2.0)
    kinds = [
        ("formula", "A formula.", [Outcome(text="2*h")]),
        ("number", "A number.", [Outcome(numbers=(7.6,), reach=1e-3)]),
        ("odd", "Not finite.", [Outcome(numbers=odd)]),
    ]
    boxes = lock(kinds, SALT)
    for name, _, outcomes in kinds:
        assert [m.name for m in unlock(boxes, outcomes)] == [name]
    assert [m.name for m in unlock(boxes, [Outcome(numbers=(7.6009,), reach=1e-3)])] == ["number"]
    assert unlock(boxes, [Outcome(numbers=(7.605,), reach=1e-3)]) == []


def test_six_wrong_parts_cost_a_student_less_than_a_blink():
    outcomes = [numbers(n, f"part {n}") for n in range(6)]
    begin = time.process_time()
    unlock(BOXES, outcomes)
    assert time.process_time() - begin < 0.2


def test_one_core_needs_more_than_an_hour_for_a_number_of_seven_digits(monkeypatch):
    guess = Outcome(numbers=(3.141593,), reach=1e-6)
    assert hours(guess) > 1 > hours(Outcome(numbers=(3.14159,), reach=1e-5))
    # Each guess that `hours` counts costs one scrypt of 16 MiB, and nothing cheaper would do.
    costs, scrypt = [], hashlib.scrypt
    monkeypatch.setattr(hashlib, "scrypt", lambda *a, **k: costs.append(k["n"] * k["r"]) or scrypt(*a, **k))
    lock([("guessed", "A guess.", [guess])], "a fresh salt")
    assert costs == [2**14 * 8]


def test_what_is_no_box_gets_one_sentence():
    with pytest.raises(ValueError, match="coursekit release"):
        unlock("number$1$2", [numbers(1)])


def test_a_named_mistake_goes_before_a_slip_that_comes_to_the_same():
    exact, rounded = numbers(1), numbers(1)
    rounded = Outcome(numbers=tuple(n * (1 + 1e-15) for n in rounded.numbers))
    boxes = lock(
        [("divided", "You divided.", [exact]), (f"{SLIP}twice", "Something twice.", [rounded])], SALT
    )
    assert [m.name for m in unlock(boxes, [exact])] == ["divided"]
    two = lock([("one", "One.", [exact]), ("other", "Other.", [rounded])], SALT)
    assert unlock(two, [exact]) == []
