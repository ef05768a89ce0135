import itertools

import pytest
import torch
import torch.nn.functional as F
from closeness import close
from pretend_device import pretend_device

from coursekit.models.cells import GRU, LSTM, UGRNN, TorchGRU, Vanilla
from coursekit.models.guards import BadInput
from coursekit.models.language_model import LanguageModel
from coursekit.models.stacked import Stacked
from coursekit.notation import Equations

B, T, V = 3, 5, 7
CELLS = [Vanilla, UGRNN, GRU, TorchGRU, LSTM]
READOUTS = {"tied": (4, 4, True), "projected": (4, 6, True), "untied": (4, 6, False)}


def make(kind=GRU, readout="projected", **options):
    torch.manual_seed(5)
    I, J, tied = READOUTS[readout]
    model = LanguageModel(kind(I, J, dtype=torch.float64), V, tied=tied).double()
    for p in model.parameters():
        p.data.normal_()
    return model, torch.randint(V, (B, T))


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("readout", READOUTS)
def test_the_equations_and_the_module_give_the_same_numbers(kind, readout):
    model, w = make(kind, readout)
    assert model.readout == readout
    weights = {n.removeprefix("cell."): p for n, p in model.state_dict().items()}
    zero = torch.zeros(B, model.cell.hidden, dtype=torch.float64)
    boundary = {"h": zero, "c": zero} if kind is LSTM else {"h": zero}
    result = Equations(model.equations).run({**weights, "w": w}, boundary=boundary)
    close(model(w).softmax(-1), result["P"])


def test_tied_weights_are_one_matrix():
    count = lambda readout: sum(
        p.numel() for n, p in make(GRU, readout)[0].named_parameters() if "cell" not in n
    )
    assert count("tied") == V * 4
    assert count("projected") == V * 4 + 4 * 6
    assert count("untied") == V * 4 + V * 6


def test_a_word_depends_on_the_words_before_it_alone():
    model, w = make()
    changed = w.clone()
    changed[:, 3] = (w[:, 3] + 1) % V
    before, after = model(w), model(changed)
    close(before[:, :3], after[:, :3], 0)
    assert (before[:, 3:] - after[:, 3:]).abs().amax(-1).min() > 1e-6


def test_losses_are_those_of_torch_and_padding_counts_for_nothing():
    model, w = make()
    expected = F.cross_entropy(model(w)[:, :-1].transpose(1, 2), w[:, 1:], reduction="none")
    close(model.losses(w), expected)
    close(model.loss(w), expected.mean())
    pad, padded = 6, w % 6
    padded[0, 3:] = pad
    padded[1, 2:] = pad
    real = [model.losses(row[row != pad][None]).sum() for row in padded]
    close(model.losses(padded, pad).sum(1), torch.stack(real))
    close(model.loss(padded, pad=pad), torch.stack(real).sum() / (2 + 1 + 4))


def test_a_padded_word_gets_no_gradient():
    model, w = make(GRU, "untied")
    w = w % 6
    w[:, 3:] = 6
    model.loss(w, pad=6).backward()
    assert not model.e.grad[6].any()


def test_sentences_with_an_end_are_a_distribution():
    """All sentences of at most n words, and what is left for longer ones, have probability 1."""
    model, _ = make(UGRNN, "tied")
    words, end, n = range(V - 1), V - 1, 3
    total = 0.0
    with torch.no_grad():
        for length in range(n + 1):
            rows = torch.tensor([[end, *s, end] for s in itertools.product(words, repeat=length)])
            total += float((-model.losses(rows).sum(1)).exp().sum())
        rows = torch.tensor([[end, *s] for s in itertools.product(words, repeat=n + 1)])
        longer = float((-model.losses(rows).sum(1)).exp().sum())
    assert 0.01 < longer < 0.99
    assert total + longer == pytest.approx(1, abs=1e-12)


def test_any_stack_is_a_cell():
    torch.manual_seed(6)
    model = LanguageModel(Stacked([LSTM(4, 6), GRU(6, 6)]), V)
    w = torch.randint(V, (B, T))
    torch.testing.assert_close(model(w[:, :3]), model(w)[:, :3])


def test_it_learns_a_cycle():
    torch.manual_seed(7)
    model = LanguageModel(GRU(8, 8), V)
    w = (torch.arange(12)[None] + torch.arange(4)[:, None]) % V
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        optimiser.zero_grad()
        loss = model.loss(w)
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.1


def test_it_keeps_to_the_device_of_its_inputs():
    for readout in READOUTS:
        model, w = make(LSTM, readout)
        expected = model.loss(w, pad=6).detach()
        with pretend_device() as device:
            loss = device.place(model).loss(device.place(w), pad=6)
            loss.backward()
            assert device.holds([loss, model.e.grad])
            close(device.fetch(loss).detach(), expected)
    meta = LanguageModel(GRU(4, 6), V).to("meta")
    words = torch.zeros(B, T, dtype=torch.long, device="meta")
    assert meta(words).shape == (B, T, V)
    assert meta.loss(words, pad=1).shape == ()


def test_bad_input_is_named():
    model, w = make()
    for call, message in [
        (lambda: model(w + V), "w of shape .* needs ids from 0 to 6"),
        (lambda: model(w[0]), r"w has shape \(5,\); it needs \(B, T\)"),
        (lambda: model(w[:0]), "w is empty"),
        (lambda: model(w[:, :0]), "w is empty"),
        (lambda: model(w.double()), "it needs whole numbers"),
        (lambda: model.loss(w[:, :1]), "T >= 2"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()
