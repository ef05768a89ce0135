"""`run` against torch's own modules, and the gradients that flow through it against finite differences."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from running import (
    ATTENTION,
    CONSTRUCTS,
    COURSE,
    Case,
    draw,
    system,
)
from torch import Tensor, nn

from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.run.runner import run

# ── torch is the oracle ──────────────────────────────────────────────────────────────────────


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def outputs(name: str, table: dict[str, Case] = COURSE) -> tuple[dict[str, Tensor], dict[str, Tensor], dict]:
    case = table[name]
    inputs, boundary = case.drawn()
    return run(system(case.text), inputs, boundary, case.sizes), inputs, boundary


def loaded(module: nn.Module, inputs: dict[str, Tensor], names: str, signs: dict[str, int]) -> nn.Module:
    """A torch cell with our matrices: each gate's weights times its sign, our biases negated."""
    stack = lambda key: torch.cat([signs.get(n, 1) * inputs[key.format(n)] for n in names])
    state = {
        "weight_ih_l0": stack("W_x{}"),
        "weight_hh_l0": stack("W_h{}"),
        "bias_ih_l0": -stack("B_{}"),
        "bias_hh_l0": 0 * stack("B_{}"),
    }
    module.double().load_state_dict(state)
    return module


def test_lstm_is_torchs_lstm():
    ours, inputs, boundary = outputs("lstm")
    theirs = loaded(nn.LSTM(3, 4, batch_first=True), inputs, "NFAO", {})
    h, (_, c) = theirs(inputs["x"], (boundary["h"][None], boundary["c"][None]))
    close(ours["h"], h)
    close(ours["c"][:, -1], c[0])


def test_gru_is_torchs_gru_where_reset_before_and_after_coincide():
    # torch resets after the product; with a diagonal matrix the two are one. Its update gate keeps the old.
    case = COURSE["gru"]
    inputs, boundary = case.drawn()
    inputs["W_hR"] = torch.diag(draw(4))
    ours = run(system(case.text), inputs, boundary)
    theirs = loaded(nn.GRU(3, 4, batch_first=True), inputs, "GZR", {"Z": -1})
    close(ours["h"], theirs(inputs["x"], boundary["h"][None])[0])


def test_vanilla_rnn_is_torchs_rnn():
    case = COURSE["vanilla"]
    inputs, boundary = case.drawn()
    ours = run(system(case.text.replace("sigmoid", "tanh")), inputs, boundary)
    theirs = nn.RNN(3, 4, batch_first=True).double()
    theirs.load_state_dict(
        {"weight_ih_l0": inputs["U"], "weight_hh_l0": inputs["W"], "bias_ih_l0": -inputs["B"],
         "bias_hh_l0": 0 * inputs["B"]}
    )  # fmt: skip
    close(ours["h"], theirs(inputs["x"], boundary["h"][None])[0])


def test_backward_recurrence_is_torchs_rnn_on_reversed_time():
    ours, inputs, boundary = outputs("backwards in time", CONSTRUCTS)
    h, states = boundary["h"], []
    for x in inputs["x"].flip(0):
        h = torch.tanh(x + inputs["W"] @ h)
        states.append(h)
    close(ours["h"], torch.stack(states[::-1]))


def test_update_gate_cnn_is_conv2d():
    ours, inputs, _ = outputs("update-gate cnn")
    conv = lambda W: F.conv2d(inputs["L"].permute(0, 3, 1, 2), W.permute(3, 2, 0, 1), padding=1).permute(
        0, 2, 3, 1
    )
    R = torch.tanh(conv(inputs["W_R"]) - inputs["B_R"])
    G = torch.sigmoid(conv(inputs["W_G"]) - inputs["B_G"])
    close(ours["L'"], G * inputs["L"] + (1 - G) * R)


def test_language_cnn_is_embedding_and_conv1d_of_stride_2():
    ours, inputs, _ = outputs("language cnn")
    L_0 = F.embedding(inputs["w"], inputs["e"])
    close(ours["L_0"], L_0)
    conv = F.conv1d(L_0.transpose(1, 2), inputs["W"].permute(2, 1, 0), stride=2).transpose(1, 2)
    close(ours["L_1"], torch.sigmoid(conv - inputs["B"]))


def test_grid_is_the_double_loop():
    ours, inputs, (top, side) = *outputs("grid, boundary")[:2], COURSE["grid, boundary"].drawn()[1]["h"]
    h: dict = {(-1, j): top[j] for j in range(5)} | {(i, -1): side[i] for i in range(4)}
    for i in range(4):
        for j in range(5):
            z = inputs["W_in"] @ inputs["x"][i, j] + inputs["W_l"] @ h[i - 1, j] + inputs["W_t"] @ h[i, j - 1]
            h[i, j] = torch.tanh(z)
            close(ours["h"][i, j], h[i, j])


