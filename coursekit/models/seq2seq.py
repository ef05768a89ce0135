"""Sequence to sequence: a thought vector, and attention from the output to the input.

The encoder reads right to left, so that its last state, at the first word, is the freshest where the
decoder begins. That state is the thought: the decoder's state before its first step. With attention
the decoder also looks back, at every step, at all the states M of the encoder.

One convention for every decoder here and in the transformer: a target begins with a start word,
logits[b,t] is the word after target[b,t], and alpha[b,t] is what that word was chosen with. So the
loss compares logits[:, :-1] with target[:, 1:], and alpha[:, :-1] aligns the words target[:, 1:].
"""

import torch
from torch import Tensor, nn

from .cells import GRU, Cell, State
from .guards import need, need_ids, need_one_of, need_tensors
from .losses import Predictor
from .patterns import need_allowed

ENCODER = "M[b,s,J] = ENCODER(M[b,s+1,J], e_in[x[b,s],I])"

READOUT = "P[b,t,v] = softmax[v](e[v,I] W_auto[I,J] h[b,t,J])"

THOUGHT = f"""
h[b,t,J] = CELL(h[b,t-1,J], e[w[b,t],I])
{READOUT}
"""

STATE_QUERY = f"""
alpha[b,t,s] = softmax[s](h[b,t-1,J] W_key[J,K] M[b,s,K])
C[b,t,k] = alpha[b,t,S] M[b,S,k]
h[b,t,J] = CELL(h[b,t-1,J], C[b,t,K], e[w[b,t],I])
{READOUT}
"""

WORD_QUERY = STATE_QUERY.replace("h[b,t-1,J] W_key[J,K]", "e[w[b,t],K]")


class Encoder(nn.Module):
    """`ENCODER`, right to left. forward: source (B,S) -> M (B,S,J), the thought (the state at word 0)."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int, cell: type[Cell] = GRU):
        super().__init__()
        self.e = nn.Parameter(torch.randn(vocabulary, embedding))
        self.cell = cell(embedding, hidden)

    def forward(self, source: Tensor) -> tuple[Tensor, State]:
        need_ids("source", source, "B S", below=len(self.e))
        M, thought = self.cell(self.e[source].flip(1))
        return M.flip(1), thought


class Decoder(nn.Module):
    """`THOUGHT`: a language model whose first state is given.

    forward: target (B,T), state -> logits (B,T,V).
    """

    def __init__(
        self, vocabulary: int, embedding: int, hidden: int, cell: type[Cell] = GRU, context: int = 0
    ):
        super().__init__()
        self.e = nn.Parameter(torch.randn(vocabulary, embedding))
        self.W_auto = nn.Parameter(torch.randn(embedding, hidden) * (embedding * hidden) ** -0.5)
        self.cell = cell(context + embedding, hidden)

    def words(self, target: Tensor) -> Tensor:
        need_ids("target", target, "B T", below=len(self.e))
        return self.e[target]

    def readout(self, h: Tensor) -> Tensor:
        return h @ self.W_auto.T @ self.e.T

    def forward(self, target: Tensor, state: State) -> Tensor:
        return self.readout(self.cell(self.words(target), state)[0])


class AttentionDecoder(Decoder):
    """`STATE_QUERY`, where the state asks, or the slide's `WORD_QUERY`, where the last word asks.

    forward: target (B,T), M (B,S,K), state or None (zero), allowed (B,S) or None
    -> logits (B,T,V), alpha (B,T,S).

    The word's question is a plain inner product, so it takes embeddings as wide as M (I = K); and it is
    the same wherever the word stands, so that a word that comes twice looks at the same places twice.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        hidden: int,
        memory: int,
        cell: type[Cell] = GRU,
        query: str = "state",
    ):
        need_one_of("query", query, ("state", "word"))
        fits = query == "state" or embedding == memory
        need(fits, f"embedding is {embedding}; a word that asks needs {memory}, the width of M")
        super().__init__(vocabulary, embedding, hidden, cell, context=memory)
        self.memory = memory
        scale = (hidden * memory) ** -0.5
        self.W_key = nn.Parameter(torch.randn(hidden, memory) * scale) if query == "state" else None

    def forward(  # type: ignore[override]
        self, target: Tensor, M: Tensor, state: State = None, allowed: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        e = self.words(target)  # (B,T,I)
        B, T, _ = e.shape
        (S,) = need_tensors("e B T I, M B S K", e, M, B=B, T=T, I=e.shape[2], K=self.memory)
        if allowed is not None:
            need_allowed(allowed, B, S)
            allowed = allowed[:, None, :]
        if self.W_key is None:
            alpha = look(e, M, allowed)  # no question depends on a state: all are asked at once
            h, _ = self.cell(torch.cat([alpha @ M, e], -1), state)
            return self.readout(h), alpha
        state = self.cell.initial(e) if state is None else state
        h, *_ = self.cell._checked(state, e, B)
        asked, states = [], []
        for t in range(T):
            alpha_t = look((h @ self.W_key)[:, None, :], M, allowed)  # (B,1,S)
            C = (alpha_t @ M)[:, 0]
            h, state = self.cell.step(torch.cat([C, e[:, t]], -1), state)
            asked.append(alpha_t)
            states.append(h)
        return self.readout(torch.stack(states, 1)), torch.cat(asked, 1)


def look(query: Tensor, M: Tensor, allowed: Tensor | None = None) -> Tensor:
    """alpha[b,t,s] = softmax[s](query[b,t,K] M[b,s,K]), zero where `allowed` (B,1,S) is False."""
    scores = query @ M.transpose(1, 2)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, -1)


class ThoughtTranslator(Predictor):
    """The thought vector alone. forward: source (B,S), target (B,T) -> logits (B,T,V)."""

    def __init__(
        self, source_words: int, target_words: int, embedding: int, hidden: int, cell: type[Cell] = GRU
    ):
        super().__init__()
        self.encoder = Encoder(source_words, embedding, hidden, cell)
        self.decoder = Decoder(target_words, embedding, hidden, cell)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        made: Tensor = self.decoder(target, self.encoder(source)[1])
        return made


class AttentionTranslator(Predictor):
    """The thought vector, and attention to the encoder's states.

    forward: source (B,S), target (B,T) -> logits (B,T,V), alpha (B,T,S).
    `pad` is the source word that nobody looks at (the encoder still reads it, before the others).
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        embedding: int,
        hidden: int,
        cell: type[Cell] = GRU,
        query: str = "state",
        pad: int | None = None,
    ):
        super().__init__()
        self.pad = pad
        self.encoder = Encoder(source_words, embedding, hidden, cell)
        self.decoder = AttentionDecoder(target_words, embedding, hidden, hidden, cell, query)

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        M, thought = self.encoder(source)
        allowed = None if self.pad is None else source != self.pad
        logits, alpha = self.decoder(target, M, thought, allowed)
        return logits, alpha
