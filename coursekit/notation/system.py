"""What `check` makes of a program: every tensor's dimensions, every index's range, the order to run.

This is the contract between the front of the language (parse, check) and its back (run, evaluate,
compare, cost, grad, draw). A dimension is a name: the capital of the first index that ranges over it
(`j` and `I` of `h[b,t,j]`, `h[b,t-1,I]` are both `J`).
"""

from dataclasses import dataclass, field

from .names import capital_of
from .tree import Affine, Directive, Equation, Program


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the system. `dims` has one dimension name an axis.

    `indexes` is the dimension that its values are indices into, for a tensor of whole numbers
    (the `w` of `e[w[b,t],i]`), else None.
    """

    name: str
    dims: tuple[str, ...]
    defined: bool
    indexes: str | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """`0 <= affine < size(dim)` must hold for every value of the affine's indices."""

    affine: Affine
    dim: str
    padded: bool


@dataclass(frozen=True, slots=True)
class Derived:
    """A dimension whose size no tensor fixes: the longest range of `index` that keeps each reach
    (`L'[b,t,i] = … L[b,2*t+dt,i]` has (T - K)//2 + 1 positions). Where a reach is padded only
    its stride counts: `size = ceil(size(dim) / stride)`. `dims` names the other indices' dimensions."""

    index: str
    reaches: tuple[Reach, ...]
    dims: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """A dimension that a concatenation makes: its size is the sum over `parts` of the product of the
    part's dimensions (`C = I + K` for `a[t,I]; b[t,K]`, `C = K*I` for the heads laid end to end)."""

    index: str
    parts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Equations that are run together, in this order.

    `loops` is empty for plain equations. For a recurrence it names the looped index and its
    direction: `(("t", 1),)`, backward in time `(("t", -1),)`, the grid `(("i", 1), ("j", 1))`.
    The equations of one block use the same name for the looped index (check renames it).
    """

    equations: tuple[Equation, ...]
    loops: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """A program that has been checked. It is equal to itself alone, so that plans and draws are kept by it."""

    program: Program
    tensors: dict[str, Tensor]
    blocks: tuple[Block, ...]
    ranges: dict[Equation, dict[str, str]]  # for each equation of `blocks`: index -> dimension
    derived: dict[str, Derived]
    aliases: dict[str, str]  # every capital that a reader may use for a size -> dimension
    centered: frozenset[str]  # indices that run from -(n//2) instead of from 0
    padded: frozenset[str]  # tensors that are zero outside
    boundary: dict[str, tuple[tuple[int, int], ...]]  # tensor -> (axis, steps before(-)/after(+) the range)
    parameters: tuple[str, ...]
    joined: dict[str, Joined] = field(default_factory=dict)  # dimensions that concatenations make

    def dimension(self, name: str) -> str | None:
        """The dimension that a size or an index is called by: `T` or `t`."""
        return self.aliases.get(name) or self.aliases.get(capital_of(name))

    @property
    def definitions(self) -> dict[str, Equation]:
        """Each defined tensor's equation, in the order in which they run."""
        return {e.left.name: e for block in self.blocks for e in block.equations}

    @property
    def stated(self) -> dict[str, int]:
        """The sizes that the program itself states, by dimension."""
        said = (s for s in self.program.statements if isinstance(s, Directive) and s.word == "size")
        pairs = (pair for s in said for pair in zip(s.names, s.values, strict=True))
        return {self.dimension(name) or name: int(value) for name, value in pairs}

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.tensors.values() if not t.defined)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.tensors.values() if t.defined)
