"""A grid's recurrence by anti-diagonals: all entries whose coordinates have one sum are one step.

An anti-diagonal's entries lie along the axis `LANE`, which stands first. A grid of n × n takes 2n-1 steps.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..meaning.reach import fail
from ..tree import Ref
from .named import LANE, Code, Env, expand, full
from .reads import at_a_corner, beyond

if TYPE_CHECKING:
    from .recur import Frame


class Lanes:
    def __init__(self, loops: tuple[tuple[str, int], ...], counts: list[int]):
        self.names = [name for name, _ in loops]
        self.signs = [1 if step > 0 else -1 for _, step in loops]
        self.counts = counts
        self.waves = sum(counts) - len(counts) + 1
        self.points: list[list[tuple[int, ...]]] = [[] for _ in range(self.waves)]
        for point in product(*(range(n) for n in counts)):
            self.points[self._wave(point)].append(point)
        self.widths = [len(points) for points in self.points]
        self.lane_of = {point: n for points in self.points for n, point in enumerate(points)}

    def _wave(self, point: tuple[int, ...]) -> int:
        return sum(p if s > 0 else n - 1 - p for p, s, n in zip(point, self.signs, self.counts, strict=True))

    def _flat(self, point: tuple[int, ...]) -> int:
        place = 0
        for p, n in zip(point, self.counts, strict=True):
            place = place * n + p
        return place

    def split(self, code: Code) -> tuple[tuple[str, ...], Callable[[Env], tuple[Tensor, ...]]]:
        """A value over the whole grid, taken apart into its anti-diagonals."""
        rest = tuple(a for a in code.axes if a not in self.names)
        full = (*self.names, *rest)
        lengths = [*self.counts, *(-1 for _ in rest)]
        run = expand(code, full, lengths).run
        order = [self._flat(point) for points in self.points for point in points]
        depth = len(self.names)

        def apart(env: Env) -> tuple[Tensor, ...]:
            index = env.constant(("lanes", self), lambda: torch.tensor(order, device=env.device))
            return torch.split(run(env).flatten(0, depth - 1).index_select(0, index), self.widths)

        return (LANE, *rest), apart

    def join(self, env: Env, waves: list[Tensor], places: list[int]) -> Tensor:
        """The anti-diagonals put together again, with the grid's axes at `places`."""
        order = [self._flat(point) for points in self.points for point in points]
        back = sorted(range(len(order)), key=order.__getitem__)
        index = env.constant(("join", self), lambda: torch.tensor(back, device=env.device))
        whole: Tensor = torch.cat(waves).index_select(0, index).unflatten(0, self.counts)
        return whole.movedim(tuple(range(len(places))), tuple(places))

    def fetch(self, frame: Frame, ref: Ref, shifts: list[int]) -> Callable[[Env], Tensor]:
        """The entries at `shifts` from those of the running step: an earlier step's, or the boundary's."""
        name = ref.name
        back = sum(c * s for c, s in zip(shifts, self.signs, strict=True))
        if not any(shifts):
            return lambda env: env.states[name][env.step]
        if back >= 0:
            message = f"`{name}` is read ahead of its anti-diagonal, so it cannot be run by anti-diagonals"
            raise fail(frame.system, message, ref.span)
        bank = _Bank(frame, ref, self)
        plans = []
        for wave, points in enumerate(self.points):
            sources = [tuple(p + c for p, c in zip(point, shifts, strict=True)) for point in points]
            lost = [s for s in sources if s not in self.lane_of]
            width = self.widths[wave + back] if wave + back >= 0 else 0
            found = iter(range(width, width + len(lost)))
            lanes = [self.lane_of[s] if s in self.lane_of else next(found) for s in sources]
            plans.append((lanes, [bank.row(s) for s in lost]))
        slot = frame.before(bank.rows)

        def fetch(env: Env) -> Tensor:
            step = env.step
            lanes, rows = plans[step]
            parts = [env.states[name][step + back]] if step + back >= 0 else []
            if rows:
                chosen = env.constant((bank, "rows", step), lambda: torch.tensor(rows, device=env.device))
                parts.append(env.hoisted[slot].index_select(0, chosen))
            x: Tensor = parts[0] if len(parts) == 1 else torch.cat(parts)
            if lanes == list(range(lanes[0], lanes[0] + len(lanes))):
                return x.narrow(0, lanes[0], len(lanes))
            index = env.constant((bank, "lanes", step), lambda: torch.tensor(lanes, device=env.device))
            return x.index_select(0, index)

        return fetch


class _Bank:
    """Every value that a tensor can have outside its grid, as rows of one matrix."""

    def __init__(self, frame: Frame, ref: Ref, lanes: Lanes):
        self.frame, self.lanes, self.ref = frame, lanes, ref
        self.places = frame.places[ref.name]
        padded = ref.name in frame.system.padded
        self.sides = () if padded else frame.system.boundary.get(ref.name, ())
        self.corner = False  # is it read outside two axes at once?
        self.starts: list[int] = []
        self.shapes: list[list[int]] = []
        total = 1  # row 0 is zero
        for axis, steps in self.sides:
            shape = list(lanes.counts)
            if axis in self.places:
                shape[self.places.index(axis)] = abs(steps)
            self.starts.append(total)
            self.shapes.append(shape)
            total += prod(shape)

    def row(self, source: tuple[int, ...]) -> int:
        out = [n for n, p in enumerate(source) if not 0 <= p < self.lanes.counts[n]]
        if not self.sides:
            return 0
        loop = out[-1]
        self.corner |= len(out) > 1
        for number, (axis, steps) in enumerate(self.sides):
            if axis != self.places[loop] or (steps < 0) != (source[loop] < 0):
                continue
            deep = source[loop] - steps if steps < 0 else source[loop] - self.lanes.counts[loop]
            place = 0
            for n, (p, size) in enumerate(zip(source, self.shapes[number], strict=True)):
                place = place * size + (deep if n == loop else min(max(p, 0), size - 1))
            return self.starts[number] + place
        return 0  # `check_reads` refuses every such read, but for those that a condition keeps from being looked at

    def rows(self, env: Env) -> Tensor:
        system, ends = self.frame.system, tuple(range(len(self.places)))
        rest = [
            self.frame.sizes[d]
            for n, d in enumerate(system.tensors[self.ref.name].dims)
            if n not in self.places
        ]
        parts = [full(env, 0.0, (1, *rest))]
        for (axis, steps), shape in zip(self.sides, self.shapes, strict=True):
            value = beyond(env, system, self.ref.name, axis, steps < 0)
            if not isinstance(value, Tensor):
                parts.append(full(env, value, (prod(shape), *rest)))
            elif self.corner:
                raise at_a_corner(system, self.ref)
            else:
                parts.append(value.movedim(tuple(self.places), ends).reshape(prod(shape), *rest))
        return torch.cat(parts)
