"""Mistakes in where a tensor is read: a step of time too early or too late; strides and windows."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..tree import Affine, And, Compare, Ref, SizeOf, Sum, index, references, transform
from .mutate import Change, code, rule
from .sites import Site, put_at


@rule("shifted index", Ref, says="You read {new} in {t}; it must be {right}: the index is shifted.")
def shifted_index(site: Site) -> Iterator[Ref]:
    """A step of time too early or too late."""
    timed = {name for block in site.system.blocks for name, _ in block.loops}
    reads = (r for e in site.system.ranges for r in references(e.right))
    timed |= {i for r in reads for a in r.indices if a.const and len(a.terms) == 1 for i in a.names}
    timed |= {i for i in site.ranges if i[:1] in "tT"}
    for at, affine in enumerate(site.node.indices):
        if affine.terms and all(isinstance(atom, SizeOf) for _, atom in affine.terms):
            yield _with_index(site.node, at, Affine(()))  # the first for the last
        if affine.const or timed.intersection(affine.names) or len(affine.terms) > 1:
            steps = [-affine.const, -2 * affine.const] if affine.const else []  # now, and the other way
            for step in (*steps, 1, -1):
                yield _with_index(site.node, at, replace(affine, const=affine.const + step))


@rule("shifted index", says="You read every tensor in {t} at the step itself; they must be {0}.")
def shifts_left_out(site: Site) -> Iterator[Change]:
    """Every tensor read now, where each is read a step before or after."""
    shifted = [r for r in references(site.node) if any(a.const and len(a.terms) == 1 for a in r.indices)]
    if len(shifted) > 1:
        still = lambda n: replace(n, const=0) if isinstance(n, Affine) and len(n.terms) == 1 else n
        yield transform(site.node, still), " and ".join(code(r) for r in dict.fromkeys(shifted))


@rule("shifted index", Ref, says="The window is off its centre: you read {new}; it must be {right}.")
def window_off_centre(site: Site) -> Iterator[Ref]:
    """A window that begins one place too early or too late on every axis."""
    windows = [k for k, a in enumerate(site.node.indices) if len(a.terms) > 1]
    for step in (1, -1) if len(windows) > 1 else ():
        later = lambda a, step=step: replace(a, const=a.const + step)
        yield next(_on_some_axes(site.node, windows, later))


def _with_index(ref: Ref, at: int, affine: Affine) -> Ref:
    return replace(ref, indices=put_at(ref.indices, at, affine))


def _on_some_axes(ref: Ref, axes: list[int], change: Callable[[Affine], Affine]) -> Iterator[Ref]:
    """The read with its index expressions changed on all of some axes, then on each alone."""
    for places in (axes, *([k] for k in axes)):
        changed = (change(a) if k in places else a for k, a in enumerate(ref.indices))
        yield replace(ref, indices=tuple(changed))


@rule("stride", Ref, says="The stride is wrong: you read {new}; it must be {right}.")
def stride(site: Site) -> Iterator[Ref]:
    """`t+dt` or `2*(t+dt)` for `2*t+dt`, on all axes or on one."""
    strides = [{abs(c) for c, _ in affine.terms if abs(c) != 1} for affine in site.node.indices]
    axes = [k for k, own in enumerate(strides) if len(own) == 1 and len(site.node.indices[k].terms) > 1]
    for step in {1, *(s for k in axes for s in strides[k])}:
        stepping = lambda a, step=step: replace(a, terms=tuple((step * c // abs(c), i) for c, i in a.terms))
        yield from _on_some_axes(site.node, axes, stepping)
    turned = lambda a: replace(
        a, terms=tuple((c, i) for (c, _), (_, i) in zip(a.terms[::-1], a.terms, strict=True))
    )
    yield from _on_some_axes(site.node, axes, turned)  # `3*t+d` for `t+3*d`


@rule("flipped window", Ref, says="The window is flipped: you read {new}; it must be {right}.")
def flipped_window(site: Site) -> Iterator[Ref]:
    """`x-dx` for `x+dx`, on all axes or on one."""
    summed, old = site.summed(), site.node.indices
    windows = [k for k, affine in enumerate(old) if len(affine.terms) > 1]
    for turn in (1, -1) if any(old[k].const for k in windows) else (1,):  # t-d+1 for t+d-1
        flip = lambda affine, turn=turn: replace(
            affine,
            terms=tuple((-c if a in summed else c, a) for c, a in affine.terms),
            const=turn * affine.const,
        )
        yield from _on_some_axes(site.node, windows, flip)


@rule("missing sum", Ref, says="The window does not move on one axis: you read {new}; it must be {right}.")
def still_on_one_axis(site: Site) -> Iterator[Ref]:
    for at, affine in enumerate(site.node.indices):
        for term in affine.terms if len(affine.terms) > 1 else ():
            rest = tuple(t for t in affine.terms if t != term)
            yield _with_index(site.node, at, replace(affine, terms=rest))


@rule("missing sum", Sum)
def missing_sum(site: Site) -> Iterator[Change]:
    """Only the middle of a window, or only one position, instead of the sum over it."""
    node = site.node
    affines = [affine for r in references(node.body) for affine in r.indices if len(affine.terms) > 1]
    windows = tuple(sorted({str(a) for affine in affines for _, a in affine.terms if a in node.indices}))
    if not windows:
        return
    middle = "The sum over {0} is missing: you read one position of the window alone."
    if node.where is None:
        zero = tuple(Compare(index(w), "==", Affine(())) for w in windows)
        yield middle, replace(node, where=zero[0] if len(zero) == 1 else And(zero)), windows

    def without(affine: Affine) -> Affine:
        return replace(affine, terms=tuple(t for t in affine.terms if t[1] not in windows))

    still = transform(node.body, lambda n: without(n) if n in affines else n)
    yield "The window does not move: {0} must shift what is read.", replace(node, body=still), windows
    if node.where is None:
        kept = tuple(i for i in node.indices if i not in windows)
        body = transform(node.body, lambda n: without(n) if isinstance(n, Affine) else n)
        yield middle, replace(node, indices=kept, body=body) if kept else body, windows
