"""Real text: the language reference that comes with every Python.

    corpus = python_reference()                     # about 50,000 words, no download
    corpus.batches("train", size=16, length=32)     # rows of 33 words; row[t+1] follows row[0..t]

It is the text of `pydoc_data.topics`, not the same in two versions of Python, and so neither are the numbers that a
model reaches; for one version everything here is a fixed function of it.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .batches import Batches
from .vocabulary import EOS, Vocabulary

SPLITS = ("train", "valid", "test")
_TOKEN = re.compile(r"[^\W\d]+(?:['’][^\W\d]+)?|\d+|[^\w\s]")
_RULER = re.compile(r"^[*=~^\-#+ ]{3,}$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Corpus:
    """Three streams of word ids, each sentence ended by <eos>."""

    name: str
    vocabulary: Vocabulary
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray

    def __repr__(self) -> str:
        sizes = ", ".join(f"{s} {len(getattr(self, s))}" for s in SPLITS)
        return f"{self.name}: {len(self.vocabulary)} words in the vocabulary; {sizes}"

    def windows(self, split: str = "train", length: int = 32) -> np.ndarray:
        """(N, length+1): the stream after one <eos>, cut so that each word is predicted once.

        The last word of a row is the first of the next; what is left over at the end is dropped.
        """
        stream = np.concatenate([[self.vocabulary.eos], getattr(self, split)])
        rows = (len(stream) - 1) // length
        windows: np.ndarray = stream[np.arange(rows)[:, None] * length + np.arange(length + 1)]
        return windows

    def batches(self, split: str = "train", size: int = 16, length: int = 32, seed: int = 0) -> Batches:
        """Windows in batches; in a new order each epoch for `train`, in the text's order for the others."""
        return Batches(self.windows(split, length), size=size, seed=seed, shuffle=split == "train")


def tokens(text: str) -> list[str]:
    """Words, numbers and marks in lower case, with <eos> after each sentence and paragraph.

    >>> tokens("It rains. Don't go!")
    ['it', 'rains', '.', '<eos>', "don't", 'go', '!', '<eos>']
    """
    found: list[str] = []
    for paragraph in _PARAGRAPH.split(_RULER.sub("", text)):
        for sentence in re.split(r"(?<=[.!?])\s+", paragraph):
            if words := _TOKEN.findall(sentence.lower()):
                found += [*words, EOS]
    return found


def python_reference(least: int = 3) -> Corpus:
    """Python's language reference, split by topic; words that `train` has fewer than `least` times are <unk>.

    Whole topics go to a split: valid, then test, take a tenth of the words each, the rest is train. Who is asked
    first is a matter of the names alone; a topic that would overfill the tenth is passed over.
    """
    from pydoc_data.topics import topics

    words = {key: tokens(text) for key, text in _distinct(topics).items()}
    room = dict.fromkeys(SPLITS[1:], sum(map(len, words.values())) / 10)
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    for key in sorted(words, key=lambda k: (zlib.crc32(k.encode()), k)):
        fits = [split for split in room if len(words[key]) <= room[split]]
        split = max(fits, key=room.__getitem__) if fits else "train"
        splits[split] += words[key]
        if fits:
            room[split] -= len(words[key])
    vocabulary = Vocabulary.of(splits["train"], least=least)
    return Corpus("the Python language reference", vocabulary, *map(vocabulary.encode, splits.values()))


def _distinct(texts: Mapping[str, str]) -> dict[str, str]:
    """Each text without the paragraphs that a text before it (by name) has.

    About a fifth of the reference stands in two topics, word for word: so the test was not read in training.
    """
    seen: set[str] = set()
    kept = {}
    for name in sorted(texts):
        paragraphs = {" ".join(p.split()): p for p in _PARAGRAPH.split(texts[name])}
        kept[name] = "\n\n".join(p for words, p in paragraphs.items() if words not in seen)
        seen.update(paragraphs)
    return kept
