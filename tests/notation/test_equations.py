"""Equations: the door. Names in any spelling, and one sentence for each wrong key."""

import pytest

from coursekit.notation import Equations, NotationError
from coursekit.notation.parse.parser import parse

TEXT = "G[t,j] = sigmoid(W^{h,G}[j,I] h[t-1,I] + x[t,j])\nh[t,j] = G[t,j] h[t-1,j]"


def test_inputs_outputs_and_text():
    equations = Equations(TEXT)
    assert equations.inputs == ("W_hG", "x")
    assert equations.outputs == ("G", "h")
    assert str(equations).startswith("G[t,j] = sigmoid(W_hG[j,I] h[t-1,I] + x[t,j])\n")
    assert Equations(str(equations)) == equations
    assert repr(equations) == f"Equations({str(equations)!r})"


def test_program_is_taken_as_it_is():
    program = parse(TEXT)
    assert Equations(program).program is program


def test_it_is_checked_at_once():
    with pytest.raises(NotationError, match="`j` is free on the right but not on the left"):
        Equations("y[i] = W[i,j] x[j]")


def test_it_typesets_itself_in_a_notebook():
    assert Equations("y = a")._repr_latex_() == "$$\n\\begin{aligned}\ny &= a\n\\end{aligned}\n$$"


def test_keys_may_be_written_in_any_spelling():
    equations = Equations("y[i] = W^{h,G}[i] + b_1")
    for spelling in ("W^{h,G}", "W_hG", r"W_{h,G}"):
        assert equations.evaluate({spelling: [1.0, 2.0], "b_1": 0.5})["y"] == [1.5, 2.5]


def test_evaluation_of_a_recurrence_with_its_boundary():
    equations = Equations("h[t] = 2 h[t-1] + x[t]")
    assert equations.evaluate({"x": [1.0, 1.0, 1.0]}, boundary={"h": 1.0})["h"] == [3.0, 7.0, 15.0]


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({"W_hH": [1]}, {}, "there is no tensor `W_hH` here; did you mean `W_hG`?"),
        ({"y": [1]}, {}, "`y` is defined by an equation, so it cannot be an input"),
        ({}, {}, "the input `W_hG` is missing"),
        ({"W_hG": [1.0]}, {"sizes": {"Q": 3}}, "there is no dimension `Q` here"),
        ({"a b": 1}, {}, "`a b` is not the name of a tensor"),
        ({3: 1}, {}, "the name of a tensor is text, not 3"),
    ],
)
def test_wrong_key_gets_a_sentence(inputs, options, message):
    with pytest.raises(NotationError) as caught:
        Equations("y[i] = W_hG[i]").evaluate(inputs, **options)
    assert message in caught.value.message


def test_inputs_that_are_not_read_are_left_out():
    assert Equations("y = 2 a").evaluate({"a": 1.0, "more": 3.0})["y"] == 2.0


def test_gradient_is_run_with_what_the_equations_had_and_gave():
    model = Equations("h[t] = tanh(w h[t-1] + x[t])\nJ = h[T]")
    inputs = {"w": 0.5, "x": [0.1, -0.2, 0.3]}
    forward = model.evaluate(inputs, boundary={"h": 0.7})
    backward = model.grad("J", ["w", "h_0"]).evaluate({**inputs, **forward}, boundary={"h": 0.7})
    step = 1e-6
    for name, change in (("dw", ({"w": step}, 0.0)), ("dh_0", ({}, step))):
        more, less = (
            model.evaluate(
                {**inputs, "w": 0.5 + s * change[0].get("w", 0.0)}, boundary={"h": 0.7 + s * change[1]}
            )["J"]
            for s in (1, -1)
        )
        assert backward[name] == pytest.approx((more - less) / (2 * step), abs=1e-8)


def test_gradient_is_equations_again():
    gradient = Equations("y[j] = W[j,I] x[I]\nJ = g[J] y[J]").grad("J", ["W"])
    assert isinstance(gradient, Equations)
    assert "dW" in gradient.outputs


