"""The gradient of every system of the course, against autograd and by eye."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from draws import by_autograd, compare, differentiable, draw, error, plain, run_gradient
from hypothesis import HealthCheck, example, given, settings
from strategies import systems as random_systems
from systems import SYSTEMS

from coursekit.notation.check.checker import check
from coursekit.notation.equations import Equations
from coursekit.notation.errors import NotationError
from coursekit.notation.grad.gradient import gradient
from coursekit.notation.latex import latex
from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.parse.parser import parse
from coursekit.notation.run.runner import run
from coursekit.notation.show import show
from coursekit.notation.tree import Equation, Mul, Neg, Num, Program

TOLERANCE = 1e-10


def checked(text: str):
    return check(parse(text))


def grad(system, *args, **options) -> Program:
    return gradient(system, *args, **options).program


def lines(program: Program) -> dict[str, str]:
    """The printed equations, by what they define."""
    return {e.left.name: show(e) for e in program.equations}


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradient_by_every_input_and_boundary_matches_autograd(name):
    system = checked(SYSTEMS[name])
    errors = compare(system, differentiable(system))
    assert max(errors.values()) < TOLERANCE, errors


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradient_prints_and_parses_back_to_itself(name):
    system = checked(SYSTEMS[name])
    program = grad(system, "J", differentiable(system))
    assert parse(show(program)).equations == program.equations


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradient_system_says_what_it_reads(name):
    """Every input of the gradient system is a tensor of the forward one; every output is asked for or read."""
    system = checked(SYSTEMS[name])
    wrt = differentiable(system)
    back = gradient(system, "J", wrt)
    assert set(back.inputs) <= set(system.tensors)
    read = {r for t in back.tensors for r in [t]} - set(back.inputs)
    asked = {"d" + n for n in wrt}
    assert asked <= read
    for extra in read - asked:
        assert any(extra in show(e.right) for e in back.program.equations)


# ── the forms that one would write by hand ───────────────────────────────────────────────────


def test_bptt_reads_as_in_a_textbook():
    program = grad(checked(SYSTEMS["vanilla_sigmoid"]), "J")
    assert show(program).splitlines() == [
        "pad dz",
        "dh[b,t,j] = g[b,t,j] + dz[b,t+1,I] W_hh[I,j]",
        "dz[b,t,j] = dh[b,t,j] h[b,t,j] (1 - h[b,t,j])",
        "dW_hh[j,i] = dz[B,T,j] h[B,T-1,i]",
        "dW_xh[j,k] = dz[B,T,j] x[B,T,k]",
        "dB[j] = -dz[B,T,j]",
    ]


def test_tanh_uses_the_value_that_is_there():
    found = lines(grad(checked(SYSTEMS["ugrnn"]), "J"))
    assert found["dz_R"] == "dz_R[b,t,j] = dh[b,t,j] (1 - G[b,t,j]) * (1 - R[b,t,j]^2)"


def test_softmax_and_log_loss_combine_for_a_picked_word():
    found = lines(grad(checked(SYSTEMS["rnn_lm_all_losses"]), "J"))
    assert found["dz_y_hat"] == "dz_y_hat[b,t,v] = y_hat[b,t,v] - [v == w[b,t]]"


def test_softmax_and_log_loss_combine_for_a_one_hot_target():
    system = checked(SYSTEMS["rnn_lm_one_hot"])
    general = lines(grad(system, "J"))["dz_y_hat"]
    one_hot = lines(grad(system, "J", distributions=["y"]))["dz_y_hat"]
    assert general == "dz_y_hat[b,t,v] = y_hat[b,t,v] y[b,t,I] - y[b,t,v]"
    assert one_hot == "dz_y_hat[b,t,v] = y_hat[b,t,v] - y[b,t,v]"


def test_embedding_gradient_adds_to_the_rows_that_were_looked_up():
    program = grad(checked(SYSTEMS["rnn_lm_all_losses"]), "J", "L")
    assert lines(program)["dL"] == "dL[v,k] = [v == x[B,T]] de[B,T,k]"


def test_convolution_gradient_is_re_indexed_where_the_stride_is_one():
    found = lines(grad(checked(SYSTEMS["ugcnn"]), "J", ["L", "W_R"]))
    assert found["dW_R"] == "dW_R[dx,dy,i,j] = dz_R[B,X,Y,j] L[B,X+dx,Y+dy,i]"
    assert "sum[K,Dx,Dy](dz_G[b,x-Dx,y-Dy,K] W_G[Dx,Dy,i,K])" in found["dL"]


def test_strided_convolution_gradient_keeps_a_condition():
    found = lines(grad(checked(SYSTEMS["language_cnn"]), "J"))
    assert found["dL_1"].startswith("dL_1[b,t,i] = [t == 2*")


def test_grid_recurrence_runs_backward_in_both_directions():
    back = gradient(checked(SYSTEMS["rnn_2d"]), "J")
    (loops,) = [b.loops for b in back.blocks if b.loops]
    assert sorted(step for _, step in loops) == [-1, -1]
    assert (
        lines(back.program)["dh"] == "dh[i,j,a] = g[i,j,a] + dz[i+1,j,M] W_left[M,a] + dz[i,j+1,M] W_top[M,a]"
    )


def test_loss_at_the_last_step_enters_there_only():
    found = lines(grad(checked(SYSTEMS["rnn_lm_one_loss"]), "J"))
    assert found["dh"].startswith("dh[b,t,j] = [t == T-1] dz_y_hat[b,V] U[j,V] + ")


# ── one step at a time ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["rnn_lm_one_loss", "rnn_lm_all_losses"])
@pytest.mark.parametrize("parameter", ["H", "I", "b_1"])
def test_gradient_at_time_t_is_that_of_a_copy_of_the_parameter_for_each_step(name, parameter):
    """The oracle has `H[t,…]` for `H[…]`: as many copies as steps, equal in value."""
    system = checked(SYSTEMS[name])
    copied = checked(SYSTEMS[name].replace(f" {parameter}[", f" {parameter}[t,"))
    inputs, boundary = draw(system)
    steps = inputs["x"].shape[1]
    copies = inputs[parameter].detach().expand(steps, *inputs[parameter].shape).clone().requires_grad_(True)
    value = run(copied, {**inputs, parameter: copies}, boundary)["J"]
    (true,) = by_autograd(value, [copies])
    back = gradient(system, "J", parameter, at="t")
    forward = run(system, inputs, boundary)
    ours = run_gradient(back, {**inputs, **forward}, boundary)["d" + parameter]
    assert error(ours, true) < TOLERANCE
    whole = run_gradient(gradient(system, "J", parameter), {**inputs, **forward}, boundary)["d" + parameter]
    assert error(ours.sum(0), whole) < TOLERANCE


def test_gradient_at_time_t_reads_as_the_second_source_has_it():
    found = lines(grad(checked(SYSTEMS["rnn_lm_one_loss"]), "J", "H", at="t"))
    assert found["dH"] == "dH[t,m,j] = dz_h[B,t,j] h[B,t-1,m]"


def test_gradient_at_a_step_needs_reads_at_steps():
    system = checked(SYSTEMS["rnn_lm_one_loss"])
    with pytest.raises(NotationError, match="U is not read once at each t"):
        grad(system, "J", "U", at="t")
    with pytest.raises(NotationError, match="No index is called q"):
        grad(system, "J", "H", at="q")


# ── other starts and ends ────────────────────────────────────────────────────────────────────


def test_a_tensor_can_be_differentiated_from_a_given_adjoint():
    system = checked("y[b,j] = tanh(W[j,I] x[b,I])")
    back = gradient(system, "y", ["W", "x"])
    assert "dy" in back.inputs
    inputs, _ = draw(system)
    forward = run(system, inputs)
    dy = torch.randn_like(forward["y"])
    true = by_autograd((forward["y"] * dy).sum(), [inputs["W"], inputs["x"]])
    ours = run_gradient(back, {**inputs, **forward, "dy": dy}, {})
    assert error(ours["dW"], true[0]) < TOLERANCE
    assert error(ours["dx"], true[1]) < TOLERANCE


def test_a_recurrence_can_be_differentiated_from_a_given_adjoint():
    system = checked("h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])")
    back = gradient(system, "h", ["W", "x"])
    inputs, boundary = draw(system)
    forward = run(system, inputs, boundary)
    seed = torch.randn_like(forward["h"])
    true = by_autograd((forward["h"] * seed).sum(), [inputs["W"], inputs["x"]])
    ours = run_gradient(back, {**inputs, **forward, "dh_seed": seed}, boundary)
    assert error(ours["dW"], true[0]) < TOLERANCE
    assert error(ours["dx"], true[1]) < TOLERANCE


def test_intermediate_tensors_have_gradients():
    system = checked(SYSTEMS["rnn_lm_all_losses"])
    inputs, boundary = draw(system)
    forward = run(system, inputs, boundary)
    for x in forward.values():
        x.retain_grad()
    forward["J"].backward()
    names = ["e", "y_hat"]
    ours = run_gradient(gradient(system, "J", names), {**inputs, **forward}, boundary)
    for name in names:
        assert error(ours["d" + name], forward[name].grad) < TOLERANCE


def test_what_the_loss_does_not_depend_on_has_gradient_zero():
    system = checked("y[i] = a[i] b[i]\nz[i] = c[i] a[i]\nJ = y[I] y[I]")
    errors = compare(system, ["a", "b", "c"])
    assert max(errors.values()) < TOLERANCE


def test_only_the_needed_equations_are_written():
    system = checked(SYSTEMS["rnn_lm_all_losses"])
    assert list(lines(grad(system, "J", "U"))) == ["dz", "dU"]


# ── what is refused ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "of", "wrt", "sentence"),
    [
        ("h[t,J] = CELL(h[t-1,J], x[t,K])\nJ = h[T,I] h[T,I]", "J", "x", "CELL is not known to the language"),
        ("x[t,i] = e[w[t],i]\nJ = x[T,I] x[T,I]", "J", "w", "w holds indices"),
        ("J = x[I] x[I]", "J", "y", "There is no tensor y"),
        ("J = x[I] x[I]", "x", "x", "x is not defined by the system"),
    ],
)
def test_what_has_no_gradient_is_refused_with_a_sentence(text, of, wrt, sentence):
    with pytest.raises(NotationError, match=sentence):
        grad(checked(text), of, wrt)


# ── every node ───────────────────────────────────────────────────────────────────────────────

RULES = {
    "add, negate": "J = sum[i](a[i] - b[i] + 3)",
    "product of three": "J = sum[i,j](a[i] b[j] c[i,j])",
    "quotient": "J = sum[i](a[i] / (2 + b[i]^2))",
    "quotient by a sum": "y[i] = exp(a[i]) / sum[k](exp(a[k]))\nJ = sum[i](b[i] y[i])",
    "powers": "J = sum[i](a[i]^3 + (1 + a[i]^2)^(1/2) + (1 + b[i]^2)^(-2))",
    "power with a moving exponent": "J = sum[i]((1 + a[i]^2)^b[i])",
    "functions": "J = sum[i](sigmoid(a[i]) + tanh(b[i]) + exp(a[i]) + log(1 + b[i]^2) + sqrt(1 + a[i]^2))",
    "function of a sum": "J = sum[j](tanh(3 sigmoid(W[j,I] a[I]) + 1))",
    "kinks": "J = sum[i](relu(a[i]) + abs(b[i]) + max(a[i], b[i]) + min(a[i], b[i], a[i] b[i]))",
    "log of a sum of exponentials": "J = log(sum[i](exp(a[i])))",
    "square of a sum": "J = (a[I] b[I])^2",
    "product of sums": "J = (a[I] b[I]) (a[I] c[I,K] d[K])",
    "softmax": "y[i,k] = softmax[k](c[i,k])\nJ = sum[i,k](g[i,k] y[i,k]^2)",
    "softmax over two": "y[i,k] = softmax[i,k](c[i,k])\nJ = g[I,K] y[I,K]",
    "masked softmax": "y[i,k] = softmax[k <= i](s[i,M] u[k,M])\nJ = g[I,K] y[I,K]",
    "softmax inside": "J = sum[k](g[k] log(1 + softmax[k](a[I] c[I,k])))",
    "masked sum": "J = sum[i,k,k <= i](c[i,k]^2)",
    "maximum": "J = sum[i](max[k](c[i,k] a[i]))",
    "minimum": "J = sum[i](min[k](c[i,k] - a[i]))",
    "product over an index": "J = sum[i](prod[k](c[i,k] + a[i]))",
    "cases": "y[i] = cases(a[i]^2 if a[i] > 0, 3 b[i] if b[i] > 0, a[i] b[i] otherwise)\nJ = y[I] y[I]",
    "condition": "J = sum[i,k]([i != k] c[i,k]^2)",
    "concatenation": "y[c] = a[I]; b[K]; a[I]\nJ = g[C] y[C]^2",
    "sizes": "J = 1/I sum[i](a[i]^2)",
    "sum of what does not depend on it": "y[i] = sum[k](a[i] + c[i,k])\nJ = y[I]^2",
    "diagonal": "J = sum[i](q[i,i] a[i])",
    "one entry": "J = sum[i](a[i]^2) + a[0] a[1] + a[I-1]",
    "shift to the left, padded": "pad a\nJ = sum[i](b[i] a[i-2]^2)",
    "shift to the right, padded": "pad a\nJ = sum[i](b[i] a[i+1]^2)",
    "shift without a weight": "pad a\ny[i] = b[i] + a[i-1]\nJ = sum[i](y[i])",
    "window": "y[t] = w[D] x[t+D]\nJ = sum[t](y[t]^2)",
    "window read from behind": "y[t] = w[D] x[t+2-D]\nJ = sum[t](y[t]^2)",
    "stride": "y[t] = tanh(w[D] x[3*t+D])\nJ = sum[t](y[t]^2)",
    "backward in time": "y[t] = x[T-1-t] v[t]\nJ = y[T] y[T]",
    "lookup": "y[t,i] = e[n[t],i]\nJ = g[T,I] y[T,I]^2",
    "lookup on two axes": "J = sum[t](v[t] e[n[t],m[t]]^2)",
    "lookup of a lookup's row": "J = -sum[t](log(1 + e[n[t],I]^2 a[I]^2))",
    "position": "J = sum[i,k](c[i,k]^2 (i-k)^2)",
    "second-order recurrence": "h[t,j] = tanh(A[j,I] h[t-1,I] + C[j,I] h[t-2,I] + x[t,j])\nJ = g[T,J] h[T,J]",
    "recurrence of one factor": "h[t] = sigmoid(3 h[t-1]) x[t]\nJ = g[T] h[T]",
    "recurrence without a name inside": "h[t] = sigmoid(3 h[t-1])\nJ = g[T] h[T] x[T]",
    "recurrence that divides": "h[t] = x[t] / (2 + h[t-1]^2)\nJ = g[T] h[T]",
    "two recurrences in one": "a[t] = tanh(v[t] b[t-1])\nb[t] = tanh(u[t] a[t] + a[t-1])\nJ = a[T] b[T]",
    "recurrence backward": "h[t,j] = tanh(A[j,I] h[t+1,I] + x[t,j])\nJ = g[T,J] h[T,J]",
    "recurrence on a grid and on a diagonal": (
        "pad h\nh[i,j] = tanh(a[i] h[i-1,j] + c[i,j] h[i-1,j-1] + h[i,j-1] b[j])\nJ = h[I,J]^2"
    ),
    "layers by a recurrence": (
        "pad h\nh[l,t,j] = tanh(A[l,j,I] h[l,t-1,I] + C[j,I] h[l-1,t,I] + x[t,j])\nJ = h[L,T,J]^2"
    ),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_rule_matches_autograd(name, seed):
    system = checked(RULES[name])
    errors = compare(system, differentiable(system), seed=seed)
    assert max(errors.values()) < TOLERANCE, errors


@pytest.mark.parametrize("name", RULES)
def test_rule_prints_and_parses_back(name):
    system = checked(RULES[name])
    program = grad(system, "J", differentiable(system))
    assert parse(show(program)).equations == program.equations


def test_kinks_have_the_stated_subgradients():
    def at(text: str, **values):
        system = checked(text)
        wrt = list(values)
        forward = evaluate(system, values)
        back = gradient(system, "J", wrt)
        known = {**values, **forward}
        return evaluate(back, {n: known[n] for n in back.inputs})

    assert at("J = sum[i](relu(a[i]) + abs(a[i]))", a=[0.0])["da"] == [0.0]
    tie = at("J = sum[i](max(a[i], b[i]) + 10 min(a[i], b[i]))", a=[2.0], b=[2.0])
    assert (tie["da"], tie["db"]) == ([11.0], [0.0])
    assert at("J = max[i](a[i])", a=[1.0, 3.0, 3.0])["da"] == [0.0, 0.5, 0.5]
    assert at("J = prod[i](a[i])", a=[0.0, 3.0, 5.0])["da"] == [15.0, 0.0, 0.0]


# ── the checker itself ───────────────────────────────────────────────────────────────────────


def _spoiled(equation: Equation, kind: str) -> Equation:
    if kind == "sign":
        return replace(equation, right=Neg(equation.right))
    return replace(equation, right=Mul((Num(Fraction(11, 10)), equation.right)))


@pytest.mark.parametrize("kind", ["sign", "factor"])
@pytest.mark.parametrize("name", ["vanilla_tanh", "gru", "self_attention", "rnn_2d"])
def test_a_planted_error_in_any_equation_is_seen(name, kind):
    system = checked(SYSTEMS[name])
    wrt = list(system.parameters)
    inputs, boundary = draw(system)
    forward = run(system, inputs, boundary)
    true = by_autograd(forward["J"], [inputs[n] for n in wrt])
    back = gradient(system, "J", wrt)
    for planted in [e for b in back.blocks for e in b.equations]:
        new = _spoiled(planted, kind)
        blocks = tuple(
            replace(b, equations=tuple(new if e is planted else e for e in b.equations)) for b in back.blocks
        )
        ranges = {new if e is planted else e: r for e, r in back.ranges.items()}
        spoiled = replace(back, blocks=blocks, ranges=ranges)
        ours = run_gradient(spoiled, {**inputs, **forward}, boundary)
        worst = max(error(ours["d" + n], g) for n, g in zip(wrt, true, strict=True))
        assert not worst < 1e-6, f"{kind} in {show(planted)} was not seen"


def test_gradient_and_cost_need_no_torch_and_no_numpy():
    code = (
        "import sys\n"
        "from coursekit.notation.parse.parser import parse\n"
        "from coursekit.notation.check.checker import check\n"
        "from coursekit.notation.grad.gradient import gradient\n"
        "from coursekit.notation.cost.costs import cost\n"
        "s = check(parse('h[t,j] = tanh(W[j,I] h[t-1,I])\\nJ = h[T,J] h[T,J]'))\n"
        "gradient(s, 'J', 'W'); cost(s, ['W']).backward\n"
        "assert not {'torch', 'numpy'} & set(sys.modules), 'imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ── random systems ───────────────────────────────────────────────────────────────────────────


def few(examples: int):
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


@few(40)
@given(random_systems())
def test_gradient_of_a_random_system_matches_autograd(text):
    system = _weighed(text)
    errors = compare(system, differentiable(system), of="loss", scale=0.5)
    assert max(errors.values(), default=0.0) < TOLERANCE, errors


@few(25)
@given(random_systems(recurrent=True))
def test_gradient_of_a_random_recurrence_matches_autograd(text):
    system = _weighed(text)
    errors = compare(system, differentiable(system), of="loss", scale=0.5)
    assert max(errors.values(), default=0.0) < TOLERANCE, errors


@few(25)
@given(random_systems(smooth=False))
@example("y0 = u\ny1[j] = u + v[j]\ny2[k] = (u + y0) * (1/(1 + exp(u))) + w[k]")  # a shape is declared
@example("y0 = a_s\ny1 = c_s")  # nothing but numbers
@example(
    "y0 = a_s\ny1[j,k] = sum[b <= j](a_b[b] * 2)/(1 + exp(a_s)) + a_jk[j,k]"
)  # a number, a sign, a fraction
def test_gradient_of_a_random_system_with_kinks_matches_autograd(text):
    system = _weighed(text)
    errors = compare(system, differentiable(system), of="loss", scale=0.5)
    assert max(errors.values(), default=0.0) < TOLERANCE, errors
    program = grad(system, "loss", differentiable(system))
    assert parse(show(program)).equations == program.equations


@few(40)
@given(random_systems(recurrent=True))
def test_gradient_of_a_random_system_prints_and_parses_back(text):
    system = _weighed(text)
    program = grad(system, "loss", differentiable(system))
    assert parse(show(program)).equations == program.equations


def _weighed(text: str):
    """With a loss: the last tensor, weighed by given numbers."""
    last = [e.left for e in parse(text).equations][-1]
    axes = ",".join(a.plain for a in last.indices)
    weighed = f"sum[{axes}](g[{axes}] {last.name}[{axes}])" if axes else f"g {last.name}"
    return checked(f"{text}\nloss = {weighed}")


# ── as text ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", SYSTEMS)
def test_printed_gradient_checks_and_runs_as_it_stands(name):
    """Read again from its print; where no tensor that it reads fixes a size, the size is given."""
    system = checked(SYSTEMS[name])
    wrt = differentiable(system)
    inputs, boundary = draw(system)
    known = {**inputs, **run(system, inputs, boundary)}
    back = gradient(system, "J", wrt)
    again = check(parse(show(back.program)), broadcast=True)
    fixed = {d for n in again.inputs for d in again.tensors[n].dims}
    sizes = {}
    for n in wrt:
        if n in system.tensors:
            sizes |= {
                d: s
                for d, s in zip(again.tensors["d" + n].dims, inputs[n].shape, strict=True)
                if d not in fixed and d not in again.derived
            }
    given = {n: known[n].detach() for n in again.inputs}
    ours = run(again, given, {n: plain(boundary[n]) for n in again.boundary}, sizes)
    true = run_gradient(back, known, boundary)
    for n in wrt:
        assert error(ours["d" + n], true["d" + n]) < TOLERANCE


@pytest.mark.parametrize("name", SYSTEMS)
def test_equations_run_forward_then_backward_on_the_same_names(name):
    equations = Equations(SYSTEMS[name])
    inputs, boundary = draw(equations.system)
    forward = equations.run(inputs, boundary)
    back = equations.grad("J")
    ours = back.run({**inputs, **forward}, {n: boundary[n] for n in back.system.boundary})
    wrt = list(equations.system.parameters) or differentiable(equations.system)
    for n, true in zip(wrt, by_autograd(forward["J"], [inputs[n] for n in wrt]), strict=True):
        assert error(ours["d" + n], true) < TOLERANCE


def test_a_gradient_declares_the_shape_that_gives_a_size_it_reads():
    """`dpos` starts behind the words' I entries, and no index of its equation ranges over I."""
    system = checked("L[b,t,j] = e[w[b,t],I]; pos[t,P]")
    program = grad(system, "L", ["pos"])
    assert "e in R^{W x I}" in show(program)
    values = {
        "e": [[0.0, 0.0]] * 3,
        "w": [[1, 0]],
        "pos": [[0.0], [0.0]],
        "dL": [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]],
    }
    for text in (show(program), latex(program)):
        back = checked(text)
        assert evaluate(back, {n: values[n] for n in back.inputs})["dpos"] == [[3.0], [6.0]]
