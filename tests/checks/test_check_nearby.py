"""Where only an oracle is known, the student's own equations are mended by one change, and that names the mistake."""

import pytest
import torch

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
