"""Translation with a thought vector and with attention, against torch's modules and the equations."""

import pytest
import torch
from closeness import close
from pretend_device import pretend_device
from torch import nn

from coursekit.models.cells import GRU, LSTM, UGRNN, Vanilla
from coursekit.models.guards import BadInput
from coursekit.models.sampling import generate
from coursekit.models.seq2seq import (
    ENCODER,
    STATE_QUERY,
    THOUGHT,
    WORD_QUERY,
    AttentionDecoder,
    AttentionTranslator,
    Decoder,
    Encoder,
    ThoughtTranslator,
)
from coursekit.notation import Equations

D = torch.float64
CELLS = [Vanilla, UGRNN, GRU, LSTM]


def reads(cell):
    """A cell as the equations call it: the state, then all that it reads."""
    return lambda h, *inputs: cell.step(torch.cat(inputs, -1), h)[0].detach()


@pytest.fixture
def words():
    return torch.randint(9, (2, 5)), torch.randint(7, (2, 4))


def test_the_encoder_reads_right_to_left_like_torch_on_the_flipped_sentence(words):
    theirs = nn.LSTM(4, 6, batch_first=True, dtype=D)
    encoder = Encoder(9, 4, 6, LSTM).to(D)
    encoder.cell = LSTM.from_torch(theirs)
    M, thought = encoder(words[0])
    states, (h, c) = theirs(encoder.e[words[0]].flip(1))
    close(M, states.flip(1))
    close(thought[0], h[0])
    close(thought[1], c[0])
    close(M[:, 0], thought[0])


def test_a_state_of_the_encoder_depends_on_its_word_and_those_after():
    encoder = Encoder(9, 4, 6)
    before = encoder(torch.tensor([[1, 2, 3, 4]]))[0]
    after = encoder(torch.tensor([[1, 2, 5, 4]]))[0]
    assert [bool((before[0, t] != after[0, t]).any()) for t in range(4)] == [True, True, True, False]


def test_the_thought_translator_agrees_with_two_torch_lstms(words):
    model = ThoughtTranslator(9, 7, 4, 6, LSTM).to(D)
    encoder, decoder = (nn.LSTM(4, 6, batch_first=True, dtype=D) for _ in range(2))
    model.encoder.cell, model.decoder.cell = LSTM.from_torch(encoder), LSTM.from_torch(decoder)
    source, target = words
    _, thought = encoder(model.encoder.e[source].flip(1))
    h, _ = decoder(model.decoder.e[target], thought)
    expected = torch.einsum("vi,ij,btj->btv", model.decoder.e, model.decoder.W_auto, h)
    close(model(source, target), expected)


def test_the_equations_of_the_thought_vector_give_the_same_numbers(words):
    model = ThoughtTranslator(9, 7, 4, 6, UGRNN).to(D)
    source, target = words
    M, thought = model.encoder(source)
    e_in, e = model.encoder.e.detach(), model.decoder.e.detach()
    run = Equations(ENCODER).run(
        {"e_in": e_in, "x": source},
        boundary={"M": torch.zeros(2, 6, dtype=D)},
        functions={"ENCODER": reads(model.encoder.cell)},
    )
    close(run["M"], M.detach())
    run = Equations(THOUGHT).run(
        {"e": e, "w": target, "W_auto": model.decoder.W_auto.detach()},
        boundary={"h": thought.detach()},
        functions={"CELL": reads(model.decoder.cell)},
    )
    close(run["P"], torch.softmax(model(source, target), -1).detach())


@pytest.mark.parametrize(("query", "text"), [("state", STATE_QUERY), ("word", WORD_QUERY)])
def test_the_equations_of_attention_give_the_same_numbers(words, query, text):
    model = AttentionTranslator(9, 7, 6, 6, GRU, query).to(D)
    source, target = words
    M, thought = (x.detach() for x in model.encoder(source))
    decoder = model.decoder
    tensors = {"M": M, "w": target, "e": decoder.e.detach(), "W_auto": decoder.W_auto.detach()}
    if query == "state":
        tensors["W_key"] = decoder.W_key.detach()
    run = Equations(text).run(tensors, boundary={"h": thought}, functions={"CELL": reads(decoder.cell)})
    logits, alpha = model(source, target)
    close(run["alpha"], alpha.detach())
    close(run["P"], torch.softmax(logits, -1).detach())


@pytest.mark.parametrize("query", ["state", "word"])
@pytest.mark.parametrize("cell", CELLS)
def test_attention_is_a_distribution_over_the_source(words, query, cell):
    logits, alpha = AttentionTranslator(9, 7, 6, 6, cell, query).to(D)(*words)
    assert logits.shape == (2, 4, 7)
    assert alpha.shape == (2, 4, 5)
    close(alpha.sum(-1), torch.ones(2, 4, dtype=D))


