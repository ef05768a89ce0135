"""Attention against gold answers. Every alpha may be a tensor or an array; its rows sum to one."""

from collections.abc import Sequence
from collections.abc import Set as Links
from typing import Any

import numpy as np

from .trees import Parse


def numbers(tensor: Any) -> np.ndarray:
    """A tensor of any device, or anything like an array, as an array."""
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor, dtype=float)


def alignment_error(alpha: Any, gold: Links[tuple[int, int]] | Sequence[Links[tuple[int, int]]]) -> float:
    """The alignment error rate 1 - 2 |A and G| / (|A| + |G|): 0 is perfect, 1 shares no link.

    alpha (T,S) with gold a set of (place in target, place in source), or (B,T,S) with one set per row. A links
    each target place of the gold to the source place it looks at most. Rows of alpha beyond the sentence
    (<eos>, <pad>) are left out.

    >>> alignment_error([[0.9, 0.1], [0.8, 0.2]], {(0, 0), (1, 1)})
    0.5
    """
    one = isinstance(gold, (set, frozenset))
    golds: list[Any] = [gold] if one else list(gold)
    hits = links = 0
    for a, true in zip(numbers(alpha)[None] if one else numbers(alpha), golds, strict=True):
        aligned = {t for t, _ in true}
        found = {(t, int(a[t].argmax())) for t in aligned}
        hits += len(found & true)
        links += len(found) + len(true)
    return 1 - 2 * hits / links


def attachment_score(alpha: Any, parses: Sequence[Parse], offset: int = 0) -> float:
    """The share of words, roots aside, that look most at their gold head.

    alpha (B,T,T), one for each parse; with `offset` 1 the first position is a start word.
    """
    hits = [hit for _, hit in _attachments(alpha, parses, offset)]
    return sum(hits) / len(hits)


def label_scores(alpha: Any, parses: Sequence[Parse], offset: int = 0) -> dict[str, list[float]]:
    """For each label, the attachment score of each head k on words with that label. alpha (B,K,T,T).

    A head that scores near 1 for one label *is* that dependency.
    """
    table: dict[str, list[float]] = {}
    for a in numbers(alpha).swapaxes(0, 1):
        found = _attachments(a, parses, offset)
        for label in sorted({label for label, _ in found}):
            hits = [hit for name, hit in found if name == label]
            table.setdefault(label, []).append(sum(hits) / len(hits))
    return table


def _attachments(alpha: Any, parses: Sequence[Parse], offset: int) -> list[tuple[str, bool]]:
    found = []
    for a, p in zip(numbers(alpha), parses, strict=True):
        n = len(p.words)
        looked = a[offset : offset + n, offset : offset + n].argmax(-1)
        found += [
            (label, bool(looked[t] == head))
            for t, (head, label) in enumerate(zip(p.heads, p.labels, strict=True))
            if head >= 0
        ]
    return found


def gold_mass(alpha: Any, places: Sequence[Sequence[tuple[int, int] | None]]) -> float:
    """The mean attention on the gold place, over the words that have one.

    alpha (B,T,X,Y); places[b][t] is the (x, y) of the word that alpha[b,t] chose, or None.
    """
    masses: list[float] = []
    for a, row in zip(numbers(alpha), places, strict=True):
        masses += [float(a[t][place]) for t, place in enumerate(row) if place is not None]
    return sum(masses) / len(masses)
