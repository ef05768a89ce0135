import pytest
import torch
import torch.nn.functional as F
from closeness import close
from pretend_device import pretend_device

from coursekit.models.blank import BLANK, BlankLanguageModel
from coursekit.models.cells import GRU, LSTM, UGRNN
from coursekit.models.guards import BadInput
from coursekit.notation import Equations

B, T, V, I, J = 3, 5, 7, 4, 6


def make(kind=UGRNN):
    torch.manual_seed(8)
    cells = [kind(I, J, dtype=torch.float64) for _ in range(2)]
    model = BlankLanguageModel(*cells, V).double()
    for p in model.parameters():
        p.data.normal_()
    return model, torch.randint(V, (B, T))


@pytest.mark.parametrize("kind", [UGRNN, GRU, LSTM])
def test_the_equation_and_the_module_give_the_same_numbers(kind):
    model, w = make(kind)
    hf, hb = model.both(model.e[w])
    given = {"e": model.e, "W_f": model.W_f, "W_b": model.W_b, "hf": hf, "hb": hb}
    close(model(w).softmax(-1), Equations(BLANK).run(given)["P"])


def leaks(model, w, t) -> bool:
    """Whether some change of word t alone changes what is said about word t."""
    said = model(w)[:, t]
    return any(not torch.equal(model(torch.where(torch.arange(T) == t, v, w))[:, t], said) for v in range(V))


class Leaking(BlankLanguageModel):
    """The planted error: the states at t, which have seen word t."""

    def forward(self, w):
        hf, hb = self.both(F.embedding(w, self.e))
        return (hf @ self.W_f.T + hb @ self.W_b.T) @ self.e.T


@pytest.mark.parametrize("kind", [UGRNN, GRU, LSTM])
@pytest.mark.parametrize("t", range(T))
def test_a_word_never_sees_itself(kind, t):
    model, w = make(kind)
    assert not leaks(model, w, t)
    model.__class__ = Leaking
    assert leaks(model, w, t)


def test_a_word_sees_every_other_word():
    model, w = make()
    x = model.e[w].detach().requires_grad_()
    hf, hb = model.both(x)
    said = F.pad(hf[:, :-1], (0, 0, 1, 0)) @ model.W_f.T + F.pad(hb[:, 1:], (0, 0, 0, 1)) @ model.W_b.T
    for t in range(T):
        (g,) = torch.autograd.grad(said[:, t].sum(), x, retain_graph=True)
        assert [bool(g[:, s].any()) for s in range(T)] == [s != t for s in range(T)]


def test_losses_are_those_of_torch_and_padding_counts_for_nothing():
    model, w = make()
    expected = F.cross_entropy(model(w).transpose(1, 2), w, reduction="none")
    close(model.losses(w), expected)
    close(model.losses(w, pad=int(w[0, 0])), expected * (w != w[0, 0]))


def test_one_word_alone_has_no_context():
    model, w = make()
    close(model(w[:, :1]).softmax(-1), torch.full((B, 1, V), 1 / V, dtype=torch.float64))


def test_it_keeps_to_the_device_of_its_inputs():
    model, w = make(GRU)
    expected = model.losses(w).detach()
    with pretend_device() as device:
        losses = device.place(model).losses(device.place(w))
        losses.sum().backward()
        assert device.holds([losses, model.W_b.grad])
        close(device.fetch(losses).detach(), expected)
    meta = BlankLanguageModel(GRU(I, J), GRU(I, J), V).to("meta")
    assert meta(torch.zeros(B, T, dtype=torch.long, device="meta")).shape == (B, T, V)


def test_bad_input_is_named():
    model, w = make()
    for call, message in [
        (lambda: model(w - V), "w of shape .* needs ids from 0 to 6"),
        (lambda: model(w[0]), r"w has shape \(5,\); it needs \(B, T\)"),
        (lambda: model(w[:, :0]), "w is empty"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()
