"""A language model on any cell: P(w[t+1] | w[0..t]) from the state after word t.

Tied embeddings use one matrix e both to read a word and to score it. That asks for states as wide as
embeddings, I = J; where they are not, a matrix W_o carries the state to the embeddings' width. Untied,
the scores have a matrix U of their own.

The course's convention for sequences: w[:, 0] is a start word (the end-of-sequence word serves), the
logits at t are those of the word t+1, and a sentence ends with its end-of-sequence word, which is
predicted like any other: without it the probabilities of all sentences do not sum to one.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .cells import Cell
from .guards import need_ids
from .losses import Predictor, word_losses
from .stacked import Stacked

EMBED = "x[b,t,k] = e[w[b,t],k]"

READOUTS = {
    "tied": "P[b,t,v] = softmax[v](e[v,I] h[b,t,I])",
    "projected": "P[b,t,v] = softmax[v](e[v,I] W_o[I,J] h[b,t,J])",
    "untied": "P[b,t,v] = softmax[v](U[v,J] h[b,t,J])",
}


class LanguageModel(Predictor):
    """forward: words w (B, T) -> logits (B, T, V), those at t for the word t+1."""

    def __init__(self, cell: Cell | Stacked, words: int, tied: bool = True):
        super().__init__()
        self.cell, self.words = cell, words
        I, J = cell.inputs, cell.hidden
        self.readout = "untied" if not tied else "tied" if I == J else "projected"
        self.e = nn.Parameter(torch.randn(words, I) * I**-0.5)
        self.W_o = nn.Parameter(torch.randn(I, J) * J**-0.5) if self.readout == "projected" else None
        self.U = nn.Parameter(torch.randn(words, J) * J**-0.5) if self.readout == "untied" else None

    @property
    def equations(self) -> str:
        """The whole model in the course's language (for one cell; a stack has `stacked.STACKED`)."""
        return "\n".join((EMBED, str(self.cell.equations), READOUTS[self.readout]))

    def forward(self, w: Tensor) -> Tensor:
        need_ids("w", w, "B T", below=self.words)
        h: Tensor = self.cell(F.embedding(w, self.e))[0]
        if self.U is not None:
            return h @ self.U.T
        return (h if self.W_o is None else h @ self.W_o.T) @ self.e.T

    def losses(self, w: Tensor, pad: int | None = None) -> Tensor:
        """−ln P of each word after the first, (B, T-1), zero at `pad`; a row's sum is −ln P(row)."""
        return word_losses(self(w[:, :-1]), w[:, 1:], pad)
