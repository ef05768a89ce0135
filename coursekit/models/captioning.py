"""Image captioning: translation whose source is a picture, with one softmax over both its axes.

The features M[b,x,y,K] take the place of the encoder's states. Nothing else changes but the width of
what the cell reads: (J, K, I) -> J. The first state is zero, so the first look is the mean over the
picture; since the start word has been read by then, the first word of the caption has seen it.
"""

from torch import Tensor

from .cells import GRU, Cell
from .guards import need_shape
from .losses import Predictor
from .seq2seq import READOUT, AttentionDecoder

EQUATIONS = f"""
alpha[b,t,x,y] = softmax[x,y](h[b,t-1,J] W_key[J,K] M[b,x,y,K])
C[b,t,k] = alpha[b,t,X,Y] M[b,X,Y,k]
h[b,t,J] = CELL(h[b,t-1,J], C[b,t,K], e[w[b,t],I])
{READOUT}
"""


class Captioner(Predictor):
    """`EQUATIONS`. forward: M (B,X,Y,K), caption (B,T) -> logits (B,T,V), alpha (B,T,X,Y).

    A caption begins with a start word; logits[b,t] is the word after caption[b,t], chosen with alpha[b,t].
    """

    def __init__(self, features: int, vocabulary: int, embedding: int, hidden: int, cell: type[Cell] = GRU):
        super().__init__()
        self.features = features
        self.decoder = AttentionDecoder(vocabulary, embedding, hidden, features, cell)

    def forward(self, M: Tensor, caption: Tensor) -> tuple[Tensor, Tensor]:
        _, X, Y = need_shape("M", M, "B X Y K", K=self.features)
        # A softmax over x and y jointly is a softmax over the places of the picture laid in one row.
        logits, alpha = self.decoder(caption, M.flatten(1, 2))
        return logits, alpha.unflatten(-1, (X, Y))
