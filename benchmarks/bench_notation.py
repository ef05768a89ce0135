"""Equations that run, against the same computation written by hand in torch; and how fast they are read.

    python benchmarks/bench_notation.py

The rivals take turns in one process and the middle one of their times counts, so that a busy machine slows
both. Every row says what it must reach: a ratio to the hand-written code, or a time in milliseconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.notation import Equations

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


def middle_times(rivals: list[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each rival in milliseconds, one call of each a round."""
    times: list[list[float]] = [[] for _ in rivals]
    for rival in rivals:
        rival()
    for _ in range(rounds):
        for rival, own in zip(rivals, times, strict=True):
            start = time.perf_counter()
            rival()
            own.append(1e3 * (time.perf_counter() - start))
    return [statistics.median(own) for own in times]


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


def _pair(name: str, ours: Callable, theirs: Callable, inputs: dict[str, Tensor], rounds: int) -> list[dict]:
    """Forward alone, and forward with backward."""
    torch.testing.assert_close(ours(inputs), theirs(inputs), rtol=1e-3, atol=1e-3)
    found = []
    with torch.no_grad():
        found.append(
            _row(f"{name}, forward", *middle_times([lambda: ours(inputs), lambda: theirs(inputs)], rounds))
        )
    wanted = {n: x.clone().requires_grad_() for n, x in inputs.items()}
    both = [lambda f=f: torch.autograd.grad(f(wanted).sum(), list(wanted.values())) for f in (ours, theirs)]
    found.append(_row(f"{name}, forward and backward", *middle_times(both, rounds)))
    return found


def _row(name: str, ours: float, theirs: float) -> dict:
    return {"name": name, "ours_ms": ours, "theirs_ms": theirs, "ratio": ours / theirs, "target": 1.2}


def _limit(name: str, task: Callable[[], object], limit: float, rounds: int) -> dict:
    (ours,) = middle_times([task], rounds)
    return {"name": name, "ours_ms": ours, "theirs_ms": limit, "ratio": ours / limit, "target": 1.0}


def rows(rounds: int = 9) -> list[dict]:
    """A row a measurement: name, ours_ms, theirs_ms (or the limit), ratio, and the target of the ratio."""
    torch.manual_seed(0)
    heads, T, J = 8, 512, 512
    attention = Equations(ATTENTION)
    inputs = {n: weights(heads, J // heads, J) for n in ("W_Q", "W_K", "W_V")}
    inputs |= {"W_O": weights(J, heads, J // heads), "x": torch.randn(1, T, J)}
    ours = lambda i: attention.run(i)["y"]
    found = _pair("self-attention, T=512, 8 heads, J=512", ours, attention_by_hand, inputs, rounds)

    batch, T, J = 32, 128, 256
    gru, h0 = Equations(GRU), torch.randn(batch, J)
    inputs = {"x": torch.randn(batch, T, J)}
    for gate in "ZGR":
        inputs |= {f"W_h{gate}": weights(J, J), f"W_x{gate}": weights(J, J), f"B_{gate}": weights(J)}
    ours = lambda i: gru.run(i, boundary={"h": h0})["h"]
    found += _pair("GRU, T=128, batch 32, J=K=256", ours, lambda i: gru_by_hand(i, h0), inputs, rounds)

    found.append(_limit("parse and check ten lines", lambda: Equations(TEN_LINES), 20.0, rounds))
    right, wrong = Equations(RIGHT), Equations(WRONG)
    found.append(
        _limit("compare, five draws, diagnosis", lambda: right.compare(wrong, draws=5), 300.0, rounds)
    )
    return found


def main() -> None:
    print(f"{'':60}{'ours':>10}{'by hand':>10}{'ratio':>8}{'target':>8}")
    for row in rows():
        met = "" if row["ratio"] <= row["target"] else "  missed"
        print(f"{row['name']:60}{row['ours_ms']:8.1f}ms{row['theirs_ms']:8.1f}ms", end="")
        print(f"{row['ratio']:8.2f}{row['target']:8.1f}{met}")


if __name__ == "__main__":
    main()
