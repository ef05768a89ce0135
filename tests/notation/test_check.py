"""Checking: indices, ranks, dimensions, order; each refusal with its caret."""

import pytest

from coursekit.notation import Equations, NotationError
from coursekit.notation.check.checker import check
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show
from coursekit.notation.system import Derived, Joined, Reach
from coursekit.notation.tree import Affine, Size, walk

UGRNN = """G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])
R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]"""


def system(text, **options):
    return check(parse(text), **options)


def dims(text):
    return {name: tensor.dims for name, tensor in system(text).tensors.items()}


# ── dimensions ───────────────────────────────────────────────────────────────────────────────


def test_indices_of_one_axis_are_one_dimension():
    found = dims(UGRNN)
    assert found["h"] == ("B", "T", "J")
    assert found["W_hG"] == ("J", "J")
    assert found["W_xG"] == ("J", "K")
    assert found["B_R"] == ("J",)


def test_every_capital_of_a_dimension_is_an_alias():
    assert system(UGRNN).aliases == {"B": "B", "T": "T", "J": "J", "I": "J", "K": "K"}


def test_number_of_an_index_is_dropped_from_an_alias_that_stays_clear():
    assert system("a[t1] = x[t1]").aliases["T"] == "T1"
    assert "T" not in system("a[t1,t2] = x[t1,t2]").aliases


def test_same_capital_may_mean_two_dimensions_in_two_equations():
    found = system("a[j] = W[j,I] x[I]\nb[j] = 1/I V[j,I] z[I] + a[j]")
    assert found.tensors["W"].dims == ("J", "I")
    assert found.tensors["V"].dims == ("J", "I2")
    sizes = [n.name for n in walk(found.blocks[1].equations[0]) if isinstance(n, Size)]
    assert sizes == ["I2"]  # the size is that of this equation's I
    assert "I" in found.aliases


def test_inputs_and_outputs():
    found = system(UGRNN)
    assert found.outputs == ("G", "h", "R")
    assert found.inputs == ("W_hG", "W_xG", "x", "B_G", "W_hR", "W_xR", "B_R")


def test_lookup_tensor_indexes_the_axis_it_reads():
    found = system("L[b,t,i] = e[w[b,t],i]")
    assert found.tensors["w"].indexes == found.tensors["e"].dims[0]
    assert found.tensors["w"].dims == ("B", "T")


def test_stride_makes_a_derived_dimension():
    found = system("y[b,t,i] = sum[dt](W[dt,I,i] L[b,2*t+dt,I])")
    length = found.tensors["L"].dims[1]
    assert found.tensors["y"].dims == ("B", "T", "I")
    assert found.derived == {
        "T": Derived("t", (Reach(Affine(((2, "t"), (1, "dt"))), length, False),), (("dt", "Dt"),))
    }


def test_padding_with_stride_one_keeps_the_dimension():
    found = system("pad L\ncentered dx\ny[x,j] = sum[dx](W[dx,I,j] L[x+dx,I])")
    assert found.tensors["y"].dims[0] == found.tensors["L"].dims[0] == "X"
    assert found.derived == {}
    assert found.padded == {"L"}
    assert found.centered == {"dx"}


def test_padding_with_a_stride_stays_derived():
    found = system("pad\ny[t] = sum[dt](W[dt] L[2*t+dt])")
    assert found.derived["T"].reaches[0].padded


def test_without_padding_a_window_is_derived():
    found = system("y[x] = sum[dx](W[dx] L[x+dx])")
    assert found.derived["X"].reaches[0].dim == found.tensors["L"].dims[0]


def test_concatenation_makes_a_joined_dimension():
    assert system("c[t,C] = a[t,I]; b[t,K]").joined == {"C": Joined("c", (("I",), ("K",)))}
    assert system("c[t,C] = h[0,t,I]; ...; h[K-1,t,I]").joined == {"C": Joined("c", (("K", "I"),))}


def test_parameters_are_kept_in_order():
    assert system(r"\Phi = (W, B)" + "\ny[j] = W[j,I] x[I] + B[j]").parameters == ("W", "B")


# ── boundaries ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        (UGRNN, {"h": ((1, -1),)}),
        ("y[t] = x[t-1] + x[t+2]", {"x": ((0, -1), (0, 2))}),
        ("y[t] = x[t-1] + x[t-3]", {"x": ((0, -3),)}),
        ("pad x\ny[t] = x[t-1]", {}),
        ("y[t] = x[T-1-t]", {}),
        ("h[i,j] = tanh(h[i-1,j] + h[i,j-1] + x[i,j])", {"h": ((0, -1), (1, -1))}),
    ],
)
def test_reading_outside_the_range_needs_a_boundary(text, boundary):
    assert system(text).boundary == boundary


