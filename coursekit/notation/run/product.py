"""Sums of products: flattened, freed of conditions that only pick an index, and contracted two by two.

`Σ_s [s == 2t+d] f(s)` is `f(2t+d)`; `Σ_{b,t} [w[b,t] == v] f(b,t)` adds each `f(b,t)` to the row that
`w[b,t]` names; a sum over a window is a convolution. What is left is `einsum`, in the cheapest order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import torch

from .. import tree as T
from ..indices import each
from ..meaning.arithmetic import divide
from ..meaning.evaluate import constant_value
from ..meaning.pairing import Pairing, cheapest, leaves
from .convolve import convolution
from .named import Code, as_tensor, elementwise, number
from .picks import Flat, pick, scatter

if TYPE_CHECKING:
    from .compile import Compiler


def product(compiler: Compiler, node: T.Expr) -> Code:
    """The code of a product, a sum, or a quotient by a number."""
    if isinstance(node, T.Sum) and isinstance(node.body, T.Add):
        return compiler.add([_sum(node, term) for term in node.body.terms])
    flat = Flat()
    _flatten(compiler, node, flat, set(T.free_indices(node)))
    if flat.scale == 0:
        return number(0.0)
    return _assemble(compiler, flat)


def _sum(node: T.Sum, term: T.Expr) -> T.Expr:
    return T.Neg(_sum(node, term.body)) if isinstance(term, T.Neg) else replace(node, body=term)


def _flatten(compiler: Compiler, node: T.Expr, flat: Flat, taken: set[str]) -> None:
    """Put a node's factors into `flat`; `taken` are the names that an inner sum may not use again."""
    value = constant_value(compiler.system, compiler.sizes, node)
    if value is not None:
        flat.scale *= value
    elif isinstance(node, T.Neg):
        flat.scale = -flat.scale
        _flatten(compiler, node.body, flat, taken)
    elif isinstance(node, T.Mul):
        for factor in node.factors:
            _flatten(compiler, factor, flat, taken)
    elif isinstance(node, T.Div):
        below = constant_value(compiler.system, compiler.sizes, node.below)
        if below is None:
            flat.factors.append(T.Div(T.Num(Fraction(1)), node.below))
        else:
            flat.scale = divide(flat.scale, below)
        _flatten(compiler, node.above, flat, taken)
    elif isinstance(node, T.Sum) and not isinstance(node.body, T.Add):
        inner = node
        for name in set(node.indices) & taken:
            inner = _renamed(compiler, inner, name)
        taken.update(inner.indices)
        flat.summed += inner.indices
        flat.factors += map(T.Iverson, each(inner.where))
        _flatten(compiler, inner.body, flat, taken)
    elif isinstance(node, T.Iverson):
        flat.factors += map(T.Iverson, each(node.condition))
    else:
        flat.factors.append(node)


def _renamed(compiler: Compiler, node: T.Sum, name: str) -> T.Sum:
    """The same sum with another name for one of its indices, so that it can be merged with its neighbours."""
    fresh = name
    while fresh in compiler.ranges:
        fresh += "′"
    compiler.ranges[fresh] = compiler.ranges[name]
    return T.substitute(node, {name: fresh})


def _assemble(compiler: Compiler, flat: Flat) -> Code:
    while pick(compiler, flat):
        pass
    scattered = scatter(compiler, flat, _assemble)
    if scattered is not None:
        return scattered
    guards: list[tuple[T.Condition, bool]] = [
        (f.condition, True) for f in flat.factors if isinstance(f, T.Iverson)
    ]
    return compiler.under(guards, lambda: _contract(compiler, flat))


# ── contraction ──────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Value:
    """A factor on its way: `still` if the running loop does not change it (then it has the loop's axes)."""

    code: Code
    still: bool
    key: T.Expr | None


