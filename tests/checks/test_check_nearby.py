"""Where only an oracle is known, the student's own equations are mended by one change, and that names the mistake."""

import re
from time import process_time

import pytest
import torch

from coursekit import checks
from coursekit.checks.diagnosis.nearby import nearby
from coursekit.notation import Equations

CASES = [
    ("y[t,i] = sum[s, s < t](a[t,s] x[s,i])", "y[t,i] = sum[s, s <= t](a[t,s] x[s,i])", "mask"),
    ("y[b,i] = x[b,i] / (sqrt(v[b]^2) + c)", "y[b,i] = x[b,i] / sqrt(v[b]^2 + c)", "epsilon"),
    ("y[b] = max[i](x[b,i])", "y[b] = logsumexp[i](x[b,i])", "hard choice"),
    (
        "o[b,i] = sigmoid(x[b,i])\ny[b,i] = tanh(o[b,i] u[b,i])",
        "o[b,i] = sigmoid(x[b,i])\ny[b,i] = o[b,i] tanh(u[b,i])",
        "gate misplaced",
    ),
]


@pytest.mark.parametrize(("answer", "right", "kind"), CASES)
def test_the_mistake_is_named_without_a_reference(answer, right, kind):
    answer, oracle = Equations(answer), Equations(right)
    shapes = {"a": (4, 4), "x": (4, 3), "v": (4,), "c": (), "u": (4, 3)}
    case = {n: torch.randn(shapes[n], dtype=torch.float64).abs() for n in oracle.inputs}
    expected = oracle.run(case)["y"]

    def agrees(system: Equations) -> bool:
        return torch.allclose(system.run(case)["y"], expected)

    assert not agrees(answer)
    finding = nearby(answer, agrees, ["y"], ["y"], lambda: list(case))
    assert finding is not None
    assert finding.kind == kind


LSTM = """
R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
Gf[b,t,j] = sigmoid(W_hGf[j,I] h[b,t-1,I] + W_xGf[j,K] x[b,t,K] + p_f[j] c[b,t-1,j] - B_Gf[j])
c[b,t,j] = Gf[b,t,j] c[b,t-1,j] + (1 - Gf[b,t,j]) R[b,t,j]
Go[b,t,j] = sigmoid(W_hGo[j,I] h[b,t-1,I] + W_xGo[j,K] x[b,t,K] + p_o[j] c[b,t,j] - B_Go[j])
h[b,t,j] = Go[b,t,j] tanh(c[b,t,j])
"""


def lstm_case(B, T, J, K):
    shapes = {f"{name}{gate}": shape for gate in ("R", "Gf", "Go") for name, shape in
              (("W_h", (J, J)), ("W_x", (J, K)), ("B_", (J,)))}  # fmt: skip
    shapes |= {"p_f": (J,), "p_o": (J,), "x": (B, T, K), "h0": (B, J), "c0": (B, J)}
    torch.manual_seed(B)
    return {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()}


def test_a_rare_mistake_in_a_large_system_is_named_in_time():
    def oracle(h0, c0, **case):
        return Equations(LSTM).run(case, boundary={"h": h0, "c": c0})["h"]

    answer = LSTM.replace("tanh(c[b,t,j])", "tanh(c[b,t-1,j])")
    result = checks.equations(
        answer, oracle=oracle, given=[lstm_case(2, 3, 4, 5), lstm_case(3, 2, 5, 4)], outputs=["h"],
        boundary={"h": "h0", "c": "c0"},
    )  # fmt: skip
    begun = process_time()
    assert result.looked().kind == "shifted index"
    assert process_time() - begun < 0.4


UGRNN = """
R[t,j] = tanh(W_hR[j,I] h[t-1,I] + W_xR[j,K] x[t,K] - B_R[j])
G[t,j] = sigmoid(W_hG[j,I] h[t-1,I] + W_xG[j,K] x[t,K] - B_G[j])
h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]
"""


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ({"tanh": "sigmoid", "sigmoid": "tanh"}, "The functions tanh and sigmoid are exchanged."),
        ({"hR": "hG", "hG": "hR", "xR": "xG", "xG": "xR", "B_R": "B_G", "B_G": "B_R"},
         "The parameters of `R` and `G` are exchanged."),
    ],
)  # fmt: skip
def test_two_things_that_are_exchanged_wherever_they_stand(pairs, sentence):
    answer = re.sub("|".join(pairs), lambda m: pairs[m[0]], UGRNN)
    right = Equations(UGRNN)

    def case(T, J, K):
        shapes = {"x": (T, K), "h0": (J,)}
        for gate in "RG":
            shapes |= {f"W_h{gate}": (J, J), f"W_x{gate}": (J, K), f"B_{gate}": (J,)}
        return {n: torch.randn(s, dtype=torch.float64) for n, s in shapes.items()}

    def oracle(h0, **given):
        return {"h": right.run(given, boundary={"h": h0})["h"]}

    result = checks.equations(
        answer, oracle=oracle, given=[case(5, 4, 3), case(3, 2, 5)], outputs=["h"], boundary={"h": "h0"}
    )
    assert not result.ok
    assert result.looked().sentence == sentence
