"""The plain evaluator, against numbers worked out by hand: it is what `run` is tested against."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch

from coursekit.notation.check.checker import check
from coursekit.notation.errors import NotationError
from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.parse.parser import parse
from coursekit.notation.run.runner import run


def value(text: str, inputs: dict, boundary=None, sizes=None, functions=None, **options) -> dict:
    return evaluate(check(parse(text), **options), inputs, boundary, sizes, functions)


def test_it_needs_neither_torch_nor_numpy():
    program = """
import sys
from coursekit.notation.check.checker import check
from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.parse.parser import parse
assert evaluate(check(parse("y[i] = A[i,J] x[J]")), {"A": [[1, 2], [3, 4]], "x": [5, 6]}) == {"y": [17, 39]}
print(sorted({"torch", "numpy"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("text", "inputs", "expected"),
    [
        ("y[i] = x[i] + 2*x[i] - 1/2", {"x": [1, 2]}, [2.5, 5.5]),
        ("y = x[I] z[I]", {"x": [1, 2, 3], "z": [4, 5, 6]}, 32),
        ("y[i,j] = x[i] z[j]", {"x": [1, 2], "z": [3, 4]}, [[3, 4], [6, 8]]),
        ("y[j] = sum[i](x[i] (z[j] + 1))", {"x": [1, 2], "z": [3, 4]}, [12, 15]),
        ("y[i] = x[i]^2 / I", {"x": [2, 4]}, [2, 8]),
        ("y[i] = max(x[i], 0) + min(x[i], 1) + abs(x[i]) + relu(x[i])", {"x": [-2, 3]}, [0, 10]),
        ("y[i] = sigmoid(x[i])", {"x": [0, -800, 800]}, [0.5, 0, 1]),
        ("y[i] = exp(log(x[i])) + sqrt(x[i])", {"x": [1, 4]}, [2, 6]),
        ("y = max[i](x[i]) - min[i](x[i]) + prod[i](x[i])", {"x": [2, -3, 4]}, 7 - 24),
        ("y[i] = softmax[i](x[i])", {"x": [0, math.log(3)]}, [0.25, 0.75]),
        ("y[i,j] = softmax[i,j](x[i,j])", {"x": [[1, 1], [1, 1]]}, [[0.25, 0.25], [0.25, 0.25]]),
        ("y[s,t] = softmax[t, t < s](x[s,t])", {"x": [[9, 9], [9, 9]]}, [[0, 0], [1, 0]]),
        ("y[t] = x[T-1-t]", {"x": [1, 2, 3]}, [3, 2, 1]),
        ("y[t] = x[2*t] + x[2*t+1]", {"x": [1, 2, 3, 4, 5]}, [3, 7]),
        ("pad x\ny[t] = x[t-1] + 10*x[t+1]", {"x": [1, 2, 3]}, [20, 31, 2]),
        ("pad x\ny[t] = sum[d](w[d] x[t+d])\ncentered d", {"x": [1, 2, 3], "w": [1, 10, 100]}, [210, 321, 32]),
        ("y[t] = w[D] x[t+D]", {"x": [1, 2, 3], "w": [1, 10]}, [21, 32]),
        ("y[t,i] = e[w[t],i]", {"e": [[1, 2], [3, 4]], "w": [1, 0, 1]}, [[3, 4], [1, 2], [3, 4]]),
        ("y[v] = sum[t]([w[t] == v] x[t])", {"w": [2, 0, 2], "x": [1, 10, 100]}, [10, 0, 101]),
        ("y[i] = cases(x[i] if x[i] > 0, -1 if i == 0, 7 otherwise)", {"x": [-5, 3, -5]}, [-1, 3, 7]),
        ("y[i] = [x[i] > 0] log(x[i]) + [x[i] > 0]/x[i]", {"x": [-5, 1]}, [0, 1]),
        ("y[C] = (x[I]; z[K])", {"x": [1, 2], "z": [3]}, [1, 2, 3]),
        ("y[C] = (x[0,I]; ...; x[K-1,I])", {"x": [[1, 2], [3, 4]]}, [1, 2, 3, 4]),
        ("y[s,t] = (s - t)^2 x[t] x[s]", {"x": [1, 2, 3]}, [[0, 2, 12], [2, 0, 6], [12, 6, 0]]),
        ("y[t] = sum[s, s <= t](x[t-s])", {"x": [1, 10, 100]}, [1, 11, 111]),
    ],
)  # fmt: skip
def test_values_worked_out_by_hand(text, inputs, expected):
    sizes = {"V": 3} if "[w[t] == v]" in text else {}
    if "sum[s, s <= t]" in text:
        sizes = {"S": 3}
    assert flat(value(text, inputs, sizes=sizes)["y"]) == pytest.approx(flat(expected), abs=1e-12)


def flat(nested) -> list[float]:
    return [v for row in nested for v in flat(row)] if isinstance(nested, list) else [nested]


def test_arithmetic_ends_as_it_does_for_tensors():
    numbers = [-2.0, -0.5, 0.0, 0.5, 2.0, 800.0, -800.0, math.inf, -math.inf, math.nan]
    x = torch.tensor(numbers, dtype=torch.float64)
    for text, theirs in {
        "exp(x[i])": x.exp(),
        "log(x[i])": x.log(),
        "sqrt(x[i])": x.sqrt(),
        "sigmoid(x[i])": x.sigmoid(),
        "tanh(x[i])": x.tanh(),
        "1/x[i]": 1 / x,
        "x[i]/0": x / 0,
        "x[i]^(1/3)": x ** (1 / 3),
        "x[i]^999": x**999,
        "x[i]^(-3)": x**-3.0,
    }.items():
        ours = torch.tensor(value(f"y[i] = {text}", {"x": numbers})["y"], dtype=torch.float64)
        torch.testing.assert_close(ours, theirs, equal_nan=True, msg=lambda m, t=text: f"{t}: {m}")
        made = check(parse(f"y[i] = {text}"))
        torch.testing.assert_close(run(made, {"x": x})["y"], theirs, equal_nan=True)
    assert value("y = 1/0 + 2^99999", {})["y"] == math.inf
    assert value("y = log(0)", {})["y"] == -math.inf
    assert math.isnan(value("y = 0/0", {})["y"])


def test_recurrences_run_in_their_order():
    assert value("h[t] = 2 h[t-1] + x[t]", {"x": [1, 1, 1]}, {"h": 5})["h"] == [11, 23, 47]
    assert value("h[t] = 2 h[t+1] + x[t]", {"x": [1, 1, 1]}, {"h": 5})["h"] == [47, 23, 11]
    assert value("f[t] = f[t-1] + f[t-2] + x[t]", {"x": [0] * 6}, {"f": [0, 1]})["f"] == [1, 2, 3, 5, 8, 13]
    pascal = value(
        "h[i,j] = h[i-1,j] + h[i,j-1] + x[i,j]", {"x": [[0] * 3] * 3}, {"h": ([1, 0, 0], [0, 0, 0])}
    )["h"]
    assert pascal == [[1, 1, 1], [1, 2, 3], [1, 3, 6]]


def test_mutual_recurrences_read_this_step_where_they_say_so():
    text = "a[t] = b[t-1] + x[t]\nb[t] = 10 a[t]"
    assert value(text, {"x": [1, 1]}, {"b": 0}) == {"a": [1, 11], "b": [10, 110]}


def test_a_boundary_is_read_by_other_equations_too():
    assert value("y[t] = x[t-1] + x[t+1]", {"x": [1, 2]}, {"x": (10, 20)})["y"] == [12, 21]


def test_opaque_functions_get_lists():
    calls = []

    def cell(h, x):
        calls.append((h, x))
        return [h[0] + x[0], h[1] * x[1]]

    found = value(
        "h[t,J] = CELL(h[t-1,J], x[t,K])", {"x": [[1, 2], [3, 4]]}, {"h": [1, 1]}, functions={"CELL": cell}
    )
    assert found["h"] == [[2, 2], [5, 8]]
    assert calls[0] == ([1, 1], [1, 2])


@pytest.mark.parametrize(
    ("text", "inputs", "said"),
    [
        ("y[i] = x[i,j] z[j]", {}, "free on the right"),
        ("y[i] = x[i]", {"x": [[1], [2, 3]]}, "`x` is ragged"),
        ("y[i] = x[i]", {"x": [1, [2, 3]]}, "`x` is ragged"),
        (
            "y[t] = e[w[t]]",
            {"e": [1, 2], "w": [0, 2]},
            "`e` is read at 2, but its first axis runs from 0 to 1",
        ),
        ("y[t] = e[w[t]]", {"e": [1, 2], "w": [0, 0.5]}, "`w` is used as an index but holds 0.5"),
        ("y[t] = x[t] + z[2*t]", {"x": [1, 2], "z": [1, 2]}, "`z` is read at 2*t = 2"),
        ("h[t,J] = CELL(h[t-1,J], x[t])", {"x": [1]}, "`CELL` is not known"),
    ],
)
def test_bad_input_gets_one_clear_sentence(text, inputs, said):
    with pytest.raises(NotationError, match=said.replace("*", r"\*")):
        value(text, inputs, {"h": [0]} if "h[" in text else {})
