"""Random values on which a reference and an answer are run: what must differ, differs.

Sizes change from draw to draw, and in the first no two dimensions share one; words repeat in some draws and
not in others; states before the first step are not zero; weights have unit scale; everything depends on the
seed alone, and on no engine: torch, or plain Python where there is none, is given the same numbers and gives the
same, so that a comparison has one verdict and one sentence.
"""

import math
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from random import Random
from typing import Any

from ..check.ranges import equalities
from ..errors import NotationError
from ..meaning.evaluate import Engine, Opaque
from ..meaning.machine import Functions
from ..meaning.sizes import sides
from ..meaning.table import Table
from ..system import System
from ..tree import Apply, references, single, walk


@dataclass
class Draw:
    """One set of values: the reference's inputs, and the values of all its tensors."""

    seed: int
    reference: System
    engine: Engine
    sizes: dict[str, int]
    inputs: dict[str, Table]
    opaque: dict[str, Opaque]
    functions: Functions  # those that were given, in place of opaque ones
    values: dict[str, Table]
    positive: bool = False  # of inputs and of what lies before a first step: a root may be taken of them

    def __post_init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._outside: dict[tuple[object, ...], Table] = {}

    def given(self, name: str) -> Table:
        """An input, or what an answer declares for its size alone."""
        return self.inputs[name] if name in self.inputs else self.values[name]

    def run(self, system: System) -> dict[str, Table]:
        """A system (the answer, or a mutant) on these values; it may read fewer inputs."""
        for name in system.inputs:
            if name not in self._given:
                self._given[name] = self.engine.give(self.given(name))
        given = {name: self._given[name] for name in system.inputs}
        edges = {
            n: [self.engine.give(e) if isinstance(e, Table) else e for e in sides(system, n, value)]
            for n, value in self.boundary(system).items()
        }
        return self.engine.run(system, given, edges, self.free_sizes(system), self.opaque, self.functions)

    def boundary(self, system: System) -> dict[str, Table | float | tuple[Table, ...]]:
        """The values outside each tensor's range: the same for every system, and zero where the reference pads."""
        found: dict[str, Table | float | tuple[Table, ...]] = {}
        for name, places in system.boundary.items():
            if name in system.padded:
                continue
            if name in self.reference.padded:
                found[name] = 0.0
            elif name in (*cornered(self.reference), *cornered(system)):
                found[name] = self.corner(name)
            else:
                found[name] = tuple(self._edge(system, name, axis, steps) for axis, steps in places)
        return found

    def _edge(self, system: System, name: str, axis: int, steps: int) -> Table:
        away = range(1, steps + 1) if steps > 0 else range(steps, 0)
        layers = [self.outside(system, name, axis, k) for k in away]
        if len(layers) == 1:
            return layers[0]
        shape = (*layers[0].shape[:axis], len(layers), *layers[0].shape[axis:])
        places = Table(shape, []).places()
        return Table(shape, [layers[p[axis]][p[:axis] + p[axis + 1 :]] for p in places])

    def outside(self, system: System, name: str, axis: int, away: int) -> Table:
        """A tensor's values `away` steps before (-) or after (+) its range, without that axis."""
        whole = self._shape(system, name)
        shape = whole[:axis] + whole[axis + 1 :]
        key, tensor = (name, axis, away, *shape), self.reference.tensors.get(name)
        if key not in self._outside:
            generator = _generator(self.seed, name, axis, away)
            self._outside[key] = _normal(shape, generator, self.positive)
            if tensor is not None and tensor.indexes is not None:  # a word before the first is a word
                words = range(self.sizes[tensor.indexes])
                self._outside[key] = Table(shape, generator.choices(words, k=math.prod(shape)))
        return self._outside[key]

    def corner(self, name: str) -> float:
        """What lies outside two axes at once."""
        return _normal((), _generator(self.seed, name, "corner"), self.positive).flat[0]

    def _shape(self, system: System, name: str) -> tuple[int, ...]:
        dims, own = system.tensors[name].dims, {**self.inputs, **self.values}.get(name)
        if own is not None and own.ndim == len(dims):
            return tuple(own.shape)
        known = self._known(system)
        if any(d not in known for d in dims):
            raise NotationError(f"the shape of `{name}` before its first step is not known")
        return tuple(known[d] for d in dims)

    def _known(self, system: System) -> dict[str, int]:
        """The sizes of a system's dimensions, as far as tensors that it shares with the reference fix them."""
        sizes: dict[str, int] = {}
        for name, value in {**self.values, **self.inputs}.items():
            if name in system.tensors and len(system.tensors[name].dims) == value.ndim:
                for dim, size in zip(system.tensors[name].dims, value.shape, strict=True):
                    sizes.setdefault(dim, size)
        return sizes

    def free_sizes(self, system: System) -> dict[str, int]:
        """Sizes for the dimensions that none of the system's inputs fixes: what a shared tensor has there, else the
        size of the reference's dimension of that name."""
        known = self.sizes if system is self.reference else {**self.sizes, **self._known(system)}
        fixed = {d for n in system.inputs for d in system.tensors[n].dims}
        fixed |= {*system.derived, *system.joined, *system.stated}
        dims = dict.fromkeys(d for r in system.ranges.values() for d in r.values())
        return {d: known[d] for d in dims if d not in fixed and d in known}


