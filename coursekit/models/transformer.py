"""The transformer: heads and a feed-forward layer on a residual pathway, as many times as one likes.

Post-norm (the paper of 2017):  L <- LN(L + SA(L)),  L <- LN(L + FF(L)).
Pre-norm (nearly all since):    L <- L + SA(LN(L)),  L <- L + FF(LN(L)).
A decoder's layer has a third step between the two, which attends from L to the encoder's output M.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .attention import Heads, Maybe
from .guards import need, need_like, need_one_of, need_shape
from .losses import Predictor
from .positions import PlacedWords

FEED_FORWARD = """
hidden[b,t,i] = relu(W_1[i,J] L[b,t,J] - B_1[i])
FF[b,t,j] = W_2[j,I] hidden[b,t,I] - B_2[j]
"""

LAYER_NORM = """
mean[b,t] = 1/J sum[j](L[b,t,j])
var[b,t] = 1/J sum[j]((L[b,t,j] - mean[b,t])^2)
LN[b,t,j] = gain[j] (L[b,t,j] - mean[b,t]) / sqrt(var[b,t] + eps) + shift[j]
"""

# A whole decoder: the blocks n are a recurrence, whose boundary L[-1] is the placed words; then one norm more.
WHOLE = """
mean1[n,t] = 1/J sum[j](L[n-1,t,j])
var1[n,t] = 1/J sum[j]((L[n-1,t,j] - mean1[n,t])^2)
X[n,t,j] = gain1[n,j] (L[n-1,t,j] - mean1[n,t]) / sqrt(var1[n,t] + eps) + shift1[n,j]
Query[n,k,t,i] = W_Q[n,k,i,J] X[n,t,J]
Key[n,k,t,i] = W_K[n,k,i,J] X[n,t,J]
Value[n,k,t,i] = W_V[n,k,i,J] X[n,t,J]
alpha[n,k,t1,t2] = softmax[t2<=t1](1/sqrt(I) Query[n,k,t1,I] Key[n,k,t2,I])
h[n,k,t,i] = alpha[n,k,t,T] Value[n,k,T,i]
S[n,t,j] = L[n-1,t,j] + W_O[n,j,K,I] h[n,K,t,I]
mean2[n,t] = 1/J sum[j](S[n,t,j])
var2[n,t] = 1/J sum[j]((S[n,t,j] - mean2[n,t])^2)
Y[n,t,j] = gain2[n,j] (S[n,t,j] - mean2[n,t]) / sqrt(var2[n,t] + eps) + shift2[n,j]
hidden[n,t,f] = relu(W_1[n,f,J] Y[n,t,J] - B_1[n,f])
L[n,t,j] = S[n,t,j] + W_2[n,j,F] hidden[n,t,F] - B_2[n,j]
mean[t] = 1/J sum[j](L[N-1,t,j])
var[t] = 1/J sum[j]((L[N-1,t,j] - mean[t])^2)
out[t,j] = gain[j] (L[N-1,t,j] - mean[t]) / sqrt(var[t] + eps) + shift[j]
P[t,v] = softmax[v](W_out[v,J] out[t,J])
shape W_Q = N, K, I, J
shape W_K = N, K, I, J
shape W_V = N, K, I, J
shape W_O = N, J, K, I
"""


class FeedForward(nn.Module):
    """`FEED_FORWARD`, at each position alone. forward: L (B,T,J) -> (B,T,J)."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.W_1 = nn.Parameter(torch.randn(hidden, width) * (2 / width) ** 0.5)
        self.B_1 = nn.Parameter(torch.zeros(hidden))
        self.W_2 = nn.Parameter(torch.randn(width, hidden) * hidden**-0.5)
        self.B_2 = nn.Parameter(torch.zeros(width))

    def forward(self, L: Tensor) -> Tensor:
        need_shape("L", L, "B T J", J=self.W_1.shape[1])
        need_like("L", L, "W_1", self.W_1)
        hidden = torch.relu(L @ self.W_1.T - self.B_1)
        return hidden @ self.W_2.T - self.B_2


