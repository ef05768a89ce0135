"""Inside a recurrence: which of its tensors are read where, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import NotationError
from ..indices import spelled
from ..system import Block, System
from ..tree import Affine, Ref, references
from .scope import Scope


@dataclass
class Loop:
    """A block that is run in steps. `names` has the Python name of each looped index."""

    system: System
    block: Block
    scope: Scope
    names: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)  # tensor -> the list (or dictionary) of its steps
    before: list[str] = field(default_factory=list)  # lines that come before the loop

    def __post_init__(self) -> None:
        for name, _ in self.block.loops:
            if name in self.system.centered:
                raise NotationError(f"the code cannot loop over the centred index `{name}`")
            self.names[name] = self.scope.turn(name)

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(e.left.name for e in self.block.equations)

    @property
    def grid(self) -> bool:
        return len(self.block.loops) > 1

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

    def is_shifted(self, name: str) -> bool:
        refs = (r for e in self.block.equations for r in references(e.right) if r.name == name)
        return any(any(self.shifts(r)) for r in refs)

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
