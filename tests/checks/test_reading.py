"""A panel shows the answer as it was read: typeset without a script, with shapes, the wrong place marked."""

import re
from xml.dom import minidom

import pytest
import torch

from coursekit import checks
from coursekit.checks.shown.mathml import mathml
from coursekit.models import captioning, cells, rnn_lm, trigram
from coursekit.notation.equations import Equations
from coursekit.notation.formulas.closed_form import ClosedForm
from coursekit.notation.latex import latex

SYSTEMS = [
    captioning.EQUATIONS,
    rnn_lm.EQUATIONS,
    trigram.EQUATIONS,
    cells.GRU.equations,
    cells.LSTM.equations,
]


def words(math):
    """Every leaf of the markup, in order."""
    return [n.data for e in math.getElementsByTagName("*") for n in e.childNodes if n.nodeType == n.TEXT_NODE]


@pytest.mark.parametrize("text", SYSTEMS)
def test_every_equation_is_set_as_well_formed_markup_with_its_letters(text):
    for equation in Equations(text).program.equations:
        written = latex(equation, page=True)
        seen = words(minidom.parseString(mathml(written)))
        assert not any("\\" in word for word in seen), seen
        for letter in set(re.sub(r"\\[A-Za-z]+|[^A-Za-z]", " ", written).split()):
            assert letter in "".join(seen)


@pytest.mark.parametrize(
    ("text", "shape"),
    [("n**2/2", "mfrac"), ("sqrt(n)", "msqrt"), ("2**n", "msup"), ("n*log(n)", "log")],
)
def test_formulas_are_set_too(text, shape):
    assert shape in mathml(ClosedForm(text).latex())
    assert shape in checks.closed_form(text, "n", symbols=["n"])._repr_html_()


def test_text_cases_and_unknown_commands_are_set_and_nothing_escapes():
    math = mathml(r"y = \begin{cases} x_{1}' & \text{if } a < b \\ \foo & \text{otherwise} \end{cases}")
    assert "if\u00a0" in math
    assert "foo" in math
    assert "&lt;" in math
    minidom.parseString(math.replace("\u00a0", " "))
    minidom.parseString(mathml(r"\text{<script>} \frac{1}{"))


def given(J=3, K=2):
    g = torch.Generator().manual_seed(0)
    return {
        n: torch.randn(s, generator=g, dtype=torch.float64)
        for n, s in (("W", (J, K)), ("x", (K,)), ("B", (J,)))
    }


def two(W, x, B):
    return {"z": W @ x, "y": torch.tanh(W @ x - B)}


def check(text):
    return checks.equations(text, oracle=two, given=given())


def test_a_panel_of_equations_shows_shapes_and_marks_the_wrong_line():
    html = check("z[j] = W[j,K] x[K]\ny[j] = sigmoid(z[j] - B[j])")._repr_html_()
    rows = re.findall(r"<tr style=\"background:([^\"]*)\"><td[^>]*>(.*?)</tr>", html)
    assert [background == "transparent" for background, _ in rows[:2]] == [True, False]
    assert html.index("<math") < html.index("✗") < html.index("entry"), (
        "the answer, the sentence, the numbers"
    )
    assert "W: 3 × 2" in html
    assert "<td" in html


def test_what_a_page_prints_is_read_with_what_the_question_knows():
    assert check(r"z_j = \sum_k W_{j,k} x_k" + "\n" + r"y_j = \tanh(z_j - B_j)").ok
    assert not check(r"z_j = \sum_k W_{j,k} x_k" + "\n" + r"y_j = \tanh(z_j + B_j)").ok


def test_parts_show_the_shapes_of_what_was_returned():
    html = checks.function(lambda W, x, B: (W @ x, x), two, given(), returns=["z", "y"])._repr_html_()
    assert re.search(r"✓ z <span[^>]*>3</span>", html)
