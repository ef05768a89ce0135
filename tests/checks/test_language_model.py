"""A language model is told where it stands, may not look ahead anywhere, and hides nothing from the budget."""

from collections import deque
from functools import partial

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
    """Scores from the words up to t; from position `ahead` on, where `when` holds, the word after t is seen as well."""

    def __init__(self, V=9, ahead=None, when=lambda model, w: torch.ones(len(w), dtype=torch.bool)):
        super().__init__()
        self.e, self.ahead, self.calls = nn.Embedding(V, V), ahead, 0
        object.__setattr__(self, "when", when)

    def forward(self, w):
        self.calls += 1
        x = self.e(w).cumsum(1)
        if self.ahead is not None:
            seen = 9 * nn.functional.one_hot(w[:, self.ahead + 1 :], x.shape[-1])
            x[:, self.ahead : -1] += seen * self.when(self, w)[:, None, None]
        return x


def text(rows, seed=0):
    return torch.randint(1, 9, (rows, 8), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("ahead", range(6))
def test_a_look_ahead_is_found_at_every_position(ahead):
    words = torch.tensor([[1, 3, 2, 8, 8, 0, 4, 5]])
    assert checks.word_losses(Model(ahead=ahead), words, 9, tries=7)[1]
    assert not checks.word_losses(Model(), words, 9, tries=7)[1]


@pytest.mark.parametrize(
    "when",
    [
        lambda model, w: torch.full((len(w),), len(w) == 64),
        lambda model, w: torch.arange(len(w)) % 40 == 39,
        lambda model, w: torch.full((len(w),), model.calls == 2),
        lambda model, w: torch.full((len(w),), model.calls % 5 == 0),
    ],
    ids=["in full batches", "in some rows", "at the second call", "where it is scored"],
)
def test_who_looks_ahead_only_sometimes_is_found_in_the_batches_that_are_scored(when):
    assert checks.word_losses(Model(ahead=0, when=when), text(128), 9)[1]


def test_to_remember_what_was_asked_helps_nobody():
    class Remembers(Model):
        """It gives what it gave before for the same words, and looks ahead at all others."""

        known = {}

        def forward(self, w):
            x = super().forward(w)
            for b in range(len(w)):
                for t in range(w.shape[1]):
                    x[b, t] = self.known.setdefault((b, *w[b, : t + 1].tolist()), x[b, t].clone())
            return x

    torch.manual_seed(0)
    assert checks.word_losses(Remembers(ahead=0), text(64), 9)[1]


def test_an_honest_models_losses_are_those_of_torch():
    torch.manual_seed(0)
    model, words = Model(), text(100)
    words[::3, 5:] = 0
    losses, ahead = checks.word_losses(model, words, 9)
    right = nn.functional.cross_entropy(
        model(words[:, :-1]).flatten(0, 1).double(), words[:, 1:].flatten(), ignore_index=0
    )
    assert torch.isclose(losses.mean(), right)
    assert not ahead


def test_parameters_and_buffers_are_counted_once():
    model = Model()
    assert checks.kept_numbers(model) == 81
    model.twice = model.e.weight
    assert checks.kept_numbers(model) == 81
    model.register_buffer("table", torch.zeros(10))
    assert checks.kept_numbers(model) == 91


TABLE = {n: float(n) for n in range(500)}


class Shelf(nn.Module):
    table = deque(range(400))


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


def hidden_in_a_class_above(model):
    class Upper(Shelf):
        pass

    model.shelf = Upper()


def hidden_in_a_function_inside(model):
    model.look = lambda w: [(lambda n: TABLE[n])(n) for n in w]


def hidden_in_a_default(model):
    model.look = partial(lambda w, *, table=tuple(range(400)): table[w], 3)


def hidden_in_one_large_number(model):
    model.look = lambda w, table=1 << 64 * 400: table >> w


def hidden_in_a_buffer(model):
    model.register_buffer("table", torch.zeros(400))


def hidden_in_small_numbers(model):
    model.memory = [3] * 400


def hidden_in_the_code_itself(model):
    model.look = eval(f"lambda w: {tuple(range(400))}[w]")


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
        hidden_in_a_class_above,
        hidden_in_a_function_inside,
        hidden_in_a_default,
        hidden_in_one_large_number,
        hidden_in_a_buffer,
        hidden_in_small_numbers,
        hidden_in_the_code_itself,
        hidden_in_text,
    ],
)
def test_a_table_that_is_kept_elsewhere_is_counted(hide):
    model = Model()
    hide(model)
    assert checks.kept_numbers(model) >= 81 + 300


def test_an_attribute_named_like_a_global_is_not_that_global():
    model = Model()
    model.look = lambda w: w.TABLE
    assert checks.kept_numbers(model) == 81
