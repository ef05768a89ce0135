"""Pictures of a system: the graph of one step, and the network unrolled for n steps.

`draw(system)` is the cell, from left to right, with the recurrence as a dashed wire back.
`draw(system, steps=3)` has a column a step, inputs below and outputs above, the state before the first step at
the left; a recurrence over a grid is drawn as a lattice. Parameters stand on the wires that they multiply.
"""

from __future__ import annotations

from ..errors import NotationError
from ..system import System
from .cell import cell_picture
from .graph import time_dims
from .svg import Picture
from .unrolled import lattice_picture, unrolled_picture


def draw(system: System, steps: int | None = None) -> Picture:
    """The cell's graph, or the network unrolled for `steps` steps."""
    if steps is None:
        return cell_picture(system)
    grid = max((len(b.loops) for b in system.blocks), default=0) > 1
    if grid and len(dims := time_dims(system)) != 2:
        message = (
            "unrolled, a recurrence over one index is drawn, or over a grid of two; this system runs over "
        )
        raise NotationError(f"{message}{', '.join(dims)}: draw its cell, or a part of it")
    return (lattice_picture if grid else unrolled_picture)(system, steps)