def test_unknown_tensor_of_a_gradient_gets_a_sentence():
    with pytest.raises(NotationError, match="no tensor Q"):
        Equations("J = a b").grad("J", "Q")


def test_parameters_come_from_the_text_or_from_the_call():
    text = "parameters W\ny[j] = W[j,I] x[I] + b[j]"
    assert str(Equations(text).cost().parameters) in ("I*J", "J*I")
    assert Equations(text).cost(parameters=["W", "b"]).parameters(I=3, J=2) == 8


def test_comparison_takes_text():
    reference = Equations("y[j] = W[j,I] x[I]")
    assert reference.compare("y[k] = sum[i](x[i] W[k,i])").equal
    assert not reference.compare("y[k] = -sum[i](x[i] W[k,i])").equal


def test_growth_comes_from_the_same_door():
    from coursekit.notation import Growth

    assert Growth("V*D").compare("V*D").equal


RNN = "h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])\ny[t,v] = E[v,J] h[t,J]\nL = g[T,V] y[T,V]"


def test_a_boundary_that_is_not_read_is_left_out():
    """The gradient of U does not read the first state; it runs on all that the forward pass had."""
    pytest.importorskip("torch")
    import torch

    torch.manual_seed(0)
    shapes = {"W": (4, 4), "U": (4, 3), "x": (5, 3), "E": (6, 4), "g": (5, 6)}
    inputs = {n: torch.randn(*s, dtype=torch.float64, requires_grad=True) for n, s in shapes.items()}
    boundary = {"h": torch.randn(4, dtype=torch.float64)}
    model = Equations(RNN)
    forward = model.run(inputs, boundary)
    for name in ("U", "W"):
        found = model.grad("L", name).run({**inputs, **forward}, boundary)[f"d{name}"]
        (wanted,) = torch.autograd.grad(forward["L"], inputs[name], retain_graph=True)
        assert torch.allclose(found, wanted, atol=1e-12)


def test_a_misspelt_boundary_is_told():
    inputs = {"w": 0.5, "x": [0.1, 0.2]}
    with pytest.raises(NotationError, match="no tensor `h0` here; did you mean `h`"):
        Equations("h[t] = tanh(w h[t-1] + x[t])").evaluate(inputs, boundary={"h0": 0.0})


def test_chosen_outputs_are_the_same_and_nothing_else_is_computed():
    import torch

    inputs = {"a": torch.randn(3), "b": torch.randn(4)}
    model = Equations("y[i] = 2 a[i]\nz[i] = CELL(a[i])\nh[i] = h[i-1] + y[i]\nq[i] = h[i] a[i]")
    found = model.run(inputs | {"c": 1}, boundary={"h": 1.0}, outputs=["q"])  # CELL is not even given
    assert list(found) == ["q"]
    assert torch.allclose(found["q"], (1 + 2 * inputs["a"].cumsum(0)) * inputs["a"])
    whole = model.run(inputs, boundary={"h": 1.0}, functions={"CELL": torch.tanh})
    assert torch.equal(whole["q"], found["q"])
    assert set(whole) == {"y", "z", "h", "q"}
    with pytest.raises(NotationError, match="`a` is an input, so it is no output"):
        model.run(inputs, boundary={"h": 1.0}, outputs=["a"])
    with pytest.raises(NotationError, match="no tensor `p` here"):
        model.run(inputs, boundary={"h": 1.0}, outputs=["p"])


def test_shape_declarations_typeset():
    assert r"W \in \mathbb{R}^{K \times I}" in Equations("shape W = K, I\ny[k] = W[k,I] x[I]").latex()


def test_costs_print_and_are_called():
    found = Equations("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])").cost(["W", "U"])
    assert str(found) == "parameters    J^2 + J*K\nmultiply-adds B*J^2*T + B*J*K*T\ndepth         T"
    assert (found.parameters(J=4, K=3), found.multiply_adds(B=2, T=5, J=4, K=3), found.depth(T=7)) == (
        28,
        280,
        7,
    )
