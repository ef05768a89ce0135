"""Sums of products: flattened, freed of conditions that only pick an index, and contracted two by two.

`Σ_s [s == 2t+d] f(s)` is `f(2t+d)`; `Σ_{b,t} [w[b,t] == v] f(b,t)` adds each `f(b,t)` to the row that
`w[b,t]` names; a sum over a window is a convolution. What is left is `einsum`, in the cheapest order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from .. import tree as T
from ..code.value import ATOM, MUL, POWER, Value, at_level
from ..indices import each
from ..meaning.arithmetic import divide
from ..meaning.evaluate import constant_value
from ..meaning.pairing import Pairing, cheapest, leaves
from .convolve import convolution
from .names import literal
from .picks import Flat, pick, scatter

if TYPE_CHECKING:
    from .writer import Writer


def product(write: Writer, node: T.Expr) -> Value:
    """A product, a sum, or a quotient by a number."""
    if isinstance(node, T.Sum) and isinstance(node.body, T.Add):
        return write.add([_sum(node, term) for term in node.body.terms])
    flat = Flat()
    _flatten(write, node, flat, set(T.free_indices(node)))
    if flat.scale == 0:
        return literal(0.0)
    return _assemble(write, flat)


def _sum(node: T.Sum, term: T.Expr) -> T.Expr:
    return T.Neg(_sum(node, term.body)) if isinstance(term, T.Neg) else replace(node, body=term)


def _flatten(write: Writer, node: T.Expr, flat: Flat, taken: set[str]) -> None:
    """Put a node's factors into `flat`; `taken` are the names that an inner sum may not use again."""
    value = constant_value(write.system, write.extents.sizes, node)
    if value is not None:
        flat.scale *= value
    elif isinstance(node, T.Neg):
        flat.scale = -flat.scale
        _flatten(write, node.body, flat, taken)
    elif isinstance(node, T.Mul):
        for factor in node.factors:
            _flatten(write, factor, flat, taken)
    elif isinstance(node, T.Div):
        below = constant_value(write.system, write.extents.sizes, node.below)
        if below is None:
            flat.factors.append(T.Div(T.Num(Fraction(1)), node.below))
        else:
            flat.scale = divide(flat.scale, below)
        _flatten(write, node.above, flat, taken)
    elif isinstance(node, T.Sum) and not isinstance(node.body, T.Add):
        inner = node
        for name in set(node.indices) & taken:
            inner = _renamed(write, inner, name)
        taken.update(inner.indices)
        flat.summed += inner.indices
        flat.factors += map(T.Iverson, each(inner.where))
        _flatten(write, inner.body, flat, taken)
    elif isinstance(node, T.Iverson):
        flat.factors += map(T.Iverson, each(node.condition))
    else:
        flat.factors.append(node)


def _renamed(write: Writer, node: T.Sum, name: str) -> T.Sum:
    """The same sum with another name for one of its indices, so that it can be merged with its neighbours."""
    fresh = name
    while fresh in write.ranges:
        fresh += "′"
    write.ranges[fresh] = write.ranges[name]
    return T.substitute(node, {name: fresh})


def _assemble(write: Writer, flat: Flat) -> Value:
    while pick(write, flat):
        pass
    scattered = scatter(write, flat, _assemble)
    if scattered is not None:
        return scattered
    guards: list[tuple[T.Condition, bool]] = [
        (f.condition, True) for f in flat.factors if isinstance(f, T.Iverson)
    ]
    return write.under(guards, lambda: _contract(write, flat))


# ── contraction ──────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Factor:
    """A factor on its way: `still` if the running loop does not change it (then it has the loop's axes)."""

    value: Value
    still: bool
    key: T.Expr | None = None


