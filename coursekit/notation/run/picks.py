"""Conditions that only pick an index: an equality under a sum is no mask but another way to read or add.

`Σ_s [s == 2t+d] f(s)` is `f(2t+d)`; `Σ_{b,t} [w[b,t] == v] f(b,t)` adds each `f(b,t)` to the row that
`w[b,t]` names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..tree import (
    Affine,
    Apply,
    Compare,
    Concat,
    Expr,
    Flatten,
    IndexAtom,
    Iverson,
    Lookup,
    Position,
    Reduce,
    Ref,
    Softmax,
    Sum,
    free_indices,
    index_names,
    transform,
    walk,
)
from .named import LANE, Code, Env
from .reach import interval
from .reads import affine_code

if TYPE_CHECKING:
    from .compile import Compiler

__all__ = ["Flat", "pick", "scatter"]

Term = tuple[int, IndexAtom | None]  # a coefficient and what it multiplies; None for the constant


@dataclass
class Flat:
    """`scale · Σ_summed Π factors`."""

    scale: float = 1.0
    factors: list[Expr] = field(default_factory=list)
    summed: list[str] = field(default_factory=list)


def _equality(compiler: Compiler, factor: Expr) -> list[Term] | None:
    """`[left == right]` as terms of `left - right == 0`, the constant last; None for other factors.

    Only whole numbers count here: a real number that equals an index is a condition like any other.
    """
    if not isinstance(factor, Iverson) or not isinstance(factor.condition, Compare):
        return None
    condition = factor.condition
    if condition.operator != "==":
        return None
    left, right = _as_index(condition.left), _as_index(condition.right)
    if left is None or right is None:
        return None
    terms: dict[IndexAtom, int] = {}
    for sign, side in ((1, left), (-1, right)):
        for c, atom in side.terms:
            terms[atom] = terms.get(atom, 0) + sign * c
    if any(isinstance(atom, Lookup) and atom.ref.name not in compiler.whole_numbers for atom in terms):
        return None
    found: list[Term] = [(c, atom) for atom, c in terms.items() if c]
    return [*found, (left.const - right.const, None)]


def _as_index(side: Affine | Expr) -> Affine | None:
    if isinstance(side, Affine):
        return side
    if isinstance(side, Position):
        return side.affine
    return Affine(((1, Lookup(side)),)) if isinstance(side, Ref) else None


def _solved(terms: list[Term], name: str) -> Affine | None:
    """The index expression that the equality makes of `name`, where it is alone on its side."""
    mine = [c for c, atom in terms if atom == name]
    if len(mine) != 1 or abs(mine[0]) != 1:
        return None
    if any(isinstance(a, Lookup) and name in free_indices(a.ref) for _, a in terms):
        return None
    sign = -mine[0]
    rest = tuple((sign * c, atom) for c, atom in terms if atom is not None and atom != name)
    return Affine(rest, sign * terms[-1][0])  # type: ignore[arg-type]


def pick(compiler: Compiler, flat: Flat) -> bool:
    """Use up one `[s == …]` by putting the right side in place of the summed `s`."""
    for place, factor in enumerate(flat.factors):
        terms = _equality(compiler, factor)
        if terms is None:
            continue
        for name in list(flat.summed):
            value = _solved(terms, name)
            if value is None or compiler.inside(value) or _row(flat, terms, place) is not None:
                continue
            others = [f for n, f in enumerate(flat.factors) if n != place]
            if not all(_can_replace(f, name, value) for f in others):
                continue
            span = compiler.span(name)
            flat.factors = [_replace(f, name, value) for f in others]
            flat.factors += _inside_range(compiler, value, span)
            flat.summed.remove(name)
            return True
    return False


def _row(flat: Flat, terms: list[Term], place: int) -> tuple[str, Affine] | None:
    """The index and its address, if the equality says to which row something is added (see `scatter`)."""
    others = set().union(*(free_indices(f) for n, f in enumerate(flat.factors) if n != place))
    for _, atom in terms:
        if isinstance(atom, str) and atom not in flat.summed and atom not in others:
            value = _solved(terms, atom)
            names = index_names(value) if value is not None else set()
            # Two or more summed indices, or a lookup: reading backwards would not be a view.
            several = len(names & set(flat.summed)) > 1
            looked = value is not None and any(isinstance(a, Lookup) for _, a in value.terms)
            if value is not None and names & set(flat.summed) and (several or looked):
                return atom, value
    return None


def _can_replace(node: Expr, name: str, value: Affine) -> bool:
    """Entries and conditions can take an expression for an index; a softmax or a concatenation over it cannot,
    nor may the expression's own indices be used up inside."""
    names = {name} | index_names(value)
    for n in walk(node):
        if isinstance(n, (Sum, Softmax, Reduce, Flatten)) and names & set(n.indices):
            return False
        if isinstance(n, (Concat, Flatten)) and n.axis in names:
            return False
        if isinstance(n, Apply) and names & {*n.out, *(i for s in n.slices for i in s)}:
            return False
        if isinstance(n, Concat) and names & {along for along, _ in n.parts}:
            return False
    return True


