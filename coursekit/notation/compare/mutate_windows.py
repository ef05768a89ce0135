"""Mistakes in where a tensor is read: a step of time too early or too late; strides and windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..tree import Affine, And, Compare, Ref, SizeOf, Sum, index, references, transform
from .mutate import Change, code, rule
from .mutate_values import indices
from .sites import Site


@rule("shifted index", Ref, says="You read {new} in `{tensor}`; it must be {right}: the index is shifted.")
def shifted_index(site: Site) -> Iterator[Ref]:
    """A step of time too early or too late."""
    looped = {name for block in site.system.blocks for name, _ in block.loops}
    reads = (r for e in site.system.ranges for r in references(e.right))
    timed = {_lone(a) for r in reads for a in r.indices if a.const} | looped
    timed |= {i for i in site.ranges if i[:1] in "tT"}
    for at, affine in enumerate(site.node.indices):
        names = {atom for _, atom in affine.terms if isinstance(atom, str)}
        if affine.terms and all(isinstance(atom, SizeOf) for _, atom in affine.terms):
            yield _with_index(site.node, at, Affine(()))  # the first for the last
        if affine.const or names & timed or len(affine.terms) > 1:
            steps = [-affine.const, -2 * affine.const] if affine.const else []  # now, and the other way
            for step in (*steps, 1, -1):
                yield _with_index(site.node, at, replace(affine, const=affine.const + step))


@rule("shifted index")
def shifts_left_out(site: Site) -> Iterator[Change]:
    """Every tensor read now, where each is read a step before or after."""
    shifted = [r for r in references(site.node) if any(a.const and _lone(a) for a in r.indices)]
    if len(shifted) < 2:
        return
    now = transform(site.node, lambda n: replace(n, const=0) if isinstance(n, Affine) and _lone(n) else n)
    text = f"You read every tensor in `{site.tensor}` at the step itself; they must be "
    yield f"{text}{' and '.join(code(r) for r in dict.fromkeys(shifted))}.", now


@rule("shifted index", Ref, says="The window is off its centre: you read {new}; it must be {right}.")
def window_off_centre(site: Site) -> Iterator[Ref]:
    """A window that begins one place too early or too late on every axis."""
    old = site.node.indices
    for step in (1, -1) if sum(len(a.terms) > 1 for a in old) > 1 else ():
        moved = tuple(replace(a, const=a.const + step) if len(a.terms) > 1 else a for a in old)
        yield replace(site.node, indices=moved)


def _lone(affine: Affine) -> object:
    return affine.terms[0][1] if len(affine.terms) == 1 else None


def _with_index(ref: Ref, at: int, affine: Affine) -> Ref:
    return replace(ref, indices=(*ref.indices[:at], affine, *ref.indices[at + 1 :]))


@rule("stride", Ref, says="The stride is wrong: you read {new}; it must be {right}.")
def stride(site: Site) -> Iterator[Ref]:
    """`t+dt` or `2*(t+dt)` for `2*t+dt`, on all axes or on one."""
    old = site.node.indices
    strided = [k for k, affine in enumerate(old) if len(_strides(affine)) == 1 and len(affine.terms) > 1]
    for step in {1, *(s for k in strided for s in _strides(old[k]))}:
        for places in (strided, *([k] for k in strided)):
            yield replace(
                site.node, indices=tuple(_stepping(a, step) if k in places else a for k, a in enumerate(old))
            )


def _strides(affine: Affine) -> set[int]:
    return {abs(c) for c, _ in affine.terms if abs(c) != 1}


def _stepping(affine: Affine, step: int) -> Affine:
    return replace(affine, terms=tuple((step * c // abs(c), a) for c, a in affine.terms))


@rule("flipped window", Ref, says="The window is flipped: you read {new}; it must be {right}.")
def flipped_window(site: Site) -> Iterator[Ref]:
    """`x-dx` for `x+dx`, on all axes or on one."""
    old, summed = site.node.indices, site.summed()
    windows = [k for k, affine in enumerate(old) if len(affine.terms) > 1]
    for places in (windows, *([k] for k in windows)):
        for turn in (1, -1) if any(old[k].const for k in places) else (1,):  # t-d+1 for t+d-1
            flipped = [_flip(a, summed, turn) if k in places else a for k, a in enumerate(old)]
            yield replace(site.node, indices=tuple(flipped))


def _flip(affine: Affine, summed: set[str], turn: int) -> Affine:
    terms = tuple((-c if a in summed else c, a) for c, a in affine.terms)
    return replace(affine, terms=terms, const=turn * affine.const)


@rule("missing sum", Sum)
def missing_sum(site: Site) -> Iterator[Change]:
    """Only the middle of a window, or only one position, instead of the sum over it."""
    node = site.node
    affines = [affine for r in references(node.body) for affine in r.indices if len(affine.terms) > 1]
    windows = sorted({str(a) for affine in affines for _, a in affine.terms if a in node.indices})
    if not windows:
        return
    names = indices(tuple(windows))
    zero = tuple(Compare(index(w), "==", Affine(())) for w in windows)
    text = f"The sum over {names} is missing: you read one position of the window alone."
    if node.where is None:
        yield text, replace(node, where=zero[0] if len(zero) == 1 else And(zero))
    still = transform(node.body, lambda n: _without(n, windows) if n in affines else n)
    yield f"The window does not move: {names} must shift what is read.", replace(node, body=still)
    kept = tuple(i for i in node.indices if i not in windows)
    middle = transform(node.body, lambda n: _without(n, windows) if isinstance(n, Affine) else n)
    if node.where is None:
        yield text, replace(node, indices=kept, body=middle) if kept else middle


def _without(affine: Affine, names: list[str]) -> Affine:
    return replace(affine, terms=tuple((c, a) for c, a in affine.terms if a not in names))
