"""The cells over a whole sequence: few large products forward, a hand-derived backward.

Two facts make a recurrent layer fast, and both are subjects of the course.

- **Forward.** `W_x x[t]` needs no state: the input products of all steps are one matrix product.
  The loop over time is left with `W_h h[t-1]` and with what acts entry by entry.
- **Backward.** Let `dZ[t]` be the gradient of the loss by the pre-activations of step t. The weights
  are shared over time, so their gradients are sums over time, `dW_h = Σ_t dZ[t]ᵀ h[t-1]`, and such
  a sum is one matrix product, taken at the end. The loop is left with `dh[t-1] += dZ[t] W_h`. What
  `dZ[t]` is made of besides `dh[t]` (the slopes) is known before the loop, for all steps at once.

Time comes first here: step t of a (T, B, J) tensor is one solid piece of memory. State h[t] has
T + 1 values, h[0] given; Z[t], the slopes and dZ[t] belong to the step from h[t] to h[t+1], which
the loops call `h` and `h_next`. The weights of a cell's parts lie one above the other, in the order of
its `parts`. The plain loops stand in `cells`; a test shows that both agree.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

# ── what the four share ──────────────────────────────────────────────────────────────────────


def _input_products(x: Tensor, W_x: Tensor, B: Tensor) -> Tensor:
    """Z[t] = W_x x[t] − B, all steps at once: (T, B, N)."""
    return torch.addmm(B, x.flatten(0, 1), W_x.T, beta=-1).view(*x.shape[:2], -1)


def _states(first: Tensor, T: int) -> Tensor:
    """Room for the states 0..T, the first one filled in."""
    h = first.new_empty(T + 1, *first.shape)
    h[0] = first
    return h


def _incoming(gh: Tensor) -> Tensor:
    """dh[0..T]: so far what each state receives from outside the layer, nothing for h[0].

    The loop adds what it receives from the step after it.
    """
    if torch.is_grad_enabled():
        raise RuntimeError("the fast path of a cell has no second derivative; use the cell with fast=False")
    return torch.cat([torch.zeros_like(gh[:1]), gh])


def _add_product(to: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """to += a b, in place. (Not `addmm_`: counters of operations do not see that one.)"""
    return torch.addmm(to, a, b, out=to)


def _steps(*tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """Step by step, what each tensor holds for it (one unbinding is cheaper than T selections)."""
    return list(zip(*tensors, strict=True))


def _through_sigmoid(d: Tensor, y: Tensor, out: Tensor) -> None:
    """out = d y (1−y): the gradient d of y = σ(z), carried to z in one pass over the memory."""
    torch.ops.aten.sigmoid_backward.grad_input(d, y, grad_input=out)


def _through_tanh(d: Tensor, y: Tensor, out: Tensor) -> None:
    """out = d (1−y²): the same for y = tanh(z)."""
    torch.ops.aten.tanh_backward.grad_input(d, y, grad_input=out)


def _over_time(dZ: Tensor, a: Tensor) -> Tensor:
    """Σ_t dZ[t]ᵀ a[t]: the gradient of a weight matrix, one product for all steps."""
    return (a.flatten(0, 1).T @ dZ.flatten(0, 1)).T


def _gradients(ctx: Any, dZ: Tensor, x: Tensor, W_x: Tensor, *of_state: Tensor) -> tuple[Tensor | None, ...]:
    """dx, what belongs to the states and their weights, dW_x and dB, from the pre-activation gradients."""
    dx = dZ @ W_x if ctx.needs_input_grad[0] else None
    return dx, *of_state, _over_time(dZ, x), -dZ.sum((0, 1))


# ── the four cells ───────────────────────────────────────────────────────────────────────────


class Vanilla(Function):
    """h_next = f(z),  z = W_h h + W_x x − B."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h0: Tensor, W_h: Tensor, W_x: Tensor, B: Tensor, activation: Callable[..., Tensor]
    ) -> tuple[Tensor]:  # fmt: skip
        Z, H, W_hT = _input_products(x, W_x, B), _states(h0, len(x)), W_h.T.contiguous()
        for z, h, h_next in _steps(Z, H[:-1], H[1:]):
            activation(_add_product(z, h, W_hT), out=h_next)
        ctx.save_for_backward(x, H, W_h, W_x)
        ctx.through = _through_tanh if activation is torch.tanh else _through_sigmoid
        return (H[1:],)

    @staticmethod
    def backward(ctx: Any, gH: Tensor) -> tuple[Tensor | None, ...]:
        x, H, W_h, W_x = ctx.saved_tensors
        dH, dZ = _incoming(gH), torch.empty_like(gH)
        for dz, h_next, dh, dh_next in reversed(_steps(dZ, H[1:], dH[:-1], dH[1:])):
            ctx.through(dh_next, h_next, out=dz)
            _add_product(dh, dz, W_h)
        return *_gradients(ctx, dZ, x, W_x, dH[0], _over_time(dZ, H[:-1])), None


