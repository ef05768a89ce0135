"""Parallel depth: the longest chain of steps that must follow one another, given machines without number.

One step is one turn of a recurrence (all equations of its cell together) or one layer: an equation outside a
recurrence with a product of matrix kind. Everything else, and the sum that a scalar loss is, takes no step of
its own. So a recurrence over T has depth T, a stack of L of them T + L - 1 (the layers run as a
wavefront), an X × Y grid X + Y - 1, and L convolutions L.

The depth of a tensor's entry is a maximum of functions that are linear in its position; the result is
the greatest of them over all entries.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor

from ..errors import NotationError
from ..polynomial import Number, Polynomial
from ..system import Block, System
from ..tree import Equation, Ref, SizeOf, references
from .count import Counter


@dataclass(frozen=True)
class Depth:
    """The greatest of some polynomials (of one, nearly always). Prints `L + T - 1` or `max(S, T)`."""

    of: tuple[Polynomial, ...]

    def __call__(self, **sizes: Number) -> int:
        return max(floor(p(**sizes)) for p in self.of)

    def __str__(self) -> str:
        return str(self.of[0]) if len(self.of) == 1 else f"max({', '.join(map(str, self.of))})"

    @property
    def big_o(self) -> "Depth":
        return Depth(_greatest(p.big_o for p in self.of))


@dataclass(frozen=True)
class _Line:
    """`start + Σ slope · position`; positions are named by index, or by axis once a tensor is done."""

    start: Polynomial
    slopes: tuple[tuple[str | int, Fraction], ...] = ()


FLAT = _Line(Polynomial())


def depth(system: System) -> Depth:
    walker = _Walker(system)
    for block in system.blocks:
        if block.loops:
            walker.recurrence(block)
        else:
            for equation in block.equations:
                walker.plain(equation)
    ends = [walker.highest(line, name) for name, lines in walker.lines.items() for line in lines]
    return Depth(tuple(p.named(system.aliases) for p in _greatest(ends or [Polynomial()])))


def _greatest(found: Iterable[Polynomial]) -> tuple[Polynomial, ...]:
    kept: list[Polynomial] = []
    for p in sorted(set(found), key=str):
        if not any(p.at_most(q) for q in kept):
            kept = [q for q in kept if not q.at_most(p)] + [p]
    return tuple(kept)


class _Walker:
    def __init__(self, system: System):
        self.system, self.counter = system, Counter(system)
        self.lines: dict[str, set[_Line]] = {}

    def plain(self, equation: Equation) -> None:
        layer = bool(self.counter.equation(equation).multiply_adds) and bool(equation.left.indices)
        left = [a.plain for a in equation.left.indices]
        found = self._outer(equation, {i for i in left if i is not None}, set())
        step = Polynomial.number(int(layer))
        self._store(equation.left, {_Line(line.start + step, line.slopes) for line in found})

    def recurrence(self, block: Block) -> None:
        """`D(p) = 1 + max(D(p - offset), what is read from outside at p)`."""
        own = {e.left.name for e in block.equations}
        loops = dict(block.loops)
        pace = self._pace(block, own)
        found: set[_Line] = set()
        for equation in block.equations:
            ranges = self.system.ranges[equation]
            ends = {name: self.counter.dimension(ranges[name]) - 1 for name in loops}
            for line in self._outer(equation, set(loops), own):
                start, slopes = line.start, dict(line.slopes)
                for name, direction in loops.items():
                    old = slopes.get(name, Fraction(0))
                    slopes[name] = max(old, pace[name]) if direction > 0 else min(old, -pace[name])
                    if direction < 0:  # positions are counted from where the loop starts
                        start = start + ends[name] * (old - slopes[name])
                kept = tuple(sorted((n, s) for n, s in slopes.items() if s))
                found.add(_Line(start + 1, kept))
        for equation in block.equations:
            self._store(equation.left, found)

    def _pace(self, block: Block, own: set[str]) -> dict[str, Fraction]:
        """How much each loop adds a step: the least weights with which every offset weighs at least one."""
        names = [name for name, _ in block.loops]
        offsets = set()
        for equation in block.equations:
            for ref in (r for r in references(equation.right) if r.name in own):
                offset = tuple(_offset(ref, name) * -step for name, step in block.loops)
                if any(offset):
                    offsets.add(offset)
        if len(names) == 1:
            return {names[0]: Fraction(1, max(1, min((o[0] for o in offsets), default=1)))}
        fits = [
            y
            for y in product((0, 1), repeat=len(names))
            if all(sum(a * b for a, b in zip(y, o, strict=True)) >= 1 for o in offsets)
        ]
        least = [
            y
            for y in fits
            if not any(z != y and all(a <= b for a, b in zip(z, y, strict=True)) for z in fits)
        ]
        if len(least) != 1:
            raise NotationError(f"The depth of the recurrence over {', '.join(names)} is no polynomial.")
        return dict(zip(names, map(Fraction, least[0]), strict=True))

    def _outer(self, equation: Equation, keep: set[str], own: set[str]) -> set[_Line]:
        """How deep what an equation reads from outside lies, by the positions of the indices in `keep`."""
        ranges = self.system.ranges[equation]
        found = {FLAT}
        for ref in references(equation.right):
            if ref.name in own:
                continue
            for line in self.lines.get(ref.name, ()):
                found.add(self._read(ref, line, ranges, keep))
        return found

    def _read(self, ref: Ref, line: _Line, ranges: Mapping[str, str], keep: set[str]) -> _Line:
        start = line.start
        slopes: dict[str | int, Fraction] = {}
        for axis, slope in line.slopes:
            affine = ref.indices[int(axis)]
            dim = self.system.tensors[ref.name].dims[int(axis)]
            known = [a for _, a in affine.terms if isinstance(a, SizeOf) or a in keep]
            if len(known) < len(affine.terms):  # a summed or a looked-up position: the deepest of the axis
                start = start + (self.counter.dimension(dim) - 1) * max(slope, Fraction(0))
                continue
            start = start + slope * affine.const
            for factor, atom in affine.terms:
                if isinstance(atom, SizeOf):
                    size = self.counter.dimension(self.system.aliases.get(atom.name, atom.name))
                    start = start + size * (factor * slope)
                elif isinstance(atom, str):
                    slopes[atom] = slopes.get(atom, Fraction(0)) + factor * slope
        return _Line(start, tuple(sorted((n, s) for n, s in slopes.items() if s)))

    def _store(self, left: Ref, found: set[_Line]) -> None:
        axes = {a.plain: n for n, a in enumerate(left.indices) if a.plain is not None}
        done = {_Line(f.start, tuple(sorted((axes[n], s) for n, s in f.slopes if n in axes))) for f in found}
        self.lines.setdefault(left.name, set()).update(done)

    def highest(self, line: _Line, name: str) -> Polynomial:
        total = line.start
        for axis, slope in line.slopes:
            end = self.counter.dimension(self.system.tensors[name].dims[int(axis)]) - 1
            total = total + end * max(slope, Fraction(0))
        return total


def _offset(ref: Ref, name: str) -> int:
    """How far from the loop's own position a tensor is read along it; -1 where it is not a fixed distance."""
    for affine in ref.indices:
        if any(a == name for _, a in affine.terms):
            return affine.const if len(affine.terms) == 1 else -1
    return -1