def _contract(write: Writer, flat: Flat) -> Value:
    if not flat.factors:
        return literal(flat.scale * prod(write.length(s) for s in flat.summed))
    frame = write.frame
    whole = convolution(write, flat.factors, flat.summed) if frame is None else None
    if whole is not None:
        return _scaled(whole, flat.scale)
    factors = []
    for factor in flat.factors:
        still = frame is not None and not write.inside(factor)
        value = (write.outer if still else write).value(factor)
        factors.append(_Factor(write.tensor(value), still, factor if isinstance(factor, T.Ref) else None))
    present = {a for f in factors for a in f.value.axes}
    scale = flat.scale * prod(write.length(s) for s in flat.summed if s not in present)
    looped = frame.looped if frame is not None else frozenset()
    keep = frozenset(present - set(flat.summed))
    if scale != 1:
        smallest = min(factors, key=lambda f: (not f.still, prod(write.length(a) for a in f.value.axes)))
        smallest.value, smallest.key = _scaled(smallest.value, scale), None
    sizes = {a: write.length(a) for a in present | looped}
    sets = [frozenset(f.value.axes) for f in factors]
    tree = cheapest(sets, keep, sizes, [not f.still for f in factors] if frame else (), looped)
    result = _build(write, tree, factors, keep)
    return frame.hoist(result.value) if frame is not None and result.still else result.value


def _scaled(value: Value, scale: float) -> Value:
    if scale == 1:
        return value
    if scale == -1:
        return Value(f"-{at_level(value, MUL)}", value.axes, MUL)
    return Value(f"{at_level(value, MUL)} * {at_level(literal(scale), ATOM)}", value.axes, MUL)


def _build(write: Writer, tree: Pairing, factors: list[_Factor], keep: frozenset[str]) -> _Factor:
    """The value of a tree of pairs, summed over every axis that nothing outside of it needs."""
    inside = leaves(tree)
    needed = keep.union(*(f.value.axes for n, f in enumerate(factors) if n not in inside))
    if isinstance(tree, int):
        factor = factors[tree]
        return replace(factor, value=_summed(factor.value, needed)) if len(factors) == 1 else factor
    left, right = (_build(write, part, factors, keep) for part in (tree.left, tree.right))
    frame = write.frame
    if frame is None or not (left.still or right.still):
        return _Factor(_before(write, left, right, needed), False)
    if left.still and right.still:
        return _Factor(_before(write.outer, left, right, needed | frame.looped), True)
    moving, still = (right, left) if left.still else (left, right)
    together = frame.linear(write, moving.value, moving.key, still.value, needed)
    return _Factor(together or multiply(write, moving.value, frame.hoist(still.value), needed), False)


def _before(write: Writer, left: _Factor, right: _Factor, needed: frozenset[str]) -> Value:
    """Two values multiplied outside of any loop; before one, an input times several matrices is one product."""
    frame = write.around
    for one, other in ((left, right), (right, left)):
        if frame is not None and isinstance(one.key, T.Ref) and frame.looped & set(one.value.axes):
            together = frame.linear(write, one.value, one.key, other.value, needed, before=True)
            if together is not None:
                return together
    return multiply(write, left.value, right.value, needed)


def _summed(value: Value, needed: frozenset[str] | set[str]) -> Value:
    dims = tuple(n for n, a in enumerate(value.axes) if a not in needed)
    if not dims:
        return value
    return Value(f"{at_level(value, ATOM)}.sum({dims})", tuple(a for a in value.axes if a in needed))


def multiply(write: Writer, a: Value, b: Value, needed: frozenset[str]) -> Value:
    """Two values multiplied, and summed over every axis that is not `needed`."""
    a = _summed(a, needed | set(b.axes))
    b = _summed(b, needed | set(a.axes))
    both = set(a.axes) | set(b.axes)
    axes = write.order(both & needed)
    if len(axes) < len(both):
        return Value(write.einsum([a, b], axes), axes)
    (a, b), axes = write.together([a, b])
    return Value(f"{at_level(a, MUL)} * {at_level(b, POWER)}", axes, MUL)