def _replace(node: Expr, name: str, value: Affine) -> Expr:
    def put(n):
        if not isinstance(n, Affine) or all(atom != name for _, atom in n.terms):
            return n
        terms: dict[IndexAtom, int] = {}
        const = n.const
        for c, atom in n.terms:
            if atom != name:
                terms[atom] = terms.get(atom, 0) + c
                continue
            const += c * value.const
            for k, inner in value.terms:
                terms[inner] = terms.get(inner, 0) + c * k
        return replace(n, terms=tuple((c, a) for a, c in terms.items() if c), const=const)

    return transform(node, put)


def _inside_range(compiler: Compiler, value: Affine, span: range) -> list[Expr]:
    """Conditions that keep `value` in `span`, where the index ranges do not do so by themselves."""
    bounds = interval(compiler.system, value, compiler.ranges, compiler.sizes, compiler.first)
    conditions = []
    if bounds is None or bounds[0] < span.start:
        conditions.append(Compare(value, ">=", Affine((), span.start)))
    if bounds is None or bounds[1] >= span.stop:
        conditions.append(Compare(value, "<", Affine((), span.stop)))
    return [Iverson(c) for c in conditions]


def scatter(compiler: Compiler, flat: Flat, assemble: Callable[[Compiler, Flat], Code]) -> Code | None:
    """`Σ [v == address] rest`: add every entry of `rest` to the row that its address names."""
    for place, factor in enumerate(flat.factors):
        terms = _equality(compiler, factor)
        row = _row(flat, terms, place) if terms is not None else None
        if row is None:
            continue
        name, address = row
        if compiler.inside(address) or (compiler.frame is not None and name in compiler.frame.looped):
            continue
        where = affine_code(compiler, address)
        inner = Flat(flat.scale, [f for n, f in enumerate(flat.factors) if n != place], [])
        inner.summed = [s for s in flat.summed if s not in where.axes]
        if LANE in where.axes:
            continue
        rest = compiler.full(assemble(compiler, inner), where.axes)
        kept = [a for a in where.axes if a not in flat.summed]  # rows of their own for each of these
        gone = [a for a in where.axes if a in flat.summed]
        others = [a for a in rest.axes if a not in where.axes]
        return _add_to_rows(compiler, name, where, rest, kept, gone, others)
    return None


def _add_to_rows(
    compiler: Compiler,
    name: str,
    where: Code,
    rest: Code,
    kept: list[str],
    gone: list[str],
    others: list[str],
) -> Code:
    span = compiler.span(name)
    rows, start = len(span), span.start
    to_front = tuple(rest.axes.index(a) for a in [*kept, *gone, *others])
    address = tuple(where.axes.index(a) for a in [*kept, *gone])
    width = [compiler.length(a) for a in kept]
    count = prod(width)

    def run(env: Env) -> Tensor:
        x = rest.run(env).permute(to_front)
        index = where.run(env).permute(address) - start
        # Addresses outside the range name no row: they are added to one that is thrown away.
        index = torch.where((index >= 0) & (index < rows), index, rows).reshape(count, -1)
        base = torch.arange(count, device=index.device).unsqueeze(1) * (rows + 1)
        tail = x.shape[len(kept) + len(gone) :]
        flat_x = x.reshape(-1, *tail)
        into = torch.zeros((count * (rows + 1), *tail), dtype=x.dtype, device=x.device)
        total = into.index_add(0, (index + base).reshape(-1), flat_x)
        return total.reshape(*width, rows + 1, *tail).narrow(len(kept), 0, rows)

    return Code((*kept, name, *others), run)
