"""Words become ids and come back; what has no id or no word is said."""

import numpy as np
import pytest
import torch

from coursekit.data import EOS, PAD, UNK, BadData, Vocabulary


@pytest.fixture
def vocabulary():
    return Vocabulary.of(["b", "a", "b", "c", "a", "b", "d"], least=2)


def test_the_commonest_words_come_first_after_the_special_ones(vocabulary):
    assert vocabulary.words == (PAD, EOS, UNK, "b", "a")
    assert (vocabulary.pad, vocabulary.eos, vocabulary.unk) == (0, 1, 2)


def test_equal_counts_are_in_alphabetical_order_so_that_the_ids_do_not_depend_on_the_text():
    assert Vocabulary.of(["z", "y", "x"]).words == Vocabulary.of(["x", "z", "y"]).words


def test_decode_undoes_encode_and_rare_words_become_unknown(vocabulary):
    ids = vocabulary.encode("a b nothing " + EOS)
    assert ids.tolist() == [4, 3, 2, 1]
    assert vocabulary.decode(ids) == ["a", "b", UNK, EOS]
    assert vocabulary.decode(torch.tensor(ids)) == ["a", "b", UNK, EOS]
    assert vocabulary.text([1, 4, 3, 1, 0, 0]) == "a b"


@pytest.mark.parametrize("ids", [[3, 5], [-1], np.array([0, 99]), [1.5], torch.zeros(2, 2)])
def test_an_id_that_is_no_word_is_named(vocabulary, ids):
    with pytest.raises(BadData, match=r"is no word; this vocabulary has ids 0 to 4"):
        vocabulary.decode(ids)


def test_a_word_that_stands_twice_is_named():
    with pytest.raises(BadData, match="'a' stands twice"):
        Vocabulary(["a", "b", "a"])
