"""Words and their ids.

>>> vocabulary = Vocabulary.of("the cat and the dog".split(), least=2)  # rarer words become <unk>
>>> vocabulary.encode("the cat").tolist()
[3, 2]
>>> vocabulary.decode([3, 2])
['the', '<unk>']

Three words come first in every vocabulary: <pad> fills up short rows and never counts, <eos> ends a
sentence (and stands before the first word as its start), <unk> is any word that is not in the list.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np


class BadData(ValueError):
    """A text, a grammar or an id cannot be used; the message says why, and how to repair it."""


PAD, EOS, UNK = "<pad>", "<eos>", "<unk>"
SPECIAL = (PAD, EOS, UNK)


class Vocabulary:
    """`words[id]` is a word, `ids[word]` its id."""

    pad, eos, unk = range(3)

    def __init__(self, words: Iterable[str]):
        self.words = (*SPECIAL, *words)
        self.ids = {word: n for n, word in enumerate(self.words)}
        if len(self.ids) != len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise BadData(f"the word {twice!r} stands twice in the vocabulary; each word needs one id")

    @classmethod
    def of(cls, words: Iterable[str], least: int = 1) -> "Vocabulary":
        """The words that occur at least `least` times, the commonest first."""
        counts = Counter(word for word in words if word not in SPECIAL)
        return cls(sorted((word for word, n in counts.items() if n >= least), key=lambda w: (-counts[w], w)))

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} words: {' '.join(self.words[:8])} …"

    def encode(self, words: Sequence[str] | str) -> np.ndarray:
        """The ids of words (a string is cut at its spaces); a word that is not here is <unk>."""
        words = words.split() if isinstance(words, str) else words
        return np.array([self.ids.get(word, self.unk) for word in words], dtype=np.int64)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ids: a list, an array or a tensor with one axis."""
        row = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        for n in row:
            if n not in range(len(self)):
                raise BadData(f"the id {n} is no word; this vocabulary has ids 0 to {len(self) - 1}")
        return [self.words[n] for n in row]

    def text(self, ids: Iterable[int]) -> str:
        """A row of ids as a line of text, without its <eos> and <pad>."""
        return " ".join(word for word in self.decode(ids) if word not in (PAD, EOS))
