"""A right answer is written in every form that a student may choose; what a page would give away is found."""

import pytest
import torch

from coursekit import checks
from coursekit.authoring.corners import FORMS, in_form, text_forms
from coursekit.grading.prove import _leaked
from coursekit.notation.equations import Equations

SYSTEM = """
pad h
centered dx
E[t,i] = e[w[t],i]
h[t,j] = tanh(W_h[j,I] h[t-1,I] + W_x[j,I] E[t,I] / sqrt(I))
P[t,v] = softmax[v](e[v,I] h[t,I])
"""


def test_equations_are_written_in_other_ways_that_mean_the_same():
    right = Equations(SYSTEM.replace("centered dx\n", ""))
    forms = dict(text_forms(SYSTEM.replace("centered dx\n", "")))
    assert forms.keys() == {"LaTeX", "LaTeX with subscripts", "left-out lines", "own letters"}
    for form in ("LaTeX", "LaTeX with subscripts", "own letters"):
        written = Equations(forms[form], signature=right.signature)
        assert right.compare(written).equal, forms[form]
    assert "pad" not in forms["left-out lines"]
    assert "e[w[tz],iz]" in forms["own letters"]
    assert "sqrt(Iz)" in forms["own letters"]
    assert "W^{h}_{j,I}" in forms["LaTeX with subscripts"]


def test_text_that_is_no_equation_has_no_other_form():
    assert list(text_forms("n*m = =")) == []


def two(x, scale=2.0):
    return {"a": scale * x, "b": x.sum()}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_the_same_answer(form):
    result = checks.function(
        in_form(two, form), two, [{"x": torch.rand(3)}, {"x": torch.rand(5)}], returns=["a", "b"]
    )
    assert result.ok, (form, result.sentence)


def test_a_tuple_becomes_the_dict_that_the_question_names():
    pair = in_form(lambda x: (x, 2 * x), "a dict", ["one", "two"])
    assert pair(3) == {"one": 3, "two": 6}
    assert in_form(two, "a tuple")(torch.ones(2))[1] == 2


def test_parameters_may_have_names_of_the_students_own():
    own = in_form(two, "own parameter names")
    with pytest.raises(TypeError, match="unexpected keyword"):
        own(x=torch.ones(2))
    halves = checks.Property("half", "No.", lambda f: float(f(x=torch.ones(2), scale=0.5)["a"][0]) == 0.5)
    assert checks.properties(own, [halves]).ok, "called by name, in the order of the question"


def test_what_a_page_would_give_away_is_found():
    solution, answer = 'y = "a[i] b[i] + 17.25"', 'y = "a[i] + 3"'
    assert _leaked("`y` lacks `b[i]`; it should be 17.25.", answer, solution) == ["b[i]", "17.25"]
    assert _leaked("`a[i]` is not right: it gives 3.", answer, solution) == []
