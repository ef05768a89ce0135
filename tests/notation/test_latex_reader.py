"""Reading LaTeX: the same program as the ASCII spelling, with carets in the LaTeX text."""

import pytest

from coursekit.notation import NotationError
from coursekit.notation.parse.parser import parse

SAME = [
    (r"y = \frac{a}{b} c", "y = a/b c"),
    (r"y = \frac12 x", "y = 1/2 x"),
    (r"y = \sqrt{a + b}", "y = sqrt(a + b)"),
    (r"y = \sqrt x", "y = sqrt(x)"),
    (r"y[i] = \left( a[i] + b \right) c[i]", "y[i] = (a[i] + b) c[i]"),
    (r"y = \sum_{i=1}^{n} a[i] b[i]", "y = sum[i](a[i] b[i])"),
    (r"y = \sum_{i=0}^{N-1} a[i]", "y = sum[i](a[i])"),
    (r"positions from 0" "\n" r"y = \sum_{i=2}^{5} a[i]", "y = sum[i, 2 <= i, i <= 5](a[i])"),
    (r"y = \sum\limits_i a[i] - \prod_{j} b[j]", "y = sum[i](a[i]) - prod[j](b[j])"),
    (r"y[t_1] = \sum_{t_2 \le t_1} a[t_1, t_2]", "y[t1] = sum[t2 <= t1](a[t1,t2])"),
    (r"y = \max_{t} x[t]", "y = max[t](x[t])"),
    (r"y = \underset{t}{\max} \, x[t]", "y = max[t](x[t])"),
    (r"y[w] = \text{softmax}_w \; a[w] + b[w]", "y[w] = softmax[w](a[w] + b[w])"),
    (r"y[w] = \operatorname*{softmax}_{w} \left[ a[w] \right]", "y[w] = softmax[w](a[w])"),
    (r"y = \ln x + \log(x) - \tanh x", "y = log(x) + log(x) - tanh(x)"),
    (r"y = -\ln \sum_i \exp(x[i])", "y = -log(sum[i](exp(x[i])))"),
    (r"y[i] = a[i] \odot b[i] \cdot c[i] \circ d[i] \times e[i]", "y[i] = a[i] b[i] c[i] d[i] e[i]"),
    (r"y = \|x[I]\|", "y = sqrt(x[I]^2)"),
    (r"y = ||x[I] - z[I]||", "y = sqrt((x[I] - z[I])^2)"),
    (r"y = |x| + \frac{1}{|V|} q[V]", "y = abs(x) + 1/V q[V]"),
    (r"y[w] = e[w, I]^\top h[I]", "y[w] = e[w,I] h[I]"),
    (r"$$y = a$$", "y = a"),
    (r"\[ y = a. \]", "y = a"),
    (r"\begin{align*} y &= a \\ z &= b \end{align*}", "y = a\nz = b"),
    (r"y = a \tag{3}", "y = a"),
    (r"y = a \quad (12)", "y = a"),
    (r"y[i] = \mathbb{1}[i = 2] x[i]", "y[i] = 1 * [i == 2] x[i]"),
    (r"y = e^{-x[2]}", "y = exp(-x[2])"),
    (r"y_{1}[\ell] = x^{(1)}[\ell]", "y_1[l] = x[1,l]"),
    (r"h^{(t)} = h^{(t-1)} + x^{(t)}", "h[t] = h[t-1] + x[t]"),
    (r"h^{i,j} = h^{i-1,j} x^{i,j}", "h[i,j] = h[i-1,j] x[i,j]"),
    (r"h_t[b] = h_{t-1}[b] + x_t[b]", "h[t,b] = h[t-1,b] + x[t,b]"),
    (r"z_k = \sum_l x_l W_{lk}", "z[k] = sum[l](x[l] W[l,k])"),
    (r"L_{\ell+1}[t] = L_\ell[t]", "L_{l+1}[t] = L_l[t]"),
    (r"{\cal L} = \sum_i {\rm relu}(x_i) + \bf{b}", "L = sum[i](relu(x[i])) + b"),
    (r"P(y|h) = \text{softmax}_y h[I] e(y)[I]", "P[y] = softmax[y](h[I] e[y,I])"),
]  # fmt: skip


@pytest.mark.parametrize(("latex", "ascii_text"), SAME)
def test_latex_means_what_its_ascii_means(latex, ascii_text):
    assert parse(latex) == parse(ascii_text)


REFUSED = [
    (r"h[t] = \sigma(W[t] \unknown h[t-1])", r"the command `\unknown` is not known", 20),
    (r"h[t] = \frac{a}", "an argument is missing here", 15),
    (r"h[t] = \underset{t}{\text{median}} x[t]", "`median` takes no index below it", 8),
    (r"w \sim p", "`~` draws at random", 3),
    (r"y = \begin{foo} a \end{foo}", "the environment `foo` is not known", 5),
    (r"y = \left( a + b", "`(` is never closed", 10),
    (r"\Phi^* = \underset{\Phi}{\text{argmin}} f", "`argmin` is an optimisation", 10),
    (r"y = \text{if the wind blows}", "is prose", 5),
    (r"y = E_{x \sim p} [x]", "`~` draws at random", 6),
    (r"y = (a + b)_{i+}", "something is missing between `+` and `}`", 16),
]  # fmt: skip


@pytest.mark.parametrize(("latex", "message", "column"), REFUSED)
def test_refusal_points_into_the_latex(latex, message, column):
    with pytest.raises(NotationError) as caught:
        parse(latex)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)
