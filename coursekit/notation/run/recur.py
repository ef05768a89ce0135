"""Recurrences: run in order, one step of time or one anti-diagonal of a grid after another.

What does not change with the recurrence is computed before the loop, for all steps together, and handed
out step by step. Products of one state with several matrices are one product with the matrices stacked.
Nothing is written in place, so that gradients flow.

A grid's recurrence goes by anti-diagonals: all entries whose coordinates have one sum are one step, and lie along
the axis `LANE`, which stands first. A grid of n × n takes 2n-1 steps.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import torch
from torch import Tensor

from ..code.value import ATOM, Value
from ..meaning.reach import fail
from ..meaning.table import strides
from ..system import Block
from ..tree import Ref, index, references
from .product import LANE
from .reads import cut, look_up, read
from .writer import Lines, Names, Writer

Keep = Callable[[object, Callable[[], Any]], Any]


class Lanes:
    """The anti-diagonals of a grid, and the text that takes it apart into them."""

    def __init__(self, scope: Names, loops: tuple[tuple[str, int], ...], counts: list[int]):
        self.names = [name for name, _ in loops]
        self.signs = [step for _, step in loops]
        self.counts, self.waves = counts, sum(counts) - len(counts) + 1
        self.points: list[list[tuple[int, ...]]] = [[] for _ in range(self.waves)]
        for point in product(*map(range, counts)):
            wave = sum(p if s > 0 else n - 1 - p for p, s, n in zip(point, self.signs, counts, strict=True))
            self.points[wave].append(point)
        self.lane_of = {point: n for points in self.points for n, point in enumerate(points)}
        order = [place(point, counts) for points in self.points for point in points]
        back = sorted(range(len(order)), key=order.__getitem__)
        self.widths = scope.object([len(points) for points in self.points])
        kept: Callable[[Any], str] = lambda x: scope.kept(
            f"torch.tensor({scope.object(x)}, device=like.device)"
        )
        self.order, self.back = kept(order), kept(back)

    def split(self, value: Value) -> Value:
        """A value over the grid, or over a part of its axes, taken apart."""
        rest = tuple(a for a in value.axes if a not in self.names)
        wide = ", ".join([*map(str, self.counts), *["-1"] * len(rest)])
        whole = f"{value.beside((*self.names, *rest)).at(ATOM)}.expand({wide})"
        text = f"{whole}.flatten(0, {len(self.names) - 1}).index_select(0, {self.order}).split({self.widths})"
        return Value(text, (LANE, *rest), ATOM, value.kind)

    def fetch(self, write: Writer, places: list[int], ref: Ref, shifts: list[int]) -> str:
        """The entries at `shifts` from those of the running step: an earlier step's, or the boundary's."""
        back = sum(c * s for c, s in zip(shifts, self.signs, strict=True))
        # A grid of zeros with the boundary around it, a row a place.
        spans = [write.extents.span(d) for d in write.system.tensors[ref.name].dims]
        before = [-min(0, s) for s in shifts]
        wide = [n + abs(s) for n, s in zip(self.counts, shifts, strict=True)]
        around = f"like.new_zeros(()).expand({[len(span) for span in spans]})"
        for loop in sorted(range(len(shifts)), key=places.__getitem__):  # the last axis decides
            axis, low = places[loop], spans[places[loop]].start - before[loop]
            around = cut(write, ref, axis, axis, len(spans), (low, low + wide[loop] - 1))[1](around)
        front = list(range(len(places)))
        around += f".movedim({places}, {front}).flatten(0, {front[-1]})"
        plans = []
        for wave, points in enumerate(self.points):
            sources = [tuple(p + c for p, c in zip(point, shifts, strict=True)) for point in points]
            lost = [s for s in sources if s not in self.lane_of]
            width = len(self.points[wave + back]) if wave + back >= 0 else 0
            found = iter(range(width, width + len(lost)))
            lanes = [self.lane_of[s] if s in self.lane_of else next(found) for s in sources]
            rows = [place([p + b for p, b in zip(s, before, strict=True)], wide) for s in lost]
            plans.append((lanes, rows))

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
        return f"{write.scope.object(fetch)}({states}, t, {write.scope.before.set(around)}, keep)"


def place(point: Sequence[int], counts: Sequence[int]) -> int:
    """The number of a point, the last coordinate running fastest."""
    return sum(p * step for p, step in zip(point, strides(counts), strict=True))


class Frame:
    """The loop of one block, while its equations are written.

    The steps of tensor 3, as far as they are made, are the list `s3`; what lies before the first of them comes first.
    """

    def __init__(self, scope: Names, block: Block, needed: Collection[str]):
        self.scope, self.system, self.block = scope, scope.system, block
        self.kept = [e.left.name for e in block.equations if e.left.name in needed]  # after the loop
        self.names = frozenset(e.left.name for e in block.equations)
        self.looped = frozenset(name for name, _ in block.loops)
        self.step = Lines(scope.count)
        self.groups: dict[object, Linear] = {}
        self.moving: dict[int, tuple[object, bool]] = {}
        self.reach = {e.left.name: 0 for e in block.equations}  # how many steps before the first are read
        ranges = self.system.ranges[block.equations[0]]
        self.counts = [len(scope.extents.span(ranges[name])) for name, _ in block.loops]
        self.lanes = Lanes(scope, block.loops, self.counts) if len(block.loops) > 1 else None
        # For each tensor of the block: which of its axes are the looped ones, in the loops' order.
        place: Callable[[Ref, str], int] = lambda left, name: [a.plain for a in left.indices].index(name)
        lefts = [e.left for e in block.equations]
        self.places = {left.name: [place(left, name) for name, _ in block.loops] for left in lefts}

    def moves(self, node: object) -> bool:
        """Does a value change from step to step?"""
        if id(node) not in self.moving:  # the node is kept, so its id stays its own
            self.moving[id(node)] = node, any(r.name in self.names for r in references(node))
        return self.moving[id(node)][1]

    def hoist(self, value: Value) -> Value:
        """A value that the loop does not change: computed once, taken apart into its steps."""
        if value.constant:
            return value
        if not self.looped & set(value.axes):
            return replace(value, text=self.scope.before.set(value.text), level=ATOM)
        if self.lanes is not None:
            steps = self.lanes.split(value)
        else:
            axis = next(n for n, a in enumerate(value.axes) if a in self.looped)
            rest = value.axes[:axis] + value.axes[axis + 1 :]
            steps = Value(f"{value.at(ATOM)}.unbind({axis})", rest, ATOM, value.kind)
        return replace(steps, text=f"{self.scope.before.set(steps.text)}[t]")

    def read(self, write: Writer, ref: Ref) -> Value:
        """An entry of a tensor that the loop is computing, at this step or a number of steps away; or of another."""
        if ref.name not in self.names:
            return self._look_up(write, ref)
        places = self.places[ref.name]
        shifts = [ref.indices[place].const for place in places]
        rest = [n for n in range(len(ref.indices)) if n not in places]
        if not any(shifts):
            text = self.scope.own(ref.name)
        elif self.lanes is not None:
            text = self.lanes.fetch(write, places, ref, shifts)
        else:
            back = abs(shifts[0])
            self.reach[ref.name] = max(back, self.reach[ref.name])
            text = f"s{self.scope.number[ref.name]}[-{back}]"
        value = read(write, ref, text, rest, () if self.lanes is None else (LANE,))
        if not self.looped & set(value.axes):
            return value
        if self.lanes is not None:
            message = f"`{ref.name}` is read at an index that anti-diagonals cannot follow"
            raise fail(self.system, message, ref.span)
        n = next(n for n, a in enumerate(value.axes) if a in self.looped)
        return Value(f"{value.at(ATOM)}.select({n}, t)", value.axes[:n] + value.axes[n + 1 :])

    def _look_up(self, write: Writer, ref: Ref) -> Value:
        """Another tensor at what the recurrence computes, `p[t+1,y[t+1]]`: read before the loop for every value of that
        axis, and picked from step by step."""
        fresh = {n: f"?{n}{ref.name}" for n, affine in enumerate(ref.indices) if self.moves(affine)}
        write.ranges.update({f: self.system.tensors[ref.name].dims[n] for n, f in fresh.items()})
        every = [index(fresh[n]) if n in fresh else affine for n, affine in enumerate(ref.indices)]
        value = self.hoist(write.outer.value(replace(ref, indices=tuple(every))))
        for n, name in fresh.items():
            value = look_up(write, ref, n, name, value)
        return value

    def linear(
        self,
        write: Writer,
        state: Value,
        weights: Value,
        needed: frozenset[str],
        before: bool,
    ) -> Value | None:
        """A state times a matrix: `state` summed against `weights`, together with its other matrices.

        None if this is no such product. `before` the loop, the same for an input over all steps.
        """
        summed = [a for a in state.axes if a not in needed]
        right = [a for a in weights.axes if a in needed]
        if not summed or set(weights.axes) != {*summed, *right}:
            return None
        if set(right) & set(state.axes) or self.looped & set(weights.axes):
            return None
        # Time first: then each step's part lies together in memory.
        left = tuple(sorted((a for a in state.axes if a in needed), key=lambda a: a not in self.looped))
        # Two states are one where the summed indices, whatever they are called, stand at the same places.
        name = (state.text, *map(state.axes.index, summed), left, before)
        group = self.groups.get(name)
        # The product stands where it is first wanted: before the loop, what comes later may not need a line of its own.
        if group is not None and before and re.search(r"\bv\d", weights.text):
            return None
        if group is None:
            group = self.groups[name] = Linear(
                write, write.scope.before if before else self.step, state, left, summed, before
            )
        return group.part(write, weights, summed, right)

    def told(self) -> list[str]:
        """The lines of the loop, when its equations are written."""
        steps = self.counts[0] if self.lanes is None else self.lanes.waves
        backward = self.lanes is None and self.block.loops[0][1] < 0
        start, added = [], []
        for name, depth in self.reach.items():
            number = self.scope.number[name]
            start.append(f"s{number} = {self._outside(name, depth, backward) if depth else '[]'}")
            added.append(f"        s{number} += [{self.scope.own(name)}]")
        turns = f"range({steps - 1}, -1, -1)" if backward else f"range({steps})"
        lane = [] if self.lanes is None else [f"        lane = {self.lanes.widths}[t]"]
        start += [f"{group.name}_ = {group.stacked()}" for group in self.groups.values() if not group.before]
        ends = []
        for name in self.kept:  # all steps as one tensor again
            number, places = self.scope.number[name], self.places[name]
            whole = f"s{number}[{self.reach[name]}:]{'[::-1]' if backward else ''}"
            if self.lanes is not None:
                whole = f"torch.cat({whole}).index_select(0, {self.lanes.back}).unflatten(0, {self.counts})"
                whole += f".movedim({list(range(len(places)))}, {places})"
            else:
                whole = f"torch.stack({whole}){f'.movedim(0, {places[0]})' if places[0] else ''}"
            ends.append(f"{self.scope.own(name)} = {whole}")
        start, ends = ([f"    {line}" for line in lines] for lines in (start, ends))
        return [*start, f"    for t in {turns}:", *lane, *self.step.told("        "), *added, *ends]

    def _outside(self, name: str, depth: int, backward: bool) -> str:
        """What lies before the first of a tensor's steps, the nearest last."""
        (place,) = self.places[name]
        rest = [
            len(self.scope.extents.span(d))
            for n, d in enumerate(self.system.tensors[name].dims)
            if n != place
        ]

        def rows(like: Tensor, edge: Tensor | float) -> list[Tensor]:
            if not isinstance(edge, Tensor):
                return [like.new_full((), edge).expand(rest)] * depth
            known = edge.unbind(place)[:: -1 if backward else 1]
            return [like.new_zeros(()).expand(rest)] * (depth - len(known)) + [*known[-depth:]]

        return f"{self.scope.object(rows)}(like, {self.scope.beyond(name, place, not backward)})"


