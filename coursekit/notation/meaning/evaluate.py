"""The plain meaning of the language: every entry of every tensor, one after another, on nested lists.

Free of numpy and torch: this says what an equation means (`machine` has it node by node), and `run` is tested
against it. Four conventions that the notation leaves open are fixed here:

- a condition decides whether the rest is looked at: `[s < t] x[t-s]` is 0 where `s >= t`, whatever x is;
- a softmax over nothing is 0 everywhere, a sum over nothing 0, a product 1, a maximum -inf, a minimum inf; the
  place of the largest is the first of those that share it, and the index's first over nothing;
- an index runs from 0, or from -(n//2) where the system says that it is centred;
- a number that does not exist is nan, one that is too large is inf, as for tensors.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

from .. import tree as T
from ..system import System
from .machine import Functions, Machine
from .reach import check_reads, fail
from .sizes import Shape, infer_sizes, sides, span_of
from .table import Table, real


def evaluate(
    system: System,
    inputs: Mapping[str, object],
    boundary: Mapping[str, object] | None = None,
    sizes: Mapping[str, int] | None = None,
    functions: Functions | None = None,
) -> dict[str, object]:
    """Every defined tensor as nested lists. The arguments are those of `run`, with lists for tensors."""
    table: Callable[[str, object], Table] = lambda name, value: Table.of(value, _shape(system, name, value))
    edges: dict[str, list[Any]] = {
        name: [v if isinstance(v, Real) else table(name, v) for v in sides(system, name, value)]
        for name, value in (boundary or {}).items()
    }
    given = {name: table(name, value) for name, value in inputs.items()}
    found = tables(system, given, edges, sizes or {}, functions or {})
    return {name: value.nested() for name, value in found.items()}


def tables(
    system: System,
    inputs: Mapping[str, Table],
    edges: Mapping[str, Sequence[Table | float]],
    sizes: Mapping[str, int],
    functions: Functions,
) -> dict[str, Table]:
    """The same on tables. `edges` has for each tensor one entry a side: a table or a number."""
    known = infer_sizes(
        system,
        {name: table.shape for name, table in inputs.items()},
        {n: [v.shape if isinstance(v, Table) else None for v in e] for n, e in edges.items()},
        sizes,
    )
    check_reads(system, known)
    machine = Machine(system, known, inputs, edges, functions)
    for name in system.outputs:
        shape = [known[d] for d in system.tensors[name].dims]
        machine.tables[name] = Table(shape, [None] * math.prod(shape))
    for block in system.blocks:
        ranges = system.ranges[block.equations[0]]
        loops = {name: machine.span(ranges[name])[::step] for name, step in block.loops}
        defining = [machine.definition(equation, list(loops)) for equation in block.equations]
        for point in product(*loops.values()):
            for define in defining:
                define(dict(zip(loops, point, strict=True)))
    return {name: machine.tables[name] for name in system.outputs}


def constant_value(system: System, sizes: Mapping[str, int], node: T.Expr) -> float | None:
    """The value of an expression of numbers and sizes alone (`1/sqrt(I)`); None for any other."""
    if isinstance(node, T.Num):
        return real(node.value)
    kinds = (T.Num, T.Size, T.Add, T.Mul, T.Neg, T.Div, T.Pow, T.Call)
    if not all(isinstance(n, kinds) for n in T.walk(node)):
        return None
    return Machine(system, dict(sizes), {}, {}, {}).value(node)({})


def _shape(system: System, name: str, value: object) -> Shape:
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        if len({len(v) if isinstance(v, (list, tuple)) else None for v in value}) > 1:
            raise fail(system, f"`{name}` is ragged: its rows have different lengths", span_of(system, name))
        value = value[0] if value else None
    return tuple(shape)


@dataclass(frozen=True)
class Opaque:
    """A smooth function of vectors: all that it is given counts, and each argument counts otherwise.

    It takes and gives lists in lists; `shape` is that of its value, `ranks` how many axes each argument has.
    `weights(number, length)` is a matrix for an argument of so many entries.
    """

    shape: Sequence[int]
    ranks: Sequence[int]
    weights: Callable[[int, int], list[list[float]]]

    def __call__(self, *args: object) -> object:
        total = [0.0] * math.prod(self.shape)
        for number, arg in enumerate(args):
            entries = flat(arg)
            for entry, row in zip(entries, self.weights(number, len(entries)), strict=True):
                total = [t + math.tanh(entry) * w for t, w in zip(total, row, strict=True)]
        return Table(self.shape, [math.tanh(t) for t in total]).nested()


def flat(arg: Any) -> list[float]:
    return [entry for part in arg for entry in flat(part)] if isinstance(arg, (list, tuple)) else [arg]


class Engine:
    """Plain Python, entry by entry; `evaluate` says how."""

    def give(self, table: Table) -> Any:
        """A table as the engine takes it."""
        return table

    def run(
        self,
        system: System,
        inputs: Mapping[str, Any],
        edges: Mapping[str, Sequence[Any]],
        sizes: Mapping[str, int],
        opaque: Mapping[str, Opaque],
        functions: Functions,
    ) -> dict[str, Table]:
        """Every tensor that the system defines. `functions` are of the engine's own kind and go first."""
        return tables(system, inputs, edges, sizes, {**opaque, **functions})

    def on_lists(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the engine's own kind, as one of lists."""
        return function
