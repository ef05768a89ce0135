"""Images that need no download: the 8 x 8 handwritten digits that come with scikit-learn.

digits = Digits.load()
digits.train                     # (N, 8, 8), each pixel from 0 to 1
"""

import gzip
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Digits:
    train: np.ndarray  # (N, 8, 8) float32
    test: np.ndarray
    train_labels: np.ndarray  # (N,) 0 to 9
    test_labels: np.ndarray

    @classmethod
    def load(cls) -> "Digits":
        """1,797 images; every fifth is for the test."""
        with gzip.open(_file(), "rt", encoding="ascii") as rows:
            table = np.loadtxt(rows, delimiter=",")
        images = (table[:, :-1].reshape(-1, 8, 8) / 16).astype(np.float32)
        labels = table[:, -1].astype(np.int64)
        test = np.arange(len(images)) % 5 == 4
        return cls(images[~test], images[test], labels[~test], labels[test])


def _file() -> Path:
    """Where scikit-learn keeps the digits. It is not imported: that takes seconds, and reading them does not."""
    try:
        found = find_spec("sklearn")
    except ValueError:  # a stand-in without a specification
        found = None
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if path.exists():
            return path
    raise ImportError(
        "the digits come with scikit-learn: install it with `pip install scikit-learn` (Colab has it)"
    )
