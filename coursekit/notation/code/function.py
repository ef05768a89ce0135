"""A system as a PyTorch function that one could have written by hand: a line an equation, shapes beside it.

    print(function(system, ["h"]))

A recurrence is a loop that keeps its steps in a list, a grid a double loop; sums of products are `einsum` with the
letters of the equation. What cannot be written readably is refused with a NotationError.
"""

import textwrap
from collections.abc import Sequence

from ..errors import NotationError
from ..indices import spelled
from ..meaning.links import finals, needed
from ..system import Block, System
from ..tree import Affine, Ref, references
from .expressions import Expressions
from .scope import Scope
from .value import WIDTH, assignment

HARD = "\u00a0"  # a space at which no line ends


def function(system: System, outputs: Sequence[str] | None = None) -> str:
    """The text of `def model(…)`. It returns the `outputs`; by default what no other equation reads."""
    scope = Scope(system)
    wanted = list(outputs) if outputs is not None else list(finals(system))
    body = [line for block, used in needed(system, wanted) for line in _block(scope, block, used)]
    given = [*(scope.tensor[n] for n in system.inputs), *scope.edge.values(), *scope.functions.values()]
    names = ", ".join([*given, *scope.arguments])
    head = [f"def model({names}):"]
    if len(head[0]) > WIDTH:
        rows = textwrap.wrap(names + ",", WIDTH - 4, break_long_words=False)
        head = ["def model(", *(f"    {row}" for row in rows), "):"]
    shapes = [f"{scope.tensor[n]} {_shape(system.tensors[n].dims)}" for n in system.inputs]
    shapes += [f"{word} {_edge_shape(scope, *key)}" for key, word in scope.edge.items()]
    notes = textwrap.wrap(", ".join(s.replace(" ", HARD) for s in shapes), WIDTH - 6, break_long_words=False)
    imports = sorted(scope.imports | {"import torch"}, key=lambda line: (line.startswith("from"), line))
    start = [*(f"# {n.replace(HARD, ' ')}" for n in notes), *scope.setup]
    end = f"    return {', '.join(scope.tensor[n] for n in wanted)}"
    return "\n".join([*imports, "", "", *head, *(f"    {line}" for line in start), *body, end]) + "\n"


def _block(scope: Scope, block: Block, used: set[str]) -> list[str]:
    system, loop = scope.system, Loop(scope, block, used) if block.loops else None
    step, indent = list[str](), 4 + 4 * len(block.loops)
    for equation in block.equations:
        name, write = equation.left.name, Expressions(scope, equation, loop)
        text, dims = write.whole(), system.tensors[name].dims
        own = [dims[k] for k in loop.rest(name)] if loop else dims
        step += [*write.before, *assignment(scope.tensor[name], text, _shape(own), indent)]
    if loop is None:
        return step
    place = ", ".join(loop.names.values())
    for name, kept in loop.kept.items():
        own_name = scope.tensor[name]
        line = f"{kept}[{place}] = {own_name}" if loop.grid else f"{kept}.append({own_name})"
        step.append(" " * indent + line)
    start = [_start(loop, name) for name in loop.kept]
    heads = []
    for depth, (index, direction) in enumerate(block.loops):
        size = scope.size(system.ranges[block.equations[0]][index])
        turns = f"range({size})" if direction > 0 else f"reversed(range({size}))"
        heads.append(" " * (4 + 4 * depth) + f"for {loop.names[index]} in {turns}:")
    ends = [line for name in loop.kept if name in used for line in _stacked(loop, name)]
    return [*(f"    {line}" for line in [*loop.before, *start]), *heads, *step, *(f"    {e}" for e in ends)]


def _start(loop: "Loop", name: str) -> str:
    """The list of a tensor's steps before the first of them is made: its boundary."""
    kept, many = loop.kept[name], loop.reach(name)
    if loop.grid:
        return f"{kept} = {{}}"
    ((index, direction),) = loop.block.loops
    axis = loop.axis(name, index)
    edge = loop.scope.edge.get((name, axis, -direction))
    if many == 0:
        return f"{kept} = []"
    if edge is None:  # zeros, or a condition keeps it from there
        return f"{kept} = [{loop.zero(name)}]" + (f" * {many}" if many > 1 else "")
    if many == 1:
        return f"{kept} = [{edge}]"
    return f"{kept} = list({edge}{'' if direction > 0 else f'.flip({axis})'}.unbind({axis}))"


def _stacked(loop: "Loop", name: str) -> list[str]:
    """All steps as one tensor again."""
    scope, kept, dims = loop.scope, loop.kept[name], loop.system.tensors[name].dims
    axes = [loop.axis(name, index) for index, _ in loop.block.loops]
    if not loop.grid:
        skip = loop.reach(name)
        steps = kept + (f"[{skip}:]" if skip else "")
        if loop.block.loops[0][1] < 0:
            steps = f"{kept}[:{skip - 1}:-1]" if skip else f"{kept}[::-1]"
        return assignment(scope.tensor[name], f"torch.stack({steps}, dim={axes[0]})", _shape(dims), 0)
    if len(axes) != 2:
        raise NotationError("the code can loop over a grid of two axes, not over more")
    (outer, inner), (i, j) = axes, loop.names.values()
    rows, columns = scope.size(dims[outer]), scope.size(dims[inner])
    row = scope.fresh(f"{scope.tensor[name]}_rows")
    place = inner if inner < outer else inner - 1
    line = f"{row} = [torch.stack([{kept}[{i}, {j}] for {j} in range({columns})], dim={place})"
    return [
        f"{line} for {i} in range({rows})]",
        *assignment(scope.tensor[name], f"torch.stack({row}, dim={outer})", _shape(dims), 0),
    ]