# ── order ────────────────────────────────────────────────────────────────────────────────────


def loops(text):
    return [block.loops for block in system(text).blocks]


def test_equations_that_read_each_other_over_time_are_one_block():
    found = system(UGRNN)
    assert [b.loops for b in found.blocks] == [(("t", 1),)]
    assert [e.left.name for e in found.blocks[0].equations] == ["G", "R", "h"]


def test_block_is_ordered_by_what_a_step_needs():
    lines = UGRNN.splitlines()
    found = system("\n".join([lines[2], lines[1], lines[0]]))
    assert [e.left.name for e in found.blocks[0].equations] == ["R", "G", "h"]


def test_plain_equations_come_after_what_they_read():
    found = system("c = b\nb = a\na = x")
    assert [b.equations[0].left.name for b in found.blocks] == ["a", "b", "c"]


def test_backward_recurrence_runs_backward():
    assert loops("h[t] = tanh(h[t+1] + x[t])") == [(("t", -1),)]


def test_grid_recurrence_has_two_loops():
    assert loops("h[i,j] = tanh(h[i-1,j] + h[i,j-1] + x[i,j])") == [(("i", 1), ("j", 1))]


def test_stack_of_recurrences_is_two_blocks():
    assert loops("a[t] = tanh(a[t-1] + x[t])\nb[t] = tanh(b[t-1] + a[t])") == [(("t", 1),), (("t", 1),)]


def test_looped_index_is_named_alike():
    found = system("h[t,j] = tanh(c[t,j])\nc[s,k] = h[s-1,k] + x[s,k]")
    (block,) = found.blocks
    assert block.loops == (("t", 1),)
    assert [show(e) for e in block.equations] == ["c[t,k] = h[t-1,k] + x[t,k]", "h[t,j] = tanh(c[t,j])"]
    assert all(found.ranges[e]["t"] == "T" for e in block.equations)


def test_renaming_the_looped_index_avoids_a_collision():
    found = system("h[t] = tanh(c[t])\nc[s] = h[s-1] sum[t](x[t])")
    equation = next(e for e in found.blocks[0].equations if e.left.name == "c")
    assert show(equation) == "c[t] = h[t-1] sum[t'](x[t'])"
    assert found.ranges[equation]["t'"] != found.ranges[equation]["t"]


def test_left_side_shift_is_moved_to_the_right():
    found = system("h[t+1,j] = tanh(h[t,j] + x[t,j])")
    assert show(found.blocks[0].equations[0]) == "h[t,j] = tanh(h[t-1,j] + x[t-1,j])"


# ── refusals: the message and the caret ──────────────────────────────────────────────────────

