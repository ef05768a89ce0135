"""A batch is a function of the seed and the step."""

import numpy as np
import pytest
import torch

from coursekit.data import BadData, Batches, padded

ROWS = np.arange(10).reshape(10, 1) + np.zeros((1, 3), dtype=int)


def test_an_epoch_holds_every_row_once_and_the_next_has_another_order():
    batches = Batches(ROWS, size=3)
    epochs = [[int(w[0]) for n in range(4) for w in batches[4 * e + n][0]] for e in range(2)]
    assert len(batches) == 4
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(10))
    assert epochs[0] != epochs[1]


def test_a_batch_does_not_depend_on_what_was_asked_for_before():
    asked_in_order, asked_alone = Batches(ROWS, size=3, seed=5), Batches(ROWS, size=3, seed=5)
    for n in range(20):
        asked_in_order[n]
    assert torch.equal(asked_in_order[17][0], asked_alone[17][0])
    assert any(not torch.equal(asked_alone[n][0], Batches(ROWS, size=3, seed=6)[n][0]) for n in range(3))


def test_rows_of_several_arrays_stay_together():
    for x, y in Batches(ROWS, 10 * ROWS[:, 0], size=4):
        assert torch.equal(10 * x[:, 0], y)


def test_columns_of_padding_are_cut_batch_by_batch():
    rows = padded([[1, 2], [3, 4, 5, 6], [7]], pad=0)
    assert rows.tolist() == [[1, 2, 0, 0], [3, 4, 5, 6], [7, 0, 0, 0]]
    widths = [w.shape[1] for (w,) in Batches(rows, size=1, shuffle=False, pad=0)]
    assert widths == [2, 4, 1]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Batches(ROWS, ROWS[:4]), r"one number of rows, not \[10, 4\]"),
        (lambda: Batches(ROWS[:0]), "no rows"),
    ],
)
def test_bad_arrays_are_refused_in_a_sentence(make, says):
    with pytest.raises(BadData, match=says):
        make()
