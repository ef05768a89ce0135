"""Random values on which a reference and an answer are run: what must differ, differs.

No two dimensions have one size; words repeat in some draws and not in others; states before the first step
are not zero; weights have unit scale; everything is float64 and depends on the seed alone.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..check.ranges import equalities
from ..errors import NotationError
from ..run.runner import run
from ..system import System
from ..tree import Apply, Directive, walk

__all__ = ["Draw", "draws", "opaque_functions", "tiny_draw"]

_SMALL = (2, 3, 4, 5, 7, 6, 8, 9, 10)


@dataclass
class Draw:
    """One set of values: the reference's inputs, and the values of all its tensors."""

    seed: int
    reference: System
    sizes: dict[str, int]
    inputs: dict[str, Tensor]
    functions: Mapping[str, Callable]
    values: dict[str, Tensor]

    def run(self, system: System) -> dict[str, Tensor]:
        """A system (the answer, or a mutant) on these values; it may read fewer inputs."""
        inputs = {name: self.inputs[name] for name in system.inputs}
        return run(system, inputs, self.boundary(system), self.free_sizes(system), self.functions)

    def boundary(self, system: System) -> dict[str, Tensor | float | tuple]:
        """The values outside each tensor's range: the same for every system, and zero where the reference pads."""
        found: dict[str, Tensor | float | tuple] = {}
        for name, places in system.boundary.items():
            if name in system.padded:
                continue
            if name in self.reference.padded:
                found[name] = 0.0
            else:
                found[name] = tuple(self._edge(system, name, axis, steps) for axis, steps in places)
        return found

    def _edge(self, system: System, name: str, axis: int, steps: int) -> Tensor:
        deep = torch.stack(
            [self.outside(system, name, axis, k if steps > 0 else -k) for k in range(1, abs(steps) + 1)], axis
        )
        if abs(steps) == 1:
            return deep.select(axis, 0)
        return deep.flip(axis) if steps < 0 else deep

    def outside(self, system: System, name: str, axis: int, away: int) -> Tensor:
        """A tensor's values `away` steps before (-) or after (+) its range, without that axis."""
        shape = list(self._shape(system, name))
        del shape[axis]
        generator = _generator(self.seed, name, axis, away)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def _shape(self, system: System, name: str) -> tuple[int, ...]:
        for source in (self.values, self.inputs):
            if name in source and source[name].ndim == len(system.tensors[name].dims):
                return tuple(source[name].shape)
        known = self._known(system)
        dims = system.tensors[name].dims
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
        """Sizes for the dimensions that none of the system's inputs fixes."""
        if system is self.reference:
            return {d: self.sizes[d] for d in _unfixed(system) if d in self.sizes}
        known = self._known(system)
        return {d: known[d] for d in _unfixed(system) if d in known}


def _generator(*key: object) -> torch.Generator:
    return torch.Generator().manual_seed(zlib.crc32(repr(key).encode()))


def _unfixed(system: System) -> list[str]:
    fixed = {d for n in system.inputs for d in system.tensors[n].dims}
    fixed |= set(system.derived) | set(system.joined)
    fixed |= set(_given(system))
    dims = dict.fromkeys(d for r in system.ranges.values() for d in r.values())
    return [d for d in dims if d not in fixed]


def _given(system: System) -> dict[str, int]:
    """The sizes that the program itself states."""
    stated = [s for s in system.program.statements if isinstance(s, Directive) and s.word == "size"]
    return {system.dimension(s.names[0]) or s.names[0]: int(s.values[0]) for s in stated}


def draws(
    reference: System, count: int, seed: int, functions: Mapping[str, Callable] | None
) -> Iterator[Draw]:
    """`count` draws, each with the reference already run."""
    for number in range(count):
        yield _draw(reference, number, seed, functions)


def tiny_draw(reference: System, seed: int, functions: Mapping[str, Callable] | None) -> Draw:
    """A draw with sizes of two and three, on which single entries are soon computed by hand."""
    return _draw(reference, 0, seed, functions, _tiny_sizes)


def _draw(
    reference: System,
    number: int,
    seed: int,
    functions: Mapping[str, Callable] | None,
    choose: Callable | None = None,
) -> Draw:
    problem: NotationError | None = None
    for attempt in range(6):  # sizes that do not fit together, or a logarithm below zero, are drawn again
        # three sets of sizes: a plan is made once for each
        sizes = (choose or _sizes)(reference, number % 3 + attempt)
        positive = attempt % 2 == 1
        inputs = {n: _input(reference, n, sizes, (seed, number, attempt), positive) for n in reference.inputs}
        known = opaque_functions(reference, sizes, seed) | dict(functions or {})
        draw = Draw(seed * 1000 + number, reference, sizes, inputs, known, {})
        draw.values = _shapes(reference, sizes)
        try:
            draw.values = draw.run(reference)
        except NotationError as error:
            problem = error
            continue
        if all(torch.isfinite(v).all() for v in draw.values.values()):
            return draw
    raise problem or NotationError("the reference has no finite values on random tensors")


