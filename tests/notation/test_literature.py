"""The models of `literature`, in three spellings each: none is misread, and nearly all are right at first."""

import re

import pytest
import torch
from blind import BLIND
from literature import MODELS, Model
from printed import PRINTED
from typed import TYPED

from coursekit.notation import Equations, NotationError


def axes_of(written: str) -> dict[str, tuple[str, ...]]:
    found = {}
    for part in re.sub(r"\w=\d", "", written).split():
        name, _, axes = part.partition(":")
        found[name] = tuple(a for a in axes.partition("<")[0].split(",") if a)
    return found


def drawn(model: Model) -> dict[str, torch.Tensor]:
    """The same random inputs for every spelling: of both signs where no logarithm or root is taken."""
    rng = torch.Generator().manual_seed(len(model.name))
    letters = re.findall(r"[:,<]([a-z]+)", model.given)
    size = {letter: n for n, letter in enumerate(dict.fromkeys(letters), 2)}
    size |= {letter: int(n) for letter, n in re.findall(r"(\w)=(\d)", model.given)}
    positive = re.search(r"log|sqrt|\^gamma|\^0", model.text)
    out = {}
    for part in re.sub(r"\w=\d", "", model.given).split():
        name, _, axes = part.partition(":")
        plain, _, below = axes.partition("<")
        shape = [size[a] for a in plain.split(",") if a]
        if below:
            out[name] = torch.randint(size[below], shape, generator=rng)
        else:
            x = torch.rand(shape, generator=rng, dtype=torch.float64) * 0.8 + 0.1
            out[name] = x if positive else x * (torch.randint(2, shape, generator=rng) * 2 - 1)
    return out


WORDS = {
    "sigmoid": r"\sigma", "tanh": r"\tanh", "exp": r"\exp", "log": r"\ln", "relu": r"\mathrm{ReLU}", "lam": r"\lambda",
    "yhat": r"\hat{y}", "softmax": r"\mathrm{softmax}", "min": r"\min", "max": r"\max", "sin": r"\sin", "cos": r"\cos",
}  # fmt: skip


def in_brackets(text: str) -> str:
    """The ASCII text set in LaTeX by hand's rules, its indices left in brackets."""
    text = re.sub(r"\b(sum|prod)\[([^\]]*)\]\(", r"\\\1_{\2} (", text)
    text = re.sub(r"\b(softmax|max|min)\[([^\]]*)\]\(", r"\\\1_{\2} (", text).replace(
        r"\softmax", r"\mathrm{softmax}"
    )
    text = re.sub(r"(?<![\\\w{])(" + "|".join(WORDS) + r")(?![\w}])", lambda m: WORDS[m.group(1)], text)
    text = re.sub(r"([A-Za-z])_(\w+)", r"\1_{\2}", text.replace("<=", r"\le ").replace(">=", r"\ge "))
    return text.replace("\n", " \\\\\n")


def spellings(model: Model) -> dict[str, str]:
    return {"ascii": model.text, "brackets": in_brackets(model.text), "page": model.page}


def verdict(model: Model, text: str, positive: bool = False) -> str:
    """`right`, `wrong`, or the sentence of the refusal."""
    signature = axes_of(model.given) | axes_of(model.asked)
    (asked,) = axes_of(model.asked)
    inputs = drawn(model)
    inputs = {n: abs(x) if positive else x for n, x in inputs.items()}
    wanted = model.oracle(**inputs)
    try:
        equations = Equations(text, signature)
        boundary = dict.fromkeys(equations.system.boundary, 0.0)
        got = equations.run(
            {n: v for n, v in inputs.items() if n in equations.inputs}, boundary, outputs=asked
        )
    except NotationError as refusal:
        return f"refused: {refusal}"
    return "right" if torch.allclose(got[asked].double(), wanted.double(), atol=1e-9) else "wrong"


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_each_spelling_of_a_model_is_right(model):
    found = {name: verdict(model, text) for name, text in spellings(model).items()}
    assert found == dict.fromkeys(found, "right")


