"""Drawings: the right edges, nothing on top of another, everything in view, words for those who cannot see."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest

from coursekit.notation import Equations
from coursekit.notation.check.checker import check
from coursekit.notation.draw.drawing import draw
from coursekit.notation.draw.graph import edges
from coursekit.notation.draw.layout import layered
from coursekit.notation.errors import NotationError
from coursekit.notation.parse.parser import parse

RNN_LM = """
e[t,i] = L[x[t],i]
h[t,j] = sigmoid(h[t-1,J1] H[J1,j] + e[t,I1] I[I1,j] + b_1[j])
y[t,w] = softmax[w](h[t,J1] U[J1,w] + b_2[w])
J[t] = -log(y[t,k[t]])
"""
UGRNN = """
R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])
h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]
"""
GRU = """
G_1[b,t,j] = sigmoid(W_h1[j,I] h[b,t-1,I] + W_x1[j,K] x[b,t,K] - B_1[j])
G_2[b,t,j] = sigmoid(W_h2[j,I] h[b,t-1,I] + W_x2[j,K] x[b,t,K] - B_2[j])
R[b,t,j] = tanh(W_hR[j,I] G_1[b,t,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
h[b,t,j] = (1 - G_2[b,t,j]) h[b,t-1,j] + G_2[b,t,j] R[b,t,j]
"""
LSTM = """
i[b,t,j] = sigmoid(W_hi[j,I] h[b,t-1,I] + W_xi[j,K] x[b,t,K] - B_i[j])
f[b,t,j] = sigmoid(W_hf[j,I] h[b,t-1,I] + W_xf[j,K] x[b,t,K] - B_f[j])
o[b,t,j] = sigmoid(W_ho[j,I] h[b,t-1,I] + W_xo[j,K] x[b,t,K] - B_o[j])
g[b,t,j] = tanh(W_hg[j,I] h[b,t-1,I] + W_xg[j,K] x[b,t,K] - B_g[j])
c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] g[b,t,j]
h[b,t,j] = o[b,t,j] tanh(c[b,t,j])
"""
RNN_2D = "h[i,j,k] = sigmoid(W_in[k,C] x[i,j,C] + W_left[k,K] h[i-1,j,K] + W_top[k,K] h[i,j-1,K])"
CAPTION = """
alpha[t,x,y] = softmax[x,y](h[t-1,J] W_key[J,K] M[x,y,K])
V[t,k] = alpha[t,X,Y] M[X,Y,k]
P[t,v] = softmax[v](e[v,I] W_auto[I,J] h[t-1,J])
h[t,J] = CELL(h[t-1,J], V[t,K], e[w[t],I])
"""
ATTENTION = """
Q[k,t,i] = W_Q[k,i,J] L[t,J]
K[k,t,i] = W_K[k,i,J] L[t,J]
alpha[k,t1,t2] = softmax[t2](1/sqrt(I) Q[k,t1,I] K[k,t2,I])
"""
BACKWARD = "r[t,j] = tanh(W[j,I] r[t+1,I] + U[j,K] x[t,K])"
PICTURES = [
    (RNN_LM, None), (RNN_LM, 3), (UGRNN, None), (UGRNN, 3), (GRU, None), (GRU, 3), (LSTM, None), (LSTM, 2),
    (RNN_2D, None), (RNN_2D, 3), (CAPTION, None), (CAPTION, 2), (ATTENTION, None), (ATTENTION, 3), (BACKWARD, 3),
]  # fmt: skip


def system(text):
    return check(parse(text))


def test_edges_of_the_language_model_unrolled_for_three_steps():
    expected = set()
    for s in (1, 2, 3):
        expected |= {
            (f"x{s}", f"e{s}", "L"), (f"e{s}", f"h{s}", "I"), (f"h{s - 1}", f"h{s}", "H"), (f"h{s}", f"y{s}", "U"),
            (f"y{s}", f"J{s}", ""), (f"k{s}", f"J{s}", ""),
        }  # fmt: skip
    assert edges(system(RNN_LM), 3) == expected


def test_edges_of_the_grid():
    found = edges(system(RNN_2D), 2)
    assert ("h1,1", "h2,1", "W_left") in found
    assert ("h1,1", "h1,2", "W_top") in found
    assert ("h0,1", "h1,1", "W_left") in found
    assert ("x2,2", "h2,2", "W_in") in found
    assert len(found) == 3 * 4  # every position reads its input, its left and its upper neighbour


def test_edges_of_attention_join_every_pair_of_positions():
    found = {(s, t) for s, t, _ in edges(system(ATTENTION), 3) if t.startswith("alpha")}
    assert ("Q1", "alpha1,3") in found
    assert ("K3", "alpha1,3") in found
    assert ("Q2", "alpha1,3") not in found


def test_edges_of_a_backward_recurrence_come_from_the_right():
    assert ("r4", "r3", "W") in edges(system(BACKWARD), 3)
    assert ("r2", "r1", "W") in edges(system(BACKWARD), 3)


def test_declared_parameters_are_taken_at_their_word():
    text = "parameters x, H\nh[t,j] = tanh(H[j,I] h[t-1,I] + x[t,j])"
    assert edges(system(text), 1) == {("h0", "h1", "H")}


@pytest.mark.parametrize(("text", "steps"), PICTURES)
def test_boxes_do_not_overlap_and_all_is_in_view(text, steps):
    picture = draw(system(text), steps)
    width, height = picture.size
    assert len(picture.boxes) >= 3
    for a, b in combinations(picture.boxes, 2):
        apart = a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y
        assert apart, (a.key, b.key)
    for box in picture.boxes:
        assert box.x >= 0
        assert box.right <= width
        assert box.y >= 0
        assert box.bottom <= height
    for label in picture.labels:
        assert 0 <= label.x <= width - label.w, label
        assert 8 <= label.y <= height, label


@pytest.mark.parametrize(("text", "steps"), PICTURES)
def test_labels_do_not_lie_on_boxes_or_on_each_other(text, steps):
    picture = draw(system(text), steps)

    def hit(x, y, w, h, u, v, s, t):
        return x < u + s and u < x + w and y < v + t and v < y + h

    marks = [(lb.x, lb.y - 9, lb.w, 11) for lb in picture.labels]
    for mark in marks:
        assert not any(hit(*mark, b.x, b.y, b.w, b.h) for b in picture.boxes), mark
    for a, b in combinations(marks, 2):
        assert not hit(*a, *b), (a, b)


@pytest.mark.parametrize(("text", "steps"), PICTURES)
def test_svg_is_well_formed_self_contained_and_has_words(text, steps):
    picture = draw(system(text), steps)
    svg = picture.svg()
    root = ET.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title").text
    assert root.find(f"{space}desc").text == picture.words
    assert root.get("role") == "img"
    assert len(root.findall(f"{space}g/{space}rect")) == len(picture.boxes)
    assert not re.search(r"(href|src)=|url\((?!#)|<script", svg)
    assert "currentColor" in svg
    assert picture._repr_html_().count("<svg") == 1
    # every wire stays in view
    numbers = [float(n) for p in root.findall(f"{space}path") for n in re.findall(r"-?\d+\.?\d*", p.get("d"))]
    assert min(numbers) >= 0
    assert max(numbers) <= max(picture.size)


def test_words_name_every_edge():
    words = draw(system(RNN_LM), 3).words
    for source, target, parameter in edges(system(RNN_LM), 3):
        assert f"{source} goes into {target}" + (f" through {parameter}" if parameter else "") in words


def test_the_recurrence_is_a_dashed_wire_and_the_state_before_is_marked():
    svg = draw(system(UGRNN)).svg()
    assert svg.count('class="ck-wire ck-loop"') == 1
    assert svg.count('class="ck-before"') == 1
    assert draw(system(LSTM)).svg().count('class="ck-wire ck-loop"') == 2


def test_names_are_typeset():
    svg = draw(system(GRU)).svg()
    assert re.search(r">W</tspan><tspan[^>]*>hR</tspan>", svg)
    assert "−1" in svg


def test_what_cannot_be_unrolled_is_refused():
    with pytest.raises(NotationError, match="no index to unroll"):
        draw(system("y[i] = W[i,J] x[J]"), 3)
    for steps in (0, 99):
        with pytest.raises(NotationError, match="1 to 12 steps"):
            draw(system(UGRNN), steps)


def test_layered_layout_has_no_crossing_where_none_is_needed():
    nodes = ["a", "b", "c", "x", "y", "z"]
    laid = layered(nodes, [("a", "z"), ("b", "y"), ("c", "x")], dict.fromkeys(nodes, 10.0), 5.0)
    pairs = [("a", "z"), ("b", "y"), ("c", "x")]
    for (s, t), (u, v) in combinations(pairs, 2):
        assert (laid.across[s] - laid.across[u]) * (laid.across[t] - laid.across[v]) > 0


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        (
            "h[t,j] = tanh(A[j,I] h[t-1,I] + x[t,j])\ns[u,j] = tanh(B[j,I] s[u-1,I] + h[T-1,j])",
            ("h3", "s1", ""),
        ),
        ("a[t] = a[t-1] + x[t]\nb[u] = b[u-1] + a[T-1] + a[0]", ("a1", "b2", "")),
    ],
)
def test_two_recurrences_are_drawn_and_the_last_step_is_the_last(text, edge):
    """Both raised a bare ValueError: no entry of theirs stands on a grid."""
    system = Equations(text).system
    assert edge in edges(system, 3)
    assert "<svg" in Equations(text).draw(3)._repr_html_()


@pytest.mark.parametrize(
    "text",
    [
        "h[i,j,k] = tanh(h[i-1,j,k] + h[i,j-1,k] + h[i,j,k-1] + x[i,j,k])",
        "h[i,j] = tanh(h[i-1,j] + h[i,j-1])\ng[t] = g[t-1] + h[I-1,J-1]",
    ],
)
def test_what_is_not_drawn_unrolled_is_said_in_a_sentence(text):
    with pytest.raises(NotationError, match="draw its cell"):
        Equations(text).draw(3)
    assert Equations(text).draw().boxes
