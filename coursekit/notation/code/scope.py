"""The names of a function that is being written: its arguments, the sizes it needs, names that are still free."""

import builtins
import keyword
import re
from collections.abc import Callable
from typing import Any

from ..errors import NotationError
from ..indices import difference, spelled
from ..meaning.reach import centred, extent, span
from ..system import Block, System
from ..tree import Affine, Lookup, Ref, SizeOf, references
from .value import slots

_TAKEN = {"torch", "einsum", "math", "pad", "model", *keyword.kwlist, *dir(builtins)}


class Scope:
    words = frozenset(_TAKEN)  # what no variable may be called

    def __init__(self, system: System) -> None:
        self.system = system
        self.taken = set(self.words)
        self.tensor = {name: self.fresh(identifier(name)) for name in system.tensors}
        self.edge = self._edges()
        self.sizes: dict[str, str] = {}  # dimension -> its variable
        self.ranges: dict[str, str] = {}  # dimension -> the variable of its numbers
        self.arguments: list[str] = []  # sizes that no tensor has
        self.measured: dict[str, dict[int, str]] = {}  # a tensor -> its axes whose size is wanted
        self.lines: list[str] = []  # lines at the start of the function that need those sizes
        self.imports: set[str] = set()
        self.turns: dict[str, str] = {}  # a looped index -> its variable
        self.named: dict[str, str] = {}  # a text -> the variable that holds it
        self.functions: dict[str, str] = {}  # opaque ones, which are arguments

    def fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def word(self, known: dict[str, str], name: str) -> str:
        """The variable for a name, the same each time."""
        if name not in known:
            known[name] = self.fresh(identifier(name))
        return known[name]

    def _edges(self) -> dict[tuple[str, int, int], str]:
        """The argument for each side of a boundary: `h0` before the first step, `h_end` after the last."""
        found = {}
        for name, sides in self.system.boundary.items():
            if name in self.system.padded:
                continue
            for axis, steps in sides:
                sign = -1 if steps < 0 else 1
                word = f"{self.tensor[name]}{'0' if sign < 0 else '_end'}"
                if sum((s < 0) == (steps < 0) for _, s in sides) > 1:
                    word += f"_{self.system.tensors[name].dims[axis].lower()}"
                found[name, axis, sign] = self.fresh(identifier(word))
        return found

    def depth(self, name: str, axis: int, sign: int) -> int:
        """How many steps outside its range a boundary holds."""
        sides = self.system.boundary[name]
        return next(abs(s) for a, s in sides if a == axis and (s < 0) == (sign < 0))

    def corner(self, name: str) -> bool:
        """Is a tensor read outside two of its axes at once? Then its boundary is one number."""
        axes = {a for a, _ in self.system.boundary[name]}
        refs = (r for e in self.system.ranges for r in references(e.right) if r.name == name)
        return any(sum(r.indices[a].plain is None for a in axes) > 1 for r in refs)

    @property
    def like(self) -> str:
        """A real input: what is made new has its type and its device."""
        real = [self.tensor[n] for n in self.system.inputs if self.system.tensors[n].indexes is None]
        if not real:
            raise NotationError("the code needs an input of real numbers, and this system has none")
        return real[0]

    def size(self, dim: str) -> str:
        """The variable that holds a dimension's size, set at the function's start."""
        dim = self.system.aliases.get(dim, dim)
        if dim not in self.sizes:
            place = self._place(dim)
            text, name = None if place else self._size(dim), self.word(self.sizes, dim)
            if place:
                self.measured.setdefault(place[0], {})[place[1]] = name
            elif text:
                self.lines.append(f"{name} = {text}")
            else:
                self.arguments.append(name)
        return self.sizes[dim]

    @property
    def setup(self) -> list[str]:
        """The lines at the start of the function: `B, T = x.shape[:2]`."""
        found = []
        for tensor, axes in self.measured.items():
            first, last = min(axes), max(axes)
            if len(axes) == last - first + 1 > 1:
                names = ", ".join(axes[k] for k in range(first, last + 1))
                found.append(f"{names} = {tensor}.shape[{first or ''}:{last + 1}]")
            else:
                found += [f"{axes[k]} = {tensor}.shape[{k}]" for k in sorted(axes)]
        return [*found, *self.lines]

    def _place(self, dim: str) -> tuple[str, int] | None:
        """An argument that has a dimension, and on which axis."""
        for name in self.system.inputs:
            if dim in self.system.tensors[name].dims:
                return self.tensor[name], self.system.tensors[name].dims.index(dim)
        for (name, axis, sign), edge in self.edge.items():
            dims = list(self.system.tensors[name].dims)
            if self.depth(name, axis, sign) == 1:
                del dims[axis]
                if dim in dims:
                    return edge, dims.index(dim)
        return None

    def _size(self, dim: str) -> str | None:
        """What tells a size; None, for an argument, where nothing but the reader can say."""
        if dim in self.system.stated:
            return str(self.system.stated[dim])
        if dim in self.system.joined:
            parts = self.system.joined[dim].parts
            return " + ".join(" * ".join(self.size(d) for d in part) for part in parts)
        if dim not in self.system.derived:
            return None
        derived, found = self.system.derived[dim], []  # so many values keep every read inside
        for reach in derived.reaches:
            stride = next((c for c, atom in reach.affine.terms if atom == derived.index), 0)
            rest = Affine(tuple(t for t in reach.affine.terms if t[1] != derived.index), reach.affine.const)
            if stride < 1 or (any(isinstance(a, Lookup) for _, a in rest.terms) and not reach.padded):
                return None
            if reach.padded:
                size = self.size(reach.dim)
                found.append(size if stride == 1 else self.floor(f"{size} + {stride - 1}", stride))
            else:  # so much room is left beyond the greatest place of the others
                room = difference(self.span(reach.dim)[1], extent(rest, self.span, dict(derived.dims))[1])
                found.append(self.floor(self.spelled(room), stride) + " + 1")
        return found[0] if len(found) == 1 else f"{self.least}({', '.join(found)})"

    least = "min"

    def floor(self, above: str, below: int) -> str:
        """The whole part of a quotient."""
        return f"({above}) // {below}" if below > 1 else above

    half = "{} // 2"

    def span(self, dim: str) -> tuple[Affine, Affine]:
        return span(dim, self.centred(dim))

    def spelled(self, form: Affine) -> str:
        """The text of an expression of sizes and their halves."""
        word: Callable[[Any], str] = lambda a: (
            self.half.format(self.size(a)) if isinstance(a, str) else self.size(a.name)
        )
        return spelled(form, word)

    def centred(self, dim: str) -> bool:
        return dim in centred(self.system)

    def numbers(self, dim: str) -> str:
        """The variable that holds the numbers that an index over a dimension runs through."""
        if dim not in self.ranges:
            size = self.size(dim)
            self.ranges[dim] = self.fresh(f"{identifier(dim).lower()}s")
            # They stand with the inputs, or where torch puts them.
            device = f"{self.tensor[self.system.inputs[0]]}.device" if self.system.inputs else "None"
            start = f" - {size} // 2" if self.centred(dim) else ""
            self.lines.append(f"{self.ranges[dim]} = torch.arange({size}, device={device}){start}")
        return self.ranges[dim]

    def constant(self, affine: Affine) -> str | None:
        """The text of an index expression of sizes and numbers alone; None for any other."""
        return self.spelled(affine) if all(isinstance(a, SizeOf) for _, a in affine.terms) else None