class Layer(nn.Module):
    """One storey: self-attention, then attention to M where there is `cross`, then feed-forward.

    forward: L (B,T,J), M (B,S,J) -> L (B,T,J), alpha (B,K,T,T), alpha to M (B,K,T,S).
    An alpha is None where there is none to show: no `cross`, or a local pattern.
    """

    def __init__(self, SA: Heads, FF: FeedForward, cross: Heads | None = None, norm: str = "pre"):
        super().__init__()
        need_one_of("norm", norm, ("pre", "post"))
        self.SA, self.cross, self.FF, self.norm = SA, cross, FF, norm
        J = FF.W_1.shape[1]
        self.LN = nn.ModuleList(nn.LayerNorm(J) for _ in range(2 if cross is None else 3))

    def forward(
        self, L: Tensor, M: Maybe = None, L_allowed: Maybe = None, M_allowed: Maybe = None
    ) -> tuple[Tensor, Maybe, Maybe]:
        cross, alpha_M = self.cross, None
        L, alpha = self._residual(0, L, lambda L: self.SA(L, None, L_allowed))
        if cross is not None:
            need(M is not None, "M is missing; a layer with cross-attention needs M of shape (B, S, J)")
            L, alpha_M = self._residual(1, L, lambda L: cross(L, M, M_allowed))
        L, _ = self._residual(-1, L, lambda L: (self.FF(L), None))
        return L, alpha, alpha_M

    def _residual(
        self, n: int, L: Tensor, step: Callable[[Tensor], tuple[Tensor, Maybe]]
    ) -> tuple[Tensor, Maybe]:
        """L plus what the step makes of it, with layer norm n before the step or after the sum."""
        LN = self.LN[n]
        change, alpha = step(LN(L) if self.norm == "pre" else L)
        return (L + change if self.norm == "pre" else LN(L + change)), alpha


class Stack(nn.Module):
    """N layers, and in pre-norm one last layer norm: an encoder, or with `cross` a decoder.

    forward: L (B,T,J), M (B,S,J) -> L (B,T,J), [alpha], [alpha to M], one entry per layer.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        layers: int,
        hidden: int | None = None,
        pattern: str = "full",
        w: int | None = None,
        cross: bool = False,
        norm: str = "pre",
    ):
        super().__init__()
        self.layers = nn.ModuleList(
            Layer(
                Heads(width, heads, pattern=pattern, w=w),
                FeedForward(width, hidden or 4 * width),
                Heads(width, heads) if cross else None,
                norm,
            )
            for _ in range(layers)
        )
        self.LN = nn.LayerNorm(width) if norm == "pre" else nn.Identity()

    def forward(
        self, L: Tensor, M: Maybe = None, L_allowed: Maybe = None, M_allowed: Maybe = None
    ) -> tuple[Tensor, list[Maybe], list[Maybe]]:
        own, cross = [], []
        for layer in self.layers:
            L, alpha, alpha_M = layer(L, M, L_allowed, M_allowed)
            own.append(alpha)
            cross.append(alpha_M)
        return self.LN(L), own, cross


class TransformerLM(Predictor):
    """A causal stack over placed words, and at each position a score for every word, as `WHOLE` says it.

    forward: w (B,T) -> logits (B,T,V); logits[b,t] is the word after w[b,t], and sees no later word.
    `run` gives the alphas too, one (B,K,T,T) per layer (None where the pattern is local).
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        heads: int,
        layers: int,
        hidden: int | None = None,
        pattern: str = "causal",
        w: int | None = None,
        norm: str = "pre",
        kind: str = "sinusoidal",
    ):
        super().__init__()
        need_one_of("the pattern of a language model", pattern, ("causal", "window", "causal-block"))
        self.words = PlacedWords(vocabulary, width, kind)
        self.stack = Stack(width, heads, layers, hidden, pattern, w, norm=norm)
        self.W_out = nn.Parameter(torch.randn(vocabulary, width) * width**-0.5)

    def run(self, w: Tensor) -> tuple[Tensor, list[Maybe]]:
        L, alphas, _ = self.stack(self.words(w))
        return L @ self.W_out.T, alphas

    def forward(self, w: Tensor) -> Tensor:
        return self.run(w)[0]


class TransformerTranslator(Predictor):
    """An encoder over the source, and a causal decoder over the target that attends to it.

    forward: source (B,S), target (B,T) -> logits (B,T,V), alpha (N,B,K,T,S) of the cross-attention.
    logits[b,t] is the word after target[b,t], so a target begins with a start word.
    `pad` is the source word that nobody looks at.
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        width: int,
        heads: int,
        layers: int,
        hidden: int | None = None,
        pad: int | None = None,
    ):
        super().__init__()
        self.pad = pad
        self.source, self.target = PlacedWords(source_words, width), PlacedWords(target_words, width)
        self.encoder = Stack(width, heads, layers, hidden)
        self.decoder = Stack(width, heads, layers, hidden, "causal", cross=True)
        self.W_out = nn.Parameter(torch.randn(target_words, width) * width**-0.5)

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        allowed = None if self.pad is None else source != self.pad
        M, _, _ = self.encoder(self.source(source), L_allowed=allowed)
        L, _, alphas = self.decoder(self.target(target), M, M_allowed=allowed)
        return L @ self.W_out.T, torch.stack(alphas)
