"""Convolutions: the language CNN (stride 2) and the update-gate CNN.

A convolution is a sum over a small window, so the code below takes every window as a view of the
layer (`unfold`) and then does that sum in one `einsum`, with the letters of the equation.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .guards import need, need_ids, need_shape, need_tensors

EMBED = "L[b,t,i] = e[w[b,t],i]"

STRIDE_2 = "Lnext[b,t,i] = sigmoid(sum[dt](W[dt,J,i] L[b,2*t+dt,J]) - B[i])"

UPDATE_GATE = """
pad L
centered dx, dy
R[b,x,y,j] = tanh(sum[dx,dy](W_R[dx,dy,I,j] L[b,x+dx,y+dy,I]) - B_R[j])
G[b,x,y,j] = sigmoid(sum[dx,dy](W_G[dx,dy,I,j] L[b,x+dx,y+dy,I]) - B_G[j])
Lnext[b,x,y,j] = G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]
"""


def embed(e: Tensor, w: Tensor) -> Tensor:
    """`EMBED`: the row of e for each word. e (V,I), w (B,T) whole numbers -> (B,T,I)."""
    V, _ = need_shape("e", e, "V I")
    need_ids("w", w, "B T", below=V)
    return e[w]


def conv_stride_2(L: Tensor, W: Tensor, B: Tensor) -> Tensor:
    """`STRIDE_2`, with t from 0 and no padding. L (B,T,J), W (k,J,I), B (I,) -> (B,(T-k)//2+1,I)."""
    k, *_ = need_tensors("W k J I, B I, L B T J", W, B, L)
    windows = L.unfold(1, k, 2)  # (B, T', J, k), a view
    return torch.sigmoid(torch.einsum("btjd,dji->bti", windows, W) - B)


class LanguageCNN(nn.Module):
    """Embeddings, then `layers` convolutions of stride 2: the length halves at every layer.

    forward: w (B,T) -> L (B, T', I) of the last layer; `layers(w)` gives all of them.
    """

    def __init__(self, vocabulary: int, width: int, layers: int = 2, window: int = 2):
        super().__init__()
        self.e = nn.Parameter(torch.randn(vocabulary, width))
        scale = (window * width) ** -0.5
        self.W = nn.ParameterList(scale * torch.randn(window, width, width) for _ in range(layers))
        self.B = nn.ParameterList(torch.zeros(width) for _ in range(layers))

    def layers(self, w: Tensor) -> list[Tensor]:
        L = [embed(self.e, w)]
        for W, B in zip(self.W, self.B, strict=True):
            L.append(conv_stride_2(L[-1], W, B))
        return L

    def forward(self, w: Tensor) -> Tensor:
        return self.layers(w)[-1]


def conv_same(L: Tensor, W: Tensor) -> Tensor:
    """The centred sum over a zero-padded window, stride 1.

    out[b,x,y,j] = W[dx,dy,I,j] L[b,x+dx,y+dy,I] with dx, dy from -(k//2); k is odd.
    L (B,X,Y,I), W (k,k,I,J) -> (B,X,Y,J).
    """
    k, *_ = need_tensors("W k k I J, L B X Y I", W, L)
    need(k % 2 == 1, f"W has shape {tuple(W.shape)}; a centred window needs an odd k")
    r = k // 2
    windows = F.pad(L, (0, 0, r, r, r, r)).unfold(1, k, 1).unfold(2, k, 1)  # (B, X, Y, I, k, k)
    return torch.einsum("bxyiuv,uvij->bxyj", windows, W)


def update_gate_conv(L: Tensor, W_R: Tensor, B_R: Tensor, W_G: Tensor, B_G: Tensor) -> Tensor:
    """`UPDATE_GATE`: each entry keeps its old value in the measure of its gate.

    L (B,X,Y,J), W_R and W_G (k,k,J,J) indexed [dx,dy,in,out], B_R and B_G (J,) -> (B,X,Y,J).
    """
    need_tensors("W_R k k J J, W_G k k J J, B_R J, B_G J, L B X Y J", W_R, W_G, B_R, B_G, L)
    R = torch.tanh(conv_same(L, W_R) - B_R)
    G = torch.sigmoid(conv_same(L, W_G) - B_G)
    return G * L + (1 - G) * R


class UpdateGateCNN(nn.Module):
    """A stack of update-gate layers. forward: L (B,X,Y,J) -> (B,X,Y,J)."""

    def __init__(self, width: int, layers: int = 1, window: int = 3):
        super().__init__()
        scale = (window * window * width) ** -0.5
        shape = (window, window, width, width)
        self.W_R = nn.ParameterList(scale * torch.randn(shape) for _ in range(layers))
        self.B_R = nn.ParameterList(torch.zeros(width) for _ in range(layers))
        self.W_G = nn.ParameterList(scale * torch.randn(shape) for _ in range(layers))
        self.B_G = nn.ParameterList(torch.zeros(width) for _ in range(layers))

    def forward(self, L: Tensor) -> Tensor:
        for W_R, B_R, W_G, B_G in zip(self.W_R, self.B_R, self.W_G, self.B_G, strict=True):
            L = update_gate_conv(L, W_R, B_R, W_G, B_G)
        return L
