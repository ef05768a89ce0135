"""Parallel depth against the longest path through the graph of all entries, at small sizes."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from systems import CELLS, SYSTEMS

from coursekit.notation.check.checker import check
from coursekit.notation.cost.costs import cost, depth
from coursekit.notation.errors import NotationError
from coursekit.notation.parse.parser import parse
from coursekit.notation.system import System
from coursekit.notation.tree import Affine, Lookup, SizeOf, references

STACK = """
h_1[t,j] = tanh(W_1[j,I] h_1[t-1,I] + U_1[j,K] x[t,K])
h_2[t,j] = tanh(W_2[j,I] h_2[t-1,I] + U_2[j,K] h_1[t,K])
h_3[t,j] = tanh(W_3[j,I] h_3[t-1,I] + U_3[j,K] h_2[t,K])
"""
LAYERS = """
pad h
h[l,t,j] = tanh(W[l,j,I] h[l,t-1,I] + U[l,j,I] h[l-1,t,I] + x[t,j])
"""
CONVOLUTIONS = """
L_1[t,i] = relu(W_1[D,M,i] L_0[t+D,M])
L_2[t,i] = relu(W_2[D,M,i] L_1[t+D,M])
L_3[t,i] = relu(W_3[D,M,i] L_2[t+D,M])
L_4[t,i] = relu(W_4[D,M,i] L_3[t+D,M])
"""
TRANSLATION = """
m[s,j] = tanh(A[j,I] m[s-1,I] + C[j,K] x[s,K])
a[t,s] = softmax[s](h[t-1,J] m[s,J])
v[t,j] = a[t,S] m[S,j]
h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,I] v[t,I])
y[t,k] = softmax[k](E[k,J] h[t,J])
"""
TWO = """
a[t] = tanh(u[t] a[t-1])
b[s] = tanh(v[s] b[s-1])
"""
SKEWED = """
pad h
h[i,j] = tanh(a[i,j] h[i-1,j-1] + b[i,j] h[i,j-1])
"""

# text, the equations that are layers, the depth as it prints
KNOWN = {
    "recurrence": (CELLS["vanilla_tanh"], set(), "T"),
    "update gate": (CELLS["ugrnn"], set(), "T"),
    "gru": (CELLS["gru"], set(), "T"),
    "lstm": (CELLS["lstm"], set(), "T"),
    "stack of three": (STACK, set(), "T + 2"),
    "layers by an index": (LAYERS, set(), "L + T - 1"),
    "grid": (SYSTEMS["rnn_2d"], set(), "I + J - 1"),
    "convolutions": (CONVOLUTIONS, {"L_1", "L_2", "L_3", "L_4"}, "4"),
    "gated convolution": (SYSTEMS["ugcnn"], {"R", "G"}, "1"),
    "strided convolutions": (SYSTEMS["language_cnn"], {"L_1", "L_2"}, "2"),
    "language model, every loss": (SYSTEMS["rnn_lm_all_losses"], {"y_hat"}, "T + 1"),
    "language model, one loss": (SYSTEMS["rnn_lm_one_loss"], {"y_hat"}, "T + 1"),
    "blank language model": (SYSTEMS["blank_lm"], {"P"}, "T"),
    "captioning": (SYSTEMS["captioning"], {"P"}, "T"),
    "translation": (TRANSLATION, {"y"}, "S + T + 1"),
    "two side by side": (TWO, set(), "max(S, T)"),
    "skewed grid": (SKEWED, set(), "J"),
}


def longest_path(system: System, layers: set[str], sizes: dict[str, int]) -> int:
    """By walking every entry that every entry reads."""
    home = {e.left.name: (b, e) for b in system.blocks for e in b.equations}

    def position(affine: Affine, at: dict[str, int], dim: str) -> list[int]:
        if any(isinstance(a, Lookup) for _, a in affine.terms):
            return list(range(sizes[dim]))
        value = affine.const
        for factor, atom in affine.terms:
            value += factor * (sizes[atom.name] if isinstance(atom, SizeOf) else at[atom])
        return [value] if 0 <= value < sizes[dim] else []

    @cache
    def step(name: str, place: tuple[int, ...]) -> int:
        """The depth at which an entry is known."""
        if name not in home:
            return 0
        block, equation = home[name]
        at = dict(zip((a.plain for a in equation.left.indices), place, strict=True))
        if block.loops:
            return turn(block, tuple(at[i] for i, _ in block.loops))
        return int(name in layers) + max([0, *(step(*r) for r in read(equation, at))])

    @cache
    def turn(block, point: tuple[int, ...]) -> int:
        fixed = dict(zip((i for i, _ in block.loops), point, strict=True))
        deepest = 0
        for equation in block.equations:
            for name, place in read(equation, fixed):
                _, other = home.get(name, (None, None))
                if other is not None and home[name][0] is block:
                    there = dict(zip((a.plain for a in other.left.indices), place, strict=True))
                    if tuple(there[i] for i, _ in block.loops) == point:
                        continue  # the same turn
                deepest = max(deepest, step(name, place))
        return deepest + 1

    def read(equation, fixed: dict[str, int]):
        ranges = system.ranges[equation]
        for ref in references(equation.right):
            dims = system.tensors[ref.name].dims
            inner = [i for a in ref.indices for _, i in a.terms if isinstance(i, str)]
            names = [i for i in dict.fromkeys(inner) if i not in fixed]
            for values in product(*(range(sizes[ranges[i]]) for i in names)):
                at = {**fixed, **dict(zip(names, values, strict=True))}
                for place in product(*(position(a, at, d) for a, d in zip(ref.indices, dims, strict=True))):
                    yield ref.name, place

    deepest = 0
    for name in system.outputs:
        dims = system.tensors[name].dims
        for place in product(*(range(sizes[d]) for d in dims)):
            deepest = max(deepest, step(name, place))
    return deepest


@pytest.mark.parametrize("name", KNOWN)
def test_depth_is_the_longest_path(name):
    text, layers, printed = KNOWN[name]
    system = check(parse(text))
    found = depth(system)
    assert str(found) == printed
    dims = {d for t in system.tensors.values() for d in t.dims}
    dims |= {d for r in system.ranges.values() for d in r.values()}
    small = [dict.fromkeys("TSIJL", 1)]
    small += [{"T": 4, "S": 3, "I": 2, "J": 3, "L": 2}, {"T": 2, "S": 4, "I": 3, "J": 2, "L": 4}]
    for size in small:
        sizes = {d: size.get(d, 2) for d in dims}
        assert found(**sizes) == longest_path(system, layers, sizes)


@pytest.mark.parametrize("T", [64, 256, 1024])
@pytest.mark.parametrize("L", [1, 3, 8])
def test_wavefront_takes_t_plus_l_minus_one(T, L):
    assert depth(check(parse(LAYERS)))(T=T, L=L) == T + L - 1


def test_written_out_layers_have_the_same_depth_as_indexed_ones():
    assert depth(check(parse(STACK)))(T=16) == depth(check(parse(LAYERS)))(T=16, L=3)


def test_grid_of_sixteen_has_depth_thirty_one():
    assert depth(check(parse(SYSTEMS["rnn_2d"])))(I=16, J=16) == 31


def test_depth_is_part_of_the_cost_and_has_a_big_o():
    found = cost(check(parse(LAYERS))).depth
    assert found == depth(check(parse(LAYERS)))
    assert str(found.big_o) == "L + T"


def test_a_depth_that_is_no_polynomial_is_refused():
    with pytest.raises(NotationError, match="no polynomial"):
        depth(check(parse("pad h\nh[i,j] = tanh(a[i,j] h[i-1,j-1])")))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])", "T"),
        ("pad h\nh[l,b,t,j] = tanh(W[l,j,I] h[l,b,t-1,I] + U[l,j,K] h[l-1,b,t,K] + x[b,t,j])", "L + T - 1"),
        (
            "x in R^{n x n x K}\npad h\nh[i,j,k] = tanh(W[k,A] h[i-1,j,A] + U[k,C] h[i,j-1,C] + x[i,j,k])",
            "2*n - 1",
        ),
        ("pad h\ncentered d\nh[l,t,j] = relu(sum[d,I](W[l,d,j,I] h[l-1,t+d,I]))", "L"),
    ],
)
def test_depth_is_printed_as_the_course_has_it(text, printed):
    assert str(depth(check(parse(text)))) == printed