def test_self_attention_is_torchs_multihead_attention():
    ours, inputs, _ = outputs("self-attention")
    # torch's heads have size J / K, so its projections are checked head by head through the function.
    q, k, v = (torch.einsum("kij,btj->bkti", inputs[n], inputs["x"]) for n in ("W_Q", "W_K", "W_V"))
    z = F.scaled_dot_product_attention(q, k, v)
    close(ours["y"], torch.einsum("jki,bkti->btj", inputs["W_O"], z))
    theirs = nn.MultiheadAttention(6, 3, bias=False, batch_first=True).double()
    shapes = {"W_Q": (3, 2, 6), "W_K": (3, 2, 6), "W_V": (3, 2, 6), "W_O": (6, 3, 2), "x": (2, 5, 6)}
    small, _ = Case(ATTENTION, shapes).drawn()
    flat = torch.cat([small[n].reshape(6, 6) for n in ("W_Q", "W_K", "W_V")])
    theirs.load_state_dict({"in_proj_weight": flat, "out_proj.weight": small["W_O"].reshape(6, 6)})
    x = small["x"]
    close(run(system(ATTENTION), small)["y"], theirs(x, x, x)[0])


def test_causal_attention_is_torchs():
    ours, inputs, _ = outputs("causal attention")
    q, k, v = (inputs[n][None] for n in "qkv")
    close(ours["z"], F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)[0])


def test_a_row_in_which_nothing_is_allowed_has_no_weight_and_no_gradient():
    q = draw(5, 3).requires_grad_()
    a = run(system("a[s,t] = softmax[t, t < s](q[s,I] k[t,I])"), {"q": q, "k": draw(5, 3)})["a"]
    assert a[0].eq(0).all()
    close(a[1:].sum(1), torch.ones(4, dtype=torch.float64))
    a.square().sum().backward()
    assert q.grad is not None
    assert q.grad.isfinite().all()
    assert q.grad[0].eq(0).all()


def test_opaque_functions_get_whole_vectors_last():
    text = """
    V[b,t,k] = M[b,t,k]
    h[b,t,J] = CELL(h[b,t-1,J], V[b,t,K])
    """
    cell = nn.GRUCell(3, 4).double()
    M, h0 = draw(2, 5, 3), draw(2, 4)
    h, states = h0, []
    for x in M.unbind(1):
        h = cell(x, h)
        states.append(h)
    apply = lambda h, v: cell(v, h)
    ours = run(system(text), {"M": M}, {"h": h0}, functions={"CELL": apply})
    close(ours["h"], torch.stack(states, 1))
    plain = lambda h, v: cell(*(torch.tensor([z], dtype=torch.float64) for z in (v, h)))[0].tolist()
    same = evaluate(system(text), {"M": M.tolist()}, {"h": h0.tolist()}, functions={"CELL": plain})
    close(torch.tensor(same["h"], dtype=torch.float64), ours["h"])


# ── gradients ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["gru", "lstm", "grid, boundary", "captioning", "update-gate cnn", "language cnn", "self-attention",
     "causal attention", "attention to the past alone", "concatenation", "blank language model"],
)  # fmt: skip
def test_gradients_flow_through_course_systems(name):
    check_gradient(COURSE[name])


@pytest.mark.parametrize(
    "name",
    ["two steps back", "a convolutional recurrence", "a condition on time", "stride 2, dilated", "flipped window",
     "three indices in one axis", "inputs' gradient of a strided convolution", "a window of a boundary",
     "lookup along a shared axis", "adding to looked-up rows", "logarithm where it is defined", "cases",
     "a condition keeps reads inside", "max with a condition", "layer norm", "a state looked up"],
)  # fmt: skip
def test_gradients_flow_through_constructs(name):
    check_gradient(CONSTRUCTS[name])


def check_gradient(case: Case) -> None:
    made = system(case.text)
    inputs, boundary = case.drawn()
    real = [n for n, x in inputs.items() if x.is_floating_point()]
    edges = [n for n, x in boundary.items() if isinstance(x, Tensor)]

    def function(*values: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(real, values, strict=False))
        outside = dict(zip(edges, values[len(real) :], strict=True))
        found = run(made, inputs | given, boundary | outside, case.sizes)
        return tuple(x for x in found.values() if x.requires_grad)

    values = [inputs[n].clone().requires_grad_() for n in real] + [
        boundary[n].clone().requires_grad_() for n in edges
    ]
    assert torch.autograd.gradcheck(function, values, fast_mode=True)


def test_a_branch_that_is_not_taken_gives_no_nan_gradient():
    x = torch.tensor([0.0, 4.0, -1.0], dtype=torch.float64, requires_grad=True)
    y = run(
        system("y[i] = cases(log(x[i]) if x[i] > 0, 0 otherwise)\nz[i] = [x[i] > 0] / sqrt(x[i])"), {"x": x}
    )
    (y["y"].sum() + y["z"].sum()).backward()
    close(y["z"], torch.tensor([0, 0.5, 0], dtype=torch.float64))
    assert x.grad is not None
    close(x.grad, torch.tensor([0, 0.25 - 1 / 16, 0], dtype=torch.float64))
