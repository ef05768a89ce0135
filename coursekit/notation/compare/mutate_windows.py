"""Mistakes in where a tensor is read: a step of time too early or too late; strides and windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..tree import Affine, And, Compare, Ref, Sum, index, references, transform
from .mutate import Change, code, rule
from .mutate_values import indices
from .sites import Site


@rule("shifted index", Ref)
def shifted_index(site: Site) -> Iterator[Change]:
    """A step of time too early or too late."""
    node = site.node
    looped = {name for block in site.system.blocks for name, _ in block.loops}
    timed = {
        _lone(a) for e in site.system.ranges for r in references(e.right) for a in r.indices if a.const
    } | looped
    for at, affine in enumerate(node.indices):
        names = {atom for _, atom in affine.terms if isinstance(atom, str)}
        if not affine.const and not names & timed and len(affine.terms) < 2:
            continue
        steps = [-affine.const, -2 * affine.const] if affine.const else []  # now, and the other way
        for step in (*steps, 1, -1):
            new = _with_index(node, at, replace(affine, const=affine.const + step))
            text = f"You read {code(new)} in `{site.tensor}`; it must be {code(node)}: the index is shifted."
            yield Change(text, new)


@rule("shifted index")
def shifts_left_out(site: Site) -> Iterator[Change]:
    """Every tensor read now, where each is read a step before or after."""
    shifted = [r for r in references(site.node) if any(a.const and _lone(a) for a in r.indices)]
    if len(shifted) < 2:
        return
    now = transform(site.node, lambda n: replace(n, const=0) if isinstance(n, Affine) and _lone(n) else n)
    text = f"You read every tensor in `{site.tensor}` at the step itself; they must be "
    yield Change(f"{text}{' and '.join(code(r) for r in dict.fromkeys(shifted))}.", now)


@rule("shifted index", Ref)
def window_off_centre(site: Site) -> Iterator[Change]:
    """A window that begins one place too early or too late on every axis."""
    node = site.node
    if sum(len(a.terms) > 1 for a in node.indices) < 2:
        return
    for step in (1, -1):
        moved = tuple(replace(a, const=a.const + step) if len(a.terms) > 1 else a for a in node.indices)
        new = replace(node, indices=moved)
        yield Change(f"The window is off its centre: you read {code(new)}; it must be {code(node)}.", new)


def _lone(affine: Affine) -> object:
    return affine.terms[0][1] if len(affine.terms) == 1 else None


def _with_index(ref: Ref, at: int, affine: Affine) -> Ref:
    return replace(ref, indices=(*ref.indices[:at], affine, *ref.indices[at + 1 :]))


@rule("stride", Ref)
def stride(site: Site) -> Iterator[Change]:
    """`t+dt` or `2*(t+dt)` for `2*t+dt`."""
    node = site.node
    for at, affine in enumerate(node.indices):
        strides = {abs(c) for c, _ in affine.terms if abs(c) != 1}
        if len(strides) != 1 or len(affine.terms) < 2:
            continue
        (step,) = strides
        one = replace(affine, terms=tuple((c // abs(c), a) for c, a in affine.terms))
        every = replace(affine, terms=tuple((step * c // abs(c), a) for c, a in affine.terms))
        for terms in (one, every):
            new = _with_index(node, at, terms)
            yield Change(f"The stride is wrong: you read {code(new)}; it must be {code(node)}.", new)


@rule("flipped window", Ref)
def flipped_window(site: Site) -> Iterator[Change]:
    """`x-dx` for `x+dx`, on one axis or on all."""
    node = site.node
    summed = site.summed()
    flipped = tuple(_flip(a, summed) for a in node.indices)
    places = [k for k, (a, b) in enumerate(zip(node.indices, flipped, strict=True)) if a != b]
    options = [flipped] if len(places) < 2 else [flipped, *(_only(node.indices, flipped, k) for k in places)]
    for option in options:
        new = replace(node, indices=option)
        if new != node:
            yield Change(f"The window is flipped: you read {code(new)}; it must be {code(node)}.", new)


def _flip(affine: Affine, summed: set[str]) -> Affine:
    if len(affine.terms) < 2:
        return affine
    return replace(affine, terms=tuple((-c if a in summed else c, a) for c, a in affine.terms))


def _only(old: tuple, new: tuple, at: int) -> tuple:
    return tuple(b if k == at else a for k, (a, b) in enumerate(zip(old, new, strict=True)))


@rule("missing sum", Sum)
def missing_sum(site: Site) -> Iterator[Change]:
    """Only the middle of a window, or only one position, instead of the sum over it."""
    node = site.node
    windows = {
        a
        for r in references(node.body)
        for affine in r.indices
        if len(affine.terms) > 1
        for _, a in affine.terms
        if isinstance(a, str) and a in node.indices
    }
    if not windows:
        return
    names = indices(tuple(sorted(windows)))
    zero = tuple(Compare(index(w), "==", Affine(())) for w in sorted(windows))
    text = f"The sum over {names} is missing: you read one position of the window alone."
    if node.where is None:
        yield Change(text, replace(node, where=zero[0] if len(zero) == 1 else And(zero)))
    still = transform(
        node.body, lambda n: _at_zero(n, windows) if isinstance(n, Affine) and len(n.terms) > 1 else n
    )
    yield Change(f"The window does not move: {names} must shift what is read.", replace(node, body=still))
    kept = tuple(i for i in node.indices if i not in windows)
    middle = transform(node.body, lambda n: _at_zero(n, windows) if isinstance(n, Affine) else n)
    if node.where is None:
        yield Change(text, replace(node, indices=kept, body=middle) if kept else middle)


def _at_zero(affine: Affine, names: set[str]) -> Affine:
    return replace(affine, terms=tuple((c, a) for c, a in affine.terms if a not in names))
