"""Exact counts: the closed forms of the course at its sizes, and torch's own counter."""

from __future__ import annotations

import pytest
import torch
from systems import CELLS, SYSTEMS
from torch.utils.flop_counter import FlopCounterMode

from coursekit.notation.check.checker import check
from coursekit.notation.cost.costs import cost
from coursekit.notation.errors import NotationError
from coursekit.notation.parse.parser import parse
from coursekit.notation.polynomial import Polynomial

SIZES = [(11, 4, 5), (30, 7, 6), (2000, 50, 100)]  # V, d, D


def costs(text: str, parameters=None, of=None):
    return cost(check(parse(text)), parameters, of)


def flops(function) -> int:
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


# ── the RNN language model ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("V", "d", "D"), SIZES)
def test_one_step_of_the_language_model(V, d, D):
    found = costs(SYSTEMS["rnn_lm_step"])
    sizes = {"B": 1, "V": V, "K": d, "J": D, "M": D, "X": V}
    assert found.multiply_adds(**sizes) == V * D + D**2 + d * D
    assert found.elementwise(**sizes) == V  # the softmax's scalings
    assert found.functions(**sizes) == V + D + 1  # and the loss's logarithm
    assert found.backward(**sizes) == 2 * V * D + D**2 + 2 * d * D
    assert found.gradient.elementwise(**sizes) == 2 * D
    assert found.parameters(**sizes) == V * d + D * D + d * D + D + D * V + V


@pytest.mark.parametrize(("V", "d", "D"), SIZES)
def test_backward_with_the_state_before_is_exactly_twice_forward(V, d, D):
    system = check(parse(SYSTEMS["rnn_lm_step"]))
    found = cost(system, [*system.parameters, "h_prev"])
    sizes = {"B": 1, "V": V, "K": d, "J": D, "M": D, "X": V}
    assert found.backward(**sizes) == 2 * V * D + 2 * D**2 + 2 * d * D == 2 * found.multiply_adds(**sizes)


@pytest.mark.parametrize("tau", [1, 3, 5])
@pytest.mark.parametrize(("V", "d", "D"), SIZES)
def test_tau_steps_with_one_loss_and_with_a_loss_at_each(V, d, D, tau):
    sizes = {"B": 1, "V": V, "K": d, "J": D, "X": V, "T": tau}
    one, each = costs(SYSTEMS["rnn_lm_one_loss"]), costs(SYSTEMS["rnn_lm_all_losses"])
    assert one.multiply_adds(**sizes) == V * D + tau * (D**2 + d * D)
    assert one.backward(**sizes) == 2 * V * D + tau * (2 * D**2 + 2 * d * D) - D**2
    assert each.multiply_adds(**sizes) == tau * (V * D + D**2 + d * D)
    assert each.backward(**sizes) == tau * (2 * V * D + 2 * D**2 + 2 * d * D) - D**2


def test_counts_of_the_course_at_its_sizes():
    sizes = {"B": 1, "V": 11, "K": 4, "J": 5, "M": 5, "X": 11}
    step = costs(SYSTEMS["rnn_lm_step"])
    assert (step.multiply_adds(**sizes), step.backward(**sizes)) == (100, 185 - 10)
    for tau, one, each in ((3, 385, 605), (5, 585, 1025)):
        at = {**sizes, "T": tau}
        assert costs(SYSTEMS["rnn_lm_one_loss"]).backward(**at) == one - 2 * tau * 5
        assert costs(SYSTEMS["rnn_lm_all_losses"]).backward(**at) == each - 2 * tau * 5


def test_language_model_prints_and_grows_as_stated():
    found = costs(SYSTEMS["rnn_lm_step"])
    assert str(found.multiply_adds) == "B*J*K + B*J*M + B*J*V"
    assert str(costs(SYSTEMS["rnn_lm_one_loss"]).big_o) == "B*J^2*T + B*J*K*T + B*J*V"


def test_a_one_hot_product_costs_what_a_lookup_saves():
    looked, dense = (
        costs(f"e[t,k] = {read}\nh[t,j] = tanh(I[j,K] e[t,K])").multiply_adds
        for read in ("L[x[t],k]", "x[t,V] L[V,k]")
    )
    assert dense - looked == Polynomial.size("T") * Polynomial.size("K") * Polynomial.size("V")


# ── cells ────────────────────────────────────────────────────────────────────────────────────

GATES = {"vanilla_sigmoid": 1, "vanilla_tanh": 1, "ugrnn": 2, "gru": 3, "lstm": 4}


