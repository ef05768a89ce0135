"""The trigram model, and why it must repeat itself at zero temperature.

Each word is chosen from the two before it. Without chance the pair of the last two words decides all
that follows, and there are only V² pairs: within V² steps some pair comes back, and from there on the
text is periodic. (That takes a fixed rule for ties and no word that ends the text.)
"""

import torch
from torch import Tensor, nn

from .guards import need_ids

EQUATIONS = """
hidden[b,t,j] = tanh(W_1[j,I] e[w1[b,t],I] + W_2[j,I] e[w2[b,t],I] - B[j])
h[b,t,i] = W_3[i,J] hidden[b,t,J]
P[b,t,v] = softmax[v](beta h[b,t,I] e[v,I])
"""


class NeuralTrigram(nn.Module):
    """`EQUATIONS` up to the softmax: h_Φ(e(w1), e(w2))ᵀ e(v), with tied embeddings.

    forward: w (B,T) -> logits (B,T-1,V); logits[b,t] is the word after the pair w[b,t], w[b,t+1].
    """

    def __init__(self, vocabulary: int, width: int, hidden: int):
        super().__init__()
        self.e = nn.Parameter(torch.randn(vocabulary, width))
        self.W_1 = nn.Parameter(torch.randn(hidden, width) * width**-0.5)
        self.W_2 = nn.Parameter(torch.randn(hidden, width) * width**-0.5)
        self.B = nn.Parameter(torch.zeros(hidden))
        self.W_3 = nn.Parameter(torch.randn(width, hidden) * hidden**-0.5)

    def forward(self, w: Tensor) -> Tensor:
        need_ids("w", w, "B T", below=len(self.e))
        hidden = torch.tanh(self.e[w[:, :-1]] @ self.W_1.T + self.e[w[:, 1:]] @ self.W_2.T - self.B)
        return hidden @ self.W_3.T @ self.e.T


def follow(table: Tensor, w0: int, w1: int, steps: int) -> list[int]:
    """w0, w1 and the `steps` words after them. table (V,V) gives the word after each pair."""
    after = _table(table)
    words = [w0, w1]
    for _ in range(steps):
        words.append(after[words[-2]][words[-1]])
    return words


def preperiod_period(table: Tensor, w0: int, w1: int) -> tuple[int, int]:
    """(mu, lambda): the pairs of words run mu steps and then go round a circle of lambda, mu + lambda <= V²."""
    after = _table(table)
    pair, met = (w0, w1), dict[tuple[int, int], int]()
    while pair not in met:
        met[pair] = len(met)
        pair = pair[1], after[pair[0]][pair[1]]
    return met[pair], len(met) - met[pair]


def _table(table: Tensor) -> list[list[int]]:
    need_ids("table", table, "V V", below=len(table))
    return table.tolist()
