"""Sliders: whole without a script, small, alone on a page or not, the same bytes each time."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from coursekit import data, figures
from coursekit.notation import Equations


def frames(count=3):
    return [figures.temperature([1.0, 0.0], ["a", "b"], 0.5 + n) for n in range(count)]


class Page(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def frames(self):
        return [a for tag, a in self.tags if "data-frame" in a]


@pytest.fixture(scope="module")
def html():
    return figures.slider(
        frames(), labels=[0.5, 1.5, 2.5], name="heat", caption="It <flattens>."
    )._repr_html_()


def test_without_a_script_one_frame_shows_and_the_others_do_not(html):
    shown = [a["data-frame"] for a in Page(html).frames() if "display:none" not in a.get("style", "")]
    assert shown == ["0.5"]
    assert "<script" not in html


@pytest.mark.parametrize(("given", "told"), [({}, 2), ({"start": 1}, 1), ({"start": 1, "told": 0}, 0)])
def test_paper_shows_what_the_author_says_or_where_it_starts_or_the_last(given, told):
    page = Page(figures.slider(frames(), caption="It flattens.", **given)._repr_html_())
    assert ["ck-told" in a["class"] for a in page.frames()] == [n == told for n in range(3)]


def test_the_slider_is_named_and_every_frame_has_words(html):
    page = Page(html)
    ((_, control),) = [(t, a) for t, a in page.tags if t == "input"]
    assert (control["type"], control["min"], control["max"], control["value"]) == ("range", "0", "2", "0")
    assert (control["aria-label"], control["aria-valuetext"]) == ("heat", "0.5")
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in page.frames())
    assert "It &lt;flattens&gt;." in html


def test_nothing_is_loaded_from_anywhere(html):
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html.replace('xlink:href="#', 'href="#'))
    assert not re.search(r"https?://(?!www\.w3\.org/)", html)


def test_ids_are_unique_within_a_slider_and_every_reference_is_found(html):
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) > 0
    wanted = set(re.findall(r"url\(#([^)]+)\)", html)) | set(re.findall(r'href="#([^"]+)"', html))
    assert wanted
    assert wanted <= set(ids)


def test_two_sliders_share_no_id(html):
    other = figures.slider(frames(2), name="other", caption="Another.")._repr_html_()
    find = lambda text: set(re.findall(r'\bid="([^"]+)"', text))
    assert not find(html) & find(other)


def test_the_same_slider_is_the_same_bytes(html):
    again = figures.slider(frames(), labels=[0.5, 1.5, 2.5], name="heat", caption="It <flattens>.")
    assert again._repr_html_() == html


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: figures.slider(frames(1)), "caption is empty"),
    ],
)
def test_a_slider_that_makes_no_sense_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


PAIR = data.translation(1).pairs[0]
UNIFORM = np.full((len(PAIR.target), len(PAIR.source)), 1 / len(PAIR.source))
READY = {
    "exploding": (lambda: figures.exploding_slider(radii=(0.8, 1.0, 1.2)), 3),
    "temperature": (lambda: figures.temperature_slider([1, 0], ["a", "b"], (0, 1)), 2),
    "pattern": (lambda: figures.pattern_slider("window", 8, (1, 2)), 2),
    "attention": (
        lambda: figures.slider(
            [figures.attention(UNIFORM, PAIR.source, PAIR.target)] * 2, [0, 1], name="step", caption="It aligns."
        ), 2
    ),
    "gradient": (lambda: figures.gradient_slider([{"GRU": [1, v]} for v in (0.1, 2)], [0, 1], "step", "It fades."), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", READY)
def test_every_figure_moves_and_is_light(name):
    make, count = READY[name]
    html = make()._repr_html_()
    shown = Page(html).frames()
    assert len(shown) == count
    assert len(html) / count < 20_000  # fifteen frames are below 300 KB
    if name != "attention":
        assert len({a["aria-label"] for a in shown}) == count


def test_all_frames_of_a_slider_have_one_size():
    made = figures.gradient_slider([{"GRU": [1, v]} for v in (0.1, 2)], [0, 1], "step", "It fades.")
    assert len({re.search(r'viewBox="[^"]+"', frame.svg)[0] for frame in made.frames}) == 1


def test_drawings_of_equations_slide_too_and_keep_their_references():
    rnn = Equations("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])")
    html = figures.slider(
        [rnn.draw(steps=n) for n in (1, 2)], [1, 2], name="steps", caption="Unrolled."
    )._repr_html_()
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    named = [name for names in re.findall(r'aria-labelledby="([^"]+)"', html) for name in names.split()]
    wanted = {*named, *re.findall(r"url\(#([^)]+)\)", html)}
    assert named
    assert wanted <= set(ids)
