"""The language CNN and the update-gate CNN against torch's own convolutions."""

import pytest
import torch
import torch.nn.functional as F
from closeness import close
from pretend_device import pretend_device

from coursekit.models.convolution import (
    EMBED,
    STRIDE_2,
    UPDATE_GATE,
    LanguageCNN,
    UpdateGateCNN,
    conv_same,
    conv_stride_2,
    embed,
    update_gate_conv,
)
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

D = torch.float64


def gate_parameters(J, k=3):
    W_R, W_G = torch.randn(2, k, k, J, J, dtype=D)
    B_R, B_G = torch.randn(2, J, dtype=D)
    return {"W_R": W_R, "B_R": B_R, "W_G": W_G, "B_G": B_G}


def test_embedding_is_the_one_hot_product():
    e, w = torch.randn(7, 4, dtype=D), torch.randint(7, (3, 5))
    close(embed(e, w), F.one_hot(w, 7).to(D) @ e)


@pytest.mark.parametrize(("T", "k"), [(9, 2), (10, 3), (3, 3), (4, 1)])
def test_stride_2_agrees_with_conv1d(T, k):
    L, W, B = torch.randn(2, T, 4, dtype=D), torch.randn(k, 4, 6, dtype=D), torch.randn(6, dtype=D)
    theirs = F.conv1d(L.transpose(1, 2), W.permute(2, 1, 0), -B, stride=2)
    ours = conv_stride_2(L, W, B)
    assert ours.shape == (2, (T - k) // 2 + 1, 6)
    close(ours, torch.sigmoid(theirs).transpose(1, 2))


@pytest.mark.parametrize("k", [1, 3, 5])
def test_centred_convolution_agrees_with_conv2d(k):
    L, W = torch.randn(2, 6, 7, 3, dtype=D), torch.randn(k, k, 3, 4, dtype=D)
    theirs = F.conv2d(L.permute(0, 3, 1, 2), W.permute(3, 2, 0, 1), padding=k // 2)
    close(conv_same(L, W), theirs.permute(0, 2, 3, 1))


def test_an_open_gate_keeps_the_layer_and_a_closed_one_takes_the_update():
    L, p = torch.randn(2, 5, 4, 3, dtype=D), gate_parameters(3)
    close(update_gate_conv(L, **p | {"B_G": torch.full((3,), -1e4, dtype=D)}), L)
    closed = update_gate_conv(L, **p | {"B_G": torch.full((3,), 1e4, dtype=D)})
    close(closed, torch.tanh(conv_same(L, p["W_R"]) - p["B_R"]))


def test_their_gradients_agree_with_torch():
    L = torch.randn(2, 5, 4, 3, dtype=D, requires_grad=True)
    W = torch.randn(3, 3, 3, 3, dtype=D, requires_grad=True)
    theirs = F.conv2d(L.permute(0, 3, 1, 2), W.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)
    pairs = [(conv_same(L, W), theirs)]
    W_1, sentence = W[0], L[:, :, 0]
    theirs = torch.sigmoid(F.conv1d(sentence.transpose(1, 2), W_1.permute(2, 1, 0), stride=2)).transpose(1, 2)
    pairs.append((conv_stride_2(sentence, W_1, torch.zeros(3, dtype=D)), theirs))
    for ours, theirs in pairs:
        weight = torch.randn_like(theirs)
        for a, b in zip(
            torch.autograd.grad(ours, (L, W), weight, retain_graph=True),
            torch.autograd.grad(theirs, (L, W), weight, retain_graph=True),
            strict=True,
        ):
            close(a, b)


def test_the_equations_of_the_language_cnn_give_the_same_numbers():
    e, w = torch.randn(7, 4, dtype=D), torch.randint(7, (3, 9))
    close(Equations(EMBED).run({"e": e, "w": w})["L"], embed(e, w))
    L, W, B = torch.randn(3, 9, 4, dtype=D), torch.randn(3, 4, 5, dtype=D), torch.randn(5, dtype=D)
    close(Equations(STRIDE_2).run({"L": L, "W": W, "B": B})["Lnext"], conv_stride_2(L, W, B))


def test_the_equations_of_the_update_gate_cnn_give_the_same_numbers():
    L, p = torch.randn(2, 6, 5, 3, dtype=D), gate_parameters(3)
    close(Equations(UPDATE_GATE).run({"L": L, **p})["Lnext"], update_gate_conv(L, **p))


def test_each_layer_of_the_language_cnn_halves_the_length():
    model = LanguageCNN(vocabulary=11, width=4, layers=3, window=2)
    assert [len(L[0]) for L in model.layers(torch.randint(11, (2, 16)))] == [16, 8, 4, 2]


def test_no_model_names_a_device():
    language, gated = LanguageCNN(11, 4), UpdateGateCNN(3, layers=2)
    w, L = torch.randint(11, (2, 8)), torch.randn(2, 4, 5, 3)
    expected = language(w), gated(L)
    assert language.to("meta")(w.to("meta")).shape == (2, 2, 4)
    assert gated.to("meta")(L.to("meta")).shape == L.shape
    torch.manual_seed(0)
    language, gated = LanguageCNN(11, 4), UpdateGateCNN(3, layers=2)
    with pretend_device() as device:
        there = device.place(language)(device.place(w)), device.place(gated)(device.place(L))
        assert device.holds(there)
        (there[0].sum() + there[1].sum()).backward()
        torch.testing.assert_close(device.fetch(there), tuple(x.detach() for x in expected))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: embed(torch.randn(7, 4), torch.tensor([[1, 7]])), "w of shape (1, 2) holds 7 at [0, 1]"),
        (lambda: embed(torch.randn(7, 4), torch.zeros(0, 3, dtype=torch.long)), "w is empty"),
        (lambda: conv_stride_2(torch.randn(2, 5, 3), torch.randn(2, 4, 4), torch.zeros(4)), "L has shape (2, 5, 3)"),
        (lambda: conv_stride_2(torch.full((1, 4, 4), torch.nan), torch.randn(2, 4, 4), torch.zeros(4)), "nan"),
        (lambda: conv_same(torch.randn(1, 4, 4, 2), torch.randn(2, 2, 2, 2)), "odd k"),
        (lambda: UpdateGateCNN(3)(torch.randn(2, 4, 4, 5)), "L has shape (2, 4, 4, 5)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
    assert "\n" not in str(error.value)
