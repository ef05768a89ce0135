"""Words in their places: attention over all positions cannot see order, so each brings its own vector.

The lecture lays the word and its position end to end; the paper it cites adds them, as is done here. Under a matrix
W = (W_e W_p) the concatenation is W_e e + W_p pos: an addition of two learned maps.
"""

import torch
from torch import Tensor, nn

from .guards import need_ids, need_one_of


def sinusoidal(T: int, width: int, like: Tensor) -> Tensor:
    """pos[t,2p] = sin(t / 10000^(2p/width)), pos[t,2p+1] = cos(the same): (T,width), as `like`.

    >>> sinusoidal(1, 4, torch.zeros(1)).tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """
    t = torch.arange(T, device=like.device, dtype=like.dtype)
    p = torch.arange((width + 1) // 2, device=like.device, dtype=like.dtype)
    angle = t[:, None] / 10000 ** (2 * p / width)  # (T, ceil(width/2))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


class PlacedWords(nn.Module):
    """Layer 0 of a transformer, e[w[b,t],j] + pos[t,j]. forward: w (B,T) -> L (B,T,J).

    `kind`: "sinusoidal", or "none" (full attention is then blind to order).
    """

    def __init__(self, vocabulary: int, width: int, kind: str = "sinusoidal"):
        super().__init__()
        need_one_of("kind", kind, ("sinusoidal", "none"))
        self.kind = kind
        self.e = nn.Parameter(torch.randn(vocabulary, width) * width**-0.5)

    def forward(self, w: Tensor) -> Tensor:
        _, T = need_ids("w", w, "B T", below=len(self.e))
        e = self.e[w]
        return e if self.kind == "none" else e + sinusoidal(T, e.shape[-1], self.e)
