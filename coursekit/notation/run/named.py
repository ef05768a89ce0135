"""Tensors whose axes have names: the pieces that a plan is made of.

A `Code` is an expression made ready to run: which index each axis of its value belongs to, known when
the plan is made, and a function from the run's `Env` to that value. All choices of axis order, views
and broadcasting are taken when a `Code` is built, so that a run does arithmetic and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

# The axis of a grid's recurrence: the entries of one anti-diagonal. Its length changes from step to step.
LANE = "~"


@dataclass(slots=True)
class Env:
    """What a run has at hand. `step`, `states`, `hoisted` and `memo` belong to the loop that is running."""

    tensors: dict[str, Tensor]
    edges: dict[str, list[Tensor | float]]
    functions: dict[str, Callable[..., Tensor]]
    dtype: torch.dtype
    device: torch.device
    constants: dict[object, Any]
    step: int = 0
    lane: int = 1  # how many entries the running anti-diagonal has
    states: dict[str, list[Any]] = field(default_factory=dict)  # by step; None before it is made
    hoisted: list[Any] = field(default_factory=list)
    memo: dict[object, Any] = field(default_factory=dict)

    def constant(self, key: object, make: Callable[[], Any]) -> Any:
        """What depends on sizes alone: made once for each device and dtype."""
        key = (key, self.device, self.dtype)
        if key not in self.constants:
            with torch.inference_mode(False):  # so that a later run, which wants gradients, can use it
                self.constants[key] = make()
        return self.constants[key]


Step = Callable[[Env, Tensor], Tensor]


@dataclass(slots=True, frozen=True)
class Code:
    axes: tuple[str, ...]
    run: Callable[[Env], Tensor]
    number: float | None = None  # a constant, known before any run; then `run` is not used


def number(value: float) -> Code:
    return Code((), lambda env: full(env, value, ()), value)


def through(source: Callable[[Env], Tensor], steps: Sequence[Step]) -> Callable[[Env], Tensor]:
    """What is fetched, taken through some views."""
    if not steps:
        return source

    def run(env: Env) -> Tensor:
        x = source(env)
        for step in steps:
            x = step(env, x)
        return x

    return run


def full(env: Env, value: float, shape: Sequence[int]) -> Tensor:
    return torch.full((), value, dtype=env.dtype, device=env.device).expand(shape)


def rename(code: Code, names: dict[str, str]) -> Code:
    return Code(tuple(names.get(a, a) for a in code.axes), code.run, code.number)


def view(axes: Sequence[str], target: Sequence[str]) -> Callable[[Tensor], Tensor] | None:
    """The view that lays `axes` out so that they broadcast against `target`; None if they do already.

    `target` has all of `axes`; the axes it has besides become axes of length one.
    """
    kept = [a for a in target if a in axes]
    order = tuple(axes.index(a) for a in kept)
    lead = next((n for n, a in enumerate(target) if a in axes), len(target))
    gaps = tuple(n - lead for n, a in enumerate(target) if a not in axes and n > lead)
    moved = order != tuple(range(len(order)))
    if not moved and not gaps:
        return None
    if not gaps:
        return lambda x: x.permute(order)

    def lay(x: Tensor) -> Tensor:
        if moved:
            x = x.permute(order)
        for gap in gaps:
            x = x.unsqueeze(gap)
        return x

    return lay


def align(code: Code, target: Sequence[str]) -> Callable[[Env], Tensor]:
    """The code's value, laid out to broadcast against `target`."""
    lay = view(code.axes, target)
    run = code.run
    return run if lay is None else lambda env: lay(run(env))


def expand(code: Code, target: Sequence[str], sizes: Sequence[int]) -> Code:
    """The value with every axis of `target`, in that order and at full length."""
    target = tuple(target)
    if code.axes == target:
        return code
    run, lacking = align(code, target), any(a not in code.axes for a in target)
    if not lacking:
        return Code(target, run)
    # -1 keeps the length that an axis has.
    shape = [-1 if a in code.axes else size for a, size in zip(target, sizes, strict=True)]
    if LANE not in target or LANE in code.axes:
        return Code(target, lambda env: run(env).expand(shape))
    place = target.index(LANE)

    def over_lane(env: Env) -> Tensor:
        return run(env).expand([*shape[:place], env.lane, *shape[place + 1 :]])

    return Code(target, over_lane)


def elementwise(
    function: Callable[..., Tensor], codes: Sequence[Code], order: Callable[[set[str]], tuple[str, ...]]
) -> Code:
    """`function` of the values entry by entry; numbers are handed over as Python numbers."""
    axes = order({a for c in codes for a in c.axes})
    runs = [align(c, axes) if c.number is None else _always(c.number) for c in codes]
    if len(runs) == 2:  # most often, and a run of a recurrence calls it at every step
        f, g = runs
        return Code(axes, lambda env: function(f(env), g(env)))
    return Code(axes, lambda env: function(*[run(env) for run in runs]))


def _always(value: float) -> Callable[[Env], Any]:
    return lambda env: value


def as_tensor(code: Code) -> Code:
    """The same value, never as a Python number."""
    return Code((), code.run) if code.number is not None else code
