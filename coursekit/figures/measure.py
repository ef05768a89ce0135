"""What a figure needs and a model does not give by itself: gradients through time, gates, a spectrum."""

from typing import Any

import numpy as np

from ..runtime import require_torch


def gradient_norms_through_time(cell: Any, x: Any) -> np.ndarray:
    """‖∂(1·h[T-1]) / ∂h[t]‖ for t = 0 … T-1, mean over the batch: how much of step t is left at the end.

    cell: any of `coursekit.models.cells`; x (B, T, K). For the LSTM, the gradient of its pair (h, c).
    """
    torch = require_torch()
    state = cell.initial(x)
    states = []
    for t in range(x.shape[1]):
        _, state = cell.step(x[:, t], state)
        # A copy stands between two steps: in an LSTM, c also makes its own h, and that is not through time.
        parts = tuple(part.clone() for part in (state if isinstance(state, tuple) else (state,)))
        state = parts if isinstance(state, tuple) else parts[0]
        states.append(parts)
    flat = [part for parts in states for part in parts]
    found = torch.autograd.grad(states[-1][0].sum(), flat, materialize_grads=True)
    width = len(states[0])
    norms = [torch.cat(found[n : n + width], -1).norm(dim=-1).mean() for n in range(0, len(found), width)]
    return np.array([float(norm) for norm in norms])


def gate_activity(cell: Any, x: Any) -> dict[str, np.ndarray]:
    """Every gate of a cell, (T, J), mean over the batch, read off the cell's own equations; x (B, T, K)."""
    torch = require_torch()
    from ..notation import Equations

    with torch.no_grad():
        zero = cell.initial(x)
        boundary = dict(zip("hc", zero if isinstance(zero, tuple) else (zero,), strict=False))
        values = Equations(cell.equations).run({**cell.state_dict(), "x": x}, boundary=boundary)
    return {name: value.mean(0).cpu().numpy() for name, value in values.items() if name.startswith("G")}


def matrix_with_radius(size: int, radius: float) -> np.ndarray:
    """A random (size, size) matrix scaled to a spectral radius: its largest |eigenvalue|."""
    W = np.random.default_rng(0).standard_normal((size, size))
    scaled: np.ndarray = W * (radius / max(abs(np.linalg.eigvals(W))))
    return scaled


def backward_norms(W: np.ndarray, steps: int, activation: str) -> np.ndarray:
    """‖∂h[T]/∂h[T-n] · d‖ for n = 0 … steps, for a random d of length one: h[t] = f(W h[t-1]) from a random h[0].

    Linear, the gradient is d times the nth power of W; tanh multiplies in 1 - h² at every step.
    """
    draw = np.random.default_rng(0)
    h, d = draw.standard_normal(len(W)), draw.standard_normal(len(W))
    d = d / np.linalg.norm(d)
    slopes = []
    for _ in range(steps):
        h = np.tanh(W @ h) if activation == "tanh" else W @ h
        slopes.append(1 - h**2 if activation == "tanh" else np.ones(len(W)))
    norms = [1.0]
    for slope in reversed(slopes):
        d = W.T @ (slope * d)
        norms.append(float(np.linalg.norm(d)))
    return np.array(norms)
