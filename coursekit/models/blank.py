"""The blank language model: each word from all the others.

A forward state at t-1 has seen what stands before word t, a backward state at t+1 what stands after
it. Neither has seen the word itself; the states at t have, and using them would give the answer away.
Before the first word and after the last one the state is zero (`pad` says so).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .cells import Cell
from .guards import need_ids
from .losses import word_losses
from .stacked import Bidirectional

BLANK = """
    pad hf, hb
    P[b,t,v] = softmax[v](e[v,I] W_f[I,J] hf[b,t-1,J] + e[v,I] W_b[I,J] hb[b,t+1,J])
"""


class BlankLanguageModel(nn.Module):
    """forward: words w (B, T) -> logits (B, T, V), those at t for the word t itself, from the others.

    The states may have any width: W_f and W_b (I, J) carry them to the embeddings' width.
    """

    def __init__(self, forward: Cell, backward: Cell, words: int):
        super().__init__()
        self.both, self.words = Bidirectional(forward, backward), words
        I, J = self.both.inputs, self.both.hidden
        shapes = ((words, I), (I, J), (I, J))
        drawn = (torch.randn(s) * s[-1] ** -0.5 for s in shapes)
        self.e, self.W_f, self.W_b = map(nn.Parameter, drawn)

    def forward(self, w: Tensor) -> Tensor:
        need_ids("w", w, "B T", below=self.words)
        hf, hb = self.both(F.embedding(w, self.e))
        hf_before = F.pad(hf[:, :-1], (0, 0, 1, 0))  # at t: hf[t-1]
        hb_after = F.pad(hb[:, 1:], (0, 0, 0, 1))  # at t: hb[t+1]
        return (hf_before @ self.W_f.T + hb_after @ self.W_b.T) @ self.e.T

    def losses(self, w: Tensor, pad: int | None = None) -> Tensor:
        """−ln P(w[t] | all other words) for every t, zero at `pad`: (B, T)."""
        return word_losses(self(w), w, pad)
