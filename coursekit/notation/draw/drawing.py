"""Pictures of a system: the graph of one step, and the network unrolled for n steps.

`draw(system)` is the cell, from left to right, with the recurrence as a dashed wire back.
`draw(system, steps=3)` has a column a step, inputs below and outputs above, the state before the first step at
the left; a recurrence over a grid is drawn as a lattice. Parameters stand on the wires that they multiply.
"""

from __future__ import annotations

from ..system import System
from .cell import cell_picture
from .graph import time_dims
from .svg import Picture
from .unrolled import lattice_picture, unrolled_picture


def draw(system: System, steps: int | None = None) -> Picture:
    """The cell's graph, or the network unrolled for `steps` steps."""
    if steps is None:
        return cell_picture(system)
    return (lattice_picture if len(time_dims(system)) > 1 else unrolled_picture)(system, steps)
