"""The table of functions: each word means what torch means by it, runs, is written as code and differentiated."""

import math

import pytest
import torch
import torch.nn.functional as F
from draws import compare as gradients
from draws import differentiable
from running import Case, agree, draw
from running import system as checked
from test_code import agrees as code_agrees

from coursekit.notation import Equations, NotationError
from coursekit.notation.functions import DEFINED, FUNCTIONS, REDUCERS, SAID
from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.tree import Equation, Program, Ref, index

ONE_ARGUMENT = [name for name in FUNCTIONS if name not in ("min", "max")]
MEANT = {
    "abs": torch.abs, "sin": torch.sin, "cos": torch.cos, "erf": torch.special.erf, "exp": torch.exp,
    "gelu": lambda x: x * torch.special.ndtr(x), "silu": lambda x: x / (1 + torch.exp(-x)),
    "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)), "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "tanh": torch.tanh, "relu": lambda x: x.clamp(min=0), "log": torch.log, "sqrt": lambda x: x**0.5,
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_a_function_means_what_torch_means_by_it(name):
    x = torch.linspace(0.1 if name in ("log", "sqrt") else -30, 30, 61, dtype=torch.float64)
    ours = agree(Case(f"y[i] = {name}(x[i])", {"x": x}))["y"]
    torch.testing.assert_close(ours, MEANT[name](x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_every_slope_agrees_with_autograd(name):
    inside = "exp(W[i,J] x[J])" if name in ("log", "sqrt") else "W[i,J] x[J]"
    system = checked(f"y[i] = {name}({inside})\nJ = y[I] c[I]")
    for error in gradients(system, differentiable(system)).values():
        assert error < 1e-10


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_every_function_is_written_as_code_and_set_in_latex(name):
    equations = Equations(f"y[i] = {name}(x[i]^2)")
    code_agrees(str(equations))
    assert Equations(equations.latex()) == equations


@pytest.mark.parametrize(
    ("value", "end"), [(math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"), (0.0, "0")]
)
@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_the_meaning_ends_where_tensors_end(name, value, end):
    """Never in an exception; in the numbers that torch gives."""
    ours = evaluate(checked(f"y = {name}(x)"), {"x": value})["y"]
    theirs = float(MEANT[name](torch.tensor(value, dtype=torch.float64)))
    if not (name in ("gelu", "silu") and value == -math.inf):  # 0 times infinity, a limit that is 0
        assert ours == theirs or (math.isnan(ours) and math.isnan(theirs)), (ours, theirs)


REDUCED = {
    "max": torch.amax, "min": torch.amin, "prod": torch.prod, "logsumexp": torch.logsumexp, "argmax": torch.argmax,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCERS)
def test_a_reducer_means_what_torch_means_by_it(name):
    x = draw(4, 5)
    text = f"y[b] = {name}[i](x[b,i])\nz[b] = {name}[i, i <= b](x[b,i])"
    ours = agree(Case(text, {"x": x}))
    torch.testing.assert_close(ours["y"], REDUCED[name](x, 1).double())
    rows = [REDUCED[name](x[b, : b + 1], 0).double() for b in range(4)]
    torch.testing.assert_close(ours["z"], torch.stack(rows))
    code_agrees(text)
    assert Equations(Equations(text).latex()) == Equations(text)


@pytest.mark.parametrize("name", REDUCERS)
def test_the_gradient_of_a_reducer_agrees_with_autograd(name):
    system = checked(f"y[b] = {name}[i, i <= b](W[i,K] x[b,K])\nJ = c[B] y[B]")
    for error in gradients(system, ["c"] if name == "argmax" else ["W", "x", "c"]).values():
        assert error < 1e-10


def test_a_reducer_over_nothing_changes_nothing():
    found = agree(Case("\n".join(f"{n}y[b] = {n}[i, i < b](x[b,i])" for n in REDUCERS), {"x": (3, 3)}))
    assert [float(found[f"{n}y"][0]) for n in REDUCERS] == [-math.inf, math.inf, 1.0, -math.inf, 0.0]


def test_the_first_of_the_largest_is_taken_and_centred_places_are_kept():
    x = torch.tensor([[1.0, 3.0, 3.0], [5.0, 5.0, 2.0]], dtype=torch.float64)
    assert agree(Case("y[b] = argmax[i](x[b,i])", {"x": x}))["y"].tolist() == [1.0, 0.0]
    text = "centered i\ny[b] = argmax[i](x[b,i])"
    assert agree(Case(text, {"x": x}))["y"].tolist() == [0.0, -1.0]
    code_agrees(text)


# ── words that the language itself says ──────────────────────────────────────────────────────

X = Ref("x", (index("b"), index("i")))
MEANT_ALONG = {
    "mean": lambda x: x.mean(1), "var": lambda x: x.var(1, correction=0), "norm": lambda x: x.norm(dim=1),
    "norm1": lambda x: x.norm(1, dim=1), "norminf": lambda x: x.norm(math.inf, dim=1),
    "std": lambda x: x.std(1, correction=0), "argmin": lambda x: x.argmin(1).double(),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED)
def test_a_defined_word_means_what_torch_means_by_it(name):
    made = checked("y[b] = 0 x[b,I]").program.equations[0]
    program = Program((Equation(made.left, DEFINED[name](("i",), X)),))
    equations = Equations(program)
    x = draw(4, 5)
    torch.testing.assert_close(equations.run({"x": x})["y"], MEANT_ALONG[name](x))
    assert Equations(str(equations)) == equations
    code_agrees(str(equations))


def test_a_mean_under_a_condition_counts_what_meets_it():
    where = checked("y[b] = sum[i, i <= b](x[b,i])").program.equations[0]
    for name, meant in (("mean", torch.mean), ("var", lambda x: x.var(correction=0)), ("norm", torch.norm)):
        right = DEFINED[name](("i",), X, where.right.where)
        equations = Equations(Program((Equation(where.left, right),)))
        x = draw(4, 5)
        rows = torch.stack([meant(x[b, : b + 1]) for b in range(4)])
        torch.testing.assert_close(equations.run({"x": x})["y"], rows)


SPOKEN = {
    "clip(x[i], low, high)": lambda x: x.clamp(-0.3, 0.4), "clamp(x[i], low, high)": lambda x: x.clamp(-0.3, 0.4),
    "pow(x[i], 3)": lambda x: x**3, "square(x[i])": torch.square, "sign(x[i])": torch.sign, "sgn x[i]": torch.sign,
    "tan x[i]": torch.tan, r"\tan^2(x[i])": lambda x: torch.tan(x) ** 2, r"\sinh(x[i])": torch.sinh,
    "cosh(x[i])": torch.cosh, "log1p(exp(x[i]))": lambda x: torch.log1p(torch.exp(x)), "expm1(x[i])": torch.expm1,
    "rsqrt(exp(x[i]))": lambda x: torch.rsqrt(torch.exp(x)), "logit(sigmoid(x[i]))": lambda x: x,
    "log_sigmoid(x[i])": F.logsigmoid, "leaky_relu(x[i], 0.01)": F.leaky_relu, "ELU(x[i])": F.elu,
    r"\mathrm{LeakyReLU}(x[i], 0.2)": lambda x: F.leaky_relu(x, 0.2), "ELU(x[i], 2)": lambda x: F.elu(x, 2.0),
    "relu6(4 x[i])": lambda x: F.relu6(4 * x), "hardtanh(x[i])": F.hardtanh, "softsign(x[i])": F.softsign,
    "mish(x[i])": F.mish, "log10(exp(x[i]))": lambda x: torch.log10(torch.exp(x)),
    "log_softmax[i](x[i])": lambda x: F.log_softmax(x, 0), "softmin[i](x[i])": lambda x: F.softmin(x, 0),
}  # fmt: skip


@pytest.mark.parametrize("written", SPOKEN)
def test_a_spoken_word_means_what_torch_means_by_it(written):
    x = draw(7) * 3
    equations = Equations(f"y[i] = {written}")
    given = {"x": x, "low": torch.tensor(-0.3).double(), "high": torch.tensor(0.4).double()}
    ours = equations.run({name: given[name] for name in equations.system.inputs})["y"]
    torch.testing.assert_close(ours, SPOKEN[written](x))
    assert Equations(str(equations)) == equations == Equations(equations.latex())


def test_every_spoken_word_is_among_the_cases():
    words = {written.lower().replace("_", "").lstrip("\\") for written in SPOKEN}
    said = {word for word in SAID for w in words if w.replace("mathrm{", "").startswith(word)}
    assert said == set(SAID)


@pytest.mark.parametrize("written", ["x[i] mod 2", "floor x[i]", "arctan(x[i])", "sec x[i]", "∂x[i]/∂t"])
def test_a_word_of_mathematics_is_never_taken_for_a_number(written):
    with pytest.raises(NotationError, match="is no function of this language; "):
        Equations(f"y[i] = {written}")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (r"g_t = \nabla_\theta J(\theta_{t-1})", "give it a name"),
        (r"y = \mathbb{E}[x_i]", "sum with its weights"),
        (r"y = \pi(s) r", "can be a function"),
        (r"y = \pi_\theta(a|s) r", "can be a function"),
        ("y = q_a(x | z) r", "can be a function"),
        ("y = Phi(x)", "can be a function"),
    ],
)
def test_what_a_page_means_as_a_function_is_never_a_product(written, says):
    with pytest.raises(NotationError, match=says):
        Equations(written)


@pytest.mark.parametrize("written", ["tan[i] x[i]", "power[i] x[i]", "mod[i] x[i]", "W_relu[i] x[i]"])
def test_a_tensor_may_have_such_a_name(written):
    name = written.split("[")[0]
    x, w = draw(4), draw(4)
    torch.testing.assert_close(Equations(f"y[i] = {written}").run({"x": x, name: w})["y"], w * x)


@pytest.mark.parametrize("written", ["x[i]^1/2", "(x[i] + 1)^1/2", "x[i]**1/3"])
def test_a_root_or_a_part_is_asked_for(written):
    part = written[-1]
    with pytest.raises(NotationError) as refused:
        Equations(f"y[i] = {written}")
    for repair, power, below in ((f"^(1/{part})", 1 / int(part), 1), (f"/{part}", 1, int(part))):
        assert f"`{repair}`" in str(refused.value)
        repaired = written.replace(f"^1/{part}", repair).replace(f"**1/{part}", repair)
        x = draw(4).abs()
        inside = x + 1 if "+ 1" in written else x
        torch.testing.assert_close(Equations(f"y[i] = {repaired}").run({"x": x})["y"], inside**power / below)


def test_slope_of_a_leaky_rectifier_is_asked_for():
    with pytest.raises(NotationError, match="which slope") as caught:
        Equations("y[i] = LeakyReLU(x[i])")
    assert "LeakyReLU(x, 0.01)" in str(caught.value)
    Equations("y[i] = LeakyReLU(x[i], 0.01)")
