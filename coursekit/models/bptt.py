"""The gradients of the RNN language model by hand: one step, one step back, through all of time.

A parameter appears once in every step, and "the gradient at (s)" is that of its appearance in step s.
With the errors of the pre-activations,

    d1 = ŷ − y                              by the scores z = h(t) U + b2
    d2 = (d1 Uᵀ) ∘ h(t) ∘ (1 − h(t))        by h(t-1) H + e(t) I + b1
    δ(t-1) = d2 Hᵀ                          by h(t-1)

each gradient is an outer product of what a parameter met on the way forward and the error on the way
back. The true gradient is the sum over all appearances; truncated to τ, over the last τ of them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .guards import BadInput, need_ids, need_shapes
from .rnn_lm import Params, Word, forward, run

AT_T = """
    d1[v] = yhat[v] - y[v]
    d2[j] = d1[V] U[j,V] h[j] (1 - h[j])
    dU[j,v] = h[j] d1[v]
    db2[v] = d1[v]
    dLx[i] = d2[J] I[i,J]
    dI[i,j] = e[i] d2[j]
    dH[k,j] = h_prev[k] d2[j]
    db1[j] = d2[j]
    delta[k] = d2[J] H[k,J]
"""

AT_T_MINUS_1 = """
    g[j] = delta[j] h_tm1[j] (1 - h_tm1[j])
    dLx[i] = g[J] I[i,J]
    dH[k,j] = h_tm2[k] g[j]
    dI[i,j] = e_tm1[i] g[j]
    db1[j] = g[j]
"""


def grads_t(
    x: Word, target: Word, h_prev: Tensor, L: Tensor, H: Tensor, I: Tensor, b1: Tensor, U: Tensor, b2: Tensor
) -> dict[str, Tensor]:
    """The six gradients of J(t) at (t): U (D,V), b2 (V,), Lx (d,), I (d,D), H (D,D), b1 (D,)."""
    e, h, d1, d2 = _errors(x, target, h_prev, L, H, I, b1, U, b2)
    return {
        "U": torch.outer(h, d1),
        "b2": d1,
        "Lx": d2 @ I.T,  # the row of L for x(t)
        "I": torch.outer(e, d2),
        "H": torch.outer(h_prev, d2),
        "b1": d2,
    }


def grad_hprev(
    x: Word, target: Word, h_prev: Tensor, L: Tensor, H: Tensor, I: Tensor, b1: Tensor, U: Tensor, b2: Tensor
) -> Tensor:
    """δ(t-1) = dJ(t)/dh(t-1) = d2 Hᵀ, (D,)."""
    *_, d2 = _errors(x, target, h_prev, L, H, I, b1, U, b2)
    return d2 @ H.T


def _errors(
    x: Word, target: Word, h_prev: Tensor, L: Tensor, H: Tensor, I: Tensor, b1: Tensor, U: Tensor, b2: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    e, h, y_hat, _ = forward(x, h_prev, L, H, I, b1, U, b2, target)
    d1 = y_hat - F.one_hot(torch.as_tensor(target, device=L.device), len(L))
    d2 = (d1 @ U.T) * h * (1 - h)
    return e, h, d1, d2


def grads_tm1(delta: Tensor, h_tm1: Tensor, h_tm2: Tensor, e_tm1: Tensor, I: Tensor) -> dict[str, Tensor]:
    """The gradients of J(t) at (t-1), from δ(t-1): Lx (d,), H (D,D), I (d,D), b1 (D,).

    δ is the error of the state h(t-1) itself; σ' = h(1−h) carries it to the pre-activation.
    """
    need_shapes("delta D, e_tm1 d, h_tm1 D, h_tm2 D, I d D", delta, e_tm1, h_tm1, h_tm2, I)
    g = delta * h_tm1 * (1 - h_tm1)
    return {"Lx": g @ I.T, "H": torch.outer(h_tm2, g), "I": torch.outer(e_tm1, g), "b1": g}


def bptt(xs: Tensor, targets: Tensor, params: Params, h0: Tensor, tau: int | None = None) -> Params:
    """Back-propagation through time, truncated to τ steps: the gradients by all six parameters.

    xs (T,) or (B, T) with h0 (D,) or (B, D). Targets of the shape of xs: the loss is Σ_t J(t), and
    each J(t) is carried back to the appearances t, t-1, …, t-τ+1. One target per sequence, () or (B,):
    the loss is J(T) alone. The gradients are summed over the batch. Without τ they are the true ones.
    """
    if tau is not None and tau < 1:
        raise BadInput(f"tau is {tau}; it needs to be at least 1, the step of the loss itself")
    targets = torch.as_tensor(targets, device=params.L.device)
    if isinstance(xs, Tensor) and xs.dim() == 1:
        xs, targets, h0 = xs[None], targets[None], h0[None]
    e, h, z = run(xs, params, h0)
    V, T = len(params.b2), xs.shape[1]
    each = targets.dim() == 2
    need_ids("targets", targets, "B T" if each else "B", below=V, B=len(xs), T=T)

    # Time first from here on: a step is one solid block, and (T·B) is one axis of a product.
    x, e, h = xs.T, e.transpose(0, 1), h.transpose(0, 1)
    h_prev = torch.cat([h0[None], h[:-1]])
    if not each and tau is not None:
        x, e, h, h_prev = x[-tau:], e[-tau:], h[-tau:], h_prev[-tau:]
    y, z = (targets.T, z.transpose(0, 1)) if each else (targets[None], z[None, :, -1])
    d1 = z.softmax(-1)
    d1.scatter_add_(-1, y[..., None], -torch.ones_like(d1[..., :1]))  # ŷ − y
    gh = d1 @ params.U.T
    sp = h * (1 - h)
    a = _truncated(gh, sp, params.H, tau) if each and tau is not None else _sweep(gh, sp, params.H)
    return Params(
        L=torch.zeros_like(params.L).index_add_(0, x.flatten(), (a @ params.I.T).flatten(0, 1)),
        H=_over_time(h_prev, a),
        I=_over_time(e, a),
        b1=a.sum((0, 1)),
        U=_over_time(h[-len(d1) :], d1),
        b2=d1.sum((0, 1)),
    )


def _over_time(a: Tensor, d: Tensor) -> Tensor:
    """Σ_t a(t)ᵀ d(t): the outer products of all steps and sequences, in one matrix product."""
    return a.flatten(0, 1).T @ d.flatten(0, 1)


def _sweep(gh: Tensor, sp: Tensor, H: Tensor) -> Tensor:
    """a(s) = (gh(s) + a(s+1) Hᵀ) ∘ sp(s), backwards: the error of step s from all losses after it.

    `gh` holds the losses' own part for the last steps; a step before them has none.
    """
    a, missing = torch.empty_like(sp), len(sp) - len(gh)
    a[-1] = gh[-1] * sp[-1]
    for s in reversed(range(len(sp) - 1)):
        back = a[s + 1] @ H.T
        torch.mul(back + gh[s - missing] if s >= missing else back, sp[s], out=a[s])
    return a


def _truncated(gh: Tensor, sp: Tensor, H: Tensor, tau: int) -> Tensor:
    """The error of step s from the τ losses s, …, s+τ-1. All losses go back one step together."""
    k_back = gh * sp
    a = k_back.clone()
    for k in range(1, min(tau, len(sp))):
        k_back = (k_back[1:] @ H.T) * sp[:-k]
        a[:-k] += k_back
    return a
