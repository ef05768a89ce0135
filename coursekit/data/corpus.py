"""Real text: the language reference that comes with every Python, or a text of the reader's own.

    corpus = python_reference()                     # about 50,000 words, no download
    corpus = own_text("my_poems")                   # a file, or a folder of .txt and .md files
    corpus.batches("train", size=16, length=32)     # rows of 33 words; row[t+1] follows row[0..t]

The reference is the text of `pydoc_data.topics`. It is not the same in two versions of Python, and so
neither are the numbers that a model reaches; for one version everything here is a fixed function of it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .batches import Batches
from .errors import BadData
from .vocabulary import EOS, Vocabulary

_TOKEN = re.compile(r"[^\W\d]+(?:['’][^\W\d]+)?|\d+|[^\w\s]")
_RULER = re.compile(r"^[*=~^\-#+ ]{3,}$", re.MULTILINE)
SUFFIXES = (".txt", ".md")
FEWEST = 200  # words: three splits of less teach nothing


@dataclass(frozen=True)
class Corpus:
    """Three streams of word ids, each sentence ended by <eos>."""

    name: str
    vocabulary: Vocabulary
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray

    def __repr__(self) -> str:
        sizes = ", ".join(f"{s} {len(getattr(self, s))}" for s in ("train", "valid", "test"))
        return f"{self.name}: {len(self.vocabulary)} words in the vocabulary; {sizes}"

    def stream(self, split: str) -> np.ndarray:
        if split not in ("train", "valid", "test"):
            raise BadData(f'split is {split!r}; it needs to be "train", "valid" or "test"')
        words: np.ndarray = getattr(self, split)
        return words

    def windows(self, split: str = "train", length: int = 32) -> np.ndarray:
        """(N, length+1): the stream after one <eos>, cut so that each word is predicted once.

        The last word of a row is the first of the next; what is left over at the end is dropped.
        """
        stream = np.concatenate([[self.vocabulary.eos], self.stream(split)])
        rows = (len(stream) - 1) // length if length > 0 else 0
        if rows < 1:
            raise BadData(
                f"length is {length}; {split} of {self.name} has {len(stream) - 1} words, "
                "so a row may have 1 to that many"
            )
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
    for paragraph in re.split(r"\n\s*\n", _RULER.sub("", text)):
        for sentence in re.split(r"(?<=[.!?])\s+", paragraph):
            if words := _TOKEN.findall(sentence.lower()):
                found += [*words, EOS]
    return found


def python_reference(least: int = 3) -> Corpus:
    """Python's language reference, split by topic; words that `train` has fewer than `least` times are <unk>.

    About a fifth of the text stands in two topics, word for word. Each paragraph counts once, in the first
    topic that has it: so no paragraph of the test was read in training.
    """
    from pydoc_data.topics import topics

    return _corpus("the Python language reference", _distinct(topics), least)


def own_text(path: str | Path, least: int = 2) -> Corpus:
    """A text file, or every .txt and .md file below a folder.

    One file is split by its paragraphs: the first 80 % of its words, then 10 % and 10 %; a folder of ten
    or more files is split by files.
    """
    path = Path(path)
    if not path.exists():
        raise BadData(f"there is no file or folder {str(path)!r}; give the path of a text file or a folder")
    if path.is_file():
        return _in_order(path.name, _read(path), least)
    files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    if not files:
        raise BadData(f"the folder {str(path)!r} holds no .txt or .md file; put your text there as one")
    texts = {p.relative_to(path).as_posix(): _read(p) for p in files}
    if len(texts) < 10:
        return _in_order(path.name, "\n\n".join(texts.values()), least)
    return _corpus(path.name, texts, least)


def _read(path: Path) -> str:
    raw = path.read_bytes()
    if not raw.strip():
        raise BadData(f"the file {str(path)!r} is empty; give a file with text in it")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadData(
            f"the file {str(path)!r} is not UTF-8 text (byte {error.start} is {raw[error.start]:#04x}); "
            "save it as plain text in UTF-8"
        ) from None
    if "\0" in text:
        raise BadData(
            f"the file {str(path)!r} is binary, not text: byte {raw.index(0)} is zero; give plain text"
        )
    return text


def _distinct(texts: Mapping[str, str]) -> dict[str, str]:
    """Each text without the paragraphs that a text before it (by name) has."""
    seen: set[str] = set()
    kept = {}
    for name in sorted(texts):
        paragraphs = []
        for paragraph in re.split(r"\n\s*\n", texts[name]):
            key = " ".join(paragraph.split())
            if key not in seen:
                seen.add(key)
                paragraphs.append(paragraph)
        kept[name] = "\n\n".join(paragraphs)
    return kept


def _corpus(name: str, texts: Mapping[str, str], least: int) -> Corpus:
    """Whole texts go to a split: valid, then test, take a tenth of the words each, the rest is train.

    Who is asked first is a matter of the names alone; a text that would overfill the tenth is passed over.
    """
    words = {key: tokens(text) for key, text in texts.items()}
    room = {split: sum(map(len, words.values())) / 10 for split in ("valid", "test")}
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for key in sorted(words, key=lambda k: (zlib.crc32(k.encode()), k)):
        fits = [split for split in room if len(words[key]) <= room[split]]
        split = max(fits, key=room.__getitem__) if fits else "train"
        splits[split] += words[key]
        if fits:
            room[split] -= len(words[key])
    return _encoded(name, splits["train"], splits["valid"], splits["test"], least)


def _in_order(name: str, text: str, least: int) -> Corpus:
    words = tokens(text)
    ends = [n + 1 for n, word in enumerate(words) if word == EOS]  # a cut is made where a sentence ends
    first, second = (min(ends, key=lambda e: abs(e - share * len(words)), default=0) for share in (0.8, 0.9))
    return _encoded(name, words[:first], words[first:second], words[second:], least)


def _encoded(name: str, train: list[str], valid: list[str], test: list[str], least: int) -> Corpus:
    total = len(train) + len(valid) + len(test)
    if total < FEWEST:
        raise BadData(f"{name!r} has {total} words; a corpus needs at least {FEWEST}: give a longer text")
    if not (train and valid and test):
        raise BadData(
            f"{name!r} cannot be cut into training, validation and test text: it has too few sentences; "
            "end sentences with a full stop, or give a longer text"
        )
    vocabulary = Vocabulary.of(train, least=least)
    return Corpus(name, vocabulary, *(vocabulary.encode(part) for part in (train, valid, test)))


def sentences(stream: Iterable[int], eos: int = Vocabulary.eos) -> list[np.ndarray]:
    """A stream cut after each <eos>, each row begun with one: what models read sentence by sentence."""
    stream = np.asarray(stream)
    cuts = np.flatnonzero(stream == eos) + 1
    return [np.concatenate([[eos], part]) for part in np.split(stream, cuts) if len(part)]
