"""The names of a function that is being written: its arguments, the sizes it needs, names that are still free."""

import builtins
import keyword
import re

from ..errors import NotationError
from ..indices import difference, spelled
from ..meaning.reach import extent, span
from ..system import System
from ..tree import Affine, Lookup, SizeOf, references

_TAKEN = {"torch", "einsum", "math", "pad", "model", *keyword.kwlist, *dir(builtins)}


class Scope:
    words = frozenset(_TAKEN)  # what no variable may be called

    def __init__(self, system: System) -> None:
        self.system = system
        self.taken = set(self.words)
        self.tensor = {name: self.fresh(identifier(name)) for name in system.tensors}
        self.edge = self._edges()
        self.sizes: dict[str, str] = {}  # dimension -> its variable
        self.ranges: dict[tuple[str, bool], str] = {}  # dimension, centred -> the variable of its numbers
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

    def function(self, name: str) -> str:
        if name not in self.functions:
            self.functions[name] = self.fresh(identifier(name))
        return self.functions[name]

    def turn(self, index: str) -> str:
        if index not in self.turns:
            self.turns[index] = self.fresh(identifier(index))
        return self.turns[index]

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
        for name in self.system.inputs:
            if self.system.tensors[name].indexes is None:
                return self.tensor[name]
        raise NotationError("the code needs an input of real numbers, and this system has none")

    @property
    def device(self) -> str:
        """Where what is made new stands: with the inputs, or where torch puts it."""
        return f"{self.tensor[self.system.inputs[0]]}.device" if self.system.inputs else "None"

    # ── sizes ────────────────────────────────────────────────────────────────────────────────

    def size(self, dim: str) -> str:
        """The variable that holds a dimension's size, set at the function's start."""
        dim = self.system.aliases.get(dim, dim)
        if dim not in self.sizes:
            place = self._place(dim)
            text = None if place else self._size(dim)
            name = self.sizes[dim] = self.fresh(identifier(dim))
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
        if dim in self.system.stated:
            return str(self.system.stated[dim])
        if dim in self.system.joined:
            parts = self.system.joined[dim].parts
            return " + ".join(" * ".join(self.size(d) for d in part) for part in parts)
        if dim in self.system.derived:
            return self._derived(dim)
        return None

    def _derived(self, dim: str) -> str | None:
        """How many values keep every read inside; None, for an argument, where nothing but the reader can say."""
        derived = self.system.derived[dim]
        others = dict(derived.dims)
        found = []
        for reach in derived.reaches:
            stride = next((c for c, atom in reach.affine.terms if atom == derived.index), 0)
            rest = Affine(tuple(t for t in reach.affine.terms if t[1] != derived.index), reach.affine.const)
            if stride < 1 or (any(isinstance(a, Lookup) for _, a in rest.terms) and not reach.padded):
                return None
            if reach.padded:
                size = self.size(reach.dim)
                found.append(size if stride == 1 else self.floor(f"{size} + {stride - 1}", stride))
            else:  # so much room is left beyond the greatest place of the others
                room = difference(self.span(reach.dim)[1], extent(rest, self.span, others)[1])
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
        dims = {a: a if isinstance(a, str) else a.name for _, a in form.terms}  # type: ignore[union-attr]
        return spelled(
            form, lambda a: self.half.format(self.size(a)) if isinstance(a, str) else self.size(dims[a])
        )

    # ── ranges ───────────────────────────────────────────────────────────────────────────────

    def centred(self, dim: str) -> bool:
        pairs = (pair for ranges in self.system.ranges.values() for pair in ranges.items())
        return any(name in self.system.centered and d == dim for name, d in pairs)

    def numbers(self, dim: str) -> str:
        """The variable that holds the numbers that an index over a dimension runs through."""
        centred = self.centred(dim)
        if (dim, centred) not in self.ranges:
            size = self.size(dim)
            name = self.ranges[dim, centred] = self.fresh(f"{identifier(dim).lower()}s")
            start = f" - {size} // 2" if centred else ""
            self.lines.append(f"{name} = torch.arange({size}, device={self.device}){start}")
        return self.ranges[dim, centred]

    def constant(self, affine: Affine) -> str | None:
        """The text of an index expression of sizes and numbers alone; None for any other."""
        if not all(isinstance(a, SizeOf) for _, a in affine.terms):
            return None
        return self.spelled(affine)


def identifier(name: str) -> str:
    word = name.replace("'", "_prime").replace("+", "p").replace("-", "m").replace(",", "")
    return re.sub(r"\W", "", word)
