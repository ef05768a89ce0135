"""The gradients of the RNN language model by hand, through all of time.

A parameter appears once in every step, and "the gradient at (s)" is that of its appearance in step s.
With the errors of the pre-activations,

    d1 = ŷ − y                              by the scores z = h(t) U + b2
    d2 = (d1 Uᵀ) ∘ h(t) ∘ (1 − h(t))        by h(t-1) H + e(t) I + b1
    δ(t-1) = d2 Hᵀ                          by h(t-1)

each gradient is an outer product of what a parameter met on the way forward and the error on the way
back. The true gradient is the sum over all appearances; truncated to τ, over the last τ of them.
"""

import torch
from torch import Tensor

from .guards import need, need_ids
from .rnn_lm import Params, run


def bptt(xs: Tensor, targets: Tensor, params: Params, h0: Tensor, tau: int | None = None) -> Params:
    """Back-propagation through time, truncated to τ steps: the gradients by all six parameters.

    xs (T,) or (B, T) with h0 (D,) or (B, D). Targets of the shape of xs: the loss is Σ_t J(t), and
    each J(t) is carried back to the appearances t, t-1, …, t-τ+1. One target per sequence, () or (B,):
    the loss is J(T) alone. The gradients are summed over the batch. Without τ they are the true ones.
    """
    need(tau is None or tau >= 1, f"tau is {tau}; it needs to be at least 1, the step of the loss itself")
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
