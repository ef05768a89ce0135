"""Matrix notation with declared shapes becomes index notation that checks and runs."""

# ruff: noqa: E501 (the lines are the sources' own)
import pytest

from coursekit.notation import Equations, NotationError
from coursekit.notation.check.checker import check
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show

RNN = r"""
$$L \in \mathbb{R}^{|V| \times d} \quad H \in \mathbb{R}^{D_h \times D_h} \quad I \in \mathbb{R}^{d \times D_h} \quad b_1 \in \mathbb{R}^{D_h} \quad U \in \mathbb{R}^{D_h \times |V|} \quad b_2 \in \mathbb{R}^{|V|} \quad (6)$$
$$e^{(t)} = x^{(t)} L \quad (2)$$
$$h^{(t)} = \text{sigmoid}(h^{(t-1)} H + e^{(t)} I + b_1) \quad (3)$$
$$\hat{y}^{(t)} = \text{softmax}(h^{(t)} U + b_2) \quad (4)$$
$$J^{(t)}(\theta) = CE(y^{(t)}, \hat{y}^{(t)}) = - \sum_{i=1}^{|V|} y_i^{(t)} \log \hat{y}_i^{(t)} \quad (7)$$
"""


def indexed(text):
    program = parse(text)
    assert parse(show(program)) == program
    check(program)
    return [show(e) for e in program.equations]


def test_recurrent_language_model_of_source_001():
    assert indexed(RNN) == [
        "e[t,d] = x[t,V] L[V,d]",
        "h[t,i] = sigmoid(h[t-1,I] H[I,i] + e[t,D] I[D,i] + b_1[i])",
        "y_hat[t,v] = softmax[v](h[t,I] U[I,v] + b_2[v])",
        "J[t] = -sum[i](y[t,i] log(y_hat[t,i]))",
    ]


def test_declared_sizes_are_dimensions_and_aliases():
    system = Equations(RNN).system
    assert system.tensors["x"].dims == ("T", system.aliases["V"])
    assert system.tensors["y"].dims == ("T", system.aliases["V"])
    assert system.tensors["H"].dims == (system.aliases["Dh"],) * 2
    assert system.tensors["L"].dims == (system.aliases["V"], system.aliases["d"])


def test_grid_of_source_003():
    assert indexed(
        "W_in in R^{h x c}  W_left in R^{h x h}  W_top in R^{h x h}\npad h\n"
        r"h^{i,j} = \sigma (W_{in}x^{i,j} + W_{left}h^{i-1,j} + W_{top}h^{i,j-1}) ."
    ) == ["h[i,j,h] = sigmoid(W_in[h,C] x[i,j,C] + W_left[h,H] h[i-1,j,H] + W_top[h,H'] h[i,j-1,H'])"]


@pytest.mark.parametrize(
    ("shapes", "text", "result"),
    [
        ("W in R^{n x m}", "z = xW", "z[m] = x[N] W[N,m]"),
        ("W_2 in R^{h x v}  b_2 in R^{v}", r"\hat{y} = \text{softmax}(hW_2 + b_2)", "y_hat[v] = softmax[v](h[H] W_2[H,v] + b_2[v])"),
        ("x in R^{1 x n}  g in R^{1 x m}", r"\frac{\partial J}{\partial W} = x^\top g", "dJ_dW[n,m] = x[n] g[m]"),
        ("h in R^{n}  W in R^{n x m}  e in R^{m}", r"s = h^\top W e", "s = h[N] W[N,M] e[M]"),
        ("h in R^{n}  e in R^{m}", "M = h e^T", "M[n,m] = h[n] e[m]"),
        ("u in R^{n}  v in R^{n}", r"w = u \odot v", "w[n] = u[n] v[n]"),
        ("u in R^{n}  v in R^{n}", r"s = u^T v", "s = u[N] v[N]"),
        ("A in R^{n x n}", "C = A A - A^T", "C[n,n'] = A[n,N] A[N,n'] - A[n',n]"),
        ("A in R^{n x m}", "y = 2 A x / 3", "y[n] = 2 A[n,M] x[M]/3"),
        ("A in R^{n x m}", "y = tanh(A x) + 1", "y[n] = tanh(A[n,M] x[M]) + 1"),
        ("W in R^{n x m}", "y[j] = W[j,I] x[I]", "y[j] = W[j,I] x[I]"),
    ],
)  # fmt: skip
def test_product_is_told_by_its_shapes(shapes, text, result):
    assert indexed(f"{shapes}\n{text}") == [result]


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("A in R^{n x m}\nv in R^{n}\ny = A v", "a product of shapes n x m and n does not fit", 3, 7),
        ("A in R^{n x m}\nb in R^{n}\ny = A + b", "shapes n x m and n cannot be added or combined", 3, 9),
        ("W in R^{n x m}\ny[j] = W[j]", "`W` is declared with 2 axes, but has 1 in its equations", 1, 1),
    ],
)
def test_shapes_that_do_not_fit_are_refused(text, message, line, column):
    with pytest.raises(NotationError) as caught:
        check(parse(text))
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_matrix_notation_computes_what_it_says():
    product = Equations("A in R^{n x m}\ny = A x + x^T A^T")
    found = product.evaluate({"A": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "x": [1.0, 10.0]})["y"]
    assert found == [42.0, 86.0, 130.0]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a_k in R^{K}\nda_s = [y1 > 0] g", "da_s = [y1 > 0] g"),
        ("a in R^{k}\nb = [a > 0] a", "b[k] = [a[k] > 0] a[k]"),
        ("a in R^{k}\ng in R^{k}\nb = cases(a if g > 0, 2 g otherwise)", "b[k] = cases(a[k] if g[k] > 0, 2 g[k] otherwise)"),
    ],
)  # fmt: skip
def test_names_in_a_condition_get_their_indices(text, result):
    assert indexed(text) == [result]


def test_declared_names_are_the_dimensions_names():
    step = Equations(
        "H in R^{D x D}\nI in R^{d x D}\nb in R^{D}\nh^{(t)} = sigmoid(h^{(t-1)} H + e^{(t)} I + b)"
    )
    assert str(step.cost(["H", "I", "b"]).parameters) == "D^2 + D*d + D"
    assert step.system.tensors["e"].dims == ("T", "d")