@pytest.mark.parametrize("name", CELLS)
def test_cells_cost_their_gates(name):
    g, found = GATES[name], costs(CELLS[name])
    J, K, B, T = (Polynomial.size(n) for n in "JKBT")
    assert found.multiply_adds == g * B * T * (J**2 + J * K)
    assert found.parameters == g * (J**2 + J * K + J)


@pytest.mark.parametrize(
    ("name", "module"), [("vanilla_tanh", torch.nn.RNN), ("gru", torch.nn.GRU), ("lstm", torch.nn.LSTM)]
)
def test_cells_agree_with_torchs_counter(name, module):
    T, B, K, J = 7, 3, 6, 5
    layer = module(K, J, dtype=torch.float64)  # float32 goes to a kernel that the counter does not see
    x = torch.randn(T, B, K, dtype=torch.float64)
    found = costs(CELLS[name])
    assert 2 * found.multiply_adds(T=T, B=B, K=K, J=J) == flops(lambda: layer(x))
    torch_parameters = sum(p.numel() for p in layer.parameters())  # torch has two biases a gate
    assert found.parameters(K=K, J=J) == torch_parameters - GATES[name] * J


def test_vanilla_backward_agrees_with_torchs_counter():
    """Weights and states, the input fixed; torch's loop begins from a state that is given too."""
    T, J, K = 6, 5, 4
    W, U = torch.randn(J, J, requires_grad=True), torch.randn(K, J, requires_grad=True)
    xs, h = torch.randn(T, 1, K), torch.randn(1, J)
    for x in xs:
        h = torch.tanh(h @ W + x @ U)
    loss = h.sum()
    counted = flops(loss.backward)
    found = costs("h[t,j] = tanh(h[t-1,M] W[M,j] + x[t,K] U[K,j])\nJ = sum[j](h[T-1,j])", ["W", "U"])
    assert 2 * found.backward(T=T, J=J, K=K) == counted


# ── the grid ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("n", "c", "h", "forward", "backward"), [(4, 3, 5, 1040, 1640), (8, 3, 16, 35840, 64512)]
)
def test_two_dimensional_rnn(n, c, h, forward, backward):
    found = costs(SYSTEMS["rnn_2d"])
    sizes = {"I": n, "J": n, "A": h, "C": c}
    assert found.multiply_adds(**sizes) == n * n * (h * c + 2 * h * h) == forward
    assert found.backward(**sizes) == n * n * (h * c + 2 * h * h) + 2 * n * (n - 1) * h * h == backward
    assert found.parameters(**sizes) == 2 * h * h + h * c
    assert found.functions(**sizes) == n * n * h


# ── attention ────────────────────────────────────────────────────────────────────────────────

ATTENTION = """
parameters W_Q, W_K, W_V, W_O
Q[k,t,i] = W_Q[k,i,J] L[t,J]
K[k,t,i] = W_K[k,i,J] L[t,J]
V[k,t,i] = W_V[k,i,J] L[t,J]
alpha[k,t,s] = softmax[s](1/sqrt(I) Q[k,t,I] K[k,s,I])
O[k,t,i] = alpha[k,t,S] V[k,S,i]
Z[t,j] = W_O[j,K,I] O[K,t,I]
"""


def test_self_attention_costs_four_projections_and_two_products():
    T, J, K, I = 128, 64, 4, 16
    system = check(parse(ATTENTION))
    found = cost(system, [*system.parameters, "L"])
    sizes = {d: {"T": T, "J": J, "K": K, "I": I}[d[0]] for d in found.multiply_adds.names}
    assert found.multiply_adds(**sizes) == 4 * T * J * K * I + 2 * K * T * T * I
    assert found.functions(**sizes) == K * T * T
    assert found.backward(**sizes) == 2 * found.multiply_adds(**sizes)
    assert 2 * found.multiply_adds(**sizes) == 8_388_608


def test_self_attention_agrees_with_torchs_counter():
    T, J, K, I = 12, 8, 3, 5
    L = torch.randn(T, J, requires_grad=True)
    WQ, WK, WV, WO = (torch.randn(K, I, J, requires_grad=True) for _ in range(4))

    def forward():
        q, k, v = (torch.einsum("kij,tj->kti", w, L) for w in (WQ, WK, WV))
        a = torch.softmax(torch.einsum("kti,ksi->kts", q, k) / I**0.5, -1)
        return torch.einsum("kij,kti->tj", WO, torch.einsum("kts,ksi->kti", a, v))

    system = check(parse(ATTENTION))
    found = cost(system, [*system.parameters, "L"])
    sizes = {d: {"T": T, "J": J, "K": K, "I": I}[d[0]] for d in found.multiply_adds.names}
    assert 2 * found.multiply_adds(**sizes) == flops(forward)
    loss = forward().sum()
    assert 2 * found.backward(**sizes) == flops(loss.backward)


