"""Scores of attention against gold answers, on maps whose score is known by hand."""

import numpy as np
import pytest
import torch

from coursekit.data import (
    Parse,
    alignment_error,
    attachment_score,
    dependencies,
    gold_mass,
    label_scores,
)

GOLD = frozenset({(0, 0), (1, 2), (2, 1)})


def one_hot(rows, S, T=None):
    alpha = np.zeros((T or len(rows), S))
    for t, s in enumerate(rows):
        alpha[t, s] = 1
    return alpha


def test_a_perfect_alignment_has_no_error_and_a_disjoint_one_has_all():
    assert alignment_error(one_hot([0, 2, 1], 3), GOLD) == 0
    assert alignment_error(one_hot([1, 0, 2], 3), GOLD) == 1


def test_one_link_of_three_that_is_wrong_costs_a_third():
    assert alignment_error(one_hot([0, 2, 2], 3), GOLD) == pytest.approx(1 / 3)


def test_a_word_with_two_gold_links_can_only_find_one():
    # found {(0,0)}, gold {(0,0),(0,1)}: 1 - 2·1/3
    assert alignment_error(one_hot([0], 2), {(0, 0), (0, 1)}) == pytest.approx(1 / 3)


def test_a_batch_pools_its_links_and_leaves_out_rows_beyond_the_sentence():
    right, wrong = one_hot([0, 2, 1, 0], 3), one_hot([1, 0, 2, 0], 3)
    alpha = torch.tensor(np.stack([right, wrong]), requires_grad=True)
    assert alignment_error(alpha, [GOLD, GOLD]) == pytest.approx(0.5)


def test_a_transposed_map_is_not_right():
    gold = {(0, 1), (1, 2), (2, 0)}
    assert alignment_error(one_hot([1, 2, 0], 3), gold) == 0
    assert alignment_error(one_hot([1, 2, 0], 3).T, gold) == 1


PARSE = Parse(("we", "like", "boats"), (1, -1, 1), ("nsubj", "root", "dobj"))


def test_attachment_counts_words_that_look_at_their_head_and_not_the_root():
    assert attachment_score(one_hot([1, 0, 1], 3)[None], [PARSE]) == 1
    assert attachment_score(one_hot([1, 0, 0], 3)[None], [PARSE]) == 0.5


def test_an_offset_leaves_out_the_start_word():
    shifted = one_hot([0, 2, 0, 2, 0], 5)[None]  # <eos> we like boats <eos>
    assert attachment_score(shifted, [PARSE], offset=1) == 1


def test_each_label_finds_its_head():
    subject, object_ = one_hot([1, 1, 0], 3), one_hot([2, 1, 1], 3)
    table = label_scores(np.stack([subject, object_])[None], [PARSE])
    assert table == {"dobj": [0.0, 1.0], "nsubj": [1.0, 0.0]}


def test_gold_heads_score_one_on_real_parses():
    task = dependencies(30)
    longest = max(len(p.words) for p in task.parses)
    alpha = np.stack([one_hot([max(h, 0) for h in p.heads], longest, longest) for p in task.parses])
    assert attachment_score(alpha, task.parses) == 1
    assert attachment_score(np.roll(alpha, 1, axis=-1), task.parses) < 0.3


def test_gold_mass_is_the_mean_over_words_with_a_place():
    alpha = np.zeros((1, 3, 2, 2))
    alpha[0, 0, 0, 1], alpha[0, 1, 1, 1], alpha[0, 2, 0, 0] = 0.8, 1.0, 0.4
    assert gold_mass(alpha, [((0, 1), None, (0, 0))]) == pytest.approx(0.6)
