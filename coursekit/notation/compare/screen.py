"""Does a changed equation explain an answer? A quick look at a few entries.

A mutant's equation is evaluated entry by entry (by `evaluate`, which is the meaning of the language) at
places where the answer first goes wrong, with the reference's own values for everything that it reads.
That needs no new check and no new plan, so hundreds of mutants can be looked at; those that agree are then
run in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..errors import NotationError
from ..evaluate import Machine
from ..run.sizes import infer_sizes, sides
from ..tree import Equation, Ref
from .adopt import all_reads, same_step
from .draws import Draw
from .mutate import Mutation


class Screen(Machine):
    """The reference's tensors of one draw, and the entries that an answer gave for one of them."""

    def __init__(
        self,
        draw: Draw,
        tensor: str,
        places: Sequence[tuple[int, ...]],
        got: Sequence[float],
        first_step: bool,
    ):
        system = draw.reference
        self.draw = draw
        boundary = {
            n: [v.tolist() if isinstance(v, torch.Tensor) else v for v in sides(system, n, value)]
            for n, value in draw.boundary(system).items()
        }
        shapes = {n: tuple(v.shape) for n, v in draw.inputs.items()}
        edges = {
            n: [tuple(v.shape) if isinstance(v, torch.Tensor) else None for v in sides(system, n, value)]
            for n, value in draw.boundary(system).items()
        }
        sizes = infer_sizes(system, shapes, edges, draw.free_sizes(system))
        everything = {n: v.tolist() for n, v in {**draw.inputs, **draw.values}.items()}
        functions = {name: _on_lists(f) for name, f in draw.functions.items()}
        super().__init__(system, sizes, everything, boundary, functions)
        self.entries = {}
        dims = system.tensors[tensor].dims
        self.places = [tuple(p + self.first[d] for p, d in zip(place, dims, strict=True)) for place in places]
        self.tensor, self.got = tensor, got
        self.equations = {e.left.name: e for b in system.blocks for e in b.equations}
        # At the first step of a recurrence the other steps lie outside its range: this step's readings are all.
        self.reads = same_step(system) if first_step else all_reads(system)
        self.lazy: dict[str, Equation] = {}  # tensors to be computed afresh, by their changed equations
        self.memo: dict[tuple, float] = {}

    def agrees(self, mutation: Mutation, tolerance: float) -> bool:
        """Whether the mutant has the answer's values at every place looked at."""
        self.lazy = {name: self.equations[name] for name in self._between(mutation.tensor)}
        self.lazy[mutation.tensor] = mutation.new
        self.memo = {}
        scale = max((abs(v) for v in self.got), default=1.0)
        try:
            for place, got in zip(self.places, self.got, strict=True):
                value = self._entry(self.tensor, place)
                if not math.isfinite(value) or abs(value - got) > tolerance * max(scale, 1e-300):
                    return False
        except (NotationError, ArithmeticError, ValueError, KeyError, RecursionError, IndexError):
            return False
        return True

    def _between(self, name: str) -> set[str]:
        """The tensors on the way from a changed one to the one looked at."""
        found, queue = {name}, [name]
        while queue:
            at = queue.pop()
            for target, sources in self.reads.items():
                if at in sources and target not in found:
                    found.add(target)
                    queue.append(target)
        return {n for n in found if n in upstream(self.reads, self.tensor)}

    def _entry(self, name: str, place: tuple[int, ...]) -> float:
        key = (name, place)
        if key not in self.memo:
            equation = self.lazy[name]
            at = {}
            for affine, p in zip(equation.left.indices, place, strict=True):
                if affine.plain is None:
                    raise KeyError(name)
                at[affine.plain] = p
            outer, self.ranges = self.ranges, self._ranges(equation)
            self.memo[key] = math.nan  # an entry that needs itself has no value
            self.memo[key] = self.value(equation.right, at)
            self.ranges = outer
        return self.memo[key]

    def _ranges(self, equation: Equation) -> dict[str, str]:
        """The original equation's ranges; an index that a rule made (`j'`) ranges like the one it copies."""
        ranges = self.system.ranges[self.equations[equation.left.name]]
        return {**{name + "'": dim for name, dim in ranges.items()}, **ranges}

    def read(self, ref: Ref, at: dict[str, int]) -> float:
        if ref.name in self.lazy:
            place = tuple(self.position(a, at) for a in ref.indices)
            if all(p in self.span(d) for p, d in zip(place, self.system.tensors[ref.name].dims, strict=True)):
                return self._entry(ref.name, place)
        return super().read(ref, at)

    def outside(self, ref: Ref, place: tuple[int, ...], axes: list[int]) -> float:
        """Outside its range a tensor has the draw's values there, whether or not the reference reads them."""
        if len(axes) != 1:
            return super().outside(ref, place, axes)
        (axis,) = axes
        dims = self.system.tensors[ref.name].dims
        span = self.span(dims[axis])
        away = place[axis] - span.start if place[axis] < span.start else place[axis] - span.stop + 1
        rest = [p - self.first[d] for p, d in zip(place, dims, strict=True)]
        del rest[axis]
        return float(self.draw.outside(self.system, ref.name, axis, away)[tuple(rest)])


def upstream(reads: dict[str, set[str]], name: str) -> list[str]:
    """A tensor and all that goes into it, nearest first."""
    found = [name]
    for at in found:
        found += [n for n in sorted(reads.get(at, ())) if n not in found]
    return found


def _on_lists(function):
    def on_lists(*args):
        return function(*(torch.tensor(a, dtype=torch.float64) for a in args)).tolist()

    return on_lists
