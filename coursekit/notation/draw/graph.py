"""What flows where: the graph of a system's tensors, of one step or unrolled for several.

A parameter is not a node; it is the label of the edges that it multiplies. `edges(system, 3)` is the picture
as a set: `("h0", "h1", "H")` says that step 1's `h` reads the state before it through `H`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..compare.sites import Site, sites
from ..errors import NotationError
from ..system import System
from ..tree import Affine, Apply, Call, Equation, IndexAtom, Lookup, Mul, Neg, Ref, SizeOf, Sum, references

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


Arrow = tuple[Ref, Equation, tuple[str, ...]]  # what an equation reads, and the parameters that multiply it
Wire = tuple[Point, Point, tuple[str, ...]]


def time_dims(system: System) -> tuple[str, ...]:
    """The dimensions along which the system runs step by step; else the one that is called T."""
    looped = (system.ranges[b.equations[0]][name] for b in system.blocks for name, _ in b.loops)
    named = (d for t in system.tensors.values() for d in t.dims if d.startswith("T"))
    return tuple(dict.fromkeys(looped)) or tuple(named)[:1]


def parameters(system: System) -> frozenset[str]:
    """The declared parameters; where none are declared, the inputs that look like weights."""
    if system.parameters:
        return frozenset(system.parameters)
    timed, recurrent = set(time_dims(system)), any(b.loops for b in system.blocks)
    refs = [r for e in system.ranges for r in references(e.right)]
    looked_up = {r.name for r in refs for a in r.indices for _, i in a.terms if isinstance(i, Lookup)}
    return frozenset(
        t.name
        for t in system.tensors.values()
        if not (t.defined or t.indexes or timed & set(t.dims))
        and ((recurrent and len(t.dims) <= 2) or t.name in looked_up or _WEIGHTS.match(t.name))
    )


def arrows(system: System) -> list[Arrow]:
    """Every reading of a tensor that is not a parameter, in the order of the equations."""
    weights, found = parameters(system), dict[Arrow, None]()
    for equation in system.definitions.values():
        for site in sites(system, equation):
            found |= {(source, equation, through): None for source, through in _read(site, weights)}
    return list(found)


def _read(site: Site, weights: frozenset[str]) -> Iterator[tuple[Ref, tuple[str, ...]]]:
    """What is read at a place, and the parameters in the products around it, up to the next sum of terms or function;
    a parameter itself is no source."""
    node = site.node
    if not isinstance(node, Ref):
        return
    beside = {node.name: None} if node.name in weights else {}
    for parent in reversed(site.parents):
        if isinstance(parent, Mul):
            others = (f for f in parent.factors if isinstance(f, Ref) and f is not node)
            beside |= {f.name: None for f in others if f.name in weights}
        elif not isinstance(parent, (Sum, Neg)):
            break
    if node.name not in weights:
        yield node, tuple(beside)
    for ref in (a.ref for affine in node.indices for _, a in affine.terms if isinstance(a, Lookup)):
        yield ref, tuple(beside)


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


def unrolled(system: System, steps: int) -> list[Wire]:
    """Every arrow at every step, from point to point. A state before the first step has position -1."""
    if not 1 <= steps <= 12:
        raise NotationError(f"a network is drawn for 1 to 12 steps, not {steps}")
    timed = set(time_dims(system))
    if not timed:
        raise NotationError("this system has no index to unroll over: nothing in it runs in time")
    wires = (wire for arrow in arrows(system) for wire in _wires(system, arrow, timed, steps))
    return list(dict.fromkeys(wires))


def _wires(system: System, arrow: Arrow, timed: set[str], steps: int) -> Iterator[Wire]:
    source, equation, through = arrow
    ranges, target = system.ranges[equation], equation.left
    there, here = (
        [a for a, d in zip(r.indices, system.tensors[r.name].dims, strict=True) if d in timed]
        for r in (source, target)
    )
    names = sorted({n for affine in (*there, *here) for n in affine.names})
    for values in product(*(_values(system, ranges, n, timed, steps) for n in names)):
        where: dict[IndexAtom, int] = dict(zip(names, values, strict=True))
        come, at = (tuple(_position(a, where, steps) for a in affines) for affines in (there, here))
        inside = all(0 <= p < steps for p in come)
        edge = source.name in system.boundary and all(-1 <= p <= steps for p in come)
        if all(0 <= p < steps for p in at) and (inside or edge):
            yield Point(source.name, come), Point(target.name, at), through


def _values(system: System, ranges: dict[str, str], name: str, timed: set[str], steps: int) -> range:
    if ranges.get(name) in timed:
        return range(steps)
    return range(-(WINDOW // 2), WINDOW - WINDOW // 2) if name in system.centered else range(WINDOW)


def _position(affine: Affine, where: dict[IndexAtom, int], steps: int) -> int:
    """Where an index expression points, in a picture of `steps` positions an axis."""
    terms = (c * where.get(a, steps if isinstance(a, SizeOf) else 0) for c, a in affine.terms)
    return affine.const + sum(terms)


def edges(system: System, steps: int) -> set[tuple[str, str, str]]:
    """The unrolled network as labelled edges, steps counted from 1: `("h0", "h1", "H")`.

    An edge without a parameter has the empty label; several are joined by a comma."""
    return {(str(s), str(t), ",".join(through)) for s, t, through in unrolled(system, steps)}
