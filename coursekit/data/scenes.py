"""Scenes: two coloured shapes on a small grid, a caption, and where each word of it looks.

    scenes = Scenes.draw(1000)
    scenes.captions[0]      # ("a", "red", "circle", "above", "a", "blue", "square")
    scenes.places[0]        # (None, (1, 4), (1, 4), None, None, (3, 0), (3, 0))
    scenes.batches()        # (M, caption): M (B, X, Y, K), caption (B, T) begins and ends with <eos>

Place (x, y) is column x, row y, counted from the upper left. The features of a place say its colour, its
shape and where it is: what a trained image network would have found. A caption is fixed by its scene
(what is further left, or else further up, comes first), so the limit of a captioner's loss is zero.

And images: `Digits.load().train` (N, 8, 8), the handwritten digits that come with scikit-learn, each pixel from 0 to 1.
"""

import gzip
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from .batches import Batches, padded
from .vocabulary import EOS, Vocabulary

COLOURS = ("red", "blue", "green", "yellow")
SHAPES = ("circle", "square", "triangle")
FEATURES = len(COLOURS) + len(SHAPES) + 3  # and: nothing here, x, y

VOCABULARY = Vocabulary(("a", *COLOURS, *SHAPES, "beside", "above"))


@dataclass(frozen=True)
class Thing:
    """A shape on the grid; x counts columns from the left, y rows from the top."""

    colour: str
    shape: str
    x: int
    y: int


@dataclass(frozen=True)
class Scenes:
    """Scenes on a grid of `size` x `size` places."""

    size: int
    things: list[tuple[Thing, Thing]]

    @classmethod
    def draw(cls, count: int = 1000, size: int = 5, seed: int = 0) -> "Scenes":
        """`count` scenes at random: two shapes in two places, never the same kind twice."""
        draw = np.random.default_rng(seed)
        kinds = [(colour, shape) for colour in COLOURS for shape in SHAPES]
        things = []
        for _ in range(count):
            (x1, y1), (x2, y2) = (divmod(int(p), size) for p in draw.choice(size * size, 2, replace=False))
            one, two = (kinds[k] for k in draw.choice(len(kinds), 2, replace=False))
            things.append(_ordered(Thing(one[0], one[1], x1, y1), Thing(two[0], two[1], x2, y2)))
        return cls(size, things)

    @property
    def captions(self) -> list[tuple[str, ...]]:
        return [("a", a.colour, a.shape, _relation(a, b), "a", b.colour, b.shape) for a, b in self.things]

    @property
    def places(self) -> list[tuple[tuple[int, int] | None, ...]]:
        """For each word of a caption the place (x, y) it speaks of, or None."""
        return [(None, (a.x, a.y), (a.x, a.y), None, None, (b.x, b.y), (b.x, b.y)) for a, b in self.things]

    @property
    def features(self) -> np.ndarray:
        """M (N, X, Y, K), float32."""
        M = np.zeros((len(self.things), self.size, self.size, FEATURES), dtype=np.float32)
        M[..., -3] = 1
        M[..., -2] = np.linspace(-1, 1, self.size)[:, None]
        M[..., -1] = np.linspace(-1, 1, self.size)[None, :]
        for scene, things in zip(M, self.things, strict=True):
            for thing in things:
                place = scene[thing.x, thing.y]
                place[COLOURS.index(thing.colour)] = 1
                place[len(COLOURS) + SHAPES.index(thing.shape)] = 1
                place[-3] = 0
        return M

    @property
    def rows(self) -> np.ndarray:
        """(N, T) ids of the captions: <eos>, the words, <eos>."""
        return padded([VOCABULARY.encode([EOS, *words, EOS]) for words in self.captions], Vocabulary.pad)

    def batches(self, size: int = 32, seed: int = 0) -> Batches:
        return Batches(self.features, self.rows, size=size, seed=seed, pad=Vocabulary.pad)


def _relation(a: Thing, b: Thing) -> str:
    return "beside" if abs(a.x - b.x) >= abs(a.y - b.y) else "above"


def _ordered(a: Thing, b: Thing) -> tuple[Thing, Thing]:
    """The one further left first, or, for a pair that is called above, the one further up."""
    axis = "x" if _relation(a, b) == "beside" else "y"
    return (a, b) if getattr(a, axis) < getattr(b, axis) else (b, a)


@dataclass(frozen=True)
class Digits:
    """The images, and which digit each one is."""

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
    with suppress(ValueError):  # a stand-in without a specification
        found = find_spec("sklearn")
        for folder in (found and found.submodule_search_locations) or ():
            path = Path(folder) / "datasets" / "data" / "digits.csv.gz"
            if path.exists():
                return path
    raise ImportError(
        "the digits come with scikit-learn: install it with `pip install scikit-learn` (Colab has it)"
    )