@pytest.mark.parametrize("model", [*PRINTED, *TYPED, *BLIND], ids=lambda m: m.name)
def test_page_and_free_typing_are_right(model):
    found = {text: verdict(model, text, positive=True) for text in (model.page, model.text)}
    assert found == dict.fromkeys(found, "right")


# Even and odd entries, as "Attention is all you need" prints its positions.
POSITIONS = [
    r"PE_{(pos,2i)} = \sin(pos/10000^{2i/d}), \quad PE_{(pos,2i+1)} = \cos(pos/10000^{2i/d}), \quad y = x + PE",
    "PE[pos,2i] = sin(pos/10000^(2i/d))\nPE[pos,2i+1] = cos(pos/10000^(2i/d))\ny = x + PE",
]


@pytest.mark.parametrize("text", POSITIONS)
@pytest.mark.parametrize("d", [5, 6])
def test_even_and_odd_entries_stand_on_two_lines(text, d):
    x = torch.rand(4, d, dtype=torch.float64)
    wanted = x.clone()
    for k in range(d):
        angle = torch.arange(4, dtype=torch.float64) / 10000 ** (2 * (k // 2) / d)
        wanted[:, k] += torch.cos(angle) if k % 2 else torch.sin(angle)
    found = Equations(text, {"x": ("pos", "d"), "y": ("pos", "d")}).run({"x": x})["y"]
    torch.testing.assert_close(found, wanted)


def test_even_and_odd_entries_of_tensors_are_laid_end_to_end():
    z = Equations("z[2*i] = a[i]\nz[2*i+1] = b[i]").evaluate({"a": [1.0, 2.0], "b": [3.0, 4.0]})["z"]
    assert z == [1.0, 3.0, 2.0, 4.0]


# What was once read wrongly, or could be: refused, with how to write each reading.
DOUBTS = [
    (r"y = \max_i (x_i - c)^2", {"x": ("i",), "c": (), "y": ()}, "of each term"),
    ("y = sum_i(x_i - c)^2", {"x": ("i",), "c": (), "y": ()}, "of the whole"),
    (r"c_t = f_t \cdot g_t", {"f": ("t", "d"), "g": ("t", "d")}, r"a \odot b"),
    ("y = A * B", {"A": ("i", "i"), "B": ("i", "i"), "y": ("i", "i")}, r"A \odot B"),
    ("y = a W b", {"a": ("i",), "W": ("i", "i"), "b": ("i",), "y": ("i",)}, r"v^\top M x"),
    (r"y_i = x_i/2c", {"x": ("i",), "c": (), "y": ("i",)}, "a/(b c)"),
    (r"y = \sum_{i \in S} x_i", {"x": ("i",), "y": ()}, "for all of them"),
]


DOUBTS += [
    ("y[t] = x[t] % 2", {}, "begins a comment"),
    (r"y = a \otimes b", {"a": ("i",), "b": ("i",), "y": ("i",)}, r"a \odot b"),
    ("y_i = e^x_i", {"x": ("i",), "y": ("i",)}, "e^{x_i}"),
    ("L = log p(w_t)", {"p": ("t", "v"), "w": ("t",), "L": ("t",)}, "p[t,v]"),
    ("y = x.mean()", {"x": ("i",), "y": ()}, "mean[i](x[i])"),
    (r"y = \langle u, v \rangle", {"u": ("i",), "v": ("i",), "y": ()}, r"u^\top v"),
    (
        r"y = \sum_i g_i E_i(x)",
        {"g": ("i",), "E": ("i", "j"), "x": ("j",), "y": ("j",)},
        "`E_i` alone, or a product",
    ),
    ("y = x/|x|", {"x": ("i",), "y": ("i",)}, "its length, `||x||`, or of each entry, `abs(x)`"),
    ("h_t = tanh(U h_t-1)", {"U": ("j", "j"), "h": ("t", "j")}, "h_{t-1}"),
    (r"y = \max(0, a), \quad \tanh b = c", {"a": (), "b": (), "c": (), "y": ()}, "one equation"),
    ("y[2*i] = x[i]", {}, "concat[i,k](y[i,k])"),
    ("y[t,w] = softmax(z[t,w])", {}, "softmax[w](…)"),
    ("y[t,k] = x[t,k] - mean(x[t,k])", {}, "mean[i](…)"),
    ("h_t = tanh(W x)", {"W": ("j", "k"), "x": ("t", "k"), "h": ("t", "j")}, "does not fit"),
    ("y = sum(x, axis=0)", {"x": ("i", "j"), "y": ("j",)}, "sum[i](x[t,i])"),
    ("y = x - mean(x)", {"x": ("t", "d"), "y": ("t", "d")}, "`m = mean(x)`"),
    (
        r"y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x]}}",
        {"x": ("m", "k"), "y": ("m", "k")},
        "over which axes",
    ),
    ("p = exp(z)/sum(exp(z))", {"z": ("t", "v"), "p": ("t", "v")}, "over which axes"),
    (r"p(a \mid b) = q(a,b)", {"q": ("x", "y"), "p": ("x", "y")}, "`p[a,b]` or `p[b,a]`"),
    ("y = g * X", {"g": ("i",), "X": ("i", "i"), "y": ("i", "i")}, "`i` is free on the left"),
    (r"y_t = \mathrm{diag}(a) x + u_t", {"a": ("n",), "x": (), "u": ("t", "n"), "y": ("t", "n")}, "write"),
    ("y = softmax0S, dim=-1)", {"S": ("i",), "y": ("i",)}, "softmax[i](x[t,i])"),
    ("L = (y - f)^2", {"y": ("n",), "f": ("n",), "L": ()}, "sum[i](…)"),
    (
        r"S_t = g S_{t-1} + k_t^\top v_t, \quad o_t = q_t S_t",
        dict.fromkeys("kvqo", ("t", "d")),
        "`k[t] v[t]^T`, or columns",
    ),
    ("y[n] = sum_d q[n,d]/sqrt(d)", {"q": ("n", "d"), "y": ("n",)}, "write `D` for its size"),
    (r"s = u^\top v/\|u\| \|v\|", {"u": ("i",), "v": ("i",), "s": ()}, "where does the fraction end"),
    (r"y = \sum_{w \in N(v)} x_w", {"x": ("w",), "y": ()}, "`sum[i](…)`"),
    (
        r"y_j = p(a_j \mid c_j)",
        {"p": ("f", "e"), "a": ("j",), "c": ("j",), "y": ("j",)},
        "`p[a_j,c_j]` or `p[c_j,a_j]`",
    ),
    ("b[T,i] = 1\nb[t,i] = x[t,J] a[i,J] b[t+1,J]", {}, "the last entry"),
]


@pytest.mark.parametrize(("text", "signature", "said"), DOUBTS)
def test_two_readings_are_refused_with_both(text, signature, said):
    with pytest.raises(NotationError) as caught:
        Equations(text, signature)
    assert said in caught.value.message
    for repaired in caught.value.repairs:
        Equations(repaired, signature)


def test_brackets_keep_a_product_of_vectors_together():
    signature = {"U": ("j", "j"), "f": ("j",), "h": ("j",), "y": ("j",)}
    system = Equations("y = U (f * h)", signature)
    assert system == Equations("y[j] = U[j,J] f[J] h[J]", signature)


def test_root_keeps_its_index():
    assert Equations(r"y = \sqrt[3]{x}").evaluate({"x": 8.0})["y"] == pytest.approx(2.0)


# What was read wrongly without a word, and how it must be read.
ONCE_MISREAD = [
    (
        "h[-1,j] = W[j,I] x0[I]\nh[t,j] = tanh(U[j,I] h[t-1,I] + x[t,j])",
        "h[t,j] = tanh(sum[i](U[j,i] cases(sum[k](W[i,k] x0[k]) if t == 0, h[t-1,i] otherwise)) + x[t,j])",
        {},
    ),
    ("y = (A - B)^T x", "y[i] = (A[J,i] - B[J,i]) x[J]", {"A": ("i", "i"), "B": ("i", "i"), "x": ("i",), "y": ("i",)}),
    (
        r"S = \tanh(A B)^\top v",
        "S[i] = sum[j](tanh(sum[k](A[j,k] B[k,i])) v[j])",
        {"A": ("i", "i"), "B": ("i", "i"), "v": ("i",), "S": ("i",)},
    ),
    (r"y^{(t)}_{b,k} = 2 x^{(t)}_{b,k}", "y[b,t,k] = 2 x[b,t,k]", {"x": ("b", "t", "k"), "y": ("b", "t", "k")}),
    (
        r"y = \sigma(W x), \quad \sigma(z) = \max(0, z)",
        "y[d] = max(0, W[d,E] x[E])",
        {"W": ("d", "d"), "x": ("d",), "y": ("d",)},
    ),
    (
        "e[t,u] = h[t].T W s[u]",
        "e[t,u] = h[t,I] W[I,J] s[u,J]",
        {"h": ("t", "i"), "W": ("i", "j"), "s": ("u", "j"), "e": ("t", "u")},
    ),
    (
        r"y = \sum_e G(x)_e W_e x, \quad G(x) = V x",
        "y[f] = V[E,D] x[D] W[E,f,K] x[K]",
        {"V": ("e", "d"), "W": ("e", "f", "d"), "x": ("d",), "y": ("f",)},
    ),
    (
        "y_t = tanh(W_in x_t + W x_t)",
        "y[t,j] = tanh(W_in[j,K] x[t,K] + W[j,I] x[t,I])",
        {"W_in": ("j", "k"), "W": ("j", "k"), "x": ("t", "k"), "y": ("t", "j")},
    ),
    ("y = X * g", "y[t,d] = X[t,d] g[d]", {"g": ("d",), "X": ("t", "d"), "y": ("t", "d")}),
    ("S_ij = q_i k_j^T", "S[i,j] = q[i,D] k[j,D]", {"q": ("i", "d"), "k": ("j", "d"), "S": ("i", "j")}),
    (
        "head_k = W_k x\nc = concat(head_1, ..., head_h)",
        "head[k,i] = W[k,i,J] x[J]\nc[m] = concat[k,i](head[k,i])",
        {"W": ("k", "i", "j"), "x": ("j",), "c": ("m",)},
    ),
    ("m = max(x_1, ..., x_n)", "m = max[i](x[i])", {"x": ("i",), "m": ()}),
    ("y = dot(W, x)", "y[i] = W[i,J] x[J]", {"W": ("i", "j"), "x": ("j",), "y": ("i",)}),
    ("y(t) = sum_j inner(t,j) x(j)", "y[t] = inner[t,J] x[J]", {"inner": ("t", "j"), "x": ("j",), "y": ("t",)}),
    (
        "positions from 0\nb[T,i] = 1\nb[t,i] = a[i,J] b[t+1,J] + x[t,i]",
        "b[t,i] = a[i,J] cases(1 if t == T-1, b[t+1,J] otherwise) + x[t,i]",
        {},
    ),
    ("c = concat(a, b)", "c[k] = a[I]; b[J]", {"a": ("i",), "b": ("j",), "c": ("k",)}),
    (
        "h_{t,J} = CELL(h_{t-1,J}, x_{t,K})",
        "h[t,J] = CELL(h[t-1,J], x[t,K])",
        {"x": ("t", "k"), "h": ("t", "j")},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant", "signature"), ONCE_MISREAD)
def test_what_was_once_misread_is_read_as_meant(text, meant, signature):
    read, right = Equations(text, signature), Equations(meant)
    if "CELL" in text:
        assert read == right
    else:
        found = right.compare(read)
        assert found.equal, found.message


def test_an_entry_of_sigma_is_no_sigmoid():
    assert Equations("y[i] = sigma[i] x[i]").inputs == ("sigma", "x")
    assert Equations(r"y[j] = \sigma[W[j,I] x[I]]") == Equations("y[j] = sigmoid(W[j,I] x[I])")
