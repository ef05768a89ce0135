"""Every figure: same bytes each time, the page's ink, words, and a sentence for bad input."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch

from coursekit import data, figures
from coursekit.models.cells import GRU, LSTM, UGRNN, Vanilla
from coursekit.models.patterns import mask
from coursekit.train import History

HISTORY = History([3.0 / (n + 1) + 1 for n in range(60)], [1.0] * 60, [(30, 1.2), (60, 1.1)], limit=0.9)
ALPHA = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
SCENES = data.Scenes.draw(2, size=3)
PARSE = data.Parse(("we", "like", "boats"), (1, -1, 1), ("nsubj", "root", "dobj"))
EVERY = {
    "loss": lambda: HISTORY.plot(),
    "losses": lambda: figures.loss_curve({"GRU": HISTORY, "LSTM": HISTORY}),
    "norms": lambda: figures.gradient_norms({"GRU": [1, 0.1, 0.01], "LSTM": [1, 0.5, 0.0]}),
    "eigenvalues": lambda: figures.eigenvalues(np.diag([0.5, 1.2]), {"linear": [1, 2, 4]}),
    "temperature": lambda: figures.temperature([2.0, 1.0], ["a", "b"], 0.5),
    "attention": lambda: figures.attention(ALPHA, ["x", "y", "z"], ["p", "q"], {(0, 0), (1, 1)}),
    "row": lambda: figures.attention(ALPHA, row=1),
    "pattern": lambda: figures.pattern(mask("window", 6, 2), "window"),
    "gates": lambda: figures.gates({"G1": np.full((4, 3), 0.25)}, ["a", "b", "c", "d"]),
    "scene": lambda: figures.scene(SCENES.things[0], 3, np.full((3, 3), 1 / 9), "red", (0, 1)),
    "arcs": lambda: figures.arcs(PARSE, [[0.1, 0.8, 0.1], [0, 1, 0], [0.6, 0.2, 0.2]]),
    "images": lambda: figures.images([np.zeros((2, 8, 8)), np.ones((2, 8, 8))], ["given", "true"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def drawn():
    return {name: make() for name, make in EVERY.items()}


@pytest.mark.parametrize("name", EVERY)
def test_a_figure_is_wellformed_light_and_wears_the_pages_ink(drawn, name):
    svg = drawn[name].svg
    ET.fromstring(svg)
    assert len(svg) < 25_000
    assert "currentColor" in svg or name == "images"
    assert "#010203" not in svg  # the stand-in for the page's ink
    assert not re.search(
        r"(fill|stroke): ?(#000000|black|#ffffff|white)", svg
    )  # on one page it would be lost
    assert not re.search(r"font:|font-family", svg)  # no font of its own
    assert "<metadata" not in svg
    assert "<style" not in svg  # it would reach the rest of the page
    assert len(drawn[name].alt) > 20
    assert f'aria-label="{drawn[name].alt[:10]}' in drawn[name]._repr_html_()


@pytest.mark.parametrize("name", ["loss", "attention", "eigenvalues"])
def test_the_same_drawing_gives_the_same_bytes(drawn, name):
    assert EVERY[name]().svg == drawn[name].svg


def test_the_words_say_what_can_be_seen(drawn):
    assert drawn["loss"].alt == "Loss by step: training goes from 4.000 to 1.050; the limit is 0.900."
    assert "p at x (0.70); q at z (0.80)" in drawn["attention"].alt
    assert "1 of the 2 gold links" in drawn["attention"].alt
    assert "1 of 2 outside the unit circle, spectral radius 1.20" in drawn["eigenvalues"].alt
    assert "we nsubj of like; boats dobj of like. Attention finds 1 of 2 heads." in drawn["arcs"].alt
    assert "11 of 36 pairs" in drawn["pattern"].alt
    assert "a 0.88, b 0.12" in drawn["temperature"].alt


def test_the_limit_is_drawn_and_labelled(drawn):
    assert "limit 0.900 (perplexity 2.46)" in drawn["loss"].svg
    assert "limit" not in figures.loss_curve(History([2.0, 1.0], [1.0, 1.0])).svg


@pytest.mark.parametrize("name", EVERY)
def test_no_letter_is_too_small_on_a_phone(drawn, name):
    for svg in re.findall(r"<svg.*?</svg>", drawn[name].svg, re.DOTALL):
        scale = min(1, 340 / (float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]) * 4 / 3)) * 4 / 3
        sizes = [float(size) * scale for size in re.findall(r"font-size: ([\d.]+)px", svg)]
        assert min(sizes, default=9) >= 9


def test_panels_are_drawn_apart_each_with_its_own_part(drawn):
    left, right = re.findall(r"<svg.*?</svg>", drawn["eigenvalues"].svg, re.DOTALL)
    assert "imaginary part" in left
    assert "imaginary part" not in right
    assert "steps back" in right
    assert not set(re.findall(r'\bid="([^"]+)"', left)) & set(re.findall(r'\bid="([^"]+)"', right))


def test_numbers_that_would_touch_are_thinned_and_words_are_turned():
    with figures.in_style():
        figure, (ax,) = figures.canvas(2, 2)
        ax.set_xticks(range(0, 100000, 5000))
        thinned = figures.picture(figure, "Many numbers.").svg
        figure, (ax,) = figures.canvas(2, 2)
        ax.set_xticks(range(4), ["harbours"] * 4)
        turned = figures.picture(figure, "Long words.").svg
    assert 2 <= len(re.findall(r">\d+0000?<", thinned)) < 10
    assert turned.count("rotate(-90") == 4


def test_names_of_points_do_not_touch_even_where_the_points_do():
    from matplotlib.transforms import Bbox

    with figures.in_style():
        figure, (ax,) = figures.canvas(5, 4)
        ax.set(xlim=(-1, 1), ylim=(-1, 1))
        figures.name_points(ax, np.zeros((8, 2)), ["captain"] * 8)
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert all(not Bbox.intersection(a, b) for n, a in enumerate(boxes) for b in boxes[:n])


def test_drawing_leaves_matplotlib_as_it_was():
    import matplotlib

    before = dict(matplotlib.rcParams)
    EVERY["temperature"]()
    assert dict(matplotlib.rcParams) == before


def test_zero_temperature_is_the_largest_logit_and_infinite_is_uniform():
    assert "b 1.00, a 0.00" in figures.temperature([1, 2], ["a", "b"], 0).alt
    assert "0.50" in figures.temperature([1, 2], ["a", "b"], 1e9).alt


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: figures.loss_curve(History()), "no steps yet"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(make, says):
    with pytest.raises(ValueError, match=says):
        make()


# What is measured for the figures


@pytest.mark.parametrize("cell", [Vanilla, UGRNN, GRU, LSTM])
def test_gradient_norms_match_autograd_through_the_whole_cell(cell):
    torch.manual_seed(0)
    cell = cell(3, 4, dtype=torch.float64)
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    norms = figures.gradient_norms_through_time(cell, x)
    # The oracle: the state at t is given from outside, and the fast path runs the rest.
    for t in range(5):
        _, state = cell(x[:, : t + 1])
        parts = [s.detach().requires_grad_() for s in (state if isinstance(state, tuple) else (state,))]
        h, _ = cell(x[:, t + 1 :], tuple(parts) if len(parts) > 1 else parts[0])
        found = torch.autograd.grad(h[:, -1].sum(), parts)
        assert norms[t] == pytest.approx(float(torch.cat(found, -1).norm(dim=-1).mean()), rel=1e-10)
    assert norms[5] == pytest.approx(2.0)  # the last state's own: ones, four of them


@pytest.mark.parametrize(("cell", "names"), [(UGRNN, {"G"}), (GRU, {"G1", "G2"}), (LSTM, {"Gf", "Gi", "Go"})])
def test_gates_are_those_of_the_cell(cell, names):
    cell = cell(3, 4)
    gates = figures.gate_activity(cell, torch.randn(2, 5, 3))
    assert set(gates) == names
    for gate in gates.values():
        assert gate.shape == (5, 4)
        assert (gate > 0).all()
        assert (gate < 1).all()


def test_a_gate_that_is_forced_open_is_seen_open():
    cell = UGRNN(3, 4)
    with torch.no_grad():
        cell.B_G.fill_(-50.0)
    assert figures.gate_activity(cell, torch.randn(1, 5, 3))["G"].min() > 0.999


def test_backward_norms_match_autograd():
    W = figures.matrix_with_radius(5, 1.2)
    assert max(abs(np.linalg.eigvals(W))) == pytest.approx(1.2)
    for activation in ("linear", "tanh"):
        draw = np.random.default_rng(0)
        h0, d = torch.tensor(draw.standard_normal(5), requires_grad=True), draw.standard_normal(5)
        h = h0
        for _ in range(7):
            h = torch.tensor(W) @ h
            h = torch.tanh(h) if activation == "tanh" else h
        (found,) = torch.autograd.grad(h @ torch.tensor(d / np.linalg.norm(d)), h0)
        assert figures.backward_norms(W, 7, activation)[-1] == pytest.approx(float(found.norm()), rel=1e-10)


def test_measuring_keeps_to_the_device_of_its_inputs():
    from pretend_device import pretend_device

    torch.manual_seed(0)
    cell, x = GRU(3, 4), torch.randn(2, 5, 3)
    norms, gates = figures.gradient_norms_through_time(cell, x), figures.gate_activity(cell, x)
    with pretend_device() as device:
        cell, x = device.place(cell), device.place(x)
        assert figures.gradient_norms_through_time(cell, x) == pytest.approx(norms)
        elsewhere = figures.gate_activity(cell, x)
    assert all(np.allclose(elsewhere[name], gates[name]) for name in gates)
