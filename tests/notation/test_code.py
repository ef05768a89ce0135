"""The code that a system is written as: it computes what the equations say."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from draws import F64, draw, sizes_of
from hypothesis import HealthCheck, given, settings
from strategies import systems
from systems import SYSTEMS
from torch.nn import functional

import coursekit.models
from coursekit.notation import Equations, NotationError
from coursekit.notation.tree import Apply, walk

BOOK = Path(__file__).resolve().parents[2] / "book"


# ── running what was written ─────────────────────────────────────────────────────────────────


def compiled(text, outputs=None):
    space: dict = {}
    exec((text if isinstance(text, Equations) else Equations(text)).code(outputs), space)
    return space["model"]


def opaque(equations, sizes):
    """A function for each opaque one: it mixes its arguments and has the size of what it gives."""
    found = {}
    for equation in (e for b in equations.system.blocks for e in b.equations):
        ranges = equations.system.ranges[equation]
        for node in (n for n in walk(equation.right) if isinstance(n, Apply)):
            slices, shape = node.slices, [sizes.get(ranges[i], 3) for i in node.out]

            def function(*args, slices=slices, shape=shape):
                means = sum(
                    torch.sin(a.flatten(a.ndim - len(s)).mean(-1)) for a, s in zip(args, slices, strict=True)
                )
                steps = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=F64)
                return torch.tanh(means[..., None] * steps).unflatten(-1, shape)

            found.setdefault(node.function, function)
    return found


def both(text, seed=0):
    """All outputs by `run` and by the code, on the same random tensors."""
    equations = Equations(text)
    system, sizes = equations.system, sizes_of(equations.system)
    inputs, boundary = draw(system, seed)
    functions = opaque(equations, sizes)
    boundary = {name: value for name, value in boundary.items() if name not in system.padded}
    model = compiled(text, equations.outputs)
    edges = [part for v in boundary.values() for part in (v if isinstance(v, tuple) else (v,))]
    args = [*(inputs[name] for name in system.inputs), *edges, *functions.values()]
    extra = {name: sizes.get(name, 3) for name in list(inspect.signature(model).parameters)[len(args) :]}
    ours = equations.run(inputs, boundary, extra, functions)
    found = model(*args, *extra.values())
    found = found if isinstance(found, tuple) else (found,)
    return {name: (ours[name], value) for name, value in zip(equations.outputs, found, strict=True)}


def agrees(text, seed=0):
    for name, (ours, theirs) in both(text, seed).items():
        assert theirs.shape == ours.shape, name
        torch.testing.assert_close(
            theirs, ours, rtol=1e-9, atol=1e-11, equal_nan=True, msg=lambda m, n=name: f"{n}: {m}"
        )


# ── what is to be written ────────────────────────────────────────────────────────────────────


def texts_of_models():
    """Every text of the language in coursekit.models: constants of its modules and of its classes."""
    found = {}
    for info in pkgutil.iter_modules(coursekit.models.__path__):
        module = importlib.import_module(f"coursekit.models.{info.name}")
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                found |= _texts(f"{info.name}.{name}.equations", vars(value).get("equations"))
            elif name.isupper():
                found |= _texts(f"{info.name}.{name}", value)
    return found


def _texts(name, value):
    if isinstance(value, dict):
        return {k: v for key, part in value.items() for k, v in _texts(f"{name}.{key}", part).items()}
    if not isinstance(value, str) or not re.search(r"\w\[[^\]]+\]\s*=[^=]", value):
        return {}
    return {name: value}


def texts_of_cards():
    found = {}
    for page in sorted(BOOK.rglob("*.md")):
        for card in re.finditer(
            r"^```+\{equation-card\} *(\S+)\n(.*?)^```+ *$", page.read_text(), re.M | re.S
        ):
            lines = [line for line in card.group(2).splitlines() if not line.startswith(":")]
            found[card.group(1)] = "\n".join(lines)
    return found


MODELS, CARDS = texts_of_models(), texts_of_cards()


def test_the_models_have_texts_to_write():
    assert len(MODELS) >= 20
    assert {"cells.GRU.equations", "attention.SELF_ATTENTION", "grid.GRID"} & set(MODELS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_code_of_a_system_of_the_course_agrees_with_run(name):
    agrees(SYSTEMS[name])


@pytest.mark.parametrize("name", MODELS)
def test_code_of_a_models_equations_agrees_with_run(name):
    agrees(MODELS[name])


@pytest.mark.parametrize("name", CARDS)
def test_code_of_a_card_agrees_with_run(name):
    agrees(CARDS[name])


# The last equation gives one number. Every worker collects the tests: 75 systems are not read for that.
LOSSES = {
    name: text
    for name, text in {**SYSTEMS, **CARDS}.items()
    if re.findall(r"^(?!shape )\w+'*(\[?).*=", text, re.MULTILINE)[-1] == ""
}


@pytest.mark.parametrize("name", LOSSES)
def test_code_of_the_gradient_of_a_loss_agrees_with_run(name):
    """On the values of the forward pass, whose sizes fit together as random ones would not."""
    forward = Equations(LOSSES[name])
    assert forward.system.tensors[forward.outputs[-1]].dims == ()
    inputs, boundary = draw(forward.system)
    boundary = {n: value for n, value in boundary.items() if n not in forward.system.padded}
    known = {**inputs, **forward.run(inputs, boundary)}
    back = forward.grad(forward.outputs[-1])
    edges = [boundary[n] for n in back.system.boundary if n not in back.system.padded]
    found = compiled(back, back.outputs)(*(known[n] for n in back.inputs), *edges)
    ours = back.run(known, boundary)
    for output, value in zip(back.outputs, found if isinstance(found, tuple) else (found,), strict=True):
        torch.testing.assert_close(value.to(F64), ours[output], rtol=1e-9, atol=1e-11, equal_nan=True)


CONSTRUCTS = [
    "y[j,i] = x[i,j]",
    "y[i,j] = a[i] b[j]",
    "y[i,j] = a[j] + b[i] - 1/3",
    "y[i] = A[i,i] + 2 B[i,0]",
    "y[b,i] = x[b,i]/sum[j](x[b,j])",
    "y[b,w] = beta z[b,w] + c",
    "y[t] = x[T-1-t]",
    "y[t] = x[2*t]",
    "y[t] = x[2*t+1] + x[2*t]",
    "pad x\ny[t] = x[t-1] + 2 x[t+2]",
    "y[t] = x[t-1] + 2 x[t+1]",
    "pad x\ny[b,t] = sum[dt](W[dt] x[b,2*t+dt])",
    "pad x\ncentered dt\ny[b,t] = sum[dt](W[dt] x[b,2*t+dt])",
    "y[t] = sum[dt](W[dt] x[t+dt+1])",
    "y[t1,t2] = (t1-t2)^2 x[t1,t2]",
    "y[t1] = sum[t2 <= t1](x[t1,t2])",
    "y[t1,t2] = softmax[t2 < t1](x[t1,t2])",
    "y[t1,t2] = softmax[t2, t2 <= t1 and t1 <= t2+1](x[t1,t2])",
    "y[i,j] = cases(x[i] if i == j, z[j] if i < j, 0 otherwise)",
    "y[i,j] = [i == j] x[i]",
    "y[i] = sum[j]([j < i] log(x[j]^2) z[i])",
    "y[v,i] = [w[B,T] == v] dx[B,T,i] + e[w[B,T],v] z[i]",
    "c[t,c] = a[t,I]; b[t,K]; d[K]",
    "d[t,e] = concat[K,I](h[K,t,I])",
    "y = max[i](x[i]) + min(a, b) + abs(c) + min(2, d) + max(c, d, 1)",
    "y[j] = prod[i](x[i,j]) + max[i](x[i,j])",
    "y[b,x,y] = softmax[x,y](s[x,b,y])",
    "l[b,v] = log(softmax[v](z[b,v]))",
    "y[b] = P[b,w[b]] + Q[w[b],b] + A[w[b],w[b]]",
    "y[b,i] = e[w[b],i] z[b]",
    "y[b,t] = x[b,t] + z[t-1,b]",
    "f[t] = f[t-1] + f[t-2] + x[t]",
    "r[b,t] = tanh(u r[b,t+1] + x[b,t])",
    "r[b,t] = tanh(u r[b,t+2] + r[b,t+1] x[b,t])",
    "pad h\nh[t,i] = tanh(h[t-1,i] + h[t-2,i] x[t,i])",
    "h[i,j] = tanh(h[i-1,j] + 2 h[i,j-1] + x[i,j])",
    "pad h\nh[b,i,j] = tanh(h[b,i+1,j] + 2 h[b,i,j-1] + x[b,i,j])",
    "h[t] = tanh(h[t-1] + x[t-1] + x[t+1])",
    "pad x\nh[t] = h[t-1] sum[d](W[d] x[2*t+d])",
    "h[t] = cases(x[t] if t == 0, h[t-1] x[t] otherwise)",
    "h[t] = h[t-1]/2 + [t < 2] x[t] + t",
    "h[b,t,J] = CELL(h[b,t-1,J], x[b,t,K])",
    "h[b,t,J] = F(x[t,K], z[b,K])\ny[b,t,j] = h[b,t,j] + u[j]",
    "g[t] = x[t] tanh(h[t-1])\nh[t] = g[t] + c[t-1]\nc[t] = h[t] + c[t-1]\ny[t] = c[t-1] + g[t]",
    "y[i] = exp(-x[i]^2/2)/sqrt(I) + sigmoid(-x[i]) relu(x[i])",
    "y[lambda] = x[lambda] + lambda_1",
    "mean[t] = 1/J sum[j](L[t,j])\nvar[t] = 1/J sum[j]((L[t,j] - mean[t])^2)",
    "N[t,j] = g[j] (L[t,j] - mean[t]) / sqrt(var[t]^2 + 1)",
    "pad x\ny[t] = sum[d](W[d] x[t-d])",
    "pad x\ncentered d\ny[t] = sum[d](W[d] x[t-d])",
    "pad x\ny[t,d] = softmax[d <= t](x[t-d] W[d])",
    "size t = 5\ny[t,i] = x[i] t",
    "y[t] = sum[s]([s <= t] W[t-s] W[s] x[s])",
    "T in R^{n}\ny[i,j] = (x[i] + T[j])^3",
    # Whole numbers and truths in real arithmetic: in the inputs' own precision, not in torch's choice.
    "y[i] = x[i] tanh(i) + log(i^2 + 1/9) sqrt(i^2) + exp(i/3) + 1/(2 + i)",
    "y[i] = x[i] + tanh(1 + i) (i + 1)^(1/3) + sqrt(cases(i if x[i] < 0, 2 otherwise))",
    "y[i] = 1 - [x[i] < 0] - [x[i] > 1] + [x[i] > 0] [x[i] < 1] + [x[i] > 0]",
    "y[i] = exp([x[i] < 0] 2/3) + sum[j](log(j^2 + 1/9) x[j])",
    "h[t] = h[t-1]/2 + x[t] log(t^2 + 1) + tanh(t/3)",
]  # fmt: skip


@pytest.mark.parametrize("text", CONSTRUCTS)
def test_code_of_a_construct_agrees_with_run(text):
    agrees(text)


@given(systems(smooth=False))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
def test_code_of_a_random_system_agrees_with_run_or_is_refused(text):
    try:
        Equations(text).code()
    except NotationError as refusal:
        assert "the code" in refusal.message  # noqa: PT017
    else:
        agrees(text)


def test_a_wrong_line_of_code_would_be_seen():
    """The comparison above can fail: the same code with one sign turned does."""
    text = "h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])"
    ours, _ = both(text)["h"]
    space: dict = {}
    exec(Equations(text).code().replace("+ x", "- x"), space)
    inputs, boundary = draw(Equations(text).system)
    assert not torch.allclose(space["model"](inputs["W"], inputs["x"], boundary["h"]), ours)


# ── directly against torch ───────────────────────────────────────────────────────────────────


def random(*shape):
    return torch.randn(shape, dtype=F64)


def test_gru_code_is_torchs_gru():
    model = compiled("""
        r[b,t,j] = sigmoid(W_ir[j,K] x[b,t,K] + b_ir[j] + W_hr[j,I] h[b,t-1,I] + b_hr[j])
        z[b,t,j] = sigmoid(W_iz[j,K] x[b,t,K] + b_iz[j] + W_hz[j,I] h[b,t-1,I] + b_hz[j])
        n[b,t,j] = tanh(W_in[j,K] x[b,t,K] + b_in[j] + r[b,t,j] (W_hn[j,I] h[b,t-1,I] + b_hn[j]))
        h[b,t,j] = (1 - z[b,t,j]) n[b,t,j] + z[b,t,j] h[b,t-1,j]
    """)
    gru = torch.nn.GRU(3, 4, batch_first=True, dtype=F64)
    parts = {"x": random(2, 5, 3), "h0": random(2, 4)}
    for side, word in (("i", "ih"), ("h", "hh")):
        weights, biases = getattr(gru, f"weight_{word}_l0").chunk(3), getattr(gru, f"bias_{word}_l0").chunk(3)
        for gate, W, b in zip("rzn", weights, biases, strict=True):
            parts |= {f"W_{side}{gate}": W, f"b_{side}{gate}": b}
    torch.testing.assert_close(model(**parts), gru(parts["x"], parts["h0"][None])[0])


def test_strided_convolution_code_is_torchs():
    model = compiled("y[b,t,i] = W[dT,J,i] x[b,2*t+dT,J] + c[i]".replace("dT", "D"))
    W, x, c = random(3, 4, 5), random(2, 11, 4), random(5)
    truth = functional.conv1d(x.transpose(1, 2), W.permute(2, 1, 0), c, stride=2).transpose(1, 2)
    torch.testing.assert_close(model(W, x, c), truth)


def test_padded_convolution_code_is_torchs():
    text = "pad L\ncentered dx, dy\nN[b,x,y,j] = sum[dx,dy](W[dx,dy,I,j] L[b,x+dx,y+dy,I])"
    W, L = random(3, 5, 4, 6), random(2, 7, 8, 4)
    truth = functional.conv2d(L.permute(0, 3, 1, 2), W.permute(3, 2, 0, 1), padding=(1, 2)).permute(
        0, 2, 3, 1
    )
    torch.testing.assert_close(compiled(text)(W, L), truth)


@pytest.mark.parametrize(("condition", "causal"), [("s", False), ("s <= t", True)])
def test_attention_code_is_torchs(condition, causal):
    model = compiled(f"""
        alpha[b,k,t,s] = softmax[{condition}](1/sqrt(I) Q[b,k,t,I] K[b,k,s,I])
        h[b,k,t,i] = alpha[b,k,t,S] V[b,k,S,i]
    """)
    Q, K, V = (random(2, 3, 5, 4) for _ in range(3))
    truth = functional.scaled_dot_product_attention(Q, K, V, is_causal=causal)
    torch.testing.assert_close(model(Q, K, V), truth)


def test_cross_entropy_code_is_torchs():
    model = compiled("""
        l[b,v] = log(softmax[v](z[b,v]))
        J = -1/B sum[b](l[b,y[b]])
    """)
    z, y = random(5, 7), torch.randint(7, (5,))
    torch.testing.assert_close(model(z, y), functional.cross_entropy(z, y))


def test_lookup_with_arithmetic_takes_the_rows_it_says():
    e, v = random(9, 3), torch.tensor([0, 3, 2])
    torch.testing.assert_close(compiled("y[b,i] = e[2*v[b]+1,i]")(e, v), e[[1, 7, 5]])


def test_lookup_code_is_torchs_embedding():
    e, w = random(7, 3), torch.randint(7, (2, 5))
    torch.testing.assert_close(compiled("x[b,t,k] = e[w[b,t],k]")(e, w), functional.embedding(w, e))


# ── how it reads ─────────────────────────────────────────────────────────────────────────────


def test_code_reads_as_one_would_write_it():
    text = "h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])\nP[b,t,v] = softmax[v](E[v,J] h[b,t,J])"
    assert Equations(text).code() == (
        "import torch\n"
        "from torch import einsum\n"
        "\n"
        "\n"
        "def model(W, U, x, E, h0):\n"
        "    # W (J, J), U (J, K), x (B, T, K), E (V, J), h0 (B, J)\n"
        "    T = x.shape[1]\n"
        "    hs = [h0]\n"
        "    for t in range(T):\n"
        "        h = torch.tanh(\n"
        '            einsum("ji,bi->bj", W, hs[-1]) + einsum("jk,bk->bj", U, x[:, t])\n'
        "        )  # (B, J)\n"
        "        hs.append(h)\n"
        "    h = torch.stack(hs[1:], dim=1)  # (B, T, J)\n"
        '    P = torch.softmax(einsum("vj,btj->btv", E, h), dim=-1)  # (B, T, V)\n'
        "    return P\n"
    )


def test_no_line_of_a_models_code_is_much_too_long():
    for name, text in {**MODELS, **CARDS}.items():
        assert max(map(len, Equations(text).code().splitlines())) <= 100, name


def test_outputs_choose_what_is_returned_and_leave_the_rest_out():
    text = "y[i] = 2 x[i]\nz[i] = y[i] + 1\nu[i] = x[i]^2"
    assert Equations(text).code().endswith("return z, u\n")
    only = Equations(text).code("y")
    assert only.endswith("return y\n")
    assert "u = " not in only


def test_code_is_written_without_torch():
    program = (
        "import sys; sys.modules['torch'] = sys.modules['numpy'] = None\n"
        "from coursekit.notation import Equations\n"
        "assert 'torch.tanh' in Equations('h[t,j] = tanh(W[j,I] h[t-1,I])').code()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_an_input_is_no_output_of_the_code():
    with pytest.raises(NotationError, match="is an input"):
        Equations("y[i] = 2 x[i]").code("x")


PATHS = """
v[b,t,j] = e[b,t,j] + max[i](v[b,t-1,i] + W[i,j])
p[b,t,j] = argmax[i](v[b,t-1,i] + W[i,j])
y[b,t] = cases(argmax[j](v[b,t,j]) if t == T-1, p[b,t+1,y[b,t+1]] otherwise)
"""
EDIT = "d[i,j] = {}min(d[i-1,j] + 1, d[i,j-1] + 1, d[i-1,j-1] + [a[i] != b[j]]){}"
GRID = "h[i,j,k] = x[i,j,k] + h[i-1,j,k] + c h[i,j-1,k] + h[i-1,j-1,k]"


@pytest.mark.parametrize(
    ("text", "shapes", "boundary"),
    [
        (PATHS.replace("b,", ""), {"e": (5, 3), "W": (3, 3)}, {"v": (3,)}),
        (PATHS, {"e": (2, 5, 3), "W": (3, 3)}, {"v": (2, 3)}),
        (EDIT.format("", ""), {"a": (4,), "b": (5,)}, {"d": 0.5}),
        (EDIT.format("cases(i if j == 0, j if i == 0, ", " otherwise)"), {"a": (4,), "b": (5,)}, {}),
        (GRID, {"x": (3, 4, 2), "c": ()}, {"h": 0.25}),
        ("h[i,j] = x[i,j] + [i > 0] h[i-1,j] + [j > 0] h[i,j-1]", {"x": (3, 4)}, {}),
        (
            "h[i,j] = cases(0 if i == 0, h[i-1,j] otherwise) + c h[i,j-1] + x[i,j]",
            {"x": (3, 4), "c": ()},
            {"h": (3,)},
        ),
        ("y[t] = x[t] + [t > 0] x[t-1]", {"x": (5,)}, {}),
    ],
)
def test_back_pointers_corners_of_a_grid_and_guarded_reads_are_written(text, shapes, boundary):
    equations, make = Equations(text), torch.Generator().manual_seed(0)
    inputs = {name: torch.randn(shape, generator=make, dtype=F64) for name, shape in shapes.items()}
    drawn = lambda v: torch.randn(v, generator=make, dtype=F64) if isinstance(v, tuple) else v
    edges = {name: drawn(v) for name, v in boundary.items()}
    model = compiled(text, equations.outputs)
    given = {
        **inputs,
        **{w: edges[w.split("0")[0]] for w in inspect.signature(model).parameters if w not in inputs},
    }
    found = model(**given)
    boundary = {n: edges.get(n, 0) for n in equations.system.boundary}
    lists = lambda tensors: {n: v.tolist() if isinstance(v, torch.Tensor) else v for n, v in tensors.items()}
    meant, ours = equations.evaluate(lists(inputs), lists(boundary)), equations.run(inputs, boundary)
    for name, value in zip(equations.outputs, found if isinstance(found, tuple) else (found,), strict=True):
        torch.testing.assert_close(ours[name], torch.tensor(meant[name], dtype=F64))
        torch.testing.assert_close(value, ours[name])


def test_what_cannot_be_written_is_refused_in_a_sentence():
    with pytest.raises(NotationError, match="the code cannot"):
        Equations("h[i,j] = h[i-2,j] + h[i,j-1] + x[i,j]").code()