def _shape(dims: Sequence[str]) -> str:
    if not dims:
        return "one number"
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


def _edge_shape(scope: Scope, name: str, axis: int, sign: int) -> str:
    dims = [] if scope.corner(name) else list(scope.system.tensors[name].dims)
    depth = scope.depth(name, axis, sign)
    dims[axis : axis + 1] = [str(depth)] if depth > 1 else []
    return _shape(dims)


class Loop:
    """A block that is run in steps. `names` has the Python name of each looped index."""

    def __init__(self, scope: Scope, block: Block, used: set[str]) -> None:
        self.system, self.scope, self.block = scope.system, scope, block
        self.tensors = tuple(e.left.name for e in block.equations)
        self.grid = len(block.loops) > 1
        self.before: list[str] = []  # lines that come before the loop
        for name, _ in block.loops:
            if name in self.system.centered:
                raise NotationError(f"the code cannot loop over the centred index `{name}`")
        self.names = {name: scope.turn(name) for name, _ in block.loops}
        kept = [name for name in self.tensors if name in used or self.reach(name)]
        # Tensor -> the list (or dictionary) of its steps.
        self.kept = {name: scope.fresh(f"{scope.tensor[name]}s") for name in kept}

    def axis(self, name: str, index: str) -> int:
        equation = next(e for e in self.block.equations if e.left.name == name)
        places = [k for k, a in enumerate(equation.left.indices) if a.plain == index]
        if not places:
            raise NotationError(f"`{name}` has no index `{index}`, so its steps cannot be kept")
        return places[0]

    def rest(self, name: str) -> list[int]:
        """The axes that one step of a tensor has."""
        looped = [self.axis(name, index) for index, _ in self.block.loops]
        return [k for k in range(len(self.system.tensors[name].dims)) if k not in looped]

    def shifts(self, ref: Ref) -> tuple[int, ...]:
        """How far from the present step a tensor of the block is read, along each loop."""
        found = []
        for index, _ in self.block.loops:
            affine = ref.indices[self.axis(ref.name, index)]
            if len(affine.terms) != 1 or affine.terms[0] != (1, index):
                raise NotationError(f"`{ref.name}` is read at steps that the code cannot keep at hand")
            found.append(affine.const)
        return tuple(found)

    def reach(self, name: str) -> int:
        """How many steps before the first are read; as many as its boundary has, where it has one."""
        refs = (r for e in self.block.equations for r in references(e.right) if r.name == name)
        far = max((abs(shift) for r in refs for shift in self.shifts(r)), default=0)
        index, direction = self.block.loops[0]
        key = (name, self.axis(name, index), -direction)
        return self.scope.depth(*key) if far and key in self.scope.edge else far

    def read(self, ref: Ref) -> str:
        """The text of one step of a tensor of the block, its own axes alone."""
        shifts = self.shifts(ref)
        if not any(shifts):
            return self.scope.tensor[ref.name]
        kept = self.kept[ref.name]
        if not self.grid:
            return f"{kept}[-{abs(shifts[0])}]"
        place = ", ".join(
            f"{self.names[i]} {'-' if s < 0 else '+'} {abs(s)}" if s else self.names[i]
            for (i, _), s in zip(self.block.loops, shifts, strict=True)
        )
        if ref.name in self.system.padded:
            return f"{kept}.get(({place}), {self.zero(ref.name)})"
        if any(abs(s) > 1 for s in shifts):
            raise NotationError(f"the code cannot write the boundary of `{ref.name}` so far from a grid")
        text, loops = f"{kept}[{place}]", range(len(shifts))
        for k in sorted(loops, key=lambda k: self.axis(ref.name, self.block.loops[k][0])):
            text = self._edged(ref.name, text, k, shifts[k]) if shifts[k] else text  # the last axis decides
        return text

    def _edged(self, name: str, inside: str, number: int, shift: int) -> str:
        """A step of a grid, or the boundary beside it."""
        index, _ = self.block.loops[number]
        axis = self.axis(name, index)
        others = {self.axis(name, i): self.names[i] for i, _ in self.block.loops if i != index}
        axes = [k for k in range(len(self.system.tensors[name].dims)) if k != axis]
        place = [others.get(k, ":") for k in axes]
        while place[-1] == ":":
            place.pop()
        told = self.scope.edge.get((name, axis, shift))
        if told is None:  # a condition keeps from the edge, and it is not read
            edge = self.zero(name)
        else:
            edge = self.filled(name, told) if self.scope.corner(name) else f"{told}[{', '.join(place)}]"
        size = self.scope.size(self.system.tensors[name].dims[axis])
        test = f"{self.names[index]} > 0" if shift < 0 else f"{self.names[index]} < {size} - 1"
        return f"({inside} if {test} else {edge})"

    def zero(self, name: str) -> str:
        """What stands outside a tensor that is zero there."""
        return self._made(name, f"zero_{self.scope.tensor[name]}", "new_zeros({})")

    def filled(self, name: str, number: str) -> str:
        """What stands outside a tensor that is one number there."""
        return self._made(name, f"{number}_step", f"new_full(({{}},), {number})")

    def _made(self, name: str, word: str, call: str) -> str:
        dims = [self.system.tensors[name].dims[k] for k in self.rest(name)]
        sizes = ", ".join(self.scope.size(d) for d in dims) or "()"
        line = f"{word} = {self.scope.like}.{call.format(sizes).replace('((),)', '()')}"
        if line not in self.before:
            self.before.append(line)
        return word

    def fixed(self, affine: Affine) -> str | None:
        """The text of an index expression that is one number at each step; None for any other."""
        if len(affine.terms) != 1 or affine.terms[0][1] not in self.names:
            return None
        return spelled(affine, lambda atom: self.names[atom])  # type: ignore[index]
