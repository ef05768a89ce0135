"""Two systems compared by running both, and what is wrong with the one that differs.

Inputs go by name; the answer's indices, intermediate tensors and order are its own business. What counts are the
`outputs`: by default the reference's tensors that nothing else reads in the same step. The first tensor that
differs is named, and the mistake too if a mutation of the reference (`mutate`) makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations

import torch
from torch import Tensor

from .adopt import adopt, complaint, finals, same_step
from .draws import Draw
from .draws import draws as make_draws
from .errors import NotationError
from .mutate import mutations
from .screen import Screen, upstream
from .system import System

__all__ = ["Comparison", "compare"]

_MOST_MUTANTS = 600


@dataclass(frozen=True)
class Comparison:
    """`kind` is the id of the mistake where it was recognised (see `mutate`), or `shape`, `size`, `unknown tensor`,
    `missing tensor`, `not finite`, `different`. `index`, `expected` and `got` are where `tensor` differs most."""

    equal: bool
    message: str
    tensor: str | None = None
    kind: str | None = None
    index: tuple[int, ...] | None = None
    expected: float | None = None
    got: float | None = None
    error: float | None = None  # relative to the largest entry

    def __bool__(self) -> bool:
        return self.equal


def compare(
    reference: System,
    answer: System,
    draws: int = 5,
    seed: int = 0,
    tolerance: float = 1e-9,
    diagnose: bool = True,
    functions: Mapping[str, Callable] | None = None,
    outputs: Iterable[str] | None = None,
) -> Comparison:
    """Whether the answer says what the reference says, and if not, where and why."""
    wanted = tuple(outputs) if outputs is not None else finals(reference)
    try:
        answer = adopt(answer, reference)
    except NotationError as error:
        return Comparison(False, error.message, kind="shape")
    if (found := complaint(reference, answer, wanted)) is not None:
        kind, tensor, message = found
        return Comparison(False, message, tensor, kind)
    tests = _Tests(reference, answer, draws, seed, functions)
    for number in range(draws):
        try:
            draw, got = tests[number]
        except NotationError as error:
            return Comparison(False, error.message, kind="shape")
        if not all(_equal(draw.values[n], got[n], tolerance) for n in wanted):
            return _Difference(tests, number, wanted, tolerance).explain(diagnose)
    return Comparison(True, "The two agree.")


class _Tests:
    """The draws, each with the answer's values, made when they are asked for."""

    def __init__(self, reference: System, answer: System, count: int, seed: int, functions: Mapping | None):
        self.answer, self.count = answer, count
        self._draws = make_draws(reference, count, seed, functions)
        self._made: list[tuple[Draw, dict[str, Tensor]]] = []

    def __getitem__(self, number: int) -> tuple[Draw, dict[str, Tensor]]:
        while len(self._made) <= number:
            draw = next(self._draws)
            self._made.append((draw, draw.run(self.answer)))
        return self._made[number]


def _equal(expected: Tensor, got: Tensor, tolerance: float) -> bool:
    return expected.shape == got.shape and _error(expected, got) <= tolerance


def _error(expected: Tensor, got: Tensor) -> float:
    """The largest difference, relative to the largest entry; infinite where the answer is not finite."""
    if not torch.isfinite(got).all():
        return float("inf")
    if not expected.numel():
        return 0.0
    scale = expected.abs().max().clamp_min(1e-300)
    return float((expected - got).abs().max() / scale)


