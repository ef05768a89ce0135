"""Random tensors for a system, and its gradient two ways: by our equations and by autograd."""

from __future__ import annotations

from itertools import count
from math import prod

import torch

from coursekit.notation.grad.gradient import gradient
from coursekit.notation.run.runner import run
from coursekit.notation.system import System

F64 = torch.float64


def sizes_of(system: System) -> dict[str, int]:
    """Distinct small sizes; windows are 3 wide, and what a window slides over is long enough for two layers."""
    numbers = count(2)
    dims = [d for name in system.inputs for d in system.tensors[name].dims]
    dims += [t.indexes for t in system.tensors.values() if t.indexes]
    dims += [d for name in system.boundary for d in system.tensors[name].dims]
    windows = {d for derived in system.derived.values() for _, d in derived.dims}
    windows |= {d for r in system.ranges.values() for i, d in r.items() if i in system.centered}
    slid = {reach.dim for derived in system.derived.values() for reach in derived.reaches}
    sizes: dict[str, int] = {}
    for dim in dims:
        if dim not in sizes and dim not in system.joined:
            sizes[dim] = 3 if dim in windows else 11 if dim in slid else next(numbers)
    for dim, joined in system.joined.items():
        sizes[dim] = sum(prod(sizes[d] for d in part) for part in joined.parts)
    return sizes


def draw(system: System, seed: int = 0, scale: float = 1.0) -> tuple[dict, dict]:
    """Inputs and boundary, as `run` takes them. Real inputs want a gradient."""
    generator = torch.Generator().manual_seed(seed)
    sizes = sizes_of(system)

    def real(shape: list[int]) -> torch.Tensor:
        return (scale * torch.randn(shape, generator=generator, dtype=F64)).requires_grad_(True)

    inputs, boundary = {}, {}
    for name in system.inputs:
        tensor = system.tensors[name]
        shape = [sizes[d] for d in tensor.dims]
        whole = tensor.indexes is not None
        inputs[name] = (
            torch.randint(0, sizes[tensor.indexes], shape, generator=generator) if whole else real(shape)
        )
    for name, sides in system.boundary.items():
        parts = []
        for axis, steps in sides:
            shape = [sizes[d] for d in system.tensors[name].dims]
            shape[axis] = abs(steps)
            parts.append(real([n for k, n in enumerate(shape) if k != axis or abs(steps) > 1]))
        boundary[name] = parts[0] if len(parts) == 1 else tuple(parts)
    return inputs, boundary


def plain(value):
    return tuple(v.detach() for v in value) if isinstance(value, tuple) else value.detach()


def run_gradient(back: System, known: dict, boundary: dict) -> dict[str, torch.Tensor]:
    """The gradient system on what the forward system had and gave."""
    given = {name: known[name].detach() for name in back.inputs}
    return run(back, given, {name: plain(boundary[name]) for name in back.boundary})


def error(ours: torch.Tensor, true: torch.Tensor) -> float:
    assert ours.shape == true.shape, f"{tuple(ours.shape)} is not {tuple(true.shape)}"
    ours, true = ours.detach(), true.detach()
    return float((ours - true).abs().max() / true.abs().max().clamp(min=1.0)) if true.numel() else 0.0


def by_autograd(value: torch.Tensor, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    found = torch.autograd.grad(value, leaves, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


def compare(
    system: System, wrt: list[str], of: str = "J", seed: int = 0, scale: float = 1.0
) -> dict[str, float]:
    """The relative error of each gradient against autograd through `run`."""
    inputs, boundary = draw(system, seed, scale)
    forward = run(system, inputs, boundary)
    edges = {name: boundary[name[:-2]] for name in wrt if name not in system.tensors}
    leaves = [edges[n] if n in edges else inputs[n] for n in wrt]
    true = by_autograd(forward[of], leaves)
    ours = run_gradient(gradient(system, of, wrt), {**inputs, **forward}, boundary)
    return {name: error(ours["d" + name], g) for name, g in zip(wrt, true, strict=True)}


def differentiable(system: System) -> list[str]:
    """All real inputs, and every boundary of one step on one side."""
    real = [n for n in system.inputs if system.tensors[n].indexes is None]
    return real + [f"{n}_0" for n, s in system.boundary.items() if len(s) == 1 and abs(s[0][1]) == 1]
