"""One matrix for query and key: L W_Qᵀ W_K Lᵀ is a bilinear form, so it needs one matrix per head.

Nothing is lost: `merge` gives that matrix. Something is gained that a head of size I < J never had:
any matrix of rank up to J. So the way back, `split`, is exact for rank <= I, and else the nearest
matrix of rank I (the singular values that it drops are the error).
"""

from math import sqrt

import torch
from torch import Tensor

from .guards import need_tensors

MERGE = "W[k,j1,j2] = 1/sqrt(I) W_Q[k,I,j1] W_K[k,I,j2]"

ATTENTION = "alpha[b,k,t1,t2] = softmax[t2](L[b,t1,J1] W[k,J1,J2] L[b,t2,J2])"


def merge(W_Q: Tensor, W_K: Tensor) -> Tensor:
    """`MERGE`, the scale inside: W_Q and W_K (K,I,J) -> W (K,J,J)."""
    _, I, _ = need_tensors("W_Q K I J, W_K K I J", W_Q, W_K)
    return torch.einsum("kia,kib->kab", W_Q, W_K) / sqrt(I)


def split(W: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """W (K,J,J) -> W_Q, W_K (K,I,J) with I = `size`, whose merge is W, or nearest to it in rank I."""
    need_tensors("W K J J", W)
    U, s, Vt = torch.linalg.svd(W * sqrt(size))
    root = s[:, :size, None].sqrt()
    return root * U[:, :, :size].transpose(1, 2), root * Vt[:, :size]


def merged_attention(L: Tensor, W: Tensor) -> Tensor:
    """`ATTENTION`: L (B,T,J), W (K,J,J) -> alpha (B,K,T,T)."""
    need_tensors("W K J J, L B T J", W, L)
    return torch.softmax(torch.einsum("bsj,kjl,btl->bkst", L, W, L), -1)


def parameters(K: int, I: int, J: int) -> dict[str, int]:
    """Query and key parameters of one layer: 2KIJ apart, KJ² merged; the same for I = J/2."""
    return {"apart": 2 * K * I * J, "merged": K * J * J}


def multiply_adds(T: int, I: int, J: int) -> dict[str, int]:
    """One head's scores over T positions: 2TIJ + T²I apart, TJ² + T²J merged."""
    return {"apart": 2 * T * I * J + T * T * I, "merged": T * J * J + T * T * J}