def cornered(system: System) -> set[str]:
    """The tensors that are read outside two axes at once: before their first step they are one number."""
    reads = (r for e in system.ranges for r in references(e.right) if r.name in system.boundary)
    return {r.name for r in reads if sum(bool(a.const and single(a)) for a in r.indices) > 1}


def _generator(*key: object) -> Random:
    return Random(zlib.crc32(repr(key).encode()))


def _normal(shape: Iterable[int], generator: Random, positive: bool = False) -> Table:
    shape = tuple(shape)
    drawn = Table(shape, [generator.gauss(0.0, 1.0) for _ in range(math.prod(shape))])
    return drawn.map(_above_zero) if positive else drawn


def _above_zero(x: float) -> float:
    return abs(x) + 0.1


def draw(reference: System, number: int, seed: int, functions: Functions | None, engine: Engine) -> Draw:
    """The draw of that number, with the reference already run. In draw 0 no two dimensions have one size; the
    others are small, so that single entries are soon computed."""
    make = _draw.__wrapped__ if functions else _draw
    return make(reference, number, seed, functions or None, engine)


@lru_cache(256)
def _draw(reference: System, number: int, seed: int, functions: Functions | None, engine: Engine) -> Draw:
    problem: NotationError | None = None
    for attempt in range(6):  # sizes that do not fit together, or a logarithm below zero, are drawn again
        # A plan is made once for each of these sizes.
        sizes = _sizes(reference, number % 3 + attempt, small=number > 0)
        positive = attempt % 2 == 1
        inputs = {n: _input(reference, n, sizes, (seed, number, attempt), positive) for n in reference.inputs}
        opaque = _opaque(reference, sizes, seed)
        made = ((n, reference.tensors[n].dims) for n in reference.outputs)
        shapes = {n: Table([sizes[d] for d in dims], []) for n, dims in made if {*dims} <= sizes.keys()}
        draw = Draw(
            seed * 1000 + number, reference, engine, sizes, inputs, opaque, functions or {}, shapes, positive
        )
        try:
            draw.values = draw.run(reference)
        except NotationError as error:
            problem = error
            continue
        if all(math.isfinite(x) for v in draw.values.values() for x in v.flat):
            return draw
    raise problem or NotationError("the reference has no finite values on random tensors")


def _input(
    system: System, name: str, sizes: dict[str, int], key: tuple[int, int, int], positive: bool
) -> Table:
    tensor = system.tensors[name]
    shape = [sizes[d] for d in tensor.dims]
    generator = _generator(*key, name)
    into = tensor.indexes or _counted(system, name)
    if into is None:
        values = _normal(shape, generator)
        # A kink is seen from both sides where a sum goes through zero by its small tensors alone, or has one sign.
        if key[1] % 5 == 2 and not key[2]:
            values = values.map(lambda x: x * (4.0 if len(shape) < 2 else 0.25))
        elif key[1] % 5 > 2 and not key[2]:
            sign = generator.choice((-1, 1))
            values = values.map(lambda x: sign * abs(x))
        if not shape and key[1] % 3:  # a bound such as the c of min(c, …) is sometimes large
            values = values.map(lambda x: abs(x) * 5 ** (key[1] % 3) + 1)
        return values.map(_above_zero) if positive else values
    count, top = math.prod(shape), sizes[into]
    if key[1] % 2 and count <= top:
        words = generator.sample(range(top), count)
    else:
        words = [generator.randrange(top) for _ in range(count)]
        if count > 1:
            words[-1] = words[0]  # at least one word twice
    return Table(shape, words if tensor.indexes else [float(w) for w in words])


