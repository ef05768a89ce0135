"""Every refusal names the repair, and following it leads to a right reading."""

import re

import pytest

from coursekit.notation import Equations, NotationError

# A text in doubt, and what each of its offered repairs computes for x = 1, 2, 4, 8 (and c = 3).
IN_DOUBT = [
    (r"y[t] = \sum_{s=1}^{t} x[s] + 0 x[t]", [[0, 2, 6, 14], [1, 3, 7, 15]]),
    (r"y = \sum_{t=1}^{T-1} x[t]", [14, 7]),
    (r"y = \sum_{t=2}^{3} x[t]", [12, 6]),
    (r"y = \sum_{t=1}^{T} t x[t]", [34, 49]),
    (r"y = \sum_{t=1}^{T} c^t x[t]", [258, 777]),
    (r"y_t = \sum_{s=1}^{t} x_s", [[0, 2, 6, 14], [1, 3, 7, 15]]),
    (r"y[t] = \prod_{s=1}^{t} x[s] + 0 x[t]", [[1, 2, 8, 64], [1, 2, 8, 64]]),
    (r"y[t] = \max_{s=t}^{T-1} x[s] + 0 x[t]", [[8, 8, 8, 8], [4, 4, 4, None]]),
    ("h[0] = c\nh[t] = h[t-1] + x[t]", [[3, 5, 9, 17], [4, 6, 10, 18]]),
    (r"y_i = c x_i", [[3, 6, 12, 24], None]),
    ("y[t] = sqrt x[t] x[t]", [[1, 2, 4, 8], [1, 2 * 2**0.5, 8, 8 * 8**0.5]]),
]


@pytest.mark.parametrize(("text", "values"), IN_DOUBT)
def test_both_readings_are_offered_and_each_is_read(text, values):
    with pytest.raises(NotationError) as caught:
        Equations(text)
    assert len(caught.value.repairs) == len(values) == 2
    for repaired, wanted in zip(caught.value.repairs, values, strict=True):
        equations = Equations(repaired)
        if wanted is None:  # a name of its own: the letter is no index
            assert equations.system.tensors[equations.outputs[0]].dims == ()
            continue
        given = {n: {"x": [1.0, 2.0, 4.0, 8.0], "c": 3.0}[n] for n in equations.inputs}
        (found,) = equations.evaluate(given).values()
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, list) else [(found, wanted)]
        assert all(w is None or a == pytest.approx(w) for a, w in pairs)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"y_t = \sum_{s=0}^{t} x_s", [1, 3, 7, 15]),
        (r"y_t = \sum_{s=0}^{t} c^{t-s} x_s", [1, 5, 19, 65]),
        (r"y_n = \prod_{s=0}^{n} x_s", [1, 2, 8, 64]),
        (r"y_t = \sum_{s=0}^{t} x_{t-s} x_s", [1, 4, 12, 32]),
    ],
)
def test_a_letter_of_the_left_that_limits_a_sum_is_an_index(text, wanted):
    equations = Equations(text)
    given = {n: {"x": [1.0, 2.0, 4.0, 8.0], "c": 3.0}[n] for n in equations.inputs}
    (found,) = equations.evaluate(given).values()
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    "text",
    [
        r"m = \frac{1}{n} \sum_{t=0}^{n-1} x_t, \quad c = \frac{1}{n} \sum_{t=1}^{n-1} x_t x_{t-1}",
        "c = 1/N sum_{s=1}^{N-1} x[s] x[s-1]\nm = 1/N sum_{t=0}^{N-1} x[t]",
    ],
)
def test_a_sum_over_a_whole_axis_from_0_tells_where_positions_begin(text):
    found = Equations(text).evaluate({"x": [1.0, 2.0, 4.0, 8.0]})
    assert found == {"m": pytest.approx(15 / 4), "c": pytest.approx((2 + 8 + 32) / 4)}


def test_a_sum_from_0_over_another_axis_tells_nothing():
    with pytest.raises(NotationError, match="`s` runs from 1 to t: are positions counted from 0"):
        Equations(r"m = \sum_{k=0}^{n-1} w_k \\ y_t = \sum_{s=1}^{t} x_s")


def test_a_sum_without_end_is_told_its_end():
    with pytest.raises(NotationError, match="an axis has an end: write its size"):
        Equations(r"G_t = \sum_{k=0}^{\infty} \gamma^k r_{t+k}")