REFUSALS = [
    ("y[i] = W[i,j] x[j]", "`j` is free on the right but not on the left", 1, 12),
    ("y[i,j] = x[i]", "`j` is free on the left but not on the right", 1, 5),
    ("P[t,w] = softmax[W](e[W,I] h[t,I])", "so `W` is free: write it small, `w`, here and on the left", 1, 23),
    ("y[i] = sum[j](W[i,j])\nz[k] = y[j] a[k]", "`j` is free on the right but not on the left", 2, 10),
    ("h[t,j] = CELL(x[t,K])", "if `CELL` gives a vector, write `J` on the left", 1, 5),
    ("y[i] = x[i]\nz[i,j] = x[i,j]", "`x` has 1 index in line 1, you wrote 2", 2, 10),
    ("L[b,t,i] = x[b,t,i]\ny[t,i] = L[t,i]", "`L` has 3 indices in line 1, you wrote 2", 2, 10),
    ("y[i] = x[i]\ny[i] = z[i]", "`y` is defined twice", 2, 1),
    ("y[i,i] = x[i]", "`i` stands twice on the left", 1, 5),
    ("h[b,0,j] = h0[b,j]", 'leave this line out: its start is its boundary', 1, 5),
    ("y[2*t] = x[t]", "an index on the left must be a plain name", 1, 3),
    ("y[i,j] = softmax(x[i,j])", "over which index is this softmax? Write `softmax[w](…)`", 1, 10),
    ("y[i] = softmax[k](x[i])", "this softmax runs over `k`, which does not occur inside it", 1, 8),
    ("y = sum[k](x)", "this sum runs over `k`, which does not occur inside it", 1, 5),
    ("y[j] = sum[j](x[j])", "`j` is used up by this sum, so it cannot be free on the left", 1, 8),
    ("h[b,t,j] = tanh(h[b,t,j])", "`h[b,t,j]` is defined by itself; a new value needs a name", 1, 17),
    ("a[t] = b[t]\nb[t] = a[t]", "is defined by itself", 1, 8),
    ("h[t] = h[t-1] + h[t+1]", "`h` is read both before and after `t`: neither can be run first", 1, 17),
    ("h[t,j] = softmax[t](W[j,I] h[t-1,I])", "this softmax runs over `t`, but `h` is computed one `t`", 1, 10),
    ("h[t] = tanh(h[t-1] + a[t])\na[t] = softmax[t](h[t-1] x[t])", "this softmax runs over `t`, but `h`", 2, 8),
    ("h[t] = sum[s](a[t,s] h[s]) + h[t-1]", "`h[t]` is defined by itself", 1, 22),
    ("y[i] = x[i]/N", "`N` is read as a size, but no index ranges over it; if it is a matrix, declare", 1, 13),
    ("pad K\ny[i] = x[i]", "`pad K`: there is no tensor `K`", 1, 1),
    ("centered k\ny[i] = x[i]", "`centered k`: there is no index `k`", 1, 1),
    ("inputs x\nh'[i] = x[i]\ny[i] = h_tilde[i]", "`h_tilde` is neither defined nor an input", 3, 8),
    ("inputs xs\ny[i] = xz[i]", "`xz` is neither defined nor an input; did you mean `xs`?", 2, 8),
    ("pad L", "there is no equation here", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line", "column"), REFUSALS)
def test_refusal_names_the_place(text, message, line, column):
    program = parse(text)
    with pytest.raises(NotationError) as caught:
        check(program)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_capital_that_occurs_once_is_a_sum():
    assert dims("y[i] = W[i,K]")["W"] == ("I", "K")


def test_broadcast_lets_an_index_stand_on_the_left_alone():
    assert system("y = x[I]\ndx[i] = 1", broadcast=True).tensors["dx"].dims == ("I",)


def test_one_declared_size_is_one_dimension():
    """Self-attention writes `J` and `j` for a width that no equation shares; the declaration makes them one."""
    text = """
        Q[k,t,i] = W_Q[k,i,J] L[t,J]
        K[k,t,i] = W_K[k,i,J] L[t,J]
        V[k,t,i] = W_V[k,i,J] L[t,J]
        alpha[k,t1,t2] = softmax[t2](1/sqrt(I) Q[k,t1,I] K[k,t2,I])
        h[k,t,i] = alpha[k,t,S] V[k,S,i]
        O[t,j] = W_O[j,K,I] h[K,t,I]
    """
    weights = ["W_Q", "W_K", "W_V", "W_O"]
    assert "J2" in str(Equations(text).cost(weights).parameters)
    for line in ("shape {} = {}, {}, {}", "{} in R^{{{} x {} x {}}}"):
        declared = "\n".join(
            line.format(name, *dims) for name, dims in zip(weights, ["KIJ"] * 3 + ["JKI"], strict=True)
        )
        assert str(Equations(f"{declared}\n{text}").cost(weights).parameters) == "4*I*J*K"


def test_an_index_compared_with_a_lookup_runs_over_what_is_looked_up():
    found = system("x[t,i] = e[w[t],i]\nde[v,i] = sum[t]([w[t] == v] g[t,i])")
    assert found.tensors["de"].dims[0] == found.tensors["e"].dims[0]
    assert found.tensors["w"].indexes == found.tensors["e"].dims[0]


def test_a_shape_alone_gives_a_size_that_nothing_else_gives():
    found = Equations("e in R^{V x n}\nde in R^{V x n}\nde[v,i] = sum[t]([w[t] == v] g[t,i])")
    assert found.inputs == ("w", "g", "e")
    assert found.evaluate({"w": [2, 0, 2], "g": [[1.0], [2.0], [4.0]], "e": [[0.0]] * 4})["de"] == [
        [2.0],
        [0.0],
        [5.0],
        [0.0],
    ]
    assert Equations("W in R^{n x m}\nQ in R^{n x m}\ny[j] = W[j,I] x[I]").inputs == (
        "W",
        "x",
    )  # Q says nothing new
