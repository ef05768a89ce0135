"""Skip-gram: the context word j from the word i, with columns as word vectors.

    ŷ = softmax(Uᵀ v_i),   CE = −ln ŷ[j],   U and V of shape (h, d) for d words

The exact gradient costs Θ(d h). It is an average over the words, so a sample S of them can estimate it:
without bias if ŷ is known exactly, which costs Θ(d h) again; with bias if the normaliser is
estimated from S too. Negative sampling changes the loss, and never touches the other words.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from .guards import need, need_ids, need_shape, need_tensors

SKIPGRAM = """
    yhat[k] = softmax[k](U[A,k] v[A])
    dv[a] = U[a,K] (yhat[K] - y[K])
    dU[a,k] = v[a] (yhat[k] - y[k])
"""


def predictions(U: Tensor, v: Tensor) -> Tensor:
    """ŷ = softmax(Uᵀ v): (h, d), (h,) -> (d,)."""
    need_tensors("U h d, v h", U, v)
    return torch.softmax(v @ U, -1)


def loss(U: Tensor, V: Tensor, i: int, j: int) -> Tensor:
    """CE = −ln softmax(Uᵀ v_i)[j]."""
    v = _word_vector(U, V, i, j)
    return F.cross_entropy(v @ U, torch.as_tensor(j, device=U.device))


def gradients(U: Tensor, V: Tensor, i: int, j: int) -> tuple[Tensor, Tensor]:
    """dCE/dv_i = U (ŷ − y), (h,), and dCE/dU = v_i (ŷ − y)ᵀ, (h, d): every column of it is non-zero."""
    v = _word_vector(U, V, i, j)
    error = predictions(U, v) - _one_hot(j, U)
    return error @ U.T, torch.outer(v, error)


def sampled_grad(U: Tensor, v: Tensor, j: int, S: Tensor, y_hat: Tensor) -> Tensor:
    """dCE/dv ≈ (d/|S|) Σ_{k∈S} (ŷ_k − y_k) u_k, S drawn uniformly without repetition.

    Unbiased if ŷ is exact. Its variance is huge: the term of j, the largest, is rarely in S.
    """
    d = _check_sample(U, v, S, y_hat)
    error = y_hat - _one_hot(j, U)
    return d / len(S) * (error[S] @ U[:, S].T)


def sampled_grad_keeping_positive(U: Tensor, v: Tensor, j: int, S: Tensor, y_hat: Tensor) -> Tensor:
    """dCE/dv ≈ (d/|S|) Σ_{k∈S} ŷ_k u_k − u_j: the positive word exactly, only the average sampled."""
    d = _check_sample(U, v, S, y_hat)
    _one_hot(j, U)
    return d / len(S) * (y_hat[S] @ U[:, S].T) - U[:, j]


def estimated_predictions(U: Tensor, v: Tensor, S: Tensor) -> Tensor:
    """ŷ with its normaliser estimated as (d/|S|) Σ_{k∈S} exp(u_k·v), for the words of S; zero elsewhere.

    Cheap, O(|S| h), and the reason for the bias of an estimator that uses it.
    """
    d = _check_sample(U, v, S, None)
    share = torch.softmax(v @ U[:, S], -1) * len(S) / d
    return torch.zeros_like(U[0]).index_copy(0, S, share)


def negative_sampling(u_j: Tensor, v: Tensor, U_negative: Tensor) -> Tensor:
    """−ln σ(u_j·v) − Σ_k ln σ(−u_k·v), the columns of U_negative (h, m) being m sampled words."""
    need_tensors("v h, u_j h, U_negative h m", v, u_j, U_negative)
    return -F.logsigmoid(u_j @ v) - F.logsigmoid(-(v @ U_negative)).sum()


def _word_vector(U: Tensor, V: Tensor, i: int, j: int) -> Tensor:
    _, d = need_tensors("U h d, V h d", U, V)
    for name, word in (("i", i), ("j", j)):
        need_ids(name, torch.as_tensor(word, device=U.device), "", below=d)
    return V[:, i]


def _one_hot(j: int, U: Tensor) -> Tensor:
    word = torch.as_tensor(j, device=U.device)
    need_ids("j", word, "", below=U.shape[1])
    return F.one_hot(word, U.shape[1]).to(U.dtype)


def _check_sample(U: Tensor, v: Tensor, S: Tensor, y_hat: Tensor | None) -> int:
    _, d = need_tensors("U h d, v h", U, v)
    need_ids("S", S, "S", below=d)
    if y_hat is not None:
        need_shape("y_hat", y_hat, "d", d=d)
    need(
        S.is_meta or len(S.unique()) == len(S),
        f"S of shape {tuple(S.shape)} holds a word twice; it needs distinct words",
    )
    return d
