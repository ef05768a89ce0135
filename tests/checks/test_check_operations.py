"""The counter sees what torch's own does not; the check holds a student's code against a bound."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from coursekit import checks
from coursekit.checks import Mistake, count

d, h = 1000, 64


def r(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


U, v, E = r(d, h), r(h), r(1, d)
q = r(1, 4, 128, 16)
x = r(1, 128, 64)


def no_grad(function):
    def inside():
        with torch.no_grad():
            return function()

    return inside


def attention(**options):
    return lambda: nn.MultiheadAttention(64, 4, bias=False, batch_first=True)(x, x, x, **options)


FLOPS = {  # what the code is: (the code, its FLOPs: two for each multiply-add), from problems.md D
    "U @ v": (lambda: U @ v, 128_000),
    "v @ U.T": (lambda: v @ U.T, 128_000),
    "mm": (lambda: U @ v[:, None], 128_000),
    "addmv": (lambda: torch.addmv(torch.zeros(d), U, v), 128_000),
    "F.linear": (lambda: F.linear(v, U), 128_000),
    "(U * v).sum(1)": (lambda: (U * v).sum(1), 128_000),
    "(U * v).T.sum(0)": (lambda: (U * v).T.sum(0), 128_000),
    "(U * v).mean(1)": (lambda: (U * v).mean(1), 128_000),
    "einsum": (lambda: torch.einsum("ij,j->i", U, v), 128_000),
    "tensordot": (lambda: torch.tensordot(U, v, 1), 128_000),
    "dot": (lambda: torch.dot(v, v), 128),
    "vdot": (lambda: torch.vdot(v, v), 128),
    "inner": (lambda: torch.inner(v, v), 128),
    "loop of scalars": (lambda: sum(v[i] * v[i] for i in range(h)), 128),
    "outer": (lambda: torch.outer(v, v), 2 * h * h),
    "addr": (lambda: torch.addr(torch.zeros(h, h), v, v), 2 * h * h),
    "einsum outer": (lambda: torch.einsum("i,j->ij", v, v), 2 * h * h),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 5, bias=False)(r(2, 3), r(2, 4)), 2 * 2 * 5 * 3 * 4),
    "attention": (lambda: F.scaled_dot_product_attention(q, q, q), 4_194_304),
    "causal attention": (lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True), 4_194_304),
    "masked attention": (
        lambda: F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(128, 128).bool()), 4_194_304),
    "attention without grad": (no_grad(lambda: F.scaled_dot_product_attention(q, q, q)), 4_194_304),
    "MultiheadAttention": (attention(), 8_388_608),
    "MultiheadAttention, no weights": (attention(need_weights=False), 8_388_608),
    "MultiheadAttention, fast path": (
        no_grad(lambda: nn.MultiheadAttention(64, 4, batch_first=True).eval()(x, x, x, need_weights=False)),
        8_388_608),
    "TransformerEncoderLayer, fast path": (
        no_grad(lambda: nn.TransformerEncoderLayer(64, 4, 256, batch_first=True).eval()(x)), 16_777_216),
    "RNN": (lambda: nn.RNN(6, 5)(r(7, 3, 6)), 2310),
    "GRU": (lambda: nn.GRU(6, 5)(r(7, 3, 6)), 6930),
    "LSTM": (lambda: nn.LSTM(6, 5)(r(7, 3, 6)), 9240),
    "LSTM without grad": (no_grad(lambda: nn.LSTM(6, 5)(r(7, 3, 6))), 9240),
    "conv1d": (lambda: F.conv1d(r(2, 4, 15), r(4, 4, 3), stride=2), 2 * 2 * 7 * 3 * 16),
    "conv2d": (lambda: F.conv2d(r(1, 4, 12, 10), r(4, 4, 3, 3), padding=1), 2 * 120 * 9 * 16),
    "softmax": (lambda: torch.softmax(U, 1), 0),
    "gate": (lambda: torch.sigmoid(v) * v, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOPS)
def test_count_is_the_work_really_done(name):
    code, flops = FLOPS[name]
    assert 2 * count(code).multiply_adds == flops


def test_backward_of_a_product_is_twice_its_forward():
    for forward in (lambda a, b: a @ b, lambda a, b: (a * b).sum(1)):
        a, b = U.clone().requires_grad_(), v.clone().requires_grad_()
        assert count(lambda: torch.logsumexp(forward(a, b), 0).backward()).multiply_adds == 3 * d * h  # noqa: B023


def test_rnn_language_model_costs_what_the_course_says():
    V, e, D = 2000, 50, 100
    W = {n: r(*s).requires_grad_() for n, s in {"L": (V, e), "H": (D, D), "I": (e, D), "U": (D, V)}.items()}
    state = r(D).requires_grad_()

    def forward():
        hidden = torch.sigmoid(state @ W["H"] + W["L"][3] @ W["I"])
        return -torch.log_softmax(hidden @ W["U"], -1)[7]

    assert 2 * count(forward).multiply_adds == 430_000
    assert 2 * count(lambda: forward().backward()).multiply_adds == 430_000 + 860_000


def test_entrywise_products_are_counted_apart():
    seen = count(lambda: v * torch.sigmoid(v))
    assert (seen.multiply_adds, seen.entrywise) == (0, h)


def test_meta_tensors_are_counted_without_computing():
    big = lambda: torch.empty(10**6, 10**5, device="meta") @ torch.empty(10**5, device="meta")
    assert count(big).multiply_adds == 10**11


@pytest.mark.parametrize(
    ("code", "way"),
    [
        (lambda U, v: torch.tensor(U.numpy() @ v.numpy()), "numpy"),
        (lambda U, v: torch.from_numpy(np.asarray(U) @ np.asarray(v)), "__array__"),
        (lambda U, v: torch.tensor(np.dot(U, v)), "__array__"),
        (lambda U, v: torch.from_numpy(np.from_dlpack(U) @ np.from_dlpack(v)), "__dlpack__"),
        (
            lambda U, v: torch.tensor(
                [sum(a * b for a, b in zip(u, v.tolist(), strict=False)) for u in U.tolist()]
            ),
            "tolist",
        ),
        (lambda U, v: U @ v * v[0].item(), "item"),
        (lambda U, v: U @ v * float(v[0]), "__float__"),
    ],
)
def test_work_outside_torch_is_refused(code, way):
    result = checks.operations(code, {"U": U, "v": v}, at_most=10**9)
    assert result.kind == "escape"
    assert f"`{way}`" in result.sentence


def test_index_may_leave_torch():
    code = lambda U, v, i: U @ v * v[int(i)]
    assert checks.operations(code, {"U": U, "v": v, "i": torch.tensor(3)}, exactly=d * h).ok


def test_work_on_other_tensors_than_the_given_is_no_answer():
    assert checks.operations(lambda U, v: v + 1, {"U": U, "v": v}, at_most=10).kind == "uncounted"
    assert checks.operations(lambda U, v: 3.0, {"U": U, "v": v}, at_most=10).kind == "escape"


def test_bounds_are_held_and_told():
    case = {"U": U, "v": v}
    assert checks.operations(lambda U, v: U @ v, case, exactly=d * h).ok
    assert checks.operations(lambda U, v: U @ v, case, at_most=lambda U, v: U.numel()).ok
    twice = checks.operations(lambda U, v: U @ v + U @ v, case, at_most=d * h)
    assert twice.kind == "operations"
    assert "128 000 multiply-adds where 64 000 are enough, 2 times as many" in twice.sentence
    assert ("mv", 2 * d * h) in twice.rows
    assert not checks.operations(lambda U, v: U @ v, case, exactly=d * h + 1).ok


def test_named_waste_gets_its_sentence():
    lookup = Mistake("one-hot", "Look the row up: x L costs V d multiplications.", lambda x, L: x @ L)
    result = checks.operations(lambda x, L: x @ L, {"x": E, "L": U}, at_most=10, mistakes=[lookup])
    assert result.mistake == "one-hot"


def test_wasteful_code_may_be_the_mistake_itself():
    twice = Mistake("twice", "You computed the scores twice.", lambda U, v: U @ v + U @ v)
    assert (
        checks.operations(
            lambda U, v: 2 * (U @ v) + U @ v, {"U": U, "v": v}, at_most=d, mistakes=[twice]
        ).mistake
        == "twice"
    )
    assert checks.operations(lambda U, v: U @ v, {"U": U, "v": v}, at_most=d, mistakes=[twice]).mistake == ""


def local(q, k, v):
    return torch.stack([q[t] @ k[max(0, t - 3) : t + 1].T @ v[max(0, t - 3) : t + 1] for t in range(len(q))])


def dense(q, k, v):
    return (q @ k.T).tril() @ v


def test_growth_tells_linear_from_quadratic():
    cases = [{"q": r(T, 8), "k": r(T, 8), "v": r(T, 8)} for T in (32, 64, 128)]
    assert checks.operations(local, cases, grows=2.2).ok
    result = checks.operations(dense, cases, grows=2.2)
    assert not result.ok
    assert "4 times; it may grow at most 2.2 times" in result.sentence


def test_error_in_counted_code_is_told_with_its_line():
    def attend(U, v):
        return v @ U  # the student's line

    result = checks.operations(attend, {"U": U, "v": v}, at_most=1)
    assert result.kind == "error"
    assert "return v @ U" in result.block
