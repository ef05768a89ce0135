"""Pictures of a system: the graph of one step, and the network unrolled for n steps.

`draw(system)` is the cell, from left to right, with the recurrence as a dashed wire back.
`draw(system, steps=3)` has a column a step, inputs below and outputs above, the state before the first step at
the left; a recurrence over a grid is drawn as a lattice. Parameters stand on the wires that they multiply.
"""

from __future__ import annotations

from ..system import System
from .cell import cell_picture
from .graph import time_dims
from .svg import Box, Label, Picture, render
from .unrolled import lattice_picture, unrolled_picture


class Drawing:
    """A picture that shows itself in a notebook. `svg()` is its text."""

    def __init__(self, picture: Picture):
        self._picture = picture

    @property
    def boxes(self) -> list[Box]:
        return self._picture.boxes

    @property
    def labels(self) -> list[Label]:
        return self._picture.labels

    @property
    def size(self) -> tuple[float, float]:
        return self._picture.width, self._picture.height

    @property
    def words(self) -> str:
        """The picture in words: every wire as a sentence."""
        return self._picture.words

    def svg(self) -> str:
        return render(self._picture)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f'<div class="ck-figure" style="overflow-x:auto">{self.svg()}</div>'


def draw(system: System, steps: int | None = None) -> Drawing:
    """The cell's graph, or the network unrolled for `steps` steps."""
    if steps is None:
        return Drawing(cell_picture(system))
    if len(time_dims(system)) > 1:
        return Drawing(lattice_picture(system, steps))
    return Drawing(unrolled_picture(system, steps))
