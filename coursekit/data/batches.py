"""Arrays in batches, in an order that is a function of the seed and the step alone.

    batches = Batches(w, size=32, pad=0)
    (w,) = batches[1000]             # the 1000th batch of a run, whatever was asked for before
    for (w,) in batches: ...         # one epoch

So a training run that is resumed at step n sees what an unbroken run would have seen.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..runtime import require_torch
from .vocabulary import BadData


class Batches:
    """Rows of equally long `arrays`, `size` at a time, shuffled anew in each epoch.

    `batches[n]` is a tuple of torch tensors, for any n >= 0; `len(batches)` is the number of an epoch. The
    last batch of an epoch may be smaller. With `pad`, columns at the end of a batch that hold nothing else
    are cut off, and the trainer does not count the word `pad`.
    """

    def __init__(
        self, *arrays: np.ndarray, size: int = 32, seed: int = 0, shuffle: bool = True, pad: int | None = None
    ):
        if not arrays or len({len(array) for array in arrays}) != 1:
            raise BadData(f"batches need arrays with one number of rows, not {[*map(len, arrays)]}")
        if len(arrays[0]) == 0:
            raise BadData("there are no rows to make batches of; a batch needs at least one")
        self.arrays, self.size, self.seed, self.shuffle, self.pad = arrays, size, seed, shuffle, pad
        rows = len(arrays[0])
        mixed = lambda epoch: np.random.default_rng([seed, epoch]).permutation(rows)
        # of this epoch and the last
        self._order = lru_cache(2)(mixed if shuffle else lambda _: np.arange(rows))

    def __len__(self) -> int:
        return -(-len(self.arrays[0]) // self.size)

    def __getitem__(self, n: int) -> tuple[Any, ...]:
        epoch, place = divmod(n, len(self))
        rows = self._order(epoch)[place * self.size : (place + 1) * self.size]
        torch = require_torch()
        return tuple(torch.from_numpy(self._trimmed(array[rows])) for array in self.arrays)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (self[n] for n in range(len(self)))

    def _trimmed(self, rows: np.ndarray) -> np.ndarray:
        if self.pad is None or rows.ndim != 2 or rows.dtype.kind not in "iu":
            return rows
        used = np.flatnonzero((rows != self.pad).any(0))
        return np.ascontiguousarray(rows[:, : used[-1] + 1 if len(used) else 1])


def padded(rows: Sequence[Sequence[int] | np.ndarray], pad: int) -> np.ndarray:
    """Rows of different lengths as one array (N, longest), filled up with `pad`.

    >>> padded([[1, 2, 3], [4]], pad=0).tolist()
    [[1, 2, 3], [4, 0, 0]]
    """
    out = np.full((len(rows), max(map(len, rows))), pad, dtype=np.int64)
    for line, row in zip(out, rows, strict=True):
        line[: len(row)] = row
    return out