# A refused text, a part of it, what is written instead, and what the sentence says of it.
MENDED = [
    ("y[i] = x^2[i]", "x^2[i]", "x[i]^2", "x[…]^2"),
    ("y[i] = x^2[i]", "x^2[i]", "x_2[i]", "x_2[…]"),
    ("y[j] = c(j-1) x[j]", "c(j-1)", "c * (j-1)", "c * (…)"),
    ("pad c\ny[j] = c(j-1) x[j]", "c(j-1)", "c[j-1]", "c[…]"),
    ("y[i] = A (x[i] - 1)\nA in R", "A (", "A * (", "A * (…)"),
    ("y[i] = x[i]/N", "y[i]", "N in R\ny[i]", "N in R"),
    ("y = A[i,J] x[J] / d[J]\nz = y", "A[i,J] x[J] / d[J]", "sum[j](x[j]/d[j])", "sum[j](a/b)"),
    ("y = A[J] x[J] / d[J]", "A[J] x[J] / d[J]", "sum[j](A[j] x[j])/sum[j](d[j])", "sum[j](a)/sum[j](b)"),
    ("y[i] = sigmod(x[i])", "sigmod", "sigmoid", "sigmoid"),
    ("y[i] = foo(x[i] + 1)", "foo(", "foo * (", "foo * (…)"),
    ("y[j] = torch.matmul(W[j,I], x[I])", "torch.matmul(W[j,I], x[I])", "W[j,I] x[I]", "W[j,I] x[I]"),
    ("y[i] = x[i]/len(x)", "len(x)", "I", "a capital"),
    ("y = sum(x[I])", "sum(x[I])", "sum[i](x[i])", "sum[i](…)"),
    ("y[t] = x[t] if t > 0", "if t > 0", "if t > 0 else 0", "a if t > 0 else b"),
    ("y = a == b", "a == b", "[a == b]", "="),
    ("centered d\npad x\ny[t] = W[D] x[t+D]", "centered d", "centered D", "D"),
    ("h_t = sigmoid(W h_{t-1})", "h_t =", "W in R^{n x n}\nh_t =", "W in R^{n x m}"),
    ("y[i] = W[i,j] x[j]", "W[i,j] x[j]", "sum[j](W[i,j] x[j])", "sum[j](…)"),
    ("p[t,w] = softmax(z[t,w])", "softmax", "softmax[w]", "softmax[w](…)"),
    ("y[i] = x[i*j] z[i,j]", "x[i*j] z[i,j]", "sum[j](x[i,j] z[i,j])", "x[i,j]"),
    ("y[i] = σ^2(x[i])", "σ^2(x[i])", "sigmoid(x[i])^2", "sigmoid(…)^2"),
    ("y[i,j] = w[i]^T v[j]", "w[i]^T v[j]", "w[i,D] v[j,D]", "write indices"),
    ("y[i] = sum_j W[i,j].T x[j]", "sum_j W[i,j].T x[j]", "W[J,i] x[J]", "W[J,i] x[J]"),
    ("a[i,j] = s[i,j] (j <= i)", "(j <= i)", "[j <= i]", "[j <= i]"),
    ("a[i,j] = s[i,j] (j <= i)", "(j <= i)", "if j <= i else 0", "… if j <= i else 0"),
    ("a[i,j] = s[i,j] for j <= i", "for j <= i", "if j <= i else 0", "a if t > 0 else b"),
    ("y_t = a_{t-1} \\quad \\forall t > 2", "\\quad \\forall t > 2", "if t > 2 else 0", "a if t > 0 else b"),
    ("y[t] = sum(k=0 to K-1) w[k] x[t,k]", "sum(k=0 to K-1)", "sum[k=0..K-1]", "in square brackets"),
    ("dL/dz[j] = p[j]", "dL/dz[j]", "dz[j]", "dz[j] = …"),
    ("y[b] = sum(x[:,b])", "sum(x[:,b])", "x[I,b]", "x[b,I] W[I,e]"),
    ("h[b,:] = W[b,:] + x[b,:]", ":", "i", "x[b,i]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "part", "instead", "said"), MENDED)
def test_repair_that_is_named_is_read(text, part, instead, said):
    with pytest.raises(NotationError) as caught:
        Equations(text)
    assert said in caught.value.message
    assert part in text
    Equations(text.replace(part, instead))


PYTHON = [
    "for t in range(T):\n    h = tanh(x)",
    "def f(x):\n    return x",
    "import torch",
    "h = np.dot(W, x)",
    "h = torch.cat([a, b])",
]


@pytest.mark.parametrize("text", PYTHON)
def test_python_is_told_from_an_equation(text):
    with pytest.raises(NotationError, match=r"Python; "):
        Equations(text)


def test_sentence_of_every_doubt_shows_how_to_write_each():
    for text, _ in IN_DOUBT:
        with pytest.raises(NotationError) as caught:
            Equations(text)
        assert len(re.findall("`[^`]+`", caught.value.message)) >= 2


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("y[i,j] = W[i,j]^T", {"W": ("i", "j"), "y": ("i", "j")}),
        (r"y_i = \sum_j W_{ij}^\top x_j", {"W": ("i", "j"), "x": ("j",), "y": ("i",)}),
    ],
)
def test_a_transposed_entry_is_shown_in_both_readings(text, signature):
    with pytest.raises(
        NotationError, match=re.escape("written `W[i,j]`, or one of the transposed, written `W[j,i]`")
    ):
        Equations(text, signature)


@pytest.mark.parametrize(
    "text", ["J = ||y - t||^2", "J = ||x||", "J[i] = ||x[i]||", r"L = \sum_i \|x_i - y_i\|"]
)
def test_a_norm_without_its_index_is_never_that_of_a_number(text):
    with pytest.raises(NotationError, match="write the index that it is taken over"):
        Equations(text)


def test_a_norm_runs_over_the_index_that_is_left():
    found = Equations("J[b] = ||x[b,i] - y[b,i]||^2").evaluate({"x": [[1.0, 5.0]], "y": [[4.0, 1.0]]})
    assert found["J"] == [pytest.approx(25)]
