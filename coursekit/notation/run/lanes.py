"""A grid's recurrence by anti-diagonals: all entries whose coordinates have one sum are one step.

An anti-diagonal's entries lie along the axis `LANE`, which stands first. A grid of n × n takes 2n-1 steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..meaning.reach import fail
from ..tree import Ref
from .named import LANE, Code, Env, Step, expand, full, through
from .reads import cut

if TYPE_CHECKING:
    from .compile import Compiler
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
        self.order = [flat(point, counts) for points in self.points for point in points]

    def _wave(self, point: tuple[int, ...]) -> int:
        return sum(p if s > 0 else n - 1 - p for p, s, n in zip(point, self.signs, self.counts, strict=True))

    def split(self, code: Code) -> tuple[tuple[str, ...], Callable[[Env], tuple[Tensor, ...]]]:
        """A value over the whole grid, taken apart into its anti-diagonals."""
        rest = tuple(a for a in code.axes if a not in self.names)
        full = (*self.names, *rest)
        lengths = [*self.counts, *(-1 for _ in rest)]
        run = expand(code, full, lengths).run
        depth = len(self.names)

        def apart(env: Env) -> tuple[Tensor, ...]:
            index = env.constant(("lanes", self), lambda: torch.tensor(self.order, device=env.device))
            return torch.split(run(env).flatten(0, depth - 1).index_select(0, index), self.widths)

        return (LANE, *rest), apart

    def join(self, env: Env, waves: list[Tensor], places: list[int]) -> Tensor:
        """The anti-diagonals put together again, with the grid's axes at `places`."""
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        index = env.constant(("join", self), lambda: torch.tensor(back, device=env.device))
        whole: Tensor = torch.cat(waves).index_select(0, index).unflatten(0, self.counts)
        return whole.movedim(tuple(range(len(places))), tuple(places))

    def fetch(self, compiler: Compiler, frame: Frame, ref: Ref, shifts: list[int]) -> Callable[[Env], Tensor]:
        """The entries at `shifts` from those of the running step: an earlier step's, or the boundary's."""
        name = ref.name
        back = sum(c * s for c, s in zip(shifts, self.signs, strict=True))
        if not any(shifts):
            return lambda env: env.states[name][env.step]
        if back >= 0:
            message = f"`{name}` is read ahead of its anti-diagonal, so it cannot be run by anti-diagonals"
            raise fail(frame.system, message, ref.span)
        edge, row = self.beyond(compiler, ref, frame.places[name], shifts)
        plans, key = [], object()
        for wave, points in enumerate(self.points):
            sources = [tuple(p + c for p, c in zip(point, shifts, strict=True)) for point in points]
            lost = [s for s in sources if s not in self.lane_of]
            width = self.widths[wave + back] if wave + back >= 0 else 0
            found = iter(range(width, width + len(lost)))
            lanes = [self.lane_of[s] if s in self.lane_of else next(found) for s in sources]
            plans.append((lanes, [row(s) for s in lost]))
        slot = frame.before(edge)

        def fetch(env: Env) -> Tensor:
            step = env.step
            lanes, rows = plans[step]
            parts = [env.states[name][step + back]] if step + back >= 0 else []
            if rows:
                chosen = env.constant((key, "rows", step), lambda: torch.tensor(rows, device=env.device))
                parts.append(env.hoisted[slot].index_select(0, chosen))
            x: Tensor = parts[0] if len(parts) == 1 else torch.cat(parts)
            if lanes == list(range(lanes[0], lanes[0] + len(lanes))):
                return x.narrow(0, lanes[0], len(lanes))
            index = env.constant((key, "lanes", step), lambda: torch.tensor(lanes, device=env.device))
            return x.index_select(0, index)

        return fetch

    def beyond(
        self, compiler: Compiler, ref: Ref, places: list[int], shifts: list[int]
    ) -> tuple[Callable[[Env], Tensor], Callable[[tuple[int, ...]], int]]:
        """A grid of zeros with the boundary around it, a row a place; and which row a place outside has."""
        dims = compiler.system.tensors[ref.name].dims
        before, wide, steps = [-min(0, s) for s in shifts], list(self.counts), list[Step]()
        for loop in sorted(range(len(shifts)), key=places.__getitem__):  # the last axis decides
            axis, first = places[loop], compiler.first[dims[places[loop]]]
            wide[loop] += abs(shifts[loop])
            low = first - before[loop]
            steps += cut(compiler, ref, axis, axis, low, low + wide[loop] - 1)[1]
        grid = through(lambda env: full(env, 0.0, [compiler.sizes[d] for d in dims]), steps)
        front = tuple(range(len(places)))
        row: Callable[[tuple[int, ...]], int] = lambda source: flat(
            [p + b for p, b in zip(source, before, strict=True)], wide
        )
        return lambda env: grid(env).movedim(tuple(places), front).flatten(0, front[-1]), row


def flat(point: Sequence[int], counts: Sequence[int]) -> int:
    """The number of a point, the last coordinate running fastest."""
    place = 0
    for p, n in zip(point, counts, strict=True):
        place = place * n + p
    return place
