"""Words in their places: the paper's sinusoids, or none."""

import math

import pytest
import torch
from closeness import close
from pretend_device import pretend_device

from coursekit.models.guards import BadInput
from coursekit.models.positions import PlacedWords, sinusoidal

D = torch.float64
W = torch.tensor([[3, 1, 3, 0], [2, 2, 4, 1]])


@pytest.mark.parametrize("width", [6, 7])
def test_sinusoidal_is_the_formula_entry_by_entry(width):
    table = sinusoidal(9, width, torch.zeros(1, dtype=D))
    for t in range(9):
        for p in range(width):
            angle = t / 10000 ** (2 * (p // 2) / width)
            assert table[t, p] == pytest.approx(math.cos(angle) if p % 2 else math.sin(angle), abs=1e-12)


def test_a_shift_in_time_is_one_linear_map_of_the_sinusoids():
    table = sinusoidal(20, 8, torch.zeros(1, dtype=D))
    near_map = torch.linalg.lstsq(table[:-3], table[3:]).solution
    close(table[:-3] @ near_map, table[3:])


def test_a_placed_word_is_the_sum_of_the_word_and_its_place():
    layer = PlacedWords(5, 7).to(D)
    close(layer(W).detach(), layer.e[W].detach() + sinusoidal(4, 7, layer.e.detach()))


def test_without_positions_the_same_word_is_the_same_everywhere():
    L = PlacedWords(5, 6, kind="none")(W)
    assert torch.equal(L[0, 0], L[0, 2])
    assert not torch.equal(*PlacedWords(5, 6)(W)[0, [0, 2]])


@pytest.mark.parametrize("kind", ["sinusoidal", "none"])
def test_no_code_names_a_device(kind):
    layer = PlacedWords(5, 6, kind)
    expected = layer(W).detach()
    with pretend_device() as device:
        there = device.place(layer)(device.place(W))
        there.sum().backward()
        assert device.holds(there)
        torch.testing.assert_close(device.fetch(there), expected)
    assert PlacedWords(5, 6, kind).to("meta")(W.to("meta")).shape == (2, 4, 6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PlacedWords(4, 6)(W), "w of shape (2, 4) holds 4 at [1, 2]; it needs ids from 0 to 3"),
        (lambda: PlacedWords(5, 6)(W.double()), "whole numbers"),
        (lambda: PlacedWords(5, 6)(W[:, :0]), "w is empty"),
        (lambda: PlacedWords(5, 6, kind="guessed"), "kind is 'guessed'"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
