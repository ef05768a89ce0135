"""The transformer against torch's layers, its own equations, and what a language model must not see."""

import pytest
import torch
from closeness import close
from pretend_device import pretend_device
from torch import nn

from coursekit.models.attention import Heads
from coursekit.models.guards import BadInput
from coursekit.models.patterns import mask
from coursekit.models.transformer import (
    FEED_FORWARD,
    LAYER_NORM,
    WHOLE,
    FeedForward,
    Layer,
    Stack,
    TransformerLM,
    TransformerTranslator,
)
from coursekit.notation import Equations

D = torch.float64


def shaken(module):
    """Every parameter random: a bias of zero or a gain of one would hide a mistake."""
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    return module.to(D)


def read(theirs, pattern="full"):
    """The course's layer with the weights of torch's; torch adds its biases, and the course subtracts them."""
    FF = FeedForward(theirs.linear1.in_features, theirs.linear1.out_features).to(D)
    for n, linear in ((1, theirs.linear1), (2, theirs.linear2)):
        getattr(FF, f"W_{n}").data.copy_(linear.weight)
        getattr(FF, f"B_{n}").data.copy_(0 if linear.bias is None else -linear.bias)
    norms, cross = [theirs.norm1, theirs.norm2], None
    if isinstance(theirs, nn.TransformerDecoderLayer):
        norms, cross = [*norms, theirs.norm3], Heads.from_torch(theirs.multihead_attn)
    SA = Heads.from_torch(theirs.self_attn, pattern)
    ours = Layer(SA, FF, cross, "pre" if theirs.norm_first else "post")
    ours.LN = nn.ModuleList(norms)
    return ours


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("pattern", ["full", "causal"])
def test_a_layer_agrees_with_torch_s_encoder_layer(norm_first, pattern):
    theirs = shaken(nn.TransformerEncoderLayer(12, 3, 20, norm_first=norm_first, batch_first=True)).eval()
    L = torch.randn(2, 7, 12, dtype=D)
    expected = theirs(L, src_mask=~mask(pattern, 7))
    close(read(theirs, pattern)(L)[0], expected)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_agrees_with_torch_s_decoder_layer(norm_first, bias):
    theirs = nn.TransformerDecoderLayer(12, 3, 20, norm_first=norm_first, batch_first=True, bias=bias)
    theirs = shaken(theirs).eval()
    L, M = torch.randn(2, 7, 12, dtype=D), torch.randn(2, 5, 12, dtype=D)
    expected = theirs(L, M, tgt_mask=~mask("causal", 7))
    close(read(theirs, "causal")(L, M)[0], expected)


def test_the_gradient_of_a_layer_agrees_with_torch():
    theirs = shaken(nn.TransformerEncoderLayer(12, 3, 20, dropout=0, norm_first=True, batch_first=True))
    ours, L = read(theirs), torch.randn(2, 7, 12, dtype=D, requires_grad=True)
    weight = torch.randn(2, 7, 12, dtype=D)
    close(torch.autograd.grad(ours(L)[0], L, weight)[0], torch.autograd.grad(theirs(L), L, weight)[0])


def test_the_equations_of_the_whole_give_the_same_numbers():
    model, w = shaken(TransformerLM(7, 6, 2, 2, hidden=5)), torch.randint(7, (1, 4))
    blocks = list(model.stack.layers)
    every = lambda part: torch.stack([part(block) for block in blocks]).detach()
    given = {f"W_{p}": every(lambda block, p=p: getattr(block.SA, f"W_{p}")) for p in "QKVO"}
    given |= {n: every(lambda block, n=n: getattr(block.FF, n)) for n in ("W_1", "B_1", "W_2", "B_2")}
    for n in (0, 1):
        given[f"gain{n + 1}"] = every(lambda block, n=n: block.LN[n].weight)
        given[f"shift{n + 1}"] = every(lambda block, n=n: block.LN[n].bias)
    end = model.stack.LN
    given |= {"gain": end.weight.detach(), "shift": end.bias.detach(), "W_out": model.W_out.detach()}
    given["eps"] = torch.tensor(end.eps, dtype=D)
    run = Equations(WHOLE).run(given, boundary={"L": model.words(w)[0].detach()})
    close(run["P"], torch.softmax(model(w), -1)[0].detach())
    close(run["alpha"][1], model.run(w)[1][1][0].detach())


def test_the_equations_of_its_parts_give_the_same_numbers():
    FF, LN, L = shaken(FeedForward(6, 5)), shaken(nn.LayerNorm(6)), torch.randn(2, 4, 6, dtype=D)
    parameters = {name: p.detach() for name, p in FF.named_parameters()}
    close(Equations(FEED_FORWARD).run({"L": L, **parameters})["FF"], FF(L).detach())
    norm = {"gain": LN.weight.detach(), "shift": LN.bias.detach(), "eps": torch.tensor(1e-5, dtype=D)}
    close(Equations(LAYER_NORM).run({"L": L, **norm})["LN"], LN(L).detach())


