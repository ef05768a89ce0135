"""A grid's recurrence by anti-diagonals: all entries whose coordinates have one sum are one step.

An anti-diagonal's entries lie along the axis `LANE`, which stands first. A grid of n × n takes 2n-1 steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..code.value import Value
from ..meaning.reach import fail
from ..tree import Ref
from .names import LANE
from .reads import cut

if TYPE_CHECKING:
    from .recur import Frame
    from .writer import Writer

Keep = Callable[[object, Callable[[], Any]], Any]


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

    def split(self, value: Value) -> tuple[tuple[str, ...], Callable[[Tensor, Keep], tuple[Tensor, ...]]]:
        """A value over the grid, or over a part of its axes, taken apart into its anti-diagonals."""
        rest = tuple(a for a in value.axes if a not in self.names)
        places = tuple(value.axes.index(a) for a in (*(n for n in self.names if n in value.axes), *rest))
        missing = [n for n, name in enumerate(self.names) if name not in value.axes]
        depth = len(self.names)

        def apart(x: Tensor, keep: Keep) -> tuple[Tensor, ...]:
            x = x.permute(places)
            for n in missing:
                x = x.unsqueeze(n)
            index = keep(("lanes", self), lambda: torch.tensor(self.order, device=x.device))
            whole = x.expand(*self.counts, *x.shape[depth:]).flatten(0, depth - 1)
            return torch.split(whole.index_select(0, index), self.widths)

        return (LANE, *rest), apart

    def join(self, waves: list[Tensor], places: list[int], keep: Keep) -> Tensor:
        """The anti-diagonals put together again, with the grid's axes at `places`."""
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        index = keep(("join", self), lambda: torch.tensor(back, device=waves[0].device))
        whole: Tensor = torch.cat(waves).index_select(0, index).unflatten(0, self.counts)
        return whole.movedim(tuple(range(len(places))), tuple(places))

    def fetch(self, write: Writer, frame: Frame, ref: Ref, shifts: list[int]) -> str:
        """The entries at `shifts` from those of the running step: an earlier step's, or the boundary's."""
        back = sum(c * s for c, s in zip(shifts, self.signs, strict=True))
        if back >= 0:
            message = (
                f"`{ref.name}` is read ahead of its anti-diagonal, so it cannot be run by anti-diagonals"
            )
            raise fail(write.system, message, ref.span)
        edge, row = self.beyond(write, ref, frame.places[ref.name], shifts)
        plans = []
        for wave, points in enumerate(self.points):
            sources = [tuple(p + c for p, c in zip(point, shifts, strict=True)) for point in points]
            lost = [s for s in sources if s not in self.lane_of]
            width = self.widths[wave + back] if wave + back >= 0 else 0
            found = iter(range(width, width + len(lost)))
            lanes = [self.lane_of[s] if s in self.lane_of else next(found) for s in sources]
            plans.append((lanes, [row(s) for s in lost]))

        def fetch(states: list[Tensor], step: int, outside: Tensor, keep: Keep) -> Tensor:
            lanes, rows = plans[step]
            parts = [states[step + back]] if step + back >= 0 else []
            if rows:
                chosen = keep((fetch, "rows", step), lambda: torch.tensor(rows, device=outside.device))
                parts.append(outside.index_select(0, chosen))
            x = parts[0] if len(parts) == 1 else torch.cat(parts)
            if lanes == list(range(lanes[0], lanes[0] + len(lanes))):
                return x.narrow(0, lanes[0], len(lanes))
            return x.index_select(0, keep((fetch, step), lambda: torch.tensor(lanes, device=x.device)))

        states = f"s{write.scope.number[ref.name]}"
        return f"{write.scope.object(fetch)}({states}, t, {write.scope.before.set(edge)}, keep)"

    def beyond(
        self, write: Writer, ref: Ref, places: list[int], shifts: list[int]
    ) -> tuple[str, Callable[[tuple[int, ...]], int]]:
        """A grid of zeros with the boundary around it, a row a place; and which row a place outside has."""
        spans = [write.extents.span(d) for d in write.system.tensors[ref.name].dims]
        before, wide = [-min(0, s) for s in shifts], list(self.counts)
        text = f"like.new_zeros(()).expand({', '.join(str(len(span)) for span in spans)})"
        for loop in sorted(range(len(shifts)), key=places.__getitem__):  # the last axis decides
            axis = places[loop]
            wide[loop] += abs(shifts[loop])
            low = spans[axis].start - before[loop]
            text = cut(write, ref, axis, axis, len(spans), (low, low + wide[loop] - 1))[1](text)
        front = tuple(range(len(places)))
        row: Callable[[tuple[int, ...]], int] = lambda source: flat(
            [p + b for p, b in zip(source, before, strict=True)], wide
        )
        return f"{text}.movedim({tuple(places)}, {front}).flatten(0, {front[-1]})", row


def flat(point: Sequence[int], counts: Sequence[int]) -> int:
    """The number of a point, the last coordinate running fastest."""
    place = 0
    for p, n in zip(point, counts, strict=True):
        place = place * n + p
    return place
