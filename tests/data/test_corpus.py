"""The text that every Python has."""

import re

import numpy as np
import pytest

from coursekit.data import EOS, python_reference, tokens


@pytest.fixture(scope="module")
def reference():
    return python_reference()


def test_the_reference_has_enough_words_and_three_splits(reference):
    sizes = [len(getattr(reference, split)) for split in ("train", "valid", "test")]
    assert sum(sizes) > 50_000
    assert all(0.05 < size / sum(sizes) <= 0.1 for size in sizes[1:])
    assert 1000 < len(reference.vocabulary) < 5000
    assert (reference.train == reference.vocabulary.unk).mean() < 0.06


def test_it_is_the_same_each_time(reference):
    again = python_reference()
    assert again.vocabulary.words == reference.vocabulary.words
    assert all(np.array_equal(getattr(again, s), getattr(reference, s)) for s in ("train", "valid", "test"))


def test_no_paragraph_of_the_test_was_read_in_training():
    from pydoc_data.topics import topics

    from coursekit.data.corpus import _distinct

    kept = _distinct(topics)
    paragraphs = [
        " ".join(p.split()) for text in kept.values() for p in re.split(r"\n\s*\n", text) if p.strip()
    ]
    assert len(paragraphs) == len(set(paragraphs))
    before = [
        " ".join(p.split()) for text in topics.values() for p in re.split(r"\n\s*\n", text) if p.strip()
    ]
    assert set(before) == set(paragraphs)
    assert len(before) > len(paragraphs)


def test_the_vocabulary_knows_the_training_words_alone(reference):
    counts = np.bincount(reference.train, minlength=len(reference.vocabulary))
    assert counts[3:].min() >= 3


def test_sentences_end_and_marks_are_words():
    assert tokens("Hello, World. It's 42\n====\n\nnext") == [
        *["hello", ",", "world", ".", EOS, "it's", "42", EOS, "next", EOS]
    ]


def test_windows_predict_every_word_once_and_overlap_by_one(reference):
    windows = reference.windows("valid", length=10)
    assert windows[0, 0] == reference.vocabulary.eos
    assert (windows[1:, 0] == windows[:-1, -1]).all()
    predicted = windows[:, 1:].ravel()
    assert np.array_equal(predicted, reference.valid[: len(predicted)])
    assert len(reference.valid) - len(predicted) < 10
