"""The text that every Python has, and a text of one's own."""

import re

import numpy as np
import pytest

from coursekit.data import EOS, BadData, own_text, python_reference, sentences, tokens


@pytest.fixture(scope="module")
def reference():
    return python_reference()


def test_the_reference_has_enough_words_and_three_splits(reference):
    sizes = [len(reference.stream(split)) for split in ("train", "valid", "test")]
    assert sum(sizes) > 50_000
    assert all(0.05 < size / sum(sizes) <= 0.1 for size in sizes[1:])
    assert 1000 < len(reference.vocabulary) < 5000
    assert (reference.train == reference.vocabulary.unk).mean() < 0.06


def test_it_is_the_same_each_time(reference):
    again = python_reference()
    assert again.vocabulary.words == reference.vocabulary.words
    assert all(np.array_equal(again.stream(s), reference.stream(s)) for s in ("train", "valid", "test"))


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


def test_sentences_cut_a_stream_after_each_end():
    assert [s.tolist() for s in sentences([5, 1, 6, 7, 1])] == [[1, 5, 1], [1, 6, 7, 1]]


TEXT = "The boat sails over the sea. A gull follows it home.\n\n" * 40


def test_a_file_of_ones_own_is_cut_where_a_sentence_ends(tmp_path):
    path = tmp_path / "poem.txt"
    path.write_text(TEXT, encoding="utf-8")
    corpus = own_text(path)
    assert corpus.name == "poem.txt"
    assert all(corpus.stream(s)[-1] == corpus.vocabulary.eos for s in ("train", "valid", "test"))
    total = len(tokens(TEXT))
    assert len(corpus.train) / total == pytest.approx(0.8, abs=0.02)
    assert len(corpus.train) + len(corpus.valid) + len(corpus.test) == total


def test_a_folder_of_many_files_is_cut_between_files(tmp_path):
    for n in range(20):
        (tmp_path / f"{n}.md").write_text("word " * 5 + TEXT, encoding="utf-8")
    (tmp_path / "ignored.bin").write_bytes(b"\0\0")
    corpus = own_text(tmp_path)
    words = len(tokens("word " * 5 + TEXT))
    assert len(corpus.valid) == len(corpus.test) == 2 * words


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (b"abc\xff\xfe" * 100, r"not UTF-8 text \(byte 3 is 0xff\)"),
        (b"a\0b" * 1000, "is binary"),
        (b"One short sentence.", "5 words; a corpus needs at least 200"),
        (b"word " * 500, "too few sentences"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_in_a_sentence(tmp_path, content, says):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(BadData, match=says):
        own_text(path)


def test_a_missing_path_and_an_empty_folder_are_named(tmp_path):
    with pytest.raises(BadData, match=r"no file or folder '.*nowhere'"):
        own_text(tmp_path / "nowhere")
    with pytest.raises(BadData, match=r"holds no .txt or .md file"):
        own_text(tmp_path)


def test_a_split_or_length_that_is_not_there_is_refused(reference):
    with pytest.raises(BadData, match="split is 'dev'"):
        reference.stream("dev")
    with pytest.raises(BadData, match="length is 0"):
        reference.windows("train", 0)
    with pytest.raises(BadData, match="length is 10000000"):
        reference.windows("test", 10_000_000)
