"""The trigram model, and the circle that it must enter at zero temperature."""

import itertools

import pytest
import torch
from pretend_device import pretend_device

from coursekit.models.guards import BadInput
from coursekit.models.sampling import generate, greedy
from coursekit.models.trigram import (
    EQUATIONS,
    NeuralTrigram,
    follow,
    preperiod_period,
)
from coursekit.notation import Equations

D = torch.float64


def first_repeat(table, w0, w1):
    """The oracle: write every pair down and look for the first that comes again."""
    seen, pair = {}, (w0, w1)
    while pair not in seen:
        seen[pair] = len(seen)
        pair = (pair[1], int(table[pair]))
    return seen[pair], len(seen) - seen[pair]


def test_the_cycle_finder_agrees_with_the_first_repeated_pair():
    for _ in range(200):
        V = int(torch.randint(2, 7, ()))
        table = torch.randint(V, (V, V))
        w0, w1 = torch.randint(V, (2,)).tolist()
        assert preperiod_period(table, w0, w1) == first_repeat(table, w0, w1)


def test_the_text_is_periodic_from_there_on_and_not_before():
    table = torch.randint(6, (6, 6))
    mu, period = preperiod_period(table, 0, 1)
    words = follow(table, 0, 1, 100)
    assert words[mu : 100 - period] == words[mu + period : 100]
    if mu:
        assert words[mu - 1] != words[mu - 1 + period]


@pytest.mark.parametrize("V", [1, 2])
def test_the_bound_holds_and_is_reached_for_every_table(V):
    longest = 0
    for entries in itertools.product(range(V), repeat=V * V):
        mu, period = preperiod_period(torch.tensor(entries).reshape(V, V), 0, 0)
        assert mu + period <= V * V
        longest = max(longest, period)
    assert longest == V * V


def test_a_circle_of_all_pairs_of_three_words():
    """A de Bruijn sequence: each of the 9 pairs once."""
    circle = [0, 0, 1, 0, 2, 1, 1, 2, 2]
    table = torch.empty(3, 3, dtype=torch.long)
    for n in range(9):
        table[circle[n], circle[(n + 1) % 9]] = circle[(n + 2) % 9]
    assert preperiod_period(table, 0, 0) == (0, 9)


def test_a_repeated_word_is_not_yet_a_repetition():
    table = torch.zeros(3, 3, dtype=torch.long)
    table[0, 1], table[1, 2] = 2, 1
    words = follow(table, 0, 1, 8)
    assert words == [0, 1, 2, 1, 0, 0, 0, 0, 0, 0]
    assert preperiod_period(table, 0, 1) == first_repeat(table, 0, 1)


def next_words(model):
    """(V,V): the word at zero temperature after each pair."""
    words = torch.arange(len(model.e), device=model.e.device)
    pairs = torch.cartesian_prod(words, words)
    return greedy(model(pairs)[:, 0]).view(len(words), -1)


def test_greedy_generation_of_the_neural_model_is_its_table_followed():
    model = NeuralTrigram(6, 4, 5)
    table = next_words(model)
    words = generate(model, torch.tensor([[2, 3]]), 30, temperature=0)[0].tolist()
    assert words == follow(table, 2, 3, 30)
    mu, period = preperiod_period(table, 2, 3)
    assert words[mu : mu + 2] == words[mu + period : mu + period + 2]


def test_the_equations_give_the_same_numbers():
    model, w = NeuralTrigram(6, 4, 5).to(D), torch.randint(6, (2, 7))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    run = Equations(EQUATIONS).run(
        {"w1": w[:, :-1], "w2": w[:, 1:], "beta": torch.tensor(2.0, dtype=D), **parameters}
    )
    torch.testing.assert_close(run["P"], torch.softmax(2 * model(w), -1).detach(), rtol=0, atol=1e-12)


def test_ties_go_to_the_smallest_word():
    model = NeuralTrigram(3, 4, 5)
    model.W_3.data.zero_()  # every word is as good as any other
    assert next_words(model).eq(0).all()


def test_no_code_names_a_device():
    model, w = NeuralTrigram(6, 4, 5), torch.randint(6, (2, 7))
    expected, table = model(w).detach(), next_words(model)
    with pretend_device() as device:
        there = device.place(model)(device.place(w))
        there.sum().backward()
        assert device.holds([there, next_words(model)])
        torch.testing.assert_close(device.fetch(there), expected)
        assert torch.equal(device.fetch(next_words(model)), table)
        assert preperiod_period(device.place(table), 0, 1) == preperiod_period(table, 0, 1)
    assert NeuralTrigram(6, 4, 5).to("meta")(w.to("meta")).shape == (2, 6, 6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: preperiod_period(torch.zeros(2, 3, dtype=torch.long), 0, 0), "table has shape (2, 3)"),
        (lambda: preperiod_period(torch.full((2, 2), 2), 0, 0), "table of shape (2, 2) holds 2"),
        (lambda: NeuralTrigram(6, 4, 5)(torch.tensor([[1, 6]])), "w of shape (1, 2) holds 6"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