def _contract(compiler: Compiler, flat: Flat) -> Code:
    if not flat.factors:
        return number(flat.scale * prod(compiler.length(s) for s in flat.summed))
    whole = convolution(compiler, flat.factors, flat.summed) if compiler.frame is None else None
    if whole is not None:
        return _scaled(compiler, whole, flat.scale)
    frame = compiler.frame
    values = []
    for factor in flat.factors:
        still = frame is not None and not compiler.inside(factor)
        maker = compiler.outer if still else compiler
        values.append(
            _Value(as_tensor(maker.code(factor)), still, factor if isinstance(factor, T.Ref) else None)
        )
    present = {a for v in values for a in v.code.axes}
    scale = flat.scale * prod(compiler.length(s) for s in flat.summed if s not in present)
    looped = frame.looped if frame is not None else frozenset()
    keep = frozenset(present - set(flat.summed))
    _scale_smallest(compiler, values, scale)
    sizes = {a: compiler.length(a) for a in present | looped}
    sets = [frozenset(v.code.axes) for v in values]
    tree = cheapest(sets, keep, sizes, [not v.still for v in values] if frame else (), looped)
    result = _build(compiler, tree, values, keep)
    if result.still:
        assert frame is not None
        return frame.hoist(result.code)
    return result.code


def _scaled(compiler: Compiler, code: Code, scale: float) -> Code:
    return code if scale == 1 else elementwise(lambda x: x * scale, [code], compiler.order)


def _scale_smallest(compiler: Compiler, values: list[_Value], scale: float) -> None:
    if scale == 1:
        return
    choice = min(values, key=lambda v: (not v.still, prod(compiler.length(a) for a in v.code.axes)))
    choice.code = _scaled(compiler, choice.code, scale)
    choice.key = None


def _build(compiler: Compiler, tree: Pairing, values: list[_Value], keep: frozenset[str]) -> _Value:
    """The value of a tree of pairs, summed over every axis that nothing outside of it needs."""
    inside = leaves(tree)
    outside = frozenset().union(*(values[n].code.axes for n in range(len(values)) if n not in inside))
    needed = keep | outside
    if isinstance(tree, int):
        value = values[tree]
        if len(values) == 1:
            value.code = _summed(value.code, needed)
        return value
    left, right = (_build(compiler, part, values, keep) for part in (tree.left, tree.right))
    frame = compiler.frame
    if left.still and right.still:
        assert frame is not None
        return _Value(_before(compiler.outer, left, right, needed | frame.looped), True, None)
    if frame is not None and left.still != right.still:
        moving, still = (right, left) if left.still else (left, right)
        together = frame.linear(compiler, moving.code, moving.key, still.code, needed)
        if together is not None:
            return _Value(together, False, None)
        return _Value(multiply(compiler, moving.code, frame.hoist(still.code), needed), False, None)
    return _Value(_before(compiler, left, right, needed), False, None)


def _before(compiler: Compiler, left: _Value, right: _Value, needed: frozenset[str]) -> Code:
    """Two values multiplied outside of any loop; before one, an input times several matrices is one product."""
    frame = compiler.around
    for one, other in ((left, right), (right, left)):
        if frame is not None and isinstance(one.key, T.Ref) and frame.looped & set(one.code.axes):
            together = frame.linear(compiler, one.code, one.key, other.code, needed, before=True)
            if together is not None:
                return together
    return multiply(compiler, left.code, right.code, needed)


def _summed(code: Code, needed: frozenset[str] | set[str]) -> Code:
    dims = tuple(n for n, a in enumerate(code.axes) if a not in needed)
    if not dims:
        return code
    run = code.run
    return Code(tuple(a for a in code.axes if a in needed), lambda env: run(env).sum(dims))


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def multiply(compiler: Compiler, a: Code, b: Code, needed: frozenset[str]) -> Code:
    """Two values multiplied, and summed over every axis that is not `needed`."""
    a = _summed(a, needed | set(b.axes))
    b = _summed(b, needed | set(a.axes))
    both = set(a.axes) | set(b.axes)
    axes = compiler.order(both & needed)
    if len(axes) == len(both):
        return elementwise(torch.mul, [a, b], compiler.order)
    letter = dict(zip(sorted(both), _LETTERS, strict=False))
    spell: Callable[[Sequence[str]], str] = lambda names: "".join(letter[n] for n in names)
    equation = f"{spell(a.axes)},{spell(b.axes)}->{spell(axes)}"
    f, g = a.run, b.run
    return Code(axes, lambda env: torch.einsum(equation, f(env), g(env)))
