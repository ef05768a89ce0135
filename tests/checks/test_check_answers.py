"""Numbers, choices and orders: right ones pass in every form, wrong ones get their sentence."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coursekit import checks
from coursekit.checks import Mistake, digest
from coursekit.checks.shown.locked import buckets
from coursekit.notation.formulas.closed_form import ClosedForm
from coursekit.notation.formulas.growth import Growth

LN = math.log(2000)


@pytest.mark.parametrize("form", [float, np.float64, np.float32, torch.tensor, lambda x: np.array([x])[0]])
def test_number_passes_in_every_form(form):
    assert checks.value(form(7.6009), 7.6009, within=1e-4).ok


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e-1), st.floats(-1, 1))
def test_digest_accepts_every_number_within_its_tolerance(value, within, share):
    near = value + 0.999 * share * within
    assert buckets(value, within)[0] in buckets(near, within)


@given(st.floats(-1e3, 1e3), st.floats(1e-4, 1e-1), st.floats(3.01, 1e3), st.sampled_from([1, -1]))
def test_digest_rejects_every_number_beyond_three_tolerances(value, within, times, sign):
    assert buckets(value, within)[0] not in buckets(value + sign * times * within, within)


def test_digest_shows_neither_number_nor_the_same_text_twice():
    first, second = digest(LN, within=2e-5), digest(LN, within=2e-5)
    assert first != second
    assert "7.6" not in first
    assert checks.value(7.6009, first).ok
    assert checks.value(7.6009, second).ok
    assert not checks.value(7.601, first).ok


def test_a_number_that_is_found_by_trying_has_no_digest():
    with pytest.raises(ValueError, match="found by trying in 1 minutes: ask for more digits"):
        digest(LN, within=1e-3)
    assert checks.value(7.601, digest(LN, within=1e-3, anyway=True)).ok


def test_digest_of_a_number_needs_its_tolerance():
    with pytest.raises(ValueError, match="within"):
        digest(3.0)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(None, "empty"), (..., "empty"), ("", "empty"), ("7.6", "type"), (True, "type"), ([1, 2], "type"),
     (math.nan, "nan"), (math.inf, "nan"), (1j, "type"), (print, "type"), (object(), "type")],
)  # fmt: skip
def test_answer_that_is_no_number_gets_a_sentence(answer, kind):
    for expected in (7.6, digest(7.6, within=0.1, anyway=True), None):
        result = checks.value(answer, expected)
        assert not result.ok
        assert result.kind == kind


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(-LN, "sign"), (LN / math.log(2), "unit"), (math.log10(2000), "unit"), (LN * 100, "factor"), (1 / LN, "inverse"),
     (3.0, "other")],
)  # fmt: skip
def test_wrong_number_is_related_to_the_right_one(answer, kind):
    assert checks.value(answer, LN).kind == kind


@pytest.mark.parametrize("hide", [False, True])
def test_unit_is_part_of_the_answer(hide):
    units = {"nats": LN, "bits": LN / math.log(2)}
    if hide:
        units = {name: digest(x, within=1e-3, anyway=True) for name, x in units.items()}
    check = lambda answer, unit: checks.value(answer, None, unit=unit, units=units, within=1e-3)
    assert check(7.6009, "nats").ok
    assert check(10.9658, " Bits ").ok
    swapped = check(10.9658, "nats")
    assert swapped.kind == "unit"
    assert "right number in bits" in swapped.sentence
    assert check(7.6009, None).kind == "empty"
    assert "one of" in check(7.6009, "hats").sentence
    assert not check(5.0, "nats").ok


def test_named_wrong_number_gets_its_sentence():
    mistake = Mistake("base", "You took the logarithm to base 10.", math.log10(2000))
    result = checks.value(3.30103, LN, mistakes=[mistake], within=1e-4)
    assert (result.sentence, result.mistake) == (mistake.sentence, "base")


def test_numbers_in_a_dict_or_list_are_judged_one_by_one():
    row = {"I": 0, "prefer": 0, "flight": 1}
    assert checks.value({"I": 0.0, "prefer": 0, "flight": 1.0}, row).ok
    result = checks.value({"I": 0, "prefer": 1, "flight": 1}, row)
    assert [name for name, part in result.parts.items() if not part.ok] == ["prefer"]
    assert checks.value({"I": 0, "prefer": 0}, row).kind == "missing"
    assert checks.value({**row, "plane": 0}, row).kind == "extra"
    assert checks.value(torch.tensor([1.0, 2.0]), [1, 2]).ok
    assert checks.value([1.0, 2.5], [1, 2]).part("1").ok is False
    assert checks.value(3, [1, 2]).kind == "type"


def test_named_wrong_numbers_get_their_sentence():
    flat = Mistake("flat", "Attention of one head on one word is one-hot.", [0.5, 0.5])
    assert checks.value([0.5, 0.5], [0, 1], mistakes=[flat]).mistake == "flat"
    assert checks.value([0.5, 1.0], [0, 1], mistakes=[flat]).mistake == ""
    assert checks.value([0, 1], [0, 1], mistakes=[flat]).ok


@pytest.mark.parametrize("answer", ["b", "B", " b ", ["b"], {"b"}])
def test_single_choice_passes_however_it_is_written(answer):
    assert checks.choice(answer, "b", options="abcd").ok


@pytest.mark.parametrize("answer", ["a,c", "c, a", ["a", "c"], {"A", "C"}, ("c", "a", "a")])
def test_several_choices_pass_in_any_order(answer):
    assert checks.choice(answer, {"a", "c"}, options="abcd").ok


@pytest.mark.parametrize("answer", ["a", "a,b,c", "b,d", {"a", "d"}])
def test_wrong_choices_fail(answer):
    assert not checks.choice(answer, {"a", "c"}, options="abcd").ok


def test_each_option_of_several_is_a_part():
    result = checks.choice("a,d", {"a", "c"}, options="abcd")
    assert {name: part.ok for name, part in result.parts.items()} == {
        "a": True,
        "b": True,
        "c": False,
        "d": False,
    }


def test_tempting_option_gets_its_sentence():
    why = Mistake("causal", "A causal mask still leaves T(T+1)/2 pairs.", {"a", "c", "d"})
    only = checks.choice("a,c,d", {"a", "c"}, options="abcd", mistakes=[why])
    assert only.sentence == why.sentence
    beside = checks.choice("a,d", {"a", "c"}, options="abcd", mistakes=[why])
    assert beside.sentence == f"`c` should be chosen. {why.sentence}", "one slip does not hide the other"
    alone = Mistake("causal", why.sentence, "d")
    assert checks.choice("d", "a", options="abcd", mistakes=[alone]).mistake == "causal"
    assert checks.choice("b", "a", options="abcd", mistakes=[alone]).mistake == ""


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(None, "empty"), ("", "empty"), ([], "empty"), ("e", "type"), (2.5, "type"), ([[1]], "type")],
)
def test_choice_that_is_none_gets_a_sentence(answer, kind):
    assert checks.choice(answer, "b", options="abcd").kind == kind


def test_label_with_a_comma_is_one_option():
    options = ["T, always", "T^2"]
    assert checks.choice("T, always", "T, always", options=options).ok


STEPS = ["forward", "loss", "backward", "update"]


@pytest.mark.parametrize(
    "answer", [STEPS, tuple(STEPS), "forward, loss, backward, update", [s.upper() for s in STEPS]]
)
def test_right_order_passes(answer):
    assert checks.ordering(answer, STEPS).ok


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(["loss", "forward", "backward", "update"], "order"), (STEPS[:3], "missing"), (STEPS + ["loss"], "extra"),
     (STEPS[:3] + ["sleep"], "extra"), (None, "empty"), ([], "empty"), (3, "type"), ([1.5], "type")],
)  # fmt: skip
def test_wrong_order_gets_a_sentence(answer, kind):
    assert checks.ordering(answer, STEPS).kind == kind


def test_wrong_order_names_the_first_pair_where_the_answer_is_known():
    result = checks.ordering(["forward", "backward", "loss", "update"], STEPS)
    assert "`loss` must come before `backward`" in result.sentence
    assert "`" not in result.own


def test_partial_order_accepts_every_order_that_keeps_it():
    before = [("a", "c"), ("b", "c")]
    assert checks.ordering("a,b,c", before=before).ok
    assert checks.ordering("b,a,c", before=before).ok
    assert not checks.ordering("a,c,b", before=before).ok


def test_named_wrong_order_gets_its_sentence():
    swapped = Mistake("early", "The loss comes first.", ["forward", "backward", "loss", "update"])
    assert checks.ordering(swapped.wrong, STEPS, mistakes=[swapped]).sentence == "The loss comes first."


def test_number_and_choice_need_no_torch():
    import subprocess
    import sys

    code = (
        "import sys\nfrom coursekit import checks\n"
        "assert checks.value(3, 3) and checks.choice('a', 'a') and checks.ordering('a,b', ['a', 'b'])\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_answer_rounded_to_the_tolerances_own_digits_is_never_rejected():
    for n in range(2000):
        number = 1 + n * 0.00137
        assert buckets(number, 1e-4)[0] in buckets(round(number, 4), 1e-4), number


def test_entries_that_are_no_numbers_make_no_named_mistake():
    mistake = Mistake("halved", "You halved it.", {"a": 1.0, "b": 2.0})
    for answer in ({"a": "two", "b": "four"}, {"a": 1.0, "b": None}):
        result = checks.value(answer, {"a": 2.0, "b": 4.0}, mistakes=[mistake])
        assert result.mistake == ""
        assert "You halved it" not in result.sentence


@pytest.mark.parametrize("form", [tuple, list, np.array, torch.tensor])
def test_numbers_without_their_names_are_taken_in_the_questions_order(form):
    assert checks.value(form([2.0, 4.0]), {"a": 2.0, "b": 4.0}).ok
    assert not checks.value(form([4.0, 2.0]), {"a": 2.0, "b": 4.0}).ok


def test_numbers_that_are_too_few_are_asked_for_by_name():
    result = checks.value([2.0], {"a": 2.0, "b": 4.0})
    assert result.sentence == "Answer with a dict that has the keys `a` and `b`; this is a list of 1."


@pytest.mark.parametrize(
    "result",
    [
        lambda: checks.choice("b", options="abc"),
        lambda: checks.ordering("b,a", items="ab"),
        lambda: checks.edges("a -> b"),
        lambda: checks.big_o("V*D", symbols=["V", "D"]),
        lambda: checks.value(3, None),
        lambda: checks.value({"a": 3}, {"a": None}),
    ],
)
def test_an_answer_that_could_be_tried_out_is_read_and_judged_later(result):
    result = result()
    assert (result.ok, result.kind) == (True, "form")
    assert "after you have handed in" in result.sentence
    assert "✓" not in str(result) + result._repr_html_()


@pytest.mark.parametrize("answer", ["ace", "a c e", "a, c and e", "A; C; E", "e & c & a"])
def test_several_choices_may_be_written_in_one_text(answer):
    assert checks.choice(answer, {"a", "c", "e"}, options="abcdef").ok
    assert (
        checks.choice("abz", {"a"}, options="abc").sentence
        == "`abz` is not one of the options `a`, `b` and `c`."
    )


FEW = "choice|order|edges|growth"  # spaces so small that no hash is slow enough


def weak(text):
    """The digests in a text that one core opens within an hour: those of few options, or of a hash that is not slow."""
    found = re.finditer(rf"\b(number|formula|{FEW})\$[^$\s\"']*\$[^$\s\"']*\$[~0-9a-f,]{{20,}}", text)
    return [match[0] for match in found if re.match(FEW, match[0]) or "$~" not in match[0]]


def test_digests_that_could_be_opened_are_found_in_a_notebook():
    good = [digest(LN, within=1e-5), digest(ClosedForm("n*m + n", symbols=["n", "m"]))]
    few = ["choice$1a2b$$~" + "0" * 20, "order$1a2b$3$~" + "0" * 20, "growth$1a2b$$~" + "0" * 20]
    quick = ["number$f1$1e-05$7c64538b589f3bf21c74", "edges$a9$2$348227d8287cf73e9d19,566e70d72c6679c596ea"]
    cell = "checks.value(x, '{}')\n"
    assert weak("".join(cell.format(text) for text in good + few + quick)) == few + quick


@pytest.mark.parametrize("value", ["b", {"a", "c"}, ["a", "b"], {("a", "b")}, Growth("n", symbols=["n"])])
def test_few_options_have_no_digest(value):
    with pytest.raises(ValueError, match="all can be tried"):
        digest(value)


NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_digest_in_a_released_notebook_is_opened_in_an_hour(path):
    """A number that is found sooner is refused where its digest is made; few options have none; no hash is quick."""
    text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])
    assert weak(text) == []


def test_a_relation_is_named_only_where_it_holds():
    assert checks.value(-0.01, -0.1).sentence == "-0.01 is not right."  # no logarithm of a negative number
    assert checks.value(0.5, -3.0).kind == "other"
    assert checks.value(285.4, 285, within=0.25, relative=False).sentence.endswith(
        "a whole number is asked for."
    )
