"""Dimension sizes from shapes: what is derived, what is joined, and what is refused (see also test_run_ways)."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from coursekit.notation.check.checker import check
from coursekit.notation.errors import NotationError
from coursekit.notation.meaning.reach import check_reads
from coursekit.notation.meaning.sizes import infer_sizes
from coursekit.notation.parse.parser import parse


def sizes(text: str, shapes: dict, boundary: dict | None = None, given: dict | None = None) -> dict[str, int]:
    return infer_sizes(check(parse(text)), shapes, boundary or {}, given or {})


def test_one_size_an_index():
    found = sizes("h[b,t,j] = W[j,I] x[b,t,I]", {"W": (4, 3), "x": (2, 5, 3)})
    assert found == {"B": 2, "T": 5, "J": 4, "I": 3}


@pytest.mark.parametrize("length", range(5, 12))
@pytest.mark.parametrize(
    ("stride", "taps", "dilation"), [(1, 3, 1), (2, 3, 1), (2, 2, 1), (3, 4, 1), (2, 2, 3)]
)
def test_the_length_of_a_window_sum_is_that_of_conv1d(length, stride, taps, dilation):
    index = f"{stride}*t+{dilation}*d".replace("1*", "")
    system = check(parse(f"y[t] = sum[d](w[d] x[{index}])"))
    shapes = {"x": (length,), "w": (taps,)}
    theirs = F.conv1d(
        torch.zeros(1, 1, length), torch.zeros(1, 1, taps), stride=stride, dilation=dilation
    ).shape[-1]
    found = infer_sizes(system, shapes, {}, {})
    assert found["T"] == theirs
    assert check_reads(system, found) == []


def test_padded_windows_keep_the_length_and_strides_divide_it():
    assert sizes("pad x\ny[t] = sum[d](w[d] x[t+d])", {"x": (7,), "w": (3,)})["T"] == 7
    for length, half in ((7, 4), (8, 4), (1, 1)):
        found = sizes("pad x\ny[t] = sum[d](w[d] x[2*t+d])", {"x": (length,), "w": (3,)})
        assert found["T"] == half


def test_several_layers_of_strides_follow_from_the_first():
    text = "b[t] = sum[d](w[d] a[2*t+d])\nc[t] = sum[d](w[d] b[2*t+d])"
    system = check(parse(text))
    found = infer_sizes(system, {"w": (3,), "a": (15,)}, {}, {})
    assert [found[system.tensors[n].dims[0]] for n in "abc"] == [15, 7, 3]


def test_concatenations_add_up():
    system = check(parse("y[t,C] = (a[t,I]; b[t,K])\nz[t,D] = (p[0,t,I]; ...; p[H-1,t,I])"))
    found = infer_sizes(system, {"a": (5, 3), "b": (5, 2), "p": (4, 5, 3)}, {}, {})
    assert [found[system.tensors[n].dims[1]] for n in "yz"] == [5, 12]


def test_a_part_follows_from_the_whole():
    system = check(parse("q[k] = 2 k\ny[C] = (a[I]; q[K])\nz = v[C] y[C]"))
    found = infer_sizes(system, {"a": (3,), "v": (5,)}, {}, {})
    assert found[system.tensors["q"].dims[0]] == 2


def test_parts_that_do_not_add_up_are_refused():
    system = check(parse("y[C] = (a[I]; b[K])\nz = v[C] y[C]"))
    with pytest.raises(NotationError, match=r"`C` is 6 in `v` \(first axis\) but 5 as I \+ K"):
        infer_sizes(system, {"a": (3,), "b": (2,), "v": (6,)}, {}, {})


def test_sizes_come_from_directives_arguments_and_boundaries():
    assert sizes("size i = 4\ny[i,j] = x[j] + i", {"x": (2,)})["I"] == 4
    assert sizes("y[i,j] = x[j] + i", {"x": (2,)}, given={"i": 3})["I"] == 3
    with pytest.raises(NotationError, match="`I` is 4 in sizes but 3 in sizes"):
        sizes("size i = 4\ny[i,j] = x[j] + i", {"x": (2,)}, given={"I": 3})
    assert sizes("h[t,j] = h[t-1,j] + x[t]", {"x": (5,)}, {"h": [(3,)]})["J"] == 3
    assert sizes("h[t,j] = h[t-2,j] + x[t]", {"x": (5,)}, {"h": [(2, 3)]})["J"] == 3


def test_an_index_compared_with_a_lookup_runs_over_what_is_looked_up():
    text = "y[t,i] = e[w[t],i]\nde[v,i] = sum[t]([w[t] == v] dy[t,i])"
    system = check(parse(text))
    found = infer_sizes(system, {"e": (6, 2), "w": (4,), "dy": (4, 2)}, {}, {})
    assert found[system.tensors["de"].dims[0]] == 6


@pytest.mark.parametrize(
    ("text", "shapes", "said"),
    [
        (
            "y[t] = sum[d](w[d] x[2*t+d])",
            {"x": (3,), "w": (5,)},
            "nothing is left for `t`: 2*t+d leaves `X0`",
        ),
        ("y[i,j] = x[j] + i", {"x": (2,)}, "no tensor fixes the size of `I`"),
        (
            "y[i] = x[i] z[i]",
            {"x": (2,), "z": (3,)},
            r"`I` is 2 in `x` (first axis) but 3 in `z` (first axis)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(text, shapes, said):
    with pytest.raises(NotationError) as caught:
        sizes(text, shapes)
    assert said in caught.value.message


def test_a_read_outside_is_refused_with_its_place():
    text = "y[t] = x[t] + z[t+3]"
    system = check(parse(text))
    found = infer_sizes(system, {"x": (5,), "z": (5,)}, {"z": [None]}, {})
    assert check_reads(system, found) == []  # a boundary was given
    text = "y[t] = x[t] + z[2*t]"
    system = check(parse(text))
    with pytest.raises(NotationError) as caught:
        check_reads(system, infer_sizes(system, {"x": (5,), "z": (8,)}, {}, {}))
    assert caught.value.message.startswith("`z` is read at 2*t = 8, but its first axis runs from 0 to 7")
    assert caught.value.column == text.index("2*t") + 1


ATTENTION = "alpha[s,t] = softmax[t](q[s,I] k[t,I])\nc[s,i] = alpha[s,T] k[T,i]"


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        (ATTENTION.replace("alpha[s,T]", "alpha[T,s]"),
         "`q[s,I]` with `alpha[s,t]` in line 1 and `alpha[T,s]` with `k[T,i]` in line 2 make them one", 2, 21),
        (ATTENTION.replace("k[T,i]", "q[T,i]"),
         "`q[T,i]` with `alpha[s,T]` in line 2 and `alpha[s,t]` with `k[t,I]` in line 1 make them one", 2, 10),
        (ATTENTION.replace("k[t,I])", "k[I,t])"), "`T` is 3 in `q` (second axis) but 5 in `k` (first axis)", 1, 32),
        ("z[t] = k[t,I]\ny[t] = k[t,I] q[t,I]", "`T` is 5 in `k` (first axis) but 4 in `q` (first axis)", 2, 15),
    ],
)  # fmt: skip
def test_sizes_that_clash_across_equations_are_led_back_to_where_they_are_joined(text, message, line, column):
    with pytest.raises(NotationError) as caught:
        sizes(text, {"q": (4, 3), "k": (5, 3)})
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v[i] = V[J,i] L[J]\nz[j] = W[j,I] v[I]", "`J` is 4 in `V`"),
        ("v[i] = V[J2,i] L[J2]\nz[j] = W[j,I] v[I]", "`J2` is 4 in `V`"),
    ],
)
def test_a_size_is_called_as_the_reader_wrote_it(text, said):
    with pytest.raises(NotationError) as told:
        sizes(text, {"V": (4, 6), "L": (5,), "W": (7, 6)})
    assert said in str(told.value)