def test_merged_key_matrix_costs_more():
    """Per head: 2TIJ + T²I becomes TJ² + T²J."""
    scores = "s[t,u] = L[t,J] W[J,M] L[u,M]"
    T, J = Polynomial.size("T"), Polynomial.size("J")
    found = costs(scores, ["W"])
    assert found.multiply_adds == T * J**2 + T**2 * J
    assert found.parameters == J**2


def test_a_mask_saves_nothing():
    full = costs("a[t,s] = softmax[s](q[t,I] k[s,I])").multiply_adds
    masked = costs("a[t,s] = softmax[s <= t](q[t,I] k[s,I])").multiply_adds
    assert masked == full


# ── skip-gram and convolutions ───────────────────────────────────────────────────────────────


def test_skip_gram():
    found = costs(SYSTEMS["skip_gram"])
    sizes = {"N": 1, "K": 1000, "H": 64, "C": 1000}
    assert found.multiply_adds(**sizes) == 64_000
    assert found.backward(**sizes) == 2 * 64_000


def test_convolutions_agree_with_torchs_counter():
    B, X, Y, J, k = 2, 4, 5, 3, 3
    plane = torch.randn(B, J, X, Y)
    weight = torch.randn(J, J, k, k)
    counted = flops(lambda: torch.nn.functional.conv2d(plane, weight, padding=1))
    found = costs("pad L\ncentered dx, dy\nR[b,x,y,j] = sum[dx,dy,i](W[dx,dy,i,j] L[b,x+dx,y+dy,i])")
    sizes = {"B": B, "X": X, "Y": Y, "J": J, "I": J, "Dx": k, "Dy": k}
    assert 2 * found.multiply_adds(**sizes) == counted

    T, out = 9, 4
    line = torch.randn(B, J, T)
    counted = flops(lambda: torch.nn.functional.conv1d(line, torch.randn(J, J, k), stride=2))
    found = costs("N[b,t,i] = sum[dt,m](W[dt,m,i] L[b,2*t+dt,m])")
    sizes = {d: {"B": B, "T": out, "Dt": k}.get(d, J) for d in found.multiply_adds.names}
    assert 2 * found.multiply_adds(**sizes) == counted


def test_convolution_backward_agrees_with_torchs_counter():
    B, T, J, k = 2, 9, 3, 3
    line = torch.randn(B, J, T, requires_grad=True)
    weight = torch.randn(J, J, k, requires_grad=True)
    for stride in (1, 2):
        result = torch.nn.functional.conv1d(line, weight, stride=stride)
        counted = flops(result.sum().backward)
        read = "t+dt" if stride == 1 else "2*t+dt"
        found = costs(f"N[b,t,i] = sum[dt,m](W[dt,m,i] L[b,{read},m])", ["W", "L"])
        sizes = {d: {"B": B, "T": result.shape[-1], "Dt": k}.get(d, J) for d in found.backward.names}
        assert 2 * found.backward(**sizes) == counted


# ── the rest ─────────────────────────────────────────────────────────────────────────────────


def test_what_is_counted_where():
    found = costs("y[i] = a[i] b[i] / c[i] + exp(a[i])^3\nz[i,k] = a[i] d[k]\ns = a[I] b[I]")
    I, K = Polynomial.size("I"), Polynomial.size("K")
    assert found.multiply_adds == I * K  # the outer product
    assert found.elementwise == (2 + 2 + 1) * I
    assert found.functions == I


def test_a_concatenation_is_as_long_as_its_parts():
    found = costs("x[t,c] = a[t,I]; b[t,K]\ny[t,j] = W[j,C] x[t,C]", ["W"])
    I, K, J = (Polynomial.size(n) for n in "IKJ")
    assert found.parameters == J * (I + K)


def test_factors_are_multiplied_in_the_cheapest_order():
    found = costs("y[t] = a[t,I] A[I,K] v[K]").multiply_adds
    I, K, T = (Polynomial.size(n) for n in "IKT")
    assert found == I * K + T * I


def test_an_unknown_function_is_counted_as_nothing_and_has_no_backward_cost():
    found = costs("h[t,J] = CELL(h[t-1,J], x[t,K])\ny[t,v] = U[v,J] h[t,J]", ["U", "x"])
    V, J, T = (Polynomial.size(n) for n in "VJT")
    assert found.multiply_adds == T * V * J
    assert str(found.depth) == "T + 1"
    with pytest.raises(NotationError, match="CELL is not known"):
        found.backward


def test_unknown_parameters_are_refused():
    with pytest.raises(NotationError, match="no tensor Q to count"):
        costs(CELLS["gru"], ["Q"])
