"""How `run` goes about it (few steps, few products, no large intermediates), and what it says of bad input."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from threading import Barrier, Thread

import pytest
import torch
from running import (
    CONSTRUCTS,
    COURSE,
    GRID,
    GRU,
    LANGUAGE_CNN,
    UGCNN,
    VANILLA,
    Case,
    agree,
    draw,
    system,
    words,
)
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from coursekit.notation.errors import NotationError
from coursekit.notation.grad.gradient import gradient
from coursekit.notation.run.runner import run

# ── how it runs ──────────────────────────────────────────────────────────────────────────────


class Watch(TorchDispatchMode):
    """Counts the operations that reach the kernels, and the largest tensor that any of them makes."""

    def __init__(self):
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.calls[function.overloadpacket.__name__] += 1
        if isinstance(result, Tensor):
            self.largest = max(self.largest, result.numel())
        return result


def watched(text: str, inputs: dict[str, Tensor], boundary=None, sizes=None) -> Watch:
    made = system(text)
    run(made, inputs, boundary, sizes)
    with Watch() as watch:
        run(made, inputs, boundary, sizes)
    return watch


def test_a_gru_takes_two_products_a_step_and_its_inputs_are_one_product_for_all_steps():
    inputs, boundary = COURSE["gru"].drawn()
    steps = inputs["x"].shape[1]
    calls = watched(GRU, inputs, boundary).calls
    assert calls["mm"] + calls["bmm"] == 1 + 2 * steps


@pytest.mark.parametrize("n", [3, 6, 12])
def test_a_grid_takes_2n_minus_1_steps(n):
    inputs = {"W_in": draw(3, 2), "W_l": draw(3, 3), "W_t": draw(3, 3), "x": draw(n, n, 2)}
    calls = watched("pad h\n" + GRID, inputs).calls
    assert calls["tanh"] == 2 * n - 1
    assert calls["mm"] + calls["bmm"] == 1 + 2 * (2 * n - 1)


def test_a_window_sum_is_one_convolution():
    assert watched(UGCNN, COURSE["update-gate cnn"].drawn()[0]).calls["convolution"] == 2
    assert watched(LANGUAGE_CNN, COURSE["language cnn"].drawn()[0]).calls["convolution"] == 1


def test_adding_to_looked_up_rows_makes_no_one_hot_tensor():
    watch = watched(
        "de[v,i] = sum[b,t]([w[b,t] == v] dx[b,t,i])",
        {"w": words(50, 4, 6), "dx": draw(4, 6, 3)},
        sizes={"V": 50},
    )
    assert watch.calls["index_add"] == 1
    assert watch.largest <= 51 * 3


def test_reading_through_a_condition_makes_no_mask():
    watch = watched("y[t,i] = sum[s]([s == 2*t+1] x[s,i])", {"x": draw(101, 2)}, sizes={"T": 50})
    assert watch.largest <= 202


def test_many_factors_are_multiplied_in_a_cheap_order():
    n = 30
    inputs = {"u": draw(n), "A": draw(n, n), "B": draw(n, n), "C": draw(n, n), "v": draw(n)}
    with FlopCounterMode(display=False) as counter:
        run(system("y = u[I] A[I,J] B[J,K] C[K,L] v[L]"), inputs)
    assert counter.get_total_flops() <= 2 * (3 * n * n + n)
    bilinear = {"x": draw(200, n), "W": draw(4, n, n), "y": draw(200, n)}
    assert watched("s[b,k] = x[b,I] W[k,I,J] y[b,J]", bilinear).largest <= 200 * 4 * n


def test_a_plan_is_made_once_for_a_system_and_its_sizes(monkeypatch):
    made = system(VANILLA)
    inputs, boundary = COURSE["vanilla"].drawn()
    run(made, inputs, boundary)
    monkeypatch.setattr("coursekit.notation.run.runner.Plan", None)
    run(made, {n: 2 * x for n, x in inputs.items()}, boundary)
    with pytest.raises(TypeError):
        run(made, inputs | {"x": draw(2, 6, 3)}, boundary)


@pytest.mark.parametrize(
    "name", ["gru", "update-gate cnn", "self-attention", "local attention", "grid", "concatenation"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_float_type_is_that_of_the_inputs(name, dtype):
    case = COURSE[name]
    inputs, boundary = case.drawn()
    exact = run(system(case.text), inputs, boundary)
    change = lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x
    ours = run(
        system(case.text),
        {n: change(x) for n, x in inputs.items()},
        {n: change(x) for n, x in boundary.items()},
    )
    for key, value in ours.items():
        assert value.dtype == dtype
        error = (value.double() - exact[key]).abs().mean() / exact[key].abs().mean()
        assert error < (1e-5 if dtype == torch.float32 else 0.2), key


def test_a_plan_made_without_gradients_serves_a_run_with_them():
    made = system("a[s,t] = softmax[t <= s](q[s,I] k[t,I])")
    inputs = {"q": draw(4, 3), "k": draw(4, 3)}
    with torch.inference_mode():
        run(made, inputs)
    q = inputs["q"].requires_grad_()
    run(made, inputs)["a"].square().sum().backward()
    assert q.grad is not None
    assert q.grad.abs().sum() > 0


@pytest.mark.parametrize("name", [*COURSE, *CONSTRUCTS])
def test_shapes_alone_can_be_run_on_the_meta_device(name):
    case = COURSE.get(name) or CONSTRUCTS[name]
    inputs, boundary = case.drawn()
    made = system(case.text)
    away = lambda x: (
        tuple(map(away, x)) if isinstance(x, tuple) else x.to("meta") if isinstance(x, Tensor) else x
    )
    shapes = run(
        made, {n: away(x) for n, x in inputs.items()}, {n: away(x) for n, x in boundary.items()}, case.sizes
    )
    real = run(made, inputs, boundary, case.sizes)
    assert {n: x.shape for n, x in shapes.items()} == {n: x.shape for n, x in real.items()}
    assert all(x.is_meta for x in shapes.values())


# ── bad input ────────────────────────────────────────────────────────────────────────────────

QUERY = "a[s,t] = softmax[t](q[s,I] k[t,I])"


@pytest.mark.parametrize(
    ("text", "inputs", "boundary", "said"),
    [
        (QUERY, {"q": draw(5, 3), "k": draw(5, 4)}, {}, "`I` is 3 in `q` (second axis) but 4 in `k` (second axis)"),
        (QUERY, {"q": draw(5, 3)}, {}, "`k` is missing: give a tensor 'k' of shape (T, I)"),
        (QUERY, {"q": draw(5, 3), "K": draw(5, 3)}, {}, "('K' was given: is it meant?)"),
        (QUERY, {"q": draw(5, 3), "k": draw(5, 3), "z": draw(2)}, {}, "`z` is given, but no equation reads it"),
        (QUERY, {"q": draw(5, 3), "k": draw(5, 3), "a": draw(2)}, {}, "`a` is defined by the system"),
        (QUERY, {"q": draw(5), "k": draw(5, 3)}, {}, "`q` has 1 axis (5,) but is written as `q[S,I]`, with 2 axes"),
        (QUERY, {"q": draw(0, 3), "k": draw(5, 3)}, {}, "`q` is empty: its first axis (`S`) has length 0"),
        (QUERY, {"q": draw(5, 3), "k": draw(5, 3).float()}, {}, "`q` is torch.float64 but `k` is torch.float32"),
        (QUERY, {"q": draw(5, 3), "k": draw(5, 3).to("meta")}, {}, "`q` is on cpu but `k` is on meta"),
        (QUERY, {"q": draw(5, 3), "k": [1.0]}, {}, "`k` is a list, not a tensor"),
        (
            "h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + x[b,t,j])",
            {"W": draw(3, 3), "x": draw(2, 5, 3)},
            {},
            "`h` is read at t-1: give boundary={'h': …} of shape (b, j), or say `pad h`",
        ),
        (
            "h[b,t,j] = tanh(h[b,t-1,j] + x[b,t,j])",
            {"x": draw(2, 5, 3)},
            {"h": draw(3, 2)},
            "`B` is 2 in `x` (first axis) but 3 in the boundary of `h`",
        ),
        (
            "h[b,t,j] = tanh(h[b,t-2,j] + x[b,t,j])",
            {"x": draw(2, 5, 3)},
            {"h": draw(2, 3)},
            "the boundary of `h` has shape (2, 3), but it must be (b, 2, j)",
        ),
        ("pad h\nh[t] = h[t-1] + x[t]", {"x": draw(5)}, {"h": 0}, "keep one of the two"),
        ("h[t] = h[t-1] + x[t]", {"x": draw(5)}, {"h": 0, "g": 0}, "a boundary for `g`, but no tensor of that name"),
        ("h[t] = h[t-1] + x[t]", {"x": draw(5)}, {"h": (0, 0)}, "a tuple of 1, not of 2"),
        ("h[t] = h[t-1] + x[t]", {"x": draw(5)}, {"h": "zero"}, "the boundary of `h` is a str"),
        ("y[t,i] = e[w[t],i]", {"e": draw(4, 2), "w": draw(3)}, {}, "so it must hold whole numbers: give w.long()"),
        (
            "y[t,i] = e[w[t],i]",
            {"e": draw(4, 2), "w": torch.tensor([0, 4])},
            {},
            "`e` is looked up at 4, but its first axis runs from 0 to 3 (`W` is 4)",
        ),
        ("y[t,i] = e[w[t],i]", {"e": draw(4, 2), "w": torch.tensor([-1, 3])}, {}, "`e` is looked up at -1"),
        ("y[i] = i + 1", {}, {}, "no tensor fixes the size of `I`: give sizes={'I': …}"),
        ("y[t] = x[t+D] w[D]", {"x": draw(3), "w": draw(5)}, {}, "nothing is left for `t`"),
        (
            "y[t] = x[t] + z[2*t]",
            {"x": draw(4), "z": draw(6)},
            {},
            "`z` is read at 2*t = 6, but its first axis runs from 0 to 5 (`Z0` is 6); say `pad z` if",
        ),
        (
            "y[t] = sum[s, s <= t+1](a[s] x[t-s])",
            {"a": draw(4), "x": draw(4)},
            {},
            "`x` is read at t-s = -3, but its first axis runs from 0 to 3",
        ),
        ("h[t,J] = CELL(h[t-1,J], x[t,K])", {"x": draw(4, 3)}, {"h": draw(2)},
         "`CELL` is not known: give functions={'CELL': …}"),
        (
            "h[i,j] = x[i,j] + h[i-1,j-1]",
            {"x": draw(3, 4)},
            {"h": (draw(4), draw(3))},
            "`h` is read outside two axes at once: its boundary must be one number",
        ),
    ],
)  # fmt: skip
def test_bad_input_gets_one_clear_sentence(text, inputs, boundary, said):
    with pytest.raises(NotationError) as caught:
        run(system(text, broadcast=True), inputs, boundary)
    assert said in caught.value.message


def test_an_error_points_at_its_place():
    with pytest.raises(NotationError) as caught:
        run(system(QUERY), {"q": draw(5, 3), "k": draw(5, 4)})
    assert (caught.value.line, caught.value.column) == (1, QUERY.index("k[t") + 1)
    assert "^" in str(caught.value)


def test_a_function_must_give_the_shape_it_promised():
    made = system("h[t,J] = CELL(h[t-1,J], x[t,K])")
    with pytest.raises(NotationError, match=r"`CELL` must give its value with the last axes \(2,\)"):
        run(made, {"x": draw(4, 3)}, {"h": draw(2)}, functions={"CELL": lambda h, x: x})


@pytest.mark.parametrize("number", [2, 2.0, Fraction(2)])
def test_a_boundary_may_be_a_number_of_any_kind(number):
    made, x = system("h[t,j] = h[t-1,j] + x[t,j] + h[t-2,j]"), torch.ones(2, 1)
    assert run(made, {"x": x}, {"h": number})["h"].flatten().tolist() == [5, 8]


def test_a_deep_expression_runs():
    """Python reads no text that is nested too deep."""
    x = draw(3)
    for word, torch_word in (("tanh", torch.tanh), ("-", torch.neg)):
        right = x
        for _ in range(19):
            right = torch_word(right)
        ours = run(system(f"y[i] = {f'{word}(' * 19}x[i]{')' * 19}"), {"x": x})["y"]
        torch.testing.assert_close(ours, right)


def test_sizes_may_be_given_by_any_of_their_names():
    made = system("y[i,j] = x[j] + i")
    for name in ("I", "i"):
        assert run(made, {"x": draw(2)}, sizes={name: 3})["y"].shape == (3, 2)
    for wrong, said in (({"Q": 3}, "which is no dimension here"), ({"I": 1.5}, "must be a whole number")):
        with pytest.raises(NotationError, match=said):
            run(made, {"x": draw(2)}, sizes=wrong)  # type: ignore[arg-type]


# ── what once stopped a run ──────────────────────────────────────────────────────────────────


def test_a_recurrence_without_a_batch_axis_runs():
    agree(Case("h[t,m] = h[t-1,m] + c[m] (x[t] - c[J] h[t-1,J])", {"c": (3,), "x": (5,)}, {"h": [3]}))


def test_a_condition_on_a_function_may_guard_that_function():
    agree(Case("y[i] = [exp(x[i]) < 2] exp(x[i])", {"x": (6,)}))
    # Where a condition fails, 1 stands under what it guards; the condition itself must not see that 1.
    agree(Case("y[i] = [exp(x[i]) < 3] exp(x[i])", {"x": (40,)}))
    agree(Case("y[i] = [c/x[i] < 1] w[i]", {"c": (), "x": (40,), "w": (40,)}))
    agree(Case("y[i] = cases(sqrt(x[i]^2) if sqrt(x[i]^2) < 1/2, w[i] otherwise)", {"x": (40,), "w": (40,)}))
    agree(Case("y[i] = [log(x[i]^2) < 0] [exp(x[i]) < 2] log(x[i]^2) exp(x[i])", {"x": (6,)}))


@pytest.mark.parametrize(
    ("text", "wrt"),
    [
        ("y[b,t,i] = max(x[b,2*t,i], x[b,2*t+1,i])\nJ = y[B,T,I] c[B,T,I]", ["x", "c"]),
        ("p[b,t] = argmax[v](s[b,t,v])\ny[b,t,i] = e[p[b,t],i]\nJ = y[B,T,I] c[B,T,I]", ["e", "c"]),
        ("y[i] = min(1, c/x[i])\nJ = y[I] w[I]", ["c", "x", "w"]),
        ("n = sqrt(sum[i](g[i]^2))\nq[i] = g[i] min(1, m/n)\nJ = q[I] w[I]", ["g", "m", "w"]),
        (
            "n = sqrt(g[I] g[I])\nq[i] = cases(g[i] if n <= m, m g[i]/n otherwise)\nJ = q[I] w[I]",
            ["g", "m", "w"],
        ),
    ],
)
def test_the_gradient_runs_and_agrees_with_autograd(text, wrt):
    made = system(text)
    shapes = {"x": (2, 6, 3) if "2*t" in text else (4,), "c": (2, 3, 3) if "2*t" in text else (2, 3, 4)}
    shapes |= {"s": (2, 3, 5), "e": (5, 4), "w": (4,), "g": (4,), "m": ()}
    shapes["c"] = () if "c/x" in text else shapes["c"]
    inputs = {n: draw(*shapes[n], seed=k).requires_grad_() for k, n in enumerate(made.inputs)}
    values = run(made, inputs)
    true = torch.autograd.grad(values["J"], [inputs[n] for n in wrt])
    back = gradient(made, "J", wrt)
    known = {n: x.detach() for n, x in {**inputs, **values}.items()}
    ours = run(back, {n: known[n] for n in back.inputs})
    for name, right in zip(wrt, true, strict=True):
        torch.testing.assert_close(ours["d" + name], right, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "shapes", "sizes", "said"),
    [
        ("y[t,i] = x[i] t", {"x": (200,)}, {"t": 10**9}, "`y` would have 200,000,000,000 entries"),
        ("pad h\nh[i,j] = h[i-1,j] + h[i,j-1] + x", {"x": ()}, {"I": 10**6, "J": 10**6}, "give smaller sizes"),
        ("y[i,j] = max[k](a[i] b[k] + c[k,j])", {"a": (40000,), "b": (40000,), "c": (40000, 3)}, {}, "memory"),
    ],
)  # fmt: skip
def test_what_no_memory_holds_is_refused_in_a_sentence(text, shapes, sizes, said, monkeypatch):
    inputs = {name: torch.zeros((), dtype=torch.float64).expand(shape) for name, shape in shapes.items()}
    if said == "memory":  # as the allocator says it, on a machine however large

        def full(*_, **__):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 38 TB")

        monkeypatch.setattr(Tensor, "amax", full)
        inputs = {name: x[tuple(slice(4) for _ in x.shape)] for name, x in inputs.items()}
    with pytest.raises(NotationError, match=said):
        run(system(text, broadcast=True), inputs, sizes=sizes)


def test_a_read_that_leaves_its_tensor_is_refused_on_every_device():
    """The plan is made by the first run, on tensors without numbers."""
    made = system("y[t] = cases(x[2*t] z[t] if t <= 2, 0 otherwise)")
    for device in ("meta", "cpu", "cpu"):
        with pytest.raises(NotationError, match=r"`x` is read at 2\*t = 8"):
            run(made, {"x": torch.ones(4, device=device), "z": torch.ones(5, device=device)})
    assert run(made, {"x": torch.ones(5), "z": torch.ones(5)})["y"].tolist() == [1, 1, 1, 0, 0]


def test_a_plan_may_be_made_and_run_by_four_threads_at_once():
    text = "a[s,t] = softmax[t <= s](q[s,I] k[t,I])\nh[t,i] = tanh(a[t,S] v[S,i] + h[t-1,i])\n"
    text += "y[t] = cases(x[2*t] if t <= 1, 0 otherwise) + 0 h[t,0]"
    inputs = {"q": draw(5, 3), "k": draw(5, 3), "v": draw(5, 4), "x": draw(3)}
    boundary = {"h": draw(4)}
    right = run(system(text), inputs, boundary)
    for _ in range(20):
        made, gate, found = system(text), Barrier(4), []

        def work(made=made, gate=gate, found=found):
            gate.wait()
            try:
                found.append(run(made, inputs, boundary)["y"])
            except Exception as error:
                found.append(error)

        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(isinstance(y, torch.Tensor) and torch.equal(y, right["y"]) for y in found), found