class UGRNN(Function):
    """h_next = G h + (1−G) R,  with G = σ(z_G), R = tanh(z_R)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, h0: Tensor, W_h: Tensor, W_x: Tensor, B: Tensor) -> tuple[Tensor]:
        Z, H, W_hT = _input_products(x, W_x, B), _states(h0, len(x)), W_h.T.contiguous()
        for z, G, R, h, h_next in _steps(Z, *Z.chunk(2, -1), H[:-1], H[1:]):
            _add_product(z, h, W_hT)
            torch.lerp(R.tanh_(), h, G.sigmoid_(), out=h_next)
        ctx.save_for_backward(x, H, Z, W_h, W_x)
        return (H[1:],)

    @staticmethod
    def backward(ctx: Any, gH: Tensor) -> tuple[Tensor | None, ...]:
        x, H, Z, W_h, W_x = ctx.saved_tensors
        dH, (G, R) = _incoming(gH), Z.chunk(2, -1)
        dZ = torch.empty_like(Z)
        dG, dR = dZ.chunk(2, -1)
        _through_sigmoid(H[:-1] - R, G, out=dG)  # so far the slopes of h_next by z_G and z_R
        _through_tanh(1 - G, R, out=dR)
        for dz, dg, dr, G_t, dh, dh_next in reversed(_steps(dZ, dG, dR, G, dH[:-1], dH[1:])):
            dg *= dh_next
            dr *= dh_next
            _add_product(dh.addcmul_(dh_next, G_t), dz, W_h)
        return _gradients(ctx, dZ, x, W_x, dH[0], _over_time(dZ, H[:-1]))


class GRU(Function):
    """h_next = (1−G2) h + G2 R,  R = tanh(W_hR m + W_xR x − B_R),  m = G1 h; W_hG is for both gates."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h0: Tensor, W_hG: Tensor, W_hR: Tensor, W_x: Tensor, B: Tensor
    ) -> tuple[Tensor]:
        Z, H = _input_products(x, W_x, B), _states(h0, len(x))
        M, gates = torch.empty_like(H[1:]), Z[..., : len(W_hG)]
        W_hGT, W_hRT = W_hG.T.contiguous(), W_hR.T.contiguous()
        for z, G1, G2, R, m, h, h_next in _steps(gates, *Z.chunk(3, -1), M, H[:-1], H[1:]):
            _add_product(z, h, W_hGT).sigmoid_()
            torch.mul(G1, h, out=m)
            _add_product(R, m, W_hRT).tanh_()
            torch.lerp(h, R, G2, out=h_next)
        ctx.save_for_backward(x, H, M, Z, W_hG, W_hR, W_x)
        return (H[1:],)

    @staticmethod
    def backward(ctx: Any, gH: Tensor) -> tuple[Tensor | None, ...]:
        x, H, M, Z, W_hG, W_hR, W_x = ctx.saved_tensors
        dH, (G1, G2, R) = _incoming(gH), Z.chunk(3, -1)
        dZ, old = torch.empty_like(Z), 1 - G2
        dG, (dG1, dG2, dR) = dZ[..., : len(W_hG)], dZ.chunk(3, -1)
        _through_sigmoid(H[:-1], G1, out=dG1)  # so far the slopes: of m by z_G1,
        _through_sigmoid(R - H[:-1], G2, out=dG2)  # of h_next by z_G2
        _through_tanh(G2, R, out=dR)  # and by z_R
        for dg, dg1, dg2, dr, G1_t, old_t, dh, dh_next in reversed(
            _steps(dG, dG1, dG2, dR, G1, old, dH[:-1], dH[1:])
        ):
            dr *= dh_next
            dg2 *= dh_next
            dm = dr @ W_hR
            dg1 *= dm
            _add_product(dh.addcmul_(dh_next, old_t).addcmul_(dm, G1_t), dg, W_hG)
        return _gradients(ctx, dZ, x, W_x, dH[0], _over_time(dG, H[:-1]), _over_time(dR, M))


class LSTM(Function):
    """c_next = Gf c + Gi R,  h_next = Go u,  u = tanh(c_next)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h0: Tensor, c0: Tensor, W_h: Tensor, W_x: Tensor, B: Tensor
    ) -> tuple[Tensor, Tensor]:
        Z, H, C = _input_products(x, W_x, B), _states(h0, len(x)), _states(c0, len(x))
        U, gates, W_hT = torch.empty_like(H[1:]), Z[..., h0.shape[-1] :], W_h.T.contiguous()
        for z, g, R, Gf, Gi, Go, u, c, c_next, h, h_next in _steps(
            Z, gates, *Z.chunk(4, -1), U, C[:-1], C[1:], H[:-1], H[1:]
        ):
            _add_product(z, h, W_hT)
            g.sigmoid_()
            torch.mul(Gf, c, out=c_next).addcmul_(Gi, R.tanh_())
            torch.mul(Go, torch.tanh(c_next, out=u), out=h_next)
        ctx.save_for_backward(x, H, C, U, Z, W_h, W_x)
        return H[1:], C[-1]

    @staticmethod
    def backward(ctx: Any, gH: Tensor, dc_last: Tensor) -> tuple[Tensor | None, ...]:
        x, H, C, U, Z, W_h, W_x = ctx.saved_tensors
        dH, dc, (R, Gf, Gi, Go) = _incoming(gH), dc_last.clone(), Z.chunk(4, -1)
        dZ, S = torch.empty_like(Z), torch.empty_like(U)
        dR, dF, dI, dO = dZ.chunk(4, -1)
        _through_tanh(Gi, R, out=dR)  # so far the slopes: of c_next by z_R,
        _through_sigmoid(C[:-1], Gf, out=dF)  # z_Gf
        _through_sigmoid(R, Gi, out=dI)  # and z_Gi,
        _through_sigmoid(U, Go, out=dO)  # of h_next by z_Go
        _through_tanh(Go, U, out=S)  # and by c_next
        to_c = dZ.unflatten(-1, (4, -1))[:, :, :3]  # R, Gf and Gi act through c_next
        for dz, d3, do, Gf_t, s, dh, dh_next in reversed(_steps(dZ, to_c, dO, Gf, S, dH[:-1], dH[1:])):
            dc.addcmul_(dh_next, s)
            d3 *= dc.unsqueeze(1)
            do *= dh_next
            dc *= Gf_t
            _add_product(dh, dz, W_h)
        return _gradients(ctx, dZ, x, W_x, dH[0], dc, _over_time(dZ, H[:-1]))
