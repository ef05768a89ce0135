"""Nodes that take whole axes at once: softmax, maxima, concatenations, functions of the reader's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..functions import REDUCERS
from ..meaning.reach import fail
from ..tree import Apply, Concat, Flatten, Reduce, Softmax, references
from .named import Code, Env, align, as_tensor, elementwise, expand, rename

if TYPE_CHECKING:
    from .compile import Compiler

_WHOLE: dict[str, Callable[..., Tensor]] = {
    "max": torch.amax,
    "min": torch.amin,
    "logsumexp": torch.logsumexp,
}


def _conditioned(compiler: Compiler, node: Softmax | Reduce, fill: float) -> tuple[Code, Code | None]:
    """The body over all of the node's indices, `fill` where the condition fails; and the condition."""
    if node.where is None:
        return compiler.full(compiler.code(node.body), node.indices), None
    body = compiler.under([(node.where, True)], lambda: compiler.code(node.body))
    holds = compiler.condition(node.where)
    body = elementwise(lambda m, x: torch.where(m, x, fill), [holds, as_tensor(body)], compiler.order)
    return compiler.full(body, node.indices), holds


def softmax(compiler: Compiler, node: Softmax, function: Callable[[Tensor, int], Tensor]) -> Code:
    code, holds = _conditioned(compiler, node, -math.inf)
    axes = code.axes
    dims = tuple(axes.index(i) for i in node.indices)

    def over(x: Tensor) -> Tensor:
        if len(dims) == 1:
            return function(x, dims[0])
        ends = tuple(range(x.ndim - len(dims), x.ndim))
        moved = x.movedim(dims, ends)
        x = function(moved.flatten(ends[0]), -1).unflatten(-1, moved.shape[ends[0] :])
        return x.movedim(ends, dims)

    run = code.run
    if holds is None:
        return Code(axes, lambda env: over(run(env)))
    allowed = align(holds, axes)
    along = [axes.index(i) - len(axes) for i in node.indices if i in holds.axes]
    once, key = compiler.frame is None and not any(True for _ in references(node.where)), object()

    def some(mask: Tensor) -> Tensor:
        for d in along:
            mask = mask.any(d, keepdim=True)
        return mask

    def masked(env: Env) -> Tensor:
        scores, mask = run(env), allowed(env)
        # Where the condition is on indices alone, whether it leaves a row empty is asked but once.
        if once and env.constant(key, lambda: not mask.is_meta and bool(some(mask).all())):
            return over(scores)
        # A row in which nothing is allowed has weight nowhere, and hands no gradient back.
        return torch.where(mask, over(torch.where(some(mask), scores, 0.0)), 0.0)

    return Code(axes, masked)


def reduce(compiler: Compiler, node: Reduce) -> Code:
    code, _ = _conditioned(compiler, node, REDUCERS[node.function].empty)
    dims = tuple(sorted((code.axes.index(i) for i in node.indices), reverse=True))
    axes = tuple(a for a in code.axes if a not in node.indices)
    run = code.run
    if node.function in _WHOLE:
        take = _WHOLE[node.function]
        return Code(axes, lambda env: take(run(env), dims))
    if node.function == "argmax":
        start = compiler.values(node.indices[0]).start
        return Code(axes, lambda env: (run(env).argmax(dims[0]) + start).to(env.dtype))

    def multiply(env: Env) -> Tensor:
        x = run(env)
        for d in dims:
            x = x.prod(d)
        return x

    return Code(axes, multiply)


def concat(compiler: Compiler, node: Concat) -> Code:
    parts = []
    for along, part in node.parts:
        code = compiler.full(compiler.code(part), (along,))
        parts.append((along, code))
    shared = {a for along, c in parts for a in c.axes if a != along}
    axes = compiler.order(shared | {node.axis})
    place = axes.index(node.axis)
    runs = []
    for along, code in parts:
        lengths = [compiler.length(along if a == node.axis else a) for a in axes]
        runs.append(expand(rename(code, {along: node.axis}), axes, lengths).run)
    return Code(axes, lambda env: torch.cat([run(env) for run in runs], place))


def flatten(compiler: Compiler, node: Flatten) -> Code:
    code = compiler.full(compiler.code(node.body), node.indices)
    rest = [a for a in code.axes if a not in node.indices]
    order = tuple(code.axes.index(a) for a in [*rest, *node.indices])
    run = code.run
    return Code((*rest, node.axis), lambda env: run(env).permute(order).flatten(len(rest)))


def apply(compiler: Compiler, node: Apply) -> Code:
    """A function of the reader's own: whole vectors last, everything else as leading axes."""
    codes = [compiler.full(compiler.code(a), s) for a, s in zip(node.args, node.slices, strict=True)]
    lead = compiler.order({a for c, s in zip(codes, node.slices, strict=True) for a in c.axes if a not in s})
    runs = [
        expand(c, (*lead, *s), [compiler.length(a) for a in (*lead, *s)]).run
        for c, s in zip(codes, node.slices, strict=True)
    ]
    name, wanted = node.function, tuple(compiler.length(o) for o in node.out)

    def run(env: Env) -> Tensor:
        if name not in env.functions:
            message = f"`{name}` is not known: give functions={{{name!r}: …}}"
            raise fail(compiler.system, message, node.span)
        result = env.functions[name](*(r(env) for r in runs))
        if result.ndim != len(lead) + len(wanted) or tuple(result.shape[len(lead) :]) != wanted:
            message = f"`{name}` must give its value with the last axes {wanted}, but it gave the shape "
            raise fail(compiler.system, f"{message}{tuple(result.shape)}", node.span)
        return result

    return Code((*lead, *node.out), run)