def test_the_same_word_asks_the_same_question_and_the_same_state_does_not(words):
    target = torch.tensor([[1, 3, 1, 3]] * 2)
    _, by_word = AttentionTranslator(9, 7, 6, 6, query="word").to(D)(words[0], target)
    assert torch.equal(by_word[:, 0], by_word[:, 2])
    _, by_state = AttentionTranslator(9, 7, 6, 6, query="state").to(D)(words[0], target)
    assert (by_state[:, 0] - by_state[:, 2]).abs().max() > 1e-6


@pytest.mark.parametrize("query", ["state", "word"])
def test_nobody_looks_at_padding(query):
    model = AttentionTranslator(9, 7, 6, 6, query=query, pad=0).to(D)
    _, alpha = model(torch.tensor([[3, 4, 0, 0]]), torch.randint(7, (1, 3)))
    assert alpha[..., 2:].eq(0).all()
    close(alpha.sum(-1), torch.ones(1, 3, dtype=D))


@pytest.mark.parametrize("query", ["state", "word"])
def test_a_prediction_sees_no_later_word(words, query):
    model = AttentionTranslator(9, 7, 6, 6, query=query).to(D)
    source, target = words
    changed = target.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 7
    before, after = model(source, target)[0], model(source, changed)[0]
    assert torch.equal(before[:, :2], after[:, :2])
    assert (before[:, 2] - after[:, 2]).abs().max() > 1e-6


def test_the_loss_is_that_of_the_next_word(words):
    source, target = words
    for model in (ThoughtTranslator(9, 7, 6, 6).to(D), AttentionTranslator(9, 7, 6, 6).to(D)):
        out = model(source, target[:, :-1])
        logits = out[0] if isinstance(out, tuple) else out
        close(model.loss(source, target), nn.functional.cross_entropy(logits.movedim(-1, 1), target[:, 1:]))


def test_generation_goes_on_where_teacher_forcing_would(words):
    model = AttentionTranslator(9, 7, 6, 6)
    source = words[0]
    out = generate(lambda w: model(source, w)[0], torch.zeros(2, 1, dtype=torch.long), 5, temperature=0)
    assert torch.equal(model(source, out)[0].argmax(-1)[:, :-1], out[:, 1:])


def test_attention_learns_the_alignment_of_a_reversed_sentence():
    """Output n of a reversal is input T-1-n: a few steps of training find it."""
    T, V = 4, 6
    model = AttentionTranslator(V, V, 12, 16, UGRNN)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-2)
    start = torch.zeros(32, 1, dtype=torch.long)
    for _ in range(80):
        source = torch.randint(1, V, (32, T))
        target = torch.cat([start, source.flip(1)], 1)
        logits, alpha = model(source, target)
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), target[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.8  # guessing stays at ln 5 = 1.61
    looks_at = alpha[:, :-1].mean(0) @ torch.arange(float(T))  # the mean position, an output
    assert torch.equal(looks_at, looks_at.sort(descending=True).values)
    assert looks_at[0] > 2
    assert looks_at[-1] < 1


@pytest.mark.parametrize("query", ["state", "word"])
def test_no_code_names_a_device(words, query):
    thought, attention = ThoughtTranslator(9, 7, 6, 6), AttentionTranslator(9, 7, 6, 6, query=query, pad=0)
    expected = thought(*words).detach(), attention(*words)[0].detach()
    with pretend_device() as device:
        placed = device.place(list(words))
        there = device.place(thought)(*placed), device.place(attention)(*placed)[0]
        sum(x.sum() for x in there).backward()
        assert device.holds(there)
        torch.testing.assert_close(device.fetch(there), expected)
    meta = [w.to("meta") for w in words]
    assert ThoughtTranslator(9, 7, 6, 6).to("meta")(*meta).shape == (2, 4, 7)
    assert AttentionTranslator(9, 7, 6, 6, query=query).to("meta")(*meta)[1].shape == (2, 4, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Encoder(9, 4, 6)(torch.tensor([[9]])), "source of shape (1, 1) holds 9"),
        (lambda: Decoder(7, 4, 6)(torch.tensor([[7]]), torch.zeros(1, 6)), "target of shape (1, 1) holds 7"),
        (lambda: AttentionTranslator(9, 7, 4, 6, query="word"), "embedding is 4; a word that asks needs 6"),
        (lambda: AttentionTranslator(9, 7, 4, 6, query="oracle"), "query is 'oracle'"),
        (lambda: AttentionDecoder(7, 4, 6, 5)(torch.tensor([[0]]), torch.randn(1, 3, 4)), "M has shape (1, 3, 4)"),
        (lambda: AttentionDecoder(7, 4, 6, 5)(torch.tensor([[0]]), torch.randn(1, 3, 5), torch.randn(1, 7)), "state"),
        (lambda: AttentionTranslator(9, 7, 4, 6, pad=0)(torch.tensor([[0, 0]]), torch.tensor([[1]])),
         "allowed of shape (1, 2) is False in all of row 0"),
        (lambda: Decoder(7, 4, 6)(torch.zeros(1, 0, dtype=torch.long), torch.zeros(1, 6)), "target is empty"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, message):
    with pytest.raises(BadInput) as error:
        call()
    assert message in str(error.value)