class _Difference:
    """A draw on which the answer differs."""

    def __init__(self, tests: _Tests, number: int, wanted: tuple[str, ...], tolerance: float):
        self.tests, self.number, self.wanted, self.tolerance = tests, number, wanted, tolerance
        self.draw, self.got = tests[number]
        self.reference = self.draw.reference
        self.loops = {
            self.reference.ranges[b.equations[0]][i]: step for b in self.reference.blocks for i, step in b.loops
        }
        self.order = [e.left.name for b in self.reference.blocks for e in b.equations]

    def explain(self, diagnose: bool) -> Comparison:
        name = self.first()
        expected, got = self.draw.values[name], self.got[name]
        if expected.shape != got.shape:
            return self._shape(name)
        if not torch.isfinite(got).all():
            at = tuple((~torch.isfinite(got)).nonzero()[0].tolist())
            value = float(got[at])
            word = "not a number" if value != value else "infinite"
            message = f"{self._spot(name, at)} is {word}: look for a logarithm, a root or a division that cannot be."
            return Comparison(False, message, name, "not finite", at, float(expected[at]), value, float("inf"))
        at = self.worst(name)
        numbers = (at, float(expected[at]), float(got[at]), _error(expected, got))
        kind, sentence = "different", f"`{name}` is not what it should be."
        if diagnose:
            found = self._mutant(name) or self._whole(name)
            kind, sentence = found or (kind, sentence)
        where = f"{self._spot(name, at)} should be {numbers[1]:.6g} on a test of random numbers; yours is {numbers[2]:.6g}."
        return Comparison(False, f"{sentence} {where}", name, kind, *numbers)

    # ── where ──

    def first(self) -> str:
        """The first tensor in the order of computation that both define and that differs, at the earliest
        step of a recurrence at which one does."""
        shared = [n for n in self.order if n in self.got and (n in self.wanted or self._comparable(n))]
        differing = [n for n in shared if not _equal(self.draw.values[n], self.got[n], self.tolerance)]
        ranked = [(self._step(n), self.order.index(n), n) for n in differing]
        return min(ranked)[2]

    def _comparable(self, name: str) -> bool:
        return self.draw.values[name].ndim == self.got[name].ndim

    def _step(self, name: str) -> int:
        """The number of the first step of its recurrences at which a tensor differs (0: the first)."""
        expected, got = self.draw.values[name], self.got[name]
        if expected.shape != got.shape:
            return 0
        places = self.differing(name)
        axes = [(a, self.loops[d]) for a, d in enumerate(self.reference.tensors[name].dims) if d in self.loops]
        if not axes or not len(places):
            return 0
        steps = [places[:, a] if way > 0 else expected.shape[a] - 1 - places[:, a] for a, way in axes]
        return int(torch.stack(steps).sum(0).min())

    def differing(self, name: str) -> Tensor:
        expected, got = self.draw.values[name], self.got[name]
        wrong = (expected - got).abs() > self.tolerance * expected.abs().max().clamp_min(1e-300)
        return (wrong | ~torch.isfinite(got)).nonzero()

    def worst(self, name: str) -> tuple[int, ...]:
        """The place of the largest difference among those of the first step that differs."""
        places = self._earliest(name, self.differing(name))
        gap = (self.draw.values[name] - self.got[name]).abs()
        return max((tuple(p) for p in places.tolist()), key=lambda p: float(gap[p]))

    def _earliest(self, name: str, places: Tensor) -> Tensor:
        shape = self.draw.values[name].shape
        for axis, dim in enumerate(self.reference.tensors[name].dims):
            if dim in self.loops and len(places):
                steps = places[:, axis] if self.loops[dim] > 0 else shape[axis] - 1 - places[:, axis]
                places = places[steps == steps.min()]
        return places

    def _spot(self, name: str, at: tuple[int, ...]) -> str:
        return f"`{name}[{','.join(map(str, at))}]`" if at else f"`{name}`"

    # ── what ──

    def _shape(self, name: str) -> Comparison:
        expected, got = self.draw.values[name], self.got[name]
        for order in permutations(range(got.ndim)):
            if got.ndim == expected.ndim and _equal(expected, got.permute(order), self.tolerance):
                message = f"The axes of `{name}` are in another order than they should be: "
                left = next(e.left for b in self.reference.blocks for e in b.equations if e.left.name == name)
                names = ",".join(a.plain or "?" for a in left.indices)
                return Comparison(False, message + f"the right order is `{name}[{names}]`.", name, "index swapped")
        sizes = {size: dim for dim, size in self.draw.sizes.items()}
        mine, theirs = ([sizes.get(n, str(n)) for n in t.shape] for t in (expected, got))
        message = f"`{name}` must have the shape ({', '.join(mine)}); yours has ({', '.join(theirs)})."
        return Comparison(False, message, name, "shape")

    def _mutant(self, name: str) -> tuple[str, str] | None:
        """The mutation of the reference that the answer is, where it first goes wrong."""
        screen = self._screen(name, 4)
        confirm: Screen | None = None
        for tried, mutation in enumerate(mutations(self.reference, self._suspects(name))):
            if tried > _MOST_MUTANTS:
                return None
            if screen.agrees(mutation, self.tolerance * 100):
                confirm = confirm or self._another(name)
                if confirm.agrees(mutation, self.tolerance * 100):
                    return mutation.kind, mutation.sentence
        return None

    def _another(self, name: str) -> Screen:
        """More places, on another draw where there is one."""
        number = self.number + 1
        if number < self.tests.count:
            other = _Difference(self.tests, number, self.wanted, self.tolerance)
            if name in other.got and len(other.differing(name)):
                return other._screen(name, 24)
        return self._screen(name, 24)

    def _screen(self, name: str, count: int) -> Screen:
        places = self._earliest(name, self.differing(name))
        generator = torch.Generator().manual_seed(1)
        chosen = places[torch.randperm(len(places), generator=generator)[:count]].tolist()
        got = [float(self.got[name][tuple(p)]) for p in chosen]
        return Screen(self.draw, name, chosen, got)

    def _suspects(self, name: str) -> tuple[str, ...]:
        """The tensor itself, and what goes into it in the same step and is not known to be right: tensors that
        the answer does not define, or defines differently."""
        reads = {t: {n for n in names if not self._right(n)} for t, names in same_step(self.reference).items()}
        return tuple(n for n in upstream(reads, name) if self.reference.tensors[n].defined)

    def _right(self, name: str) -> bool:
        """Whether the answer has the reference's tensor at the step where it first goes wrong."""
        if name not in self.got or self.got[name].shape != self.draw.values[name].shape:
            return False
        if _equal(self.draw.values[name], self.got[name], self.tolerance):
            return True
        return self._step(name) > min(self._step(n) for n in self.order if n in self.got)

    def _whole(self, name: str) -> tuple[str, str] | None:
        """Differences of a whole tensor: its sign, a constant factor, its axes."""
        expected, got = self.draw.values[name], self.got[name]
        norm = float((expected * expected).sum())
        factor = float((expected * got).sum()) / norm if norm else 0.0
        if factor and _equal(factor * expected, got, self.tolerance):
            if abs(factor + 1) < self.tolerance:
                return "sign", f"The sign of `{name}` is wrong: yours is -1 times the right one."
            return "constant factor", f"`{name}` is {_number(factor)} times what it should be."
        for order in permutations(range(expected.ndim)):
            turned = expected.permute(order)
            if turned.shape == got.shape and _equal(turned, got, self.tolerance):
                return "transpose", f"`{name}` is transposed: its axes are in another order."
        return None


def _number(value: float) -> str:
    from fractions import Fraction

    near = Fraction(value).limit_denominator(100)
    return str(near) if abs(float(near) - value) < 1e-9 * abs(value) else f"{value:.6g}"


