"""A language model is told where it stands, may not look ahead anywhere, and hides nothing from the budget."""

import pytest
import torch
from torch import nn

from coursekit import checks

MARKS = {
    "unigram": (20.0, "No better than counts."),
    "bigram": (6.1, "No better than pairs."),
    "limit": (5.2, "Train on."),
}


@pytest.mark.parametrize(
    ("yours", "words", "reached"),
    [
        (19.0, "is 19, above bigram (6.1) and below unigram (20)", {"unigram"}),
        (25.0, "is 25, above unigram (20)", set()),
        (5.0, "is 5, below limit (5.2)", {"unigram", "bigram", "limit"}),
    ],
)
def test_a_model_hears_its_own_perplexity_between_the_marks(yours, words, reached):
    result = checks.perplexity(lambda: yours, lambda learn: learn(), MARKS)
    assert words in result.sentence
    assert words in result.own
    assert {name for name, part in result.parts.items() if part.ok} == reached
    assert result.ok == (len(reached) == 3)
    assert [row[0] for row in result.rows].index("yours") == 3 - len(MARKS) + len(reached)


class Model(nn.Module):
    """Scores from the words up to t; `ahead` looks one word further from that position on."""

    def __init__(self, V=9, ahead=None):
        super().__init__()
        self.e, self.ahead = nn.Embedding(V, V), ahead

    def forward(self, w):
        x = self.e(w).cumsum(1)
        if self.ahead is not None:
            x[:, self.ahead : -1] = x[:, self.ahead : -1] + self.e(w)[:, self.ahead + 1 :]
        return x


@pytest.mark.parametrize("ahead", range(7))
def test_a_look_ahead_is_found_at_every_position(ahead):
    words = torch.tensor([1, 3, 2, 8, 8, 0, 4, 5])
    assert checks.looks_ahead(Model(ahead=ahead), words, 9) == ahead
    assert checks.looks_ahead(Model(), words, 9) is None


def test_parameters_and_buffers_are_counted_once():
    model = Model()
    assert checks.kept_numbers(model) == 81
    model.twice = model.e.weight
    assert checks.kept_numbers(model) == 81
    model.register_buffer("table", torch.zeros(10))
    assert checks.kept_numbers(model) == 91


TABLE = {n: float(n) for n in range(500)}


def hidden_in_a_dict(model):
    model.memory = {"deep": [dict.fromkeys(range(300), 0.5)]}


def hidden_in_an_array(model):
    model.memory = torch.zeros(400).numpy()


def hidden_in_a_closure(model):
    table = torch.zeros(400)
    model.look = lambda w: table[w]


def hidden_in_a_global(model):
    model.look = lambda w: TABLE[w]


def hidden_in_a_class(model):
    class Shelf:
        table = list(range(400))

    model.shelf = Shelf()


def hidden_in_text(model):
    model.text = "0.123 " * 1000


@pytest.mark.parametrize(
    "hide",
    [
        hidden_in_a_dict,
        hidden_in_an_array,
        hidden_in_a_closure,
        hidden_in_a_global,
        hidden_in_a_class,
        hidden_in_text,
    ],
)
def test_a_table_that_is_kept_elsewhere_is_counted(hide):
    model = Model()
    hide(model)
    assert checks.kept_numbers(model) >= 81 + 300
