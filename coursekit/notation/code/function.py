"""A system as a PyTorch function that one could have written by hand: a line an equation, shapes beside it.

    print(function(system, ["h"]))

A recurrence is a loop that keeps its steps in a list, a grid a double loop; sums of products are `einsum` with the
letters of the equation. What cannot be written readably is refused with a NotationError.
"""

import textwrap
from collections.abc import Sequence

from ..errors import NotationError
from ..meaning.reach import finals, needed
from ..system import Block, System
from .expressions import Expressions
from .scope import Loop, Scope
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
    for (name, axis, sign), word in scope.edge.items():
        dims, depth = system.tensors[name].dims, scope.depth(name, axis, sign)
        own = (*dims[:axis], *([str(depth)] if depth > 1 else []), *dims[axis + 1 :])
        shapes.append(f"{word} {_shape(() if scope.corner(name) else own)}")
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
        shape = _shape([dims[k] for k in loop.rest(name)] if loop else dims)
        step += [*write.before, *assignment(scope.tensor[name], text, shape, indent)]
    if loop is None:
        return step
    place = ", ".join(loop.names.values())
    for name, kept in loop.kept.items():
        own = scope.tensor[name]
        step.append(" " * indent + (f"{kept}[{place}] = {own}" if loop.grid else f"{kept}.append({own})"))
    start = [_start(loop, name) for name in loop.kept]
    heads = []
    for depth, (index, direction) in enumerate(block.loops):
        size = scope.size(system.ranges[block.equations[0]][index])
        turns = f"range({size})" if direction > 0 else f"reversed(range({size}))"
        heads.append(" " * (4 + 4 * depth) + f"for {loop.names[index]} in {turns}:")
    ends = [line for name in loop.kept if name in used for line in _stacked(loop, name)]
    return [*(f"    {line}" for line in [*loop.before, *start]), *heads, *step, *(f"    {e}" for e in ends)]


def _start(loop: Loop, name: str) -> str:
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
        return f"{kept} = [{loop.outside(name)}]" + (f" * {many}" if many > 1 else "")
    if many == 1:
        return f"{kept} = [{edge}]"
    return f"{kept} = list({edge}{'' if direction > 0 else f'.flip({axis})'}.unbind({axis}))"


def _stacked(loop: Loop, name: str) -> list[str]:
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
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})" if dims else "one number"
