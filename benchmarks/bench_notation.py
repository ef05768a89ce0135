"""Equations that run, against the same computation written by hand in torch; and how fast they are read.

Self-attention (T=512, 8 heads) and the GRU (T=128, batch 32) in float32, forward alone and with the gradient of
every input: at most 1.2 times the hand-written code. Reading ten lines and comparing an answer have limits in
milliseconds of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from coursekit.notation import Equations

from .measure import Row, ms, ratio, take_turns

GRU = """
Z[b,t,j] = sigmoid(W_hZ[j,I] h[b,t-1,I] + W_xZ[j,K] x[b,t,K] - B_Z[j])
G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])
h'[b,t,i] = G[b,t,i] h[b,t-1,i]
R[b,t,j] = tanh(W_hR[j,I] h'[b,t,I] + W_xR[j,K] x[b,t,K] - B_R[j])
h[b,t,j] = (1 - Z[b,t,j]) h[b,t-1,j] + Z[b,t,j] R[b,t,j]
"""
ATTENTION = """
Q[b,k,t,i] = W_Q[k,i,J] x[b,t,J]
K[b,k,t,i] = W_K[k,i,J] x[b,t,J]
U[b,k,t,i] = W_V[k,i,J] x[b,t,J]
a[b,k,t1,t2] = softmax[t2](Q[b,k,t1,I] K[b,k,t2,I] / sqrt(I))
z[b,k,t,i] = a[b,k,t,S] U[b,k,S,i]
y[b,t,j] = W_O[j,K,I] z[b,K,t,I]
"""
TEN_LINES = (
    GRU
    + """
P[b,t,v] = softmax[v](E[v,J] h[b,t,J])
L[b,t] = -log(P[b,t,w[b,t]])
J = L[B,T] / B
m[b,j] = max[t](h[b,t,j])
y[b,c] = softmax[c](V[c,J] m[b,J] - D[c])
"""
)
RIGHT = "h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])"
WRONG = "h[b,t,j] = tanh(W[I,j] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])"


def weights(*shape: int) -> Tensor:
    return torch.randn(*shape) / shape[-1] ** 0.5


def gru_by_hand(i: dict[str, Tensor], h: Tensor) -> Tensor:
    """The gates' matrices stacked, the inputs' products for all steps before the loop."""
    J = h.shape[1]
    into = torch.cat([i["W_xZ"], i["W_xG"], i["W_xR"]]).T
    steps = (i["x"] @ into - torch.cat([i["B_Z"], i["B_G"], i["B_R"]])).unbind(1)
    gates, candidate = torch.cat([i["W_hZ"], i["W_hG"]]).T, i["W_hR"].T
    states = []
    for x in steps:
        x_gates, x_candidate = x.split([2 * J, J], 1)
        z, g = torch.sigmoid(x_gates + h @ gates).chunk(2, 1)
        h = (1 - z) * h + z * torch.tanh(x_candidate + (g * h) @ candidate)
        states.append(h)
    return torch.stack(states, 1)


def attention_by_hand(i: dict[str, Tensor]) -> Tensor:
    K, I, J = i["W_Q"].shape
    B, T, _ = i["x"].shape
    q, k, v = (
        (i["x"] @ i[n].reshape(-1, J).T).view(B, T, K, I).transpose(1, 2) for n in ("W_Q", "W_K", "W_V")
    )
    a = torch.softmax(q @ k.transpose(-1, -2) / I**0.5, -1)
    return (a @ v).transpose(1, 2).reshape(B, T, -1) @ i["W_O"].reshape(J, -1).T


def _against(
    name: str, ours: Callable, theirs: Callable, inputs: dict[str, Tensor], rounds: int
) -> list[Row]:
    """Forward alone, and forward with backward."""
    torch.testing.assert_close(ours(inputs), theirs(inputs), rtol=1e-3, atol=1e-3)
    wanted = {n: x.clone().requires_grad_() for n, x in inputs.items()}

    def forward(function: Callable) -> None:
        with torch.no_grad():
            function(inputs)

    def both(function: Callable) -> None:
        torch.autograd.grad(function(wanted).sum(), list(wanted.values()))

    found = []
    for what, way in (("forward", forward), ("forward and backward", both)):
        times = take_turns({"ours": lambda: way(ours), "theirs": lambda: way(theirs)}, rounds)  # noqa: B023
        value = ratio(times["ours"], times["theirs"])
        words = f"{ms(times['ours'])} from equations", f"{ms(times['theirs'])} by hand"
        found.append(Row(f"{name}, {what}", *words, value, 1.2))
    return found


def _limit(name: str, task: Callable[[], object], limit: float, rounds: int) -> Row:
    times = take_turns({name: task}, rounds)[name]
    return Row(name, ms(times), "", 1e3 * median(times), limit, unit="ms")


def rows(rounds: int = 15) -> list[Row]:
    torch.manual_seed(0)
    heads, T, J = 8, 512, 512
    attention = Equations(ATTENTION)
    inputs = {n: weights(heads, J // heads, J) for n in ("W_Q", "W_K", "W_V")}
    inputs |= {"W_O": weights(J, heads, J // heads), "x": torch.randn(1, T, J)}
    ours = lambda i: attention.run(i, outputs=["y"])["y"]
    found = _against("self-attention, T=512, 8 heads, J=512", ours, attention_by_hand, inputs, rounds)

    batch, T, J = 32, 128, 256
    gru, h0 = Equations(GRU), torch.randn(batch, J)
    inputs = {"x": torch.randn(batch, T, J)}
    for gate in "ZGR":
        inputs |= {f"W_h{gate}": weights(J, J), f"W_x{gate}": weights(J, J), f"B_{gate}": weights(J)}
    ours = lambda i: gru.run(i, boundary={"h": h0}, outputs=["h"])["h"]
    found += _against("GRU, T=128, batch 32, J=K=256", ours, lambda i: gru_by_hand(i, h0), inputs, rounds)

    found.append(_limit("parse and check ten lines", lambda: Equations(TEN_LINES), 10.0, rounds))
    right, wrong = Equations(RIGHT), Equations(WRONG)
    found.append(
        _limit("compare, five draws, diagnosis", lambda: right.compare(wrong, draws=5), 300.0, rounds)
    )
    return found