def _shapes(reference: System, sizes: dict[str, int]) -> dict[str, Tensor]:
    """Empty tensors of the reference's shapes, as far as its sizes are known before it has run."""
    return {
        n: torch.empty([sizes[d] for d in reference.tensors[n].dims])
        for n in reference.outputs
        if all(d in sizes for d in reference.tensors[n].dims)
    }


def _input(system: System, name: str, sizes: dict[str, int], key: tuple, positive: bool) -> Tensor:
    tensor = system.tensors[name]
    shape = [sizes[d] for d in tensor.dims]
    generator = _generator(*key, name)
    into = tensor.indexes or _counted(system, name)
    if into is None:
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        if not shape and key[1] % 3:  # a bound such as the c of min(c, …) is sometimes large
            values = values.abs() * 5 ** (key[1] % 3) + 1
        return values.abs() + 0.1 if positive else values
    count, top = max(1, torch.Size(shape).numel()), sizes[into]
    if key[1] % 2 and count <= top:
        words = torch.randperm(top, generator=generator)[:count]
    else:
        words = torch.randint(top, (count,), generator=generator)
        if count > 1:
            words[-1] = words[0]  # at least one word twice
    return words.reshape(shape) if tensor.indexes else words.reshape(shape).double()


def _counted(system: System, name: str) -> str | None:
    """The dimension with whose index the tensor's values are compared: the V of `[w[b,t] == v]`."""
    for equation, ranges in system.ranges.items():
        for index, ref in equalities(equation.right):
            if ref.name == name:
                return ranges[index]
    return None


class _Roles:
    """What a system's dimensions are for."""

    def __init__(self, system: System):
        dims = dict.fromkeys(d for t in system.tensors.values() for d in t.dims)
        dims |= dict.fromkeys(d for r in system.ranges.values() for d in r.values())
        self.given = _given(system)
        computed = {*system.derived, *system.joined, *self.given}
        self.free = [d for d in dims if d not in computed]
        self.centred = {d for r in system.ranges.values() for i, d in r.items() if i in system.centered}
        self.reached = {r.dim for x in system.derived.values() for r in x.reaches}
        self.words = {t.indexes for t in system.tensors.values() if t.indexes is not None}
        self.looped = {system.ranges[b.equations[0]][i] for b in system.blocks for i, _ in b.loops}


def _sizes(system: System, number: int) -> dict[str, int]:
    """A size for each dimension that is not computed from others, no two the same."""
    roles = _Roles(system)
    sizes = dict(roles.given)

    def assign(names: Iterable[str], pool: tuple[int, ...]) -> None:
        turn = number % min(len(pool), 5)
        options = [n for n in pool[turn:] + pool[:turn] if n not in sizes.values()]
        options += [n for n in range(2, 60) if n not in options and n not in sizes.values()]
        sizes.update(zip([d for d in roles.free if d in names and d not in sizes], options, strict=False))

    assign(roles.centred, (3, 5, 7, 9))
    assign(roles.reached, (11, 13, 12, 14, 15))
    assign(roles.words, (6, 8, 7, 9, 10))
    assign(roles.looped, (3, 4, 5))
    assign(roles.free, _SMALL)
    return _with_joined(system, sizes)


def _tiny_sizes(system: System, number: int) -> dict[str, int]:
    roles = _Roles(system)
    sizes = dict(roles.given)
    for k, dim in enumerate(roles.free):
        sizes[dim] = (
            3 if dim in roles.centred else 7 + number if dim in roles.reached else 2 + (k + number) % 2
        )
    return _with_joined(system, sizes)


def _with_joined(system: System, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes, and those of the dimensions that concatenations make."""
    for _ in system.joined:  # one may be made of another
        for dim, joined in system.joined.items():
            if all(d in sizes for part in joined.parts for d in part):
                sizes[dim] = sum(math.prod(sizes[d] for d in part) for part in joined.parts)
    return sizes


def opaque_functions(system: System, sizes: Mapping[str, int], seed: int) -> dict[str, Callable]:
    """For each function that the language does not know, a smooth one of all its arguments, told apart."""
    found: dict[str, Callable] = {}
    for equation, ranges in system.ranges.items():
        for node in walk(equation.right):
            if isinstance(node, Apply) and node.function not in found:
                shape = [sizes.get(ranges[i], 1) for i in node.out]
                found[node.function] = _opaque(node.function, shape, [len(s) for s in node.slices], seed)
    return found


def _opaque(name: str, shape: list[int], ranks: list[int], seed: int) -> Callable:
    def function(*args: Tensor) -> Tensor:
        total: Tensor | float = 0.0
        for k, arg in enumerate(args):
            rank = ranks[k] if k < len(ranks) else 1
            vector = arg.flatten(arg.ndim - rank) if rank else arg.unsqueeze(-1)  # (*lead, n)
            n, m = vector.shape[-1], torch.Size(shape).numel()
            weight = torch.randn(n, m, generator=_generator(seed, name, k, n, m), dtype=torch.float64)
            total = total + torch.tanh(vector.to(weight)) @ weight
        result = torch.tanh(torch.as_tensor(total))
        return result.reshape(*result.shape[:-1], *shape)

    return function
