"""Formulas are typeset at build: real outlines for every letter, and an error for what does not parse."""

import re

import pytest

from coursekit.book.formulas import Typesetter, _aligned


@pytest.fixture(scope="module")
def typesetter():
    made = Typesetter()
    yield made
    made.close()


def test_a_formula_is_an_svg_whose_letters_have_outlines(typesetter):
    svg = typesetter.set(r"\hat y = \underset{w}{\text{softmax}} \frac{a}{\sqrt{b}}", display=True)[0]
    assert svg.startswith("<svg ")
    used = set(re.findall(r'href="#([\w-]+)"', svg))
    assert len(used) > 10
    outlines = typesetter.outlines(svg)
    assert used == set(re.findall(r'<path id="([\w-]+)" d="M', outlines))


def test_a_page_gets_the_letters_it_uses_and_no_others(typesetter):
    (one, _), (two, _) = typesetter.set("x", False), typesetter.set("x + y", False)
    assert typesetter.outlines(one).count("<path") == 1
    assert typesetter.outlines(two).count("<path") == 3
    assert typesetter.outlines("<p>no formula</p>") == ""


@pytest.mark.parametrize(
    ("tex", "sentence"),
    [
        (r"\frac{a", "Missing close brace"),
        (r"\nothing", "Undefined control sequence"),
        ("a & b", "Misplaced &"),
    ],
)
def test_what_does_not_parse_is_an_error_and_the_next_formula_is_not(typesetter, tex, sentence):
    with pytest.raises(ValueError, match=sentence):
        typesetter.set(tex, False)
    assert "<use" in typesetter.set("z", False)[0]


def test_lines_are_aligned_and_paragraphs_stand_below_each_other(typesetter):
    assert _aligned("a + b") == "a + b"
    assert _aligned("a &= b \\\\\nc &= d") == "\\begin{split}a &= b \\\\\nc &= d\\end{split}"
    assert _aligned("a\n\nb") == r"\begin{gathered}a\\b\end{gathered}"
    assert "<use" in typesetter.set(_aligned("a &= b \\\\\nc &= d\n\ne"), True)[0]


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"h[t,j] = \sigma(W x)", "h of t, j equals sigma ( W x)"),
        (r"\frac{\partial J}{\partial W_{hh}}", "partial J over partial W sub h h"),
        (r"\sum_{k} \hat y_k^2", "sum over k of y hat sub k squared"),
        (r"1/\sqrt{I} \le 2 \\ a &\in B", "1 / root of I, at most 2; a in B"),
        (r"\underset{w}{\text{softmax}}\; z[w]", "softmax over w of z of w"),
    ],
)
def test_a_formula_can_be_read_aloud(typesetter, tex, words):
    assert typesetter.set(_aligned(tex), True)[1] == words
