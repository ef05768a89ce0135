"""One equation at a time: what it gives where everything else has the reference's values.

In a recurrence one wrong equation soon makes every tensor wrong. Fed with the reference's values of the others, only
the equation that is wrong gives something else, and a changed equation of the reference is the answer's if it gives
the same, entry by entry, in every draw. That needs no new check and no new plan: hundreds can be looked at.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from random import Random

from ..errors import NotationError
from ..meaning.machine import At, Machine, Value
from ..meaning.sizes import infer_sizes, sides
from ..meaning.table import Place, Table
from ..system import System
from ..tree import Equation, Ref
from .draws import Draw, cornered

Definition = tuple[list[str], Value]  # the left side's indices, and the function that gives an entry
WRONG = (NotationError, ArithmeticError, ValueError, KeyError, RecursionError, IndexError, TypeError)


class Local(Machine):
    """A system, the reference or an answer, on the reference's values of one draw. `private` are the tensors that
    the reference does not know under this name and shape."""

    def __init__(self, draw: Draw, system: System):
        inputs = {name: draw.given(name) for name in system.inputs}
        edges = {n: sides(system, n, value) for n, value in draw.boundary(system).items()}
        shapes = {n: [v.shape if isinstance(v, Table) else None for v in e] for n, e in edges.items()}
        sizes = infer_sizes(system, {n: v.shape for n, v in inputs.items()}, shapes, draw.free_sizes(system))
        given = {name: draw.engine.on_lists(f) for name, f in draw.functions.items()}
        super().__init__(system, sizes, inputs, edges, {**draw.opaque, **given})
        self.draw, self.cornered = draw, cornered(draw.reference)
        self.equations = system.definitions
        self.private: set[str] = set()
        for name in self.equations:
            shape = tuple(sizes[d] for d in system.tensors[name].dims)
            known = draw.values.get(name)
            if known is None or known.shape != shape:
                self.private.add(name)
                known = Table(shape, [])
            self.tables[name] = known
        self.afresh: set[str] = set()  # what is computed from its equation, and not taken from the reference
        self.changed: dict[str, Definition] = {}
        self.unchanged: dict[str, Definition] = {}

    def entries(
        self, name: str, places: Sequence[Place], changed: Equation | None = None, through: Iterable[str] = ()
    ) -> list[float] | None:
        """What the equation of a tensor gives at some places, counted from 0; None where it cannot be computed.

        With a `changed` equation in place of the system's own, and tensors `through` which that has an effect.
        """
        first = [self.first[d] for d in self.system.tensors[name].dims]
        self.memo = {}
        try:
            self.changed = {changed.left.name: self._definition(changed)} if changed is not None else {}
            self.afresh = {*self.private, *self.changed, *through} - ({name} - self.private)
            spots = [tuple([p + f for p, f in zip(at, first, strict=True)]) for at in places]
            return [self._entry(name, spot) for spot in spots]
        except WRONG:
            return None

    def _entry(self, name: str, place: Place) -> float:
        key = (name, place)
        if key not in self.memo:
            if name not in self.changed and name not in self.unchanged:
                self.unchanged[name] = self._definition(self.equations[name])
            names, value = self.changed.get(name) or self.unchanged[name]
            self.memo[key] = math.nan  # an entry that needs itself has no value
            self.memo[key] = value(dict(zip(names, place, strict=True)))
        found: float = self.memo[key]
        return found

    def _definition(self, equation: Equation) -> Definition:
        names = [a.plain or "" for a in equation.left.indices]
        ranges = self.system.ranges[self.equations[equation.left.name]]
        # an index that a rule made (`j'`) ranges like the one it copies
        self.ranges = {**{name + "'": dim for name, dim in ranges.items()}, **ranges}
        return names, self.value(equation.right, frozenset(names))

    def read(self, ref: Ref) -> Value:
        plain, name = super().read(ref), ref.name
        if name not in self.equations:
            return plain
        spans = [self.span(d) for d in self.system.tensors[name].dims]
        positions = [self.position(a) for a in ref.indices]

        def read(at: dict[str, int]) -> float:
            if name in self.afresh:
                place = tuple([p(at) for p in positions])
                if all(p in span for p, span in zip(place, spans, strict=True)):
                    return self._entry(name, place)
            return plain(at)

        return read

    def row(self, index: str, ref: Ref) -> Callable[[At], list[float]] | None:
        return None if ref.name in self.equations else super().row(index, ref)

    def outside(self, ref: Ref, place: Place) -> float:
        """Outside its range a tensor has the draw's values there, whether or not the reference reads them."""
        dims = self.system.tensors[ref.name].dims
        axis, *others = [n for n, (p, d) in enumerate(zip(place, dims, strict=True)) if p not in self.span(d)]
        if others or ref.name in self.cornered:
            return self.draw.corner(ref.name)
        span = self.span(dims[axis])
        away = place[axis] - span.start if place[axis] < span.start else place[axis] - span.stop + 1
        rest = [p - self.first[d] for p, d in zip(place, dims, strict=True)]
        del rest[axis]
        return self.draw.outside(self.system, ref.name, axis, away)[rest]


def sample(table: Table, most: int, first: Iterable[Place] = ()) -> list[Place]:
    """Some places of a tensor, those of `first` among them."""
    chosen = list(dict.fromkeys(first))[: most // 2]
    others = [place for place in table.places() if place not in chosen]
    return chosen + Random(1).sample(others, min(most - len(chosen), len(others)))


def upstream(reads: dict[str, set[str]], name: str) -> list[str]:
    """A tensor and all that goes into it, nearest first."""
    found = [name]
    for at in found:
        found += [n for n in sorted(reads.get(at, ())) if n not in found]
    return found
