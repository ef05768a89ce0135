"""Words in their places: attention over all positions cannot see order, so each brings its own vector.

The lecture lays the word and its position end to end; the paper it cites adds them. Both are here.
Under a matrix W = (W_e W_p) the concatenation is W_e e + W_p pos: an addition of two learned maps.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .guards import BadInput, need_ids

CONCATENATED = "L[b,t,j] = e[w[b,t],I]; pos[t,P]"

ADDED = "L[b,t,j] = e[w[b,t],j] + pos[t,j]"


def sinusoidal(T: int, width: int, like: Tensor) -> Tensor:
    """pos[t,2p] = sin(t / 10000^(2p/width)), pos[t,2p+1] = cos(the same): (T,width), as `like`.

    >>> sinusoidal(1, 4, torch.zeros(1)).tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """
    if T < 1 or width < 1:
        raise BadInput(f"a table of positions has shape ({T}, {width}); both sizes need to be at least 1")
    t = torch.arange(T, device=like.device, dtype=like.dtype)
    p = torch.arange((width + 1) // 2, device=like.device, dtype=like.dtype)
    angle = t[:, None] / 10000 ** (2 * p / width)  # (T, ceil(width/2))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


class PlacedWords(nn.Module):
    """Layer 0 of a transformer. forward: w (B,T) -> L (B,T,J).

    `combine`: "added" (J is the word's width) or "concatenated" (the position takes `place` of the J).
    `kind`: "sinusoidal" (any length), "learned" (up to `longest`) or "none" (full attention is then blind to order).
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        combine: str = "added",
        kind: str = "sinusoidal",
        place: int | None = None,
        longest: int = 512,
    ):
        super().__init__()
        if combine not in ("added", "concatenated"):
            raise BadInput(f'combine is {combine!r}; it needs to be "added" or "concatenated"')
        if kind not in ("sinusoidal", "learned", "none"):
            raise BadInput(f'kind is {kind!r}; it needs to be "sinusoidal", "learned" or "none"')
        self.combine, self.kind = combine, kind
        self.place = width if combine == "added" else (width // 2 if place is None else place)
        word = width if combine == "added" else width - self.place
        if word < 1 or self.place < 1:
            raise BadInput(f"of width {width} the position takes {self.place}; the word needs at least 1 too")
        self.e = nn.Parameter(torch.randn(vocabulary, word) * word**-0.5)
        self.pos = nn.Parameter(torch.randn(longest, self.place) * 0.02) if kind == "learned" else None

    def positions(self, T: int) -> Tensor:
        """(T, place)."""
        if self.pos is None:
            table = sinusoidal(T, self.place, self.e)
            return table if self.kind == "sinusoidal" else torch.zeros_like(table)
        if len(self.pos) < T:
            raise BadInput(f"w has T={T} positions; the learned table needs at most {len(self.pos)}")
        return self.pos[:T]

    def forward(self, w: Tensor) -> Tensor:
        _, T = need_ids("w", w, "B T", below=len(self.e))
        e, pos = self.e[w], self.positions(T)
        return e + pos if self.combine == "added" else torch.cat([e, pos.expand(len(w), -1, -1)], -1)
