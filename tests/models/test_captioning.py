"""Captioning: one softmax over both axes of the picture."""

import pytest
import torch
from closeness import close
from pretend_device import pretend_device

from coursekit.models.captioning import EQUATIONS, Captioner
from coursekit.models.cells import GRU, LSTM
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

D = torch.float64


@pytest.fixture
def picture():
    return torch.randn(2, 3, 4, 5, dtype=D), torch.randint(7, (2, 6))


def test_the_equations_give_the_same_numbers(picture):
    model = Captioner(features=5, vocabulary=7, embedding=4, hidden=6, cell=GRU).to(D)
    M, caption = picture
    decoder = model.decoder
    weights = {name: getattr(decoder, name).detach() for name in ("e", "W_auto", "W_key")}
    run = Equations(EQUATIONS).run(
        {"M": M, "w": caption, **weights},
        boundary={"h": torch.zeros(2, 6, dtype=D)},
        functions={"CELL": lambda h, C, e: decoder.cell.step(torch.cat([C, e], -1), h)[0].detach()},
    )
    logits, alpha = model(M, caption)
    close(run["alpha"], alpha.detach())
    close(run["P"], torch.softmax(logits, -1).detach())


@pytest.mark.parametrize("cell", [GRU, LSTM])
def test_attention_is_one_distribution_over_the_whole_picture(picture, cell):
    _, alpha = Captioner(5, 7, 4, 6, cell).to(D)(*picture)
    assert alpha.shape == (2, 6, 3, 4)
    close(alpha.sum((-1, -2)), torch.ones(2, 6, dtype=D))
    assert (alpha.sum(-1) - 1).abs().min() > 0.1  # and not one over each axis


def test_a_picture_is_a_sentence_of_places(picture):
    """Places moved about move the attention with them and change no word."""
    model = Captioner(5, 7, 4, 6).to(D)
    M, caption = picture
    order = torch.randperm(12)
    logits, alpha = model(M, caption)
    moved = M.flatten(1, 2)[:, order].unflatten(1, (3, 4))
    moved_logits, moved_alpha = model(moved, caption)
    close(moved_logits, logits)
    close(moved_alpha.flatten(2), alpha.flatten(2)[..., order])


def test_the_first_look_is_the_mean_and_the_first_word_has_seen_the_picture(picture):
    model = Captioner(5, 7, 4, 6).to(D)
    M, caption = picture
    logits, alpha = model(M, caption)
    close(alpha[:, 0], torch.full((2, 3, 4), 1 / 12, dtype=D))
    assert (model(M + 1, caption)[0] - logits)[:, 0].abs().max() > 1e-6


def test_the_loss_is_that_of_the_next_word(picture):
    model, (M, caption) = Captioner(5, 7, 4, 6).to(D), picture
    logits = model(M, caption[:, :-1])[0].movedim(-1, 1)
    close(model.loss(M, caption), torch.nn.functional.cross_entropy(logits, caption[:, 1:]))


def test_no_code_names_a_device(picture):
    model, (M, caption) = Captioner(5, 7, 4, 6), (picture[0].float(), picture[1])
    expected = tuple(x.detach() for x in model(M, caption))
    with pretend_device() as device:
        there = device.place(model)(device.place(M), device.place(caption))
        there[0].sum().backward()
        assert device.holds(there)
        torch.testing.assert_close(device.fetch(there), expected)
    logits, alpha = Captioner(5, 7, 4, 6).to("meta")(M.to("meta"), caption.to("meta"))
    assert (logits.shape, alpha.shape) == ((2, 6, 7), (2, 6, 3, 4))


@pytest.mark.parametrize(
    ("shape", "word", "message"),
    [
        ((2, 3, 4, 6), 0, "M has shape (2, 3, 4, 6); it needs (B, X, Y, K) with K=5"),
        ((2, 12, 5), 0, "M has shape (2, 12, 5)"),
        ((2, 0, 4, 5), 0, "M is empty"),
        ((2, 3, 4, 5), 7, "target of shape (2, 1) holds 7"),
        ((3, 3, 4, 5), 0, "it needs (B, S, K) with B=2"),
    ],
)
def test_bad_input_is_named(shape, word, message):
    with pytest.raises(BadInput) as error:
        Captioner(5, 7, 4, 6)(torch.zeros(shape), torch.full((2, 1), word))
    assert message in str(error.value)