class Linear:
    """One state's products with matrices, computed as one product with the matrices stacked."""

    def __init__(
        self, write: Writer, lines: Lines, state: Value, left: Sequence[str], summed: list[str], before: bool
    ):
        self.left, self.before, self.inner = tuple(left), before, prod(write.length(a) for a in summed)
        self.matrices: list[str] = []  # each inner × its width
        self.widths: list[int] = []
        self.name = f"v{next(write.scope.count)}"
        self.lead = [write.scope.size(write.ranges[a]) for a in left]
        x = state.turned((*left, *summed)).at(ATOM)
        x = x if len(left) == len(summed) == 1 else f"{x}.reshape(-1, {self.inner})"
        # The stacked matrix is made before the loop; what itself comes before the loop makes it on the spot.
        matrix: Callable[[], str] = lambda: self.stacked() if before else f"{self.name}_"
        line = lambda: f"{self.name} = torch.mm({x}, {matrix()}).split({self.widths}, 1)"
        lines.lines.append(line)

    def stacked(self) -> str:
        return self.matrices[0] if len(self.matrices) == 1 else f"torch.cat([{', '.join(self.matrices)}], 1)"

    def part(self, write: Writer, weights: Value, summed: list[str], right: list[str]) -> Value:
        """`summed` are this matrix's own names for the state's summed axes, in the state's order."""
        matrix = weights.turned((*summed, *right)).at(ATOM)
        shape = [write.length(a) for a in right]
        flat = len(summed) == len(right) == 1
        self.matrices.append(matrix if flat else f"{matrix}.reshape({self.inner}, {prod(shape)})")
        self.widths.append(prod(shape))
        text = f"{self.name}[{len(self.widths) - 1}]"
        if not len(self.lead) == len(shape) == 1:
            text += f".reshape(({', '.join([*self.lead, *map(str, shape), ''])}))"
        return Value(text, (*self.left, *right))
