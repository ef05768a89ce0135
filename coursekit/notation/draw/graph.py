"""What flows where: the graph of a system's tensors, of one step or unrolled for several.

A parameter is not a node; it is the label of the edges that it multiplies. `edges(system, 3)` is the picture
as a set: `("h0", "h1", "H")` says that step 1's `h` reads the state before it through `H`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..compare.sites import Site, sites
from ..errors import NotationError
from ..system import System
from ..tree import Affine, Apply, Call, Equation, Lookup, Mul, Neg, Ref, SizeOf, Sum, references

_WEIGHTS = re.compile(r"(W\w*|[BUbeE](_\w*|\d*)|beta)$")
_SIGNS = {
    "sigmoid": "σ", "sqrt": "√", "Softmax": "softmax", "Mul": "×", "Pow": "power", "Add": "+", "Concat": ";",
    "Flatten": ";", "Reduce": "max",
}  # fmt: skip
WINDOW = 3  # how wide a window is drawn


@dataclass(frozen=True, order=True)
class Point:
    """A tensor at a position in time (or on the grid); no position for one that has none."""

    name: str
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.name + ",".join(str(p + 1) for p in self.at)


@dataclass(frozen=True)
class Arrow:
    """One tensor read by another's equation, and the parameters that it is multiplied with."""

    source: Ref
    equation: Equation
    parameters: tuple[str, ...]

    @property
    def target(self) -> Ref:
        return self.equation.left


def time_dims(system: System) -> tuple[str, ...]:
    """The dimensions along which the system runs step by step; else the one that is called T."""
    dims: dict[str, None] = {}
    for block in system.blocks:
        for name, _ in block.loops:
            dims[system.ranges[block.equations[0]][name]] = None
    if not dims:
        named = (d for t in system.tensors.values() for d in t.dims if d.startswith("T"))
        dims = dict.fromkeys(list(dict.fromkeys(named))[:1])
    return tuple(dims)


def parameters(system: System) -> frozenset[str]:
    """The declared parameters; where none are declared, the inputs that look like weights."""
    if system.parameters:
        return frozenset(system.parameters)
    timed = set(time_dims(system))
    recurrent = any(b.loops for b in system.blocks)
    looked_up = {
        r.name for e in system.ranges for r in references(e.right) for a in r.indices
        if any(isinstance(atom, Lookup) for _, atom in a.terms)
    }  # fmt: skip
    found = set()
    for tensor in system.tensors.values():
        if tensor.defined or tensor.indexes is not None or timed & set(tensor.dims):
            continue
        small = recurrent and len(tensor.dims) <= 2
        if small or tensor.name in looked_up or _WEIGHTS.match(tensor.name):
            found.add(tensor.name)
    return frozenset(found)


def arrows(system: System) -> list[Arrow]:
    """Every reading of a tensor that is not a parameter, in the order of the equations."""
    weights = parameters(system)
    found: dict[tuple[object, ...], Arrow] = {}
    for block in system.blocks:
        for equation in block.equations:
            for site in sites(system, equation):
                for source, through in _read(site, weights):
                    key = (source, equation.left, through)
                    found.setdefault(key, Arrow(source, equation, through))
    return list(found.values())


def _read(site: Site, weights: frozenset[str]) -> Iterator[tuple[Ref, tuple[str, ...]]]:
    """What is read at a place, and through which parameters; a parameter itself is no source."""
    node = site.node
    if not isinstance(node, Ref):
        return
    through = list(_beside(site, weights))
    if node.name in weights:
        through.insert(0, node.name)
    else:
        yield node, tuple(dict.fromkeys(through))
    for ref in (a.ref for affine in node.indices for _, a in affine.terms if isinstance(a, Lookup)):
        yield ref, tuple(dict.fromkeys(through))


def _beside(site: Site, weights: frozenset[str]) -> Iterator[str]:
    """The parameters in the products around a place, up to the next sum of terms or function."""
    for parent in reversed(site.parents):
        if isinstance(parent, Mul):
            for factor in parent.factors:
                if isinstance(factor, Ref) and factor.name in weights and factor is not site.node:
                    yield factor.name
        elif not isinstance(parent, (Sum, Neg)):
            return


def operation(equation: Equation) -> str:
    """The outermost operation of an equation, in a word or a sign."""
    node = equation.right
    while isinstance(node, (Neg, Sum)):
        node = node.body
    match node:
        case Call(function) | Apply(function):
            return _SIGNS.get(function, function)
        case Ref():
            return "look up" if any(isinstance(a, Lookup) for i in node.indices for _, a in i.terms) else "="
    return _SIGNS.get(type(node).__name__, "")


# ── unrolling ────────────────────────────────────────────────────────────────────────────────


def unrolled(system: System, steps: int) -> list[tuple[Point, Point, Arrow]]:
    """Every arrow at every step, from point to point. A state before the first step has position -1."""
    if not 1 <= steps <= 12:
        raise NotationError(f"a network is drawn for 1 to 12 steps, not {steps}")
    timed = time_dims(system)
    if not timed:
        raise NotationError("this system has no index to unroll over: nothing in it runs in time")
    found: dict[tuple[Point, Point, tuple[str, ...]], Arrow] = {}
    for arrow in arrows(system):
        for source, target in _instances(system, arrow, set(timed), steps):
            found.setdefault((source, target, arrow.parameters), arrow)
    return [(source, target, arrow) for (source, target, _), arrow in found.items()]


def _instances(system: System, arrow: Arrow, timed: set[str], steps: int) -> Iterator[tuple[Point, Point]]:
    ranges = system.ranges[arrow.equation]
    target, source = arrow.target, arrow.source
    axes = [[k for k, d in enumerate(system.tensors[r.name].dims) if d in timed] for r in (source, target)]
    affines = [r.indices[k] for r, own in zip((source, target), axes, strict=True) for k in own]
    names = sorted({n for affine in affines for _, n in affine.terms if isinstance(n, str)})
    for values in product(*(_values(system, ranges, n, timed, steps) for n in names)):
        where = dict(zip(names, values, strict=True))
        at = tuple(_position(target.indices[k], where, steps) for k in axes[1])
        come = tuple(_position(source.indices[k], where, steps) for k in axes[0])
        if not all(0 <= p < steps for p in at):
            continue
        outside = [p for p in come if not 0 <= p < steps]
        if outside and (source.name not in system.boundary or any(p < -1 or p > steps for p in outside)):
            continue
        yield Point(source.name, come), Point(target.name, at)


def _values(system: System, ranges: dict[str, str], name: str, timed: set[str], steps: int) -> range:
    if ranges.get(name) in timed:
        return range(steps)
    return range(-(WINDOW // 2), WINDOW - WINDOW // 2) if name in system.centered else range(WINDOW)


def _position(affine: Affine, where: dict[str, int], steps: int) -> int:
    """Where an index expression points, in a picture of `steps` positions an axis."""
    sizes = sum(c for c, a in affine.terms if isinstance(a, SizeOf))
    return (
        affine.const + sizes * steps + sum(c * where.get(a, 0) for c, a in affine.terms if isinstance(a, str))
    )


def edges(system: System, steps: int) -> set[tuple[str, str, str]]:
    """The unrolled network as labelled edges, steps counted from 1: `("h0", "h1", "H")`.

    An edge without a parameter has the empty label; several are joined by a comma."""
    return {(str(s), str(t), ",".join(a.parameters)) for s, t, a in unrolled(system, steps)}