@pytest.mark.parametrize(("pattern", "w"), [("causal", None), ("window", 3), ("causal-block", 2)])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_language_model_sees_no_later_word(pattern, w, norm):
    model = TransformerLM(7, 6, 2, 2, pattern=pattern, w=w, norm=norm).to(D)
    words = torch.randint(7, (1, 8))
    changed = words.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 7
    before, after = model(words), model(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert (before[:, 5] - after[:, 5]).abs().max() > 1e-6


def test_the_loss_is_that_of_the_next_word():
    model, words = TransformerLM(7, 6, 2, 1).to(D), torch.randint(7, (2, 5))
    expected = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    close(model.loss(words), expected)
    translator, source = TransformerTranslator(9, 7, 6, 2, 1).to(D), torch.randint(9, (2, 4))
    logits = translator(source, words[:, :-1])[0]
    expected = nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
    close(translator.loss(source, words), expected)


def test_position_is_what_makes_order_visible():
    words = torch.tensor([[1, 2, 3, 4]])
    swapped = words[:, [1, 0, 2, 3]]
    last = lambda model: (model(words) - model(swapped))[0, -1].abs().max()
    assert last(TransformerLM(7, 6, 2, 1, kind="none").to(D)) < 1e-12
    assert last(TransformerLM(7, 6, 2, 1, kind="sinusoidal").to(D)) > 1e-6


def test_a_translator_looks_at_the_source_and_never_at_its_padding():
    model = TransformerTranslator(9, 7, 8, 2, 2, pad=0).to(D)
    source, target = torch.tensor([[3, 4, 5, 6, 0]]), torch.randint(7, (1, 4))
    logits, alpha = model(source, target)
    assert logits.shape == (1, 4, 7)
    assert alpha.shape == (2, 1, 2, 4, 5)
    close(alpha.sum(-1), torch.ones(2, 1, 2, 4, dtype=D))
    assert alpha[..., 4].eq(0).all()
    close(model(source[:, :4], target)[0], logits)
    assert (model(source.flip(1), target)[0] - logits).abs().max() > 1e-6


def test_it_learns_to_copy_the_word_before():
    """One causal head can look one step back: a sanity check that the whole thing trains."""
    model = TransformerLM(6, 16, 2, 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    words = torch.randint(6, (32, 7))
    for _ in range(120):
        loss = nn.functional.cross_entropy(model(words)[:, 1:].flatten(0, 1), words[:, :-1].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.3  # a model that looks only at its own word stays at ln 6 = 1.79


@pytest.mark.parametrize("pattern", ["causal", "window"])
def test_no_code_names_a_device(pattern):
    lm, words = TransformerLM(7, 6, 2, 2, pattern=pattern, w=3), torch.randint(7, (2, 5))
    translator, source = TransformerTranslator(9, 7, 6, 2, 1, pad=0), torch.randint(1, 9, (2, 4))
    expected = lm(words).detach(), translator(source, words)[0].detach()
    with pretend_device() as device:
        there = device.place(lm)(device.place(words))
        translated = device.place(translator)(device.place(source), device.place(words))[0]
        (there.sum() + translated.sum()).backward()
        assert device.holds([there, translated])
        torch.testing.assert_close(device.fetch((there, translated)), expected)
    lm, translator = TransformerLM(7, 6, 2, 2, pattern=pattern, w=3), TransformerTranslator(9, 7, 6, 2, 1)
    assert lm.to("meta")(words.to("meta")).shape == (2, 5, 7)
    assert translator.to("meta")(source.to("meta"), words.to("meta"))[0].shape == (2, 5, 7)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TransformerLM(7, 6, 2, 1)(torch.tensor([[7]])), "w of shape (1, 1) holds 7"),
        (lambda: TransformerLM(7, 6, 2, 1)(torch.zeros(2, 0, dtype=torch.long)), "w is empty"),
        (lambda: TransformerLM(7, 6, 2, 1, pattern="full"), "is 'full'; it needs to be one of causal"),
        (lambda: TransformerLM(7, 6, 2, 1, kind="guessed"), "kind is 'guessed'"),
        (lambda: FeedForward(6, 5)(torch.randn(1, 2, 6, dtype=D)), "L has dtype torch.float64; it needs torch.float32"),
        (lambda: Stack(6, 2, 1, norm="sandwich"), "norm is 'sandwich'"),
        (lambda: Stack(6, 2, 1, cross=True)(torch.randn(1, 2, 6)), "M is missing"),
        (lambda: FeedForward(6, 5)(torch.randn(2, 3, 5)), "L has shape (2, 3, 5)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
