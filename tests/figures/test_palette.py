"""One palette: legible on light and dark, distinct for the colour-blind."""

from itertools import combinations

import numpy as np
import pytest

from coursekit.figures import DASHES, PALETTE

PAGES = ("#ffffff", "#14181e", "#121212")

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "all cones": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


def linear(colour):
    v = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def contrast(one, two):
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, two))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    x = np.asarray(XYZ) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def apart(one, two, sight):
    return np.linalg.norm(
        lab(np.asarray(SIGHT[sight]) @ linear(one)) - lab(np.asarray(SIGHT[sight]) @ linear(two))
    )


def test_the_oracle_knows_red_from_green_and_that_some_do_not():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    red, green = "#c04040", "#708030"
    assert apart(red, green, "all cones") > 60
    assert apart(red, green, "no green") < 15


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colour", PALETTE)
def test_every_colour_stands_out_from_every_page(colour, page):
    assert contrast(colour, page) >= 3


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("pair", list(combinations(PALETTE, 2)))
def test_any_two_colours_are_told_apart_by_everyone(pair, sight):
    assert apart(*pair, sight) >= 15


def test_lines_differ_in_dash_too():
    assert len(set(map(str, DASHES))) == len(DASHES) == len(PALETTE)
