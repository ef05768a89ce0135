"""What the live figures of the book are given: a language to learn, scores to weigh."""

from collections import Counter
from itertools import pairwise
from typing import Any

from .. import data


def training() -> dict[str, Any]:
    """The course's grammar as numbers, its entropy, and what comes after *the boat near the harbours*."""
    grammar = data.english()
    words = grammar.vocabulary
    read = "the boat near the harbours"
    shown = ["near", "behind", "above", "sees", "sinks", "sails", "see", "sink", "sail", "the", "boat"]
    truth = grammar.predict(read)
    rules = {
        left: [[rule.p, [words.ids.get(symbol, symbol) for symbol in rule.right]] for rule in several]
        for left, several in grammar.rules.items()
    }
    return {
        "rules": rules, "start": grammar.start, "vocab": list(words.words), "eos": words.eos,
        "limit": grammar.entropy_per_word, "read": [words.eos, *map(int, words.encode(read))],
        "shown": shown, "ids": [words.ids[w] for w in shown], "truth": [truth.get(w, 0.0) for w in shown],
    }  # fmt: skip


def nucleus() -> dict[str, Any]:
    """Ten words with scores that fall, as a model gives them."""
    words = ["boat", "gull", "captain", "harbour", "wind", "rope", "lamp", "cat", "cloud", "stone"]
    return {"words": words, "scores": [3.0, 2.6, 2.1, 1.9, 1.2, 0.8, 0.2, -0.3, -1.0, -1.6]}


def cloud() -> dict[str, Any]:
    """How often a word stands beside another, in sentences of the grammar; and a colour for its kind."""
    sentences = data.english().sample(3000, seed=2)
    words = sorted({word for sentence in sentences for word in sentence})
    beside = Counter(pair for sentence in sentences for pair in pairwise(sentence))
    beside.update({(right, left): n for (left, right), n in beside.copy().items()})
    shares = [[round(beside[one, other] / beside.total(), 6) for other in words] for one in words]
    small = {"the", "some", "no", "near", "behind", "above", "old", "proud", "red", "small"}
    verbs = {v + s for v in ("see", "greet", "sink", "sail", "follow") for s in ("", "s")}
    kinds = [0 if w in small else 1 if w in verbs else 2 if w.endswith("s") else 3 for w in words]
    return {"words": words, "counts": shares, "kinds": kinds}
