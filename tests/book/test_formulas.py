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
    svg = typesetter.svg(r"\hat y = \underset{w}{\text{softmax}} \frac{a}{\sqrt{b}}", display=True)
    assert svg.startswith("<svg ")
    used = set(re.findall(r'href="#([\w-]+)"', svg))
    assert len(used) > 10
    outlines = typesetter.outlines(svg)
    assert used == set(re.findall(r'<path id="([\w-]+)" d="M', outlines))


def test_a_page_gets_the_letters_it_uses_and_no_others(typesetter):
    one, two = typesetter.svg("x", False), typesetter.svg("x + y", False)
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
        typesetter.svg(tex, False)
    assert "<use" in typesetter.svg("z", False)


def test_lines_are_aligned_and_paragraphs_stand_below_each_other(typesetter):
    assert _aligned("a + b") == "a + b"
    assert _aligned("a &= b \\\\\nc &= d") == "\\begin{split}a &= b \\\\\nc &= d\\end{split}"
    assert _aligned("a\n\nb") == r"\begin{gathered}a\\b\end{gathered}"
    assert "<use" in typesetter.svg(_aligned("a &= b \\\\\nc &= d\n\ne"), True)
