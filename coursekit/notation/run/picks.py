"""Conditions that only pick an index: an equality under a sum is no mask but another way to read or add.

`Σ_s [s == 2t+d] f(s)` is `f(2t+d)`; `Σ_{b,t} [w[b,t] == v] f(b,t)` adds each `f(b,t)` to the row that
`w[b,t]` names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .. import tree as T
from ..code.value import Value
from ..indices import equality, put, solve
from .names import LANE

if TYPE_CHECKING:
    from .writer import Writer


@dataclass
class Flat:
    """`scale · Σ_summed Π factors`."""

    scale: float = 1.0
    factors: list[T.Expr] = field(default_factory=list)
    summed: list[str] = field(default_factory=list)


def _equality(write: Writer, factor: T.Expr) -> T.Affine | None:
    """`left - right` of `[left == right]`; None for other factors.

    Only whole numbers count here: a real number that equals an index is a condition like any other.
    """
    gap = equality(factor)
    atoms = () if gap is None else (a for _, a in gap.terms)
    real = any(isinstance(a, T.Lookup) and a.ref.name not in write.scope.whole_numbers for a in atoms)
    return None if real else gap


def pick(write: Writer, flat: Flat) -> bool:
    """Use up one `[s == …]` by putting the right side in place of the summed `s`."""
    for place, factor in enumerate(flat.factors):
        gap = _equality(write, factor)
        if gap is None:
            continue
        for name in list(flat.summed):
            value = solve(gap, name)
            if value is None or write.inside(value) or _row(flat, gap, place) is not None:
                continue
            others = [f for n, f in enumerate(flat.factors) if n != place]
            if not all(_can_replace(f, name, value) for f in others):
                continue
            span = write.values(name)
            flat.factors = [put(f, {name: value}) for f in others]
            flat.factors += _inside_range(write, value, span)
            flat.summed.remove(name)
            return True
    return False


def _row(flat: Flat, gap: T.Affine, place: int) -> tuple[str, T.Affine] | None:
    """The index and its address, if the equality says to which row something is added (see `scatter`)."""
    others = set().union(*(T.free_indices(f) for n, f in enumerate(flat.factors) if n != place))
    for _, atom in gap.terms:
        if isinstance(atom, str) and atom not in flat.summed and atom not in others:
            value = solve(gap, atom)
            names = T.free_indices(value) if value is not None else set()
            # Two or more summed indices, or a lookup: reading backwards would not be a view.
            several = len(names & set(flat.summed)) > 1
            looked = value is not None and any(isinstance(a, T.Lookup) for _, a in value.terms)
            if value is not None and names & set(flat.summed) and (several or looked):
                return atom, value
    return None


def _can_replace(node: T.Expr, name: str, value: T.Affine) -> bool:
    """Entries and conditions can take an expression for an index; a softmax or a concatenation over it cannot,
    nor may the expression's own indices be used up inside."""
    names = {name} | T.free_indices(value)
    return not any(names & T.named(n) for n in T.walk(node) if not isinstance(n, T.Affine))


def _inside_range(write: Writer, value: T.Affine, span: range) -> list[T.Expr]:
    """Conditions that keep `value` in `span`, where the index ranges do not do so by themselves."""
    bounds = write.extents.interval(value, write.ranges)
    conditions = []
    if bounds is None or bounds[0] < span.start:
        conditions.append(T.Compare(value, ">=", T.Affine((), span.start)))
    if bounds is None or bounds[1] >= span.stop:
        conditions.append(T.Compare(value, "<", T.Affine((), span.stop)))
    return [T.Iverson(c) for c in conditions]


def scatter(write: Writer, flat: Flat, assemble: Callable[[Writer, Flat], Value]) -> Value | None:
    """`Σ [v == address] rest`: add every entry of `rest` to the row that its address names."""
    for place, factor in enumerate(flat.factors):
        gap = _equality(write, factor)
        row = _row(flat, gap, place) if gap is not None else None
        if row is None:
            continue
        name, address = row
        if write.inside(address) or (write.frame is not None and name in write.frame.looped):
            continue
        where = write.position(address)
        inner = Flat(flat.scale, [f for n, f in enumerate(flat.factors) if n != place], [])
        inner.summed = [s for s in flat.summed if s not in where.axes]
        if LANE in where.axes:
            continue
        rest = write.full(write.tensor(assemble(write, inner)), where.axes)
        return _add_to_rows(write, name, where, rest, set(flat.summed))
    return None


def _add_to_rows(write: Writer, name: str, where: Value, rest: Value, summed: set[str]) -> Value:
    kept = [a for a in where.axes if a not in summed]  # rows of their own for each of these
    gone = [a for a in where.axes if a in summed]
    others = [a for a in rest.axes if a not in where.axes]
    rows, start = len(write.values(name)), write.values(name).start
    to_front = tuple(rest.axes.index(a) for a in [*kept, *gone, *others])
    address = tuple(where.axes.index(a) for a in [*kept, *gone])
    width = [write.length(a) for a in kept]
    count = prod(width)

    def add(x: Tensor, index: Tensor) -> Tensor:
        x, index = x.permute(to_front), index.permute(address) - start
        # Addresses outside the range name no row: they are added to one that is thrown away.
        index = torch.where((index >= 0) & (index < rows), index, rows).reshape(count, -1)
        base = torch.arange(count, device=index.device).unsqueeze(1) * (rows + 1)
        tail = x.shape[len(kept) + len(gone) :]
        into = torch.zeros((count * (rows + 1), *tail), dtype=x.dtype, device=x.device)
        total = into.index_add(0, (index + base).reshape(-1), x.reshape(-1, *tail))
        return total.reshape(*width, rows + 1, *tail).narrow(len(kept), 0, rows)

    return Value(f"{write.scope.object(add)}({rest.text}, {where.text})", (*kept, name, *others))