def _counted(system: System, name: str) -> str | None:
    """The dimension with whose index the tensor's values are compared: the V of `[w[b,t] == v]`."""
    for equation, ranges in system.ranges.items():
        for index, ref in equalities(equation.right):
            if ref.name == name:
                return ranges[index]
    return None


def _sizes(system: System, turn: int, small: bool) -> dict[str, int]:
    """A size for each dimension that is not computed from others: no two the same; or, where they are `small`, two to
    four if a dimension's role does not ask for more."""
    dims = dict.fromkeys(d for t in system.tensors.values() for d in t.dims)
    dims |= dict.fromkeys(d for r in system.ranges.values() for d in r.values())
    computed = {*system.derived, *system.joined, *system.stated}
    free = [d for d in dims if d not in computed]
    centred = {d for r in system.ranges.values() for i, d in r.items() if i in system.centered}
    reached = {r.dim for x in system.derived.values() for r in x.reaches}
    words = {t.indexes for t in system.tensors.values() if t.indexes is not None}
    looped = {system.ranges[b.equations[0]][i] for b in system.blocks for i, _ in b.loops}
    sizes = dict(system.stated)
    if small:
        for k, dim in enumerate(free):
            least = 8 if dim in reached else 6
            sizes[dim] = least + turn if dim in reached | words else 2 + (k + turn) % 3
            sizes[dim] = 3 if dim in centred else sizes[dim]
        return _with_joined(system, sizes)
    for names, pool in (
        (centred, (3, 5, 7, 9)),
        (reached, (11, 13, 12, 14, 15)),
        (words, (6, 8, 7, 9, 10)),
        (looped, (3, 4, 5)),
        (free, (2, 3, 4, 5, 7, 6, 8, 9, 10)),
    ):
        first = turn % min(len(pool), 5)
        options = dict.fromkeys((*pool[first:], *pool[:first], *range(2, 60)))
        unused = [n for n in options if n not in sizes.values()]
        sizes.update(zip([d for d in free if d in names and d not in sizes], unused, strict=False))
    return _with_joined(system, sizes)


def _with_joined(system: System, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes, and those of the dimensions that concatenations make."""
    for _ in system.joined:  # one may be made of another
        for dim, joined in system.joined.items():
            if all(d in sizes for part in joined.parts for d in part):
                sizes[dim] = sum(math.prod(sizes[d] for d in part) for part in joined.parts)
    return sizes


def _opaque(system: System, sizes: Mapping[str, int], seed: int) -> dict[str, Opaque]:
    """For each function that the language does not know, a smooth one of all its arguments, told apart."""
    found: dict[str, Opaque] = {}
    for equation, ranges in system.ranges.items():
        for node in walk(equation.right):
            if isinstance(node, Apply) and node.function not in found:
                shape = [sizes.get(ranges[i], 1) for i in node.out]
                weights = partial(_weights, seed, node.function, math.prod(shape))
                found[node.function] = Opaque(shape, [len(s) for s in node.slices], weights)
    return found


@lru_cache(256)
def _weights(seed: int, name: str, wide: int, number: int, long: int) -> list[list[float]]:
    """A matrix for each argument: a row for each of its entries."""
    generator = _generator(seed, name, number, long, wide)
    return [[generator.gauss(0.0, 1.0) for _ in range(wide)] for _ in range(long)]


# ── who computes ─────────────────────────────────────────────────────────────────────────────


@cache
def engine(name: str | None = None) -> Engine:
    """The engine of that name, `"torch"` or `"python"`; without one, torch where it is installed."""
    if name is None:
        with suppress(ImportError):
            return engine("torch")
        return engine("python")
    if name == "torch":
        from ..run.runner import Torch

        return Torch()
    if name == "python":
        return Engine()
    raise NotationError(f'the engine is "torch" or "python", not {name!r}')
