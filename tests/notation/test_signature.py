"""A signature: subscripts, matrices and names are read as the page prints them."""

import pytest

from coursekit.notation import Equations, NotationError
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show

RNN = {"W_hh": 2, "W_xh": 2, "x": 2, "B": 1, "h": 2}

READ = [
    (r"h_{t,j} = \sigma\left(\sum_i W^{hh}_{j,i} h_{t-1,i} + \sum_k W^{xh}_{jk} x_{t,k} - B_j\right)", RNN,
     "h[t,j] = sigmoid(sum[i](W_hh[j,i] h[t-1,i]) + sum[k](W_xh[j,k] x[t,k]) - B[j])"),
    (r"h_{t,j} = \tanh\left(\sum_i W^{\mathrm{hh}}_{ji} h_{t-1,i} + B_j\right)", RNN,
     "h[t,j] = tanh(sum[i](W_hh[j,i] h[t-1,i]) + B[j])"),
    (r"E_{t,i} = e_{w_t, i}", {"e": 2, "w": 1, "E": 2}, "E[t,i] = e[w[t],i]"),
    (r"E_{b,t,i} = e_{w_{b,t}, i}", {"e": 2, "w": 2, "E": 3}, "E[b,t,i] = e[w[b,t],i]"),
    (r"L'_{b,t,i} = \sigma(\sum_{dt,m} W_{dt,m,i} L_{b,2t+dt,m} - B_i)", {"L": 3, "L'": 3, "W": 3, "B": 1},
     "L'[b,t,i] = sigmoid(sum[dt,m](W[dt,m,i] L[b,2*t+dt,m]) - B[i])"),
    (r"\hat y_k = \frac{e^{z_k}}{\sum_j e^{z_j}}", {"yhat": 1, "z": 1},
     "yhat[k] = exp(z[k])/sum[j](exp(z[j]))"),
    (r"y_i = λ x_i", {"lam": 0, "x": 1, "y": 1}, "y[i] = lam x[i]"),
    (r"h_t = \tanh(W_{hh} h_{t-1} + W_{xh} x_t + B)", RNN,
     "h[t,i] = tanh(W_hh[i,I] h[t-1,I] + W_xh[i,J] x[t,J] + B[i])"),
    (r"{\bf h}_t = \tanh({\bf W}_{hh} {h}_{t-1} + W_{xh} {\bf x}_t + B)", RNN,
     "h[t,i] = tanh(W_hh[i,I] h[t-1,I] + W_xh[i,J] x[t,J] + B[i])"),
    (r"f_t = \sigma(W_f \cdot [h_{t-1}, x_t] + b_f)", {"W_f": 2, "b_f": 1, "h": ("t", "j"), "x": ("t", "k")},
     "hx[t,j] = h[t-1,K]; x[t,M]\nf[t,i] = sigmoid(W_f[i,J] hx[t,J] + b_f[i])"),
    (r"J = \sum_{i,j} (w_i^T \tilde w_j + b_i - \log X_{ij})^2", {"w": 2, "w_tilde": 2, "b": 1, "X": 2},
     "J = sum[i,j]((w[i,K] w_tilde[j,K] + b[i] - log(X[i,j]))^2)"),
    (r"L = -\sum_{t} \log p_t(w_t)", {"p": 2, "w": 1}, "L = -sum[t](log(p[t,w[t]]))"),
    (r"N_{ij} = M_{ij}\left[1 - w_i e_j\right]", {"M": 2, "w": 1, "e": 1, "N": 2}, "N[i,j] = M[i,j] (1 - w[i] e[j])"),
    (r"y_j = \lambda [a_j - e_j]", {"a": 1, "e": 1, "lam": 0, "y": 1}, "y[j] = lam * (a[j] - e[j])"),
    (r"E_{t,i} = M_{w_t-1, i} [w_t + b_i]", {"M": 2, "w": 1, "b": 1, "E": 2}, "E[t,i] = M[w[t]-1,i] (w[t] + b[i])"),
    (r"E_{t,i} = e_i[w_t - 1]", {"e": 2, "w": 1, "E": 2}, "E[t,i] = e[i,w[t]-1]"),
    (r"A = B \odot C", {"B": ("i", "i"), "C": ("i", "i"), "A": 2}, "A[i,j] = B[i,j] C[i,j]"),
    (r"y_i = \sum_j W^2_{ij} x_j", {"W": 2, "x": 1}, "y[i] = sum[j](W[i,j]^2 x[j])"),
    (r"y_i = \sum_j W^2_{ij} x_j", {"W_2": 2, "x": 1}, "y[i] = sum[j](W_2[i,j] x[j])"),
    ("J = ||W||^2_F", {"W": ("i", "j"), "J": ()}, "J = sqrt(W[I,J]^2)^2"),
    (r"J = \lambda \|W\|^2_F", {"W": ("i", "j"), "J": (), "lam": ()}, "J = lam sqrt(W[I,J]^2)^2"),
    ("A(t) = lam A(t-1) + h(t) h(t)^T", {"h": ("t", "i"), "A": ("t", "i", "i"), "lam": ()},
     "A[t,i,i'] = lam A[t-1,i,i'] + h[t,i] h[t,i']"),
    ("A(t) = k(t-1) v(t)^T", {"k": ("t", "i"), "v": ("t", "j"), "A": ("t", "i", "j")}, "A[t,i,j] = k[t-1,i] v[t,j]"),
    ("A = X^T X + gamma*I", {"X": ("n", "i"), "A": ("i", "i"), "gamma": ()},
     "X in R^{n x i}\nA[i,i'] = X[N,i] X[N,i'] + gamma * [i == i']"),
    ("A = W + I/gamma + 1/I", {"W": ("i", "i"), "A": ("i", "i"), "gamma": ()},
     "W in R^{i x i}\nA[i,i'] = W[i,i'] + [i == i']/gamma + 1/i"),
    (r"Y = XW + b", {"X": 2, "W": 2, "b": 1, "Y": 2}, "Y[i,j] = X[i,K] W[K,j] + b[j]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "signature", "ascii_text"), READ)
def test_page_is_read_with_its_signature(text, signature, ascii_text):
    program = parse(text, signature)
    assert show(program) == ascii_text
    Equations(text, signature)


def test_signature_of_equations_reads_another_text_about_them():
    reference = Equations("h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])")
    assert reference.signature == {"h": ("t", "j"), "W": ("j", "j"), "U": ("j", "k"), "x": ("t", "k")}
    page = Equations(r"h_t = \tanh(W h_{t-1} + U x_t)", signature=reference.signature)
    assert reference.compare(page).equal
    wrong = Equations(r"h_t = \tanh(W^T h_{t-1} + U x_t)", signature=reference.signature)
    assert not reference.compare(wrong).equal


@pytest.mark.parametrize("axes", ["ij", 0.5, [1.5], {"i": 2.5}.values()])
def test_axes_that_are_none_are_refused(axes):
    with pytest.raises(NotationError, match="the axes of `W` are a number, a shape or a list of names"):
        parse("y = W", {"W": axes})


@pytest.mark.parametrize(
    ("text", "signature", "message"),
    [
        (
            r"h_t = \tanh(W h_{t-1})",
            {"h": ("b", "t", "j"), "W": 2},
            "`h` has the axes b,t,j: which is meant?",
        ),
        (r"A = B^2", {"B": ("i", "i"), "A": 2}, "the power of a matrix can be of its entries or a product"),
        (r"y[i] = W[i] x[i]", {"W": 2, "x": 1, "y": 1}, "`W` has 2 axes, you wrote 1"),
        (
            r"y_t = o_t \circ \sigma_h(c_t)",
            {"o": 2, "c": 2, "y": 2},
            "can be a function, defined on a line of its own",
        ),
        (r"y = V h", {"h": 1, "y": 1}, "declare its shape: `V in R^{n x m}`"),
        (
            "A_t = A_{t-1} + h_t h_t^T",
            {"A": ("t", "i", "j"), "h": ("t", "i")},
            "shapes i x j and i x i cannot be added",
        ),
    ],
)
def test_what_the_signature_does_not_decide_is_refused(text, signature, message):
    with pytest.raises(NotationError) as caught:
        Equations(text, signature)
    assert message in caught.value.message


def test_a_new_index_is_not_named_like_a_size():
    given = {"h": ("t", "j"), "x": 2}
    read = Equations("y = mean[i](x[i]) + tanh(x[3J])", given)
    assert show(read.program).splitlines()[1] == "y[k] = sum[i](x[i,k])/I + tanh(x[3*j,k])"
    assert parse(show(read.program)) == read.program
