"""Recurrences: run in order, one step of time or one anti-diagonal of a grid after another.

What does not change with the recurrence is computed before the loop, for all steps together, and handed
out step by step. Products of one state with several matrices are one product with the matrices stacked.
Nothing is written in place, so that gradients flow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..meaning.reach import fail
from ..system import Block, System
from ..tree import Expr, Ref, index, references
from .lanes import Lanes
from .named import LANE, Code, Env, Step, full, through
from .reads import cut, look_up, read_axes

if TYPE_CHECKING:
    from .compile import Compiler


class Frame:
    """The loop of one block, while its equations are compiled and when they run."""

    def __init__(self, system: System, sizes: dict[str, int], block: Block, needed: Collection[str]):
        self.system, self.sizes, self.block = system, sizes, block
        self.kept = [e.left.name for e in block.equations if e.left.name in needed]  # after the loop
        self.names = frozenset(e.left.name for e in block.equations)
        self.looped = frozenset(name for name, _ in block.loops)
        self.prepare: list[Callable[[Env], object]] = []
        self.groups: dict[object, Linear] = {}
        self.moving: dict[int, tuple[object, bool]] = {}
        ranges = system.ranges[block.equations[0]]
        self.counts = [sizes[ranges[name]] for name, _ in block.loops]
        self.lanes = Lanes(block.loops, self.counts) if len(block.loops) > 1 else None
        # For each tensor of the block: which of its axes are the looped ones, in the loops' order.
        self.places = {
            e.left.name: [[a.plain for a in e.left.indices].index(name) for name, _ in block.loops]
            for e in block.equations
        }

    def moves(self, node: object) -> bool:
        """Does a value change from step to step?"""
        found = self.moving.get(id(node))
        if found is None:
            answer = any(r.name in self.names for r in references(node))
            found = self.moving[id(node)] = (node, answer)  # the node is kept, so its id stays its own
        return found[1]

    def axes(self, left: list[str]) -> list[str]:
        """The axes of one step of a left side."""
        rest = [a for a in left if a not in self.looped]
        return rest if self.lanes is None else [LANE, *rest]

    # ── while compiling ──────────────────────────────────────────────────────────────────────

    def before(self, make: Callable[[Env], object]) -> int:
        """Have something computed before the loop; the answer is where `env.hoisted` will hold it."""
        self.prepare.append(make)
        return len(self.prepare) - 1

    def hoist(self, code: Code) -> Code:
        """A value that the loop does not change: computed once, taken apart into its steps."""
        if code.number is not None:
            return code
        run = code.run
        if not self.looped & set(code.axes):
            slot = self.before(run)
            return Code(code.axes, lambda env: env.hoisted[slot])
        if self.lanes is not None:
            axes, split = self.lanes.split(code)
            slot = self.before(split)
            return Code(axes, lambda env: env.hoisted[slot][env.step])
        place = next(n for n, a in enumerate(code.axes) if a in self.looped)
        slot = self.before(lambda env: run(env).unbind(place))
        rest = code.axes[:place] + code.axes[place + 1 :]
        return Code(rest, lambda env: env.hoisted[slot][env.step])

    def read(self, compiler: Compiler, ref: Ref) -> Code:
        """An entry of a tensor that the loop is computing, at this step or a number of steps away."""
        if ref.name not in self.names:
            return self._look_up(compiler, ref)
        places = self.places[ref.name]
        shifts = []
        for place, (name, _) in zip(places, self.block.loops, strict=True):
            terms, const = compiler.terms(ref.indices[place])
            if terms != [(1, name)] or len(ref.indices[place].terms) != 1:
                return self._read_so_far(compiler, ref)
            shifts.append(const)
        rest = [n for n in range(len(ref.indices)) if n not in places]
        if any(atom in self.looped for n in rest for _, atom in ref.indices[n].terms):
            return self._read_so_far(compiler, ref)
        if self.lanes is not None:
            axes, steps = read_axes(compiler, ref, rest, (LANE,))
            fetch = self.lanes.fetch(compiler, self, ref, shifts)
        else:
            axes, steps = read_axes(compiler, ref, rest)
            fetch = self._step(compiler, ref, places[0], shifts[0])
        return Code(axes, through(fetch, steps))

    def _look_up(self, compiler: Compiler, ref: Ref) -> Code:
        """Another tensor at what the recurrence computes, `p[t+1,y[t+1]]`: read before the loop for every value of that
        axis, and picked from step by step."""
        moving = [n for n, affine in enumerate(ref.indices) if self.moves(affine)]
        fresh = [f"?{n}{ref.name}" for n in moving]
        compiler.ranges.update(
            (f, self.system.tensors[ref.name].dims[n]) for f, n in zip(fresh, moving, strict=True)
        )
        every = list(ref.indices)
        for n, name in zip(moving, fresh, strict=True):
            every[n] = index(name)
        whole = self.hoist(compiler.outer.code(replace(ref, indices=tuple(every))))
        names, steps = list(whole.axes), list[Step]()
        for n, name in zip(moving, fresh, strict=True):
            look_up(compiler, ref, n, name, names, steps)
        return Code(tuple(names), through(whole.run, steps))

    def _step(self, compiler: Compiler, ref: Ref, place: int, shift: int) -> Callable[[Env], Tensor]:
        name, count = ref.name, self.counts[0]
        if shift == 0:
            return lambda env: env.states[name][env.step]
        dims = self.system.tensors[name].dims
        first = shift if shift < 0 else count  # of the steps outside
        low = compiler.first[dims[place]] + first
        _, steps = cut(compiler, ref, place, place, low, low + abs(shift) - 1)
        outside = through(lambda env: full(env, 0.0, [self.sizes[d] for d in dims]), steps)
        slot = self.before(lambda env: outside(env).unbind(place))

        def fetch(env: Env) -> Tensor:
            k = env.step + shift
            found: Tensor = env.states[name][k] if 0 <= k < count else env.hoisted[slot][k - first]
            return found

        return fetch

    def _read_so_far(self, compiler: Compiler, ref: Ref) -> Code:
        """Any other read of a state, `h[b,s,j]` where s < t: all steps so far, zero where none is yet."""
        if self.lanes is not None:
            message = f"`{ref.name}` is read at an index that anti-diagonals cannot follow"
            raise fail(self.system, message, ref.span)
        (place,) = self.places[ref.name]
        (looped,) = self.looped
        name = ref.name
        axes, steps = read_axes(compiler, ref, list(range(len(ref.indices))))
        shape = [self.sizes[d] for n, d in enumerate(self.system.tensors[name].dims) if n != place]

        def stacked(env: Env) -> Tensor:
            blank = full(env, 0.0, shape)
            return torch.stack([blank if s is None else s for s in env.states[name]], place)

        if looped in axes:
            steps.append(lambda env, x: x.select(axes.index(looped), env.step))
        return Code(tuple(a for a in axes if a != looped), through(stacked, steps))

    def linear(
        self,
        compiler: Compiler,
        state: Code,
        key: Expr | None,
        weights: Code,
        needed: frozenset[str],
        before: bool = False,
    ) -> Code | None:
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
        if isinstance(key, Ref):
            spelled = tuple(
                tuple((c, summed.index(a) if a in summed else a) for c, a in affine.terms) + (affine.const,)
                for affine in key.indices
            )
            name: object = (key.name, spelled, left)
        else:
            name = object()
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Linear(None if before else self, state, left, summed, compiler)
        return group.part(weights, summed, right, compiler)

    # ── while running ────────────────────────────────────────────────────────────────────────

    def run(self, env: Env, equations: list[tuple[str, Callable[[Env], Tensor]]]) -> None:
        steps = self.counts[0] if self.lanes is None else self.lanes.waves
        env.states = {name: [None] * steps for name in self.names}
        env.hoisted = []
        env.memo.clear()
        for make in self.prepare:
            env.hoisted.append(make(env))
        backward = self.lanes is None and self.block.loops[0][1] < 0
        memo, states = env.memo, env.states
        for step in range(steps - 1, -1, -1) if backward else range(steps):
            env.step = step
            if self.lanes is not None:
                env.lane = self.lanes.widths[step]
            memo.clear()
            for name, compute in equations:
                states[name][step] = compute(env)
        for name in self.kept:
            if self.lanes is None:
                env.tensors[name] = torch.stack(states[name]).movedim(0, self.places[name][0])
            else:
                env.tensors[name] = self.lanes.join(env, states[name], self.places[name])
        env.states, env.hoisted = {}, []


class Linear:
    """One state's products with matrices, computed as one product with the matrices stacked."""

    def __init__(
        self, frame: Frame | None, state: Code, left: tuple[str, ...], summed: list[str], compiler: Compiler
    ):
        self.state, self.left = state, left
        self.inner = prod(compiler.length(a) for a in summed)
        self.matrices: list[Callable[[Env], Tensor]] = []  # each inner × its width
        self.widths: list[int] = []
        # The stacked matrix is made before the loop; what itself comes before the loop makes it on the spot.
        self.slot = frame.before(self.stack) if frame is not None else None
        order = tuple(state.axes.index(a) for a in [*left, *summed])
        self.order = order if order != tuple(range(len(order))) else None

    def part(self, weights: Code, summed: list[str], right: list[str], compiler: Compiler) -> Code:
        """`summed` are this matrix's own names for the state's summed axes, in the state's order."""
        order = tuple(weights.axes.index(a) for a in [*summed, *right])
        shape = [compiler.length(a) for a in right]
        width, inner, make = prod(shape), self.inner, weights.run
        self.matrices.append(lambda env: make(env).permute(order).reshape(inner, width))
        self.widths.append(width)
        place = len(self.widths) - 1

        def run(env: Env) -> Tensor:
            parts, lead = env.memo.get(self) or self.multiply(env)
            return parts[place] if len(lead) == len(shape) == 1 else parts[place].reshape((*lead, *shape))

        return Code((*self.left, *right), run)

    def stack(self, env: Env) -> Tensor:
        matrices = [make(env) for make in self.matrices]
        return matrices[0] if len(matrices) == 1 else torch.cat(matrices, 1)

    def multiply(self, env: Env) -> tuple[Sequence[Tensor], torch.Size]:
        x = self.state.run(env)
        if self.order is not None:
            x = x.permute(self.order)
        lead = x.shape[: len(self.left)]
        y = torch.mm(
            x.reshape(-1, self.inner), self.stack(env) if self.slot is None else env.hoisted[self.slot]
        )
        found = (y.split(self.widths, 1) if len(self.widths) > 1 else (y,), lead)
        env.memo[self] = found
        return found