def identifier(name: str) -> str:
    return re.sub(r"\W", "", name.replace("'", "_prime").replace("+", "p").replace("-", "m"))


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
        self.names = {name: scope.word(scope.turns, name) for name, _ in block.loops}
        kept = [name for name in self.tensors if name in used or self.reach(name)]
        # Tensor -> the list (or dictionary) of its steps.
        self.kept = {name: scope.fresh(f"{scope.tensor[name]}s") for name in kept}

    def axis(self, name: str, index: str) -> int:
        equation = next(e for e in self.block.equations if e.left.name == name)
        return [a.plain for a in equation.left.indices].index(index)

    def rest(self, name: str) -> list[int]:
        """The axes that one step of a tensor has."""
        looped = [self.axis(name, index) for index, _ in self.block.loops]
        return [k for k in range(len(self.system.tensors[name].dims)) if k not in looped]

    def shifts(self, ref: Ref) -> tuple[int, ...]:
        """How far from the present step a tensor of the block is read, along each loop."""
        return tuple(ref.indices[self.axis(ref.name, index)].const for index, _ in self.block.loops)

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
        places = zip(self.names.values(), shifts, strict=True)
        place = ", ".join(name + (f" {'-' if s < 0 else '+'} {abs(s)}" if s else "") for name, s in places)
        if ref.name in self.system.padded:
            return f"{kept}.get(({place}), {self.outside(ref.name)})"
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
        told = self.scope.edge.get((name, axis, shift))
        if told is None or self.scope.corner(name):  # where a condition keeps from the edge, it is not read
            edge = self.outside(name, told or "")
        else:
            edge = told + slots([others.get(k, ":") for k in axes])
        size = self.scope.size(self.system.tensors[name].dims[axis])
        test = f"{self.names[index]} > 0" if shift < 0 else f"{self.names[index]} < {size} - 1"
        return f"({inside} if {test} else {edge})"

    def outside(self, name: str, number: str = "") -> str:
        """What stands outside a tensor that is zero there, or one number."""
        word = f"{number}_step" if number else f"zero_{self.scope.tensor[name]}"
        sizes = ", ".join(self.scope.size(self.system.tensors[name].dims[k]) for k in self.rest(name))
        whole = f"({sizes},)" if sizes else "()"
        call = f"new_full({whole}, {number})" if number else f"new_zeros({sizes or whole})"
        line = f"{word} = {self.scope.like}.{call}"
        if line not in self.before:
            self.before.append(line)
        return word

    def fixed(self, affine: Affine) -> str | None:
        """The text of an index expression that is one number at each step; None for any other."""
        known = len(affine.terms) == 1 and affine.terms[0][1] in self.names
        return spelled(affine, lambda atom: self.names[str(atom)]) if known else None
