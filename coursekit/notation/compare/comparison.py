"""Two systems compared by running both, and what is wrong with the one that differs.

Inputs go by name; the answer's indices, intermediate tensors and order are its own business. What counts are the
`outputs`: by default the reference's tensors that nothing else reads in the same step. The first tensor that
differs is named, and the mistake too if a mutation of the reference (`mutate`) makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import torch
from torch import Tensor

from ..check.checker import check
from ..errors import NotationError
from ..names import capital_of
from ..system import System
from ..tree import references
from .adopt import adopt, complaint, finals, same_step
from .draws import Draw, tiny_draw
from .draws import draws as make_draws
from .mutate import Mutation, mutations
from .screen import Screen, upstream

__all__ = ["Comparison", "compare"]

_SCREENED = 1e-7  # how closely a mutant must agree with the answer
_MOST_MUTANTS = 600
_RESHAPING = ("stride", "flipped window", "missing sum", "shifted index")  # mistakes that change a shape


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
    scalar = min((len(reference.tensors[n].dims) for n in wanted), default=0) == 0
    count = (
        draws * 4 if scalar else draws
    )  # one number a draw could agree by luck: relu(z) is z for half of all z
    tests = _Tests(reference, answer, count, seed, functions)
    for number in range(count):
        try:
            draw, got = tests[number]
        except NotationError as error:
            return Comparison(False, error.message, kind="shape")
        except _Unrunnable as error:
            return Comparison(False, f"Your equations cannot be run: {error}", kind="shape")
        if not all(_equal(draw.values[n], got[n], tolerance) for n in wanted):
            return _Difference(tests, draw, got, wanted, tolerance).explain(diagnose)
    return Comparison(True, "The two agree.")


class _Unrunnable(Exception):
    """The answer passed the check and still has no values."""


class _Tests:
    """The draws, each with the answer's values, made when they are asked for."""

    def __init__(self, reference: System, answer: System, count: int, seed: int, functions: Mapping | None):
        self.answer = answer
        self._draws = make_draws(reference, count, seed, functions)
        self._tiny = lambda: tiny_draw(reference, seed, functions)
        self._made: list[tuple[Draw, dict[str, Tensor]]] = []

    def __getitem__(self, number: int) -> tuple[Draw, dict[str, Tensor]]:
        while len(self._made) <= number:
            draw = next(self._draws)
            self._made.append((draw, self._run(draw)))
        return self._made[number]

    def _run(self, draw: Draw) -> dict[str, Tensor]:
        try:
            return draw.run(self.answer)
        except (RuntimeError, KeyError, IndexError) as error:
            raise _Unrunnable(str(error).splitlines()[0] if str(error) else type(error).__name__) from error

    def tiny(self) -> tuple[Draw, dict[str, Tensor]]:
        draw = self._tiny()
        return draw, self._run(draw)


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

    def __init__(
        self, tests: _Tests, draw: Draw, got: dict[str, Tensor], wanted: tuple[str, ...], tolerance: float
    ):
        self.tests, self.draw, self.got, self.wanted, self.tolerance = tests, draw, got, wanted, tolerance
        self.reference = self.draw.reference
        self.loops = {
            e.left.name: {self.reference.ranges[e][i]: step for i, step in b.loops}
            for b in self.reference.blocks
            for e in b.equations
        }  # tensor -> looped dimension -> direction
        self.block = {e.left.name: k for k, b in enumerate(self.reference.blocks) for e in b.equations}
        self.order = [e.left.name for b in self.reference.blocks for e in b.equations]

    def explain(self, diagnose: bool) -> Comparison:
        name = self.first()
        expected, got = self.draw.values[name], self.got[name]
        if expected.shape != got.shape:
            return self._shape(name, diagnose)
        if not torch.isfinite(got).all():
            at = tuple((~torch.isfinite(got)).nonzero()[0].tolist())
            value = float(got[at])
            word = "not a number" if value != value else "infinite"
            message = f"{self._spot(name, at)} is {word}: look for a logarithm, a root or a division that cannot be."
            return Comparison(
                False, message, name, "not finite", at, float(expected[at]), value, float("inf")
            )
        at = self.worst(name)
        numbers = (at, float(expected[at]), float(got[at]), _error(expected, got))
        kind, sentence = "different", f"`{name}` is not what it should be."
        if diagnose:
            found = self._mutant(name) or self._whole(name)
            kind, sentence = found or (kind, sentence)
        where = (
            f"On random numbers {self._spot(name, at)} should be {numbers[1]:.6g}; yours is {numbers[2]:.6g}."
        )
        return Comparison(False, f"{sentence} {where}", name, kind, *numbers)

    # ── where ──

    def first(self) -> str:
        """The first tensor in the order of computation that both define and that differs, at the earliest
        step of a recurrence at which one does."""
        shared = [n for n in self.order if n in self.got and (n in self.wanted or self._comparable(n))]
        differing = [n for n in shared if not _equal(self.draw.values[n], self.got[n], self.tolerance)]
        return min(differing, key=lambda n: (self.block[n], self._step(n), self.order.index(n)))

    def _comparable(self, name: str) -> bool:
        return self.draw.values[name].ndim == self.got[name].ndim

    def _step(self, name: str) -> int:
        """The number of the first step of its recurrences at which a tensor differs (0: the first)."""
        expected, got = self.draw.values[name], self.got[name]
        if expected.shape != got.shape:
            return 0
        places = self.differing(name)
        loops = self.loops[name]
        axes = [(a, loops[d]) for a, d in enumerate(self.reference.tensors[name].dims) if d in loops]
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
        shape, loops = self.draw.values[name].shape, self.loops[name]
        for axis, dim in enumerate(self.reference.tensors[name].dims):
            if dim in loops and len(places):
                steps = places[:, axis] if loops[dim] > 0 else shape[axis] - 1 - places[:, axis]
                places = places[steps == steps.min()]
        return places

    def _spot(self, name: str, at: tuple[int, ...]) -> str:
        return f"`{name}[{','.join(map(str, at))}]`" if at else f"`{name}`"

    # ── what ──

    def _shape(self, name: str, diagnose: bool) -> Comparison:
        expected, got = self.draw.values[name], self.got[name]
        left = next(e.left for b in self.reference.blocks for e in b.equations if e.left.name == name)
        indices = [a.plain or "?" for a in left.indices]
        for order in permutations(range(got.ndim)):
            if got.ndim == expected.ndim and _equal(expected, got.permute(order), self.tolerance):
                message = f"The axes of `{name}` are in another order than they should be: "
                message += f"the right order is `{name}[{','.join(indices)}]`."
                return Comparison(False, message, name, "index swapped")
        for mutation in mutations(self.reference, (name,)) if diagnose else ():
            if mutation.kind in _RESHAPING and self._agrees(name, self._values(mutation, name), whole=True):
                return Comparison(False, mutation.sentence, name, mutation.kind)
        sizes = {size: dim for dim, size in self.draw.sizes.items()}
        sizes |= {size: capital_of(i) for i, size in zip(indices, expected.shape, strict=True)}
        mine, theirs = ([sizes.get(n, str(n)) for n in t.shape] for t in (expected, got))
        message = f"`{name}` must have the shape ({', '.join(mine)}); yours has ({', '.join(theirs)})."
        return Comparison(False, message, name, "shape")

    def _mutant(self, name: str) -> tuple[str, str] | None:
        """The mutation of the reference that the answer is, where it first goes wrong. One that has the whole
        tensor is taken at once; one that has its first wrong step only, if there is no better."""
        screen = self._screen(name)
        partly: tuple[str, str] | None = None
        for tried, mutation in enumerate(mutations(self.reference, self._suspects(name))):
            if tried > _MOST_MUTANTS:
                break
            if self._turned(mutation, name) or screen.agrees(mutation, _SCREENED):
                values = self._values(mutation, name)
                if self._agrees(name, values, whole=True):
                    return mutation.kind, mutation.sentence
                if partly is None and self._agrees(name, values, whole=False):
                    partly = mutation.kind, mutation.sentence
        return partly

    def _turned(self, mutation: Mutation, name: str) -> bool:
        """Whether the mutant runs through its steps the other way, so that single entries do not show it."""
        if mutation.kind != "shifted index" or mutation.tensor != name:
            return False
        loops = self.loops[name]
        return any(
            affine.const * loops[dim] > 0
            for ref in references(mutation.new.right)
            if self.block.get(ref.name) == self.block[name]
            for affine, dim in zip(ref.indices, self.reference.tensors[ref.name].dims, strict=True)
            if dim in loops
        )

    def _values(self, mutation: Mutation, name: str) -> Tensor | None:
        """The mutant's tensor on this draw, if it can be run."""
        try:
            return self.draw.run(check(mutation.program, broadcast=True))[name]
        except (NotationError, RuntimeError, KeyError, IndexError):
            return None

    def _agrees(self, name: str, values: Tensor | None, whole: bool) -> bool:
        got = self.got[name]
        if values is None or values.shape != got.shape:
            return False
        if whole:
            return _equal(values, got, _SCREENED)
        places = tuple(self._earliest(name, self.differing(name)).T)
        return _equal(values[places], got[places], _SCREENED)

    def _screen(self, name: str) -> Screen:
        """A few entries of a tiny draw, if the answer is wrong there too; else of this one."""
        try:
            small = _Difference(self.tests, *self.tests.tiny(), self.wanted, self.tolerance)
        except (NotationError, _Unrunnable):
            small = self
        if not len(small.differing(name)):
            small = self
        places = small._earliest(name, small.differing(name))
        generator = torch.Generator().manual_seed(1)
        chosen = places[torch.randperm(len(places), generator=generator)[:4]].tolist()
        first = bool(self.loops[name]) and small._step(name) == 0
        return Screen(small.draw, name, chosen, [float(small.got[name][tuple(p)]) for p in chosen], first)

    def _suspects(self, name: str) -> tuple[str, ...]:
        """The tensor itself, and what goes into it in the same step and is not known to be right: tensors that
        the answer does not define, or defines differently."""
        reads = {
            t: {n for n in names if not self._right(n, name)}
            for t, names in same_step(self.reference).items()
        }
        return tuple(n for n in upstream(reads, name) if self.reference.tensors[n].defined)

    def _right(self, name: str, wrong: str) -> bool:
        """Whether the answer has the reference's tensor at the step where `wrong` first goes wrong."""
        if name not in self.got or self.got[name].shape != self.draw.values[name].shape:
            return False
        if _equal(self.draw.values[name], self.got[name], self.tolerance):
            return True
        return self.block[name] == self.block[wrong] and self._step(name) > self._step(wrong)

    def _whole(self, name: str) -> tuple[str, str] | None:
        """Differences of a whole tensor: its sign, a constant factor, its axes."""
        expected, got = self.draw.values[name], self.got[name]
        factor = _factor(expected, got)
        if factor and _equal(factor * expected, got, self.tolerance) and self._same_factor(name, factor):
            if abs(factor + 1) < self.tolerance:
                return "sign", f"The sign of `{name}` is wrong: yours is -1 times the right one."
            return "constant factor", f"`{name}` is {_number(factor)} times what it should be."
        for order in permutations(range(expected.ndim)):
            turned = expected.permute(order)
            if (
                order != tuple(range(expected.ndim))
                and turned.shape == got.shape
                and _equal(turned, got, self.tolerance)
            ):
                return "transpose", f"`{name}` is transposed: its axes are in another order."
        return None

    def _same_factor(self, name: str, factor: float) -> bool:
        """A factor that is constant is the same on another draw."""
        try:
            draw, got = self.tests.tiny()
        except (NotationError, _Unrunnable):
            return False
        return _equal(factor * draw.values[name], got[name], self.tolerance * 100)


def _factor(expected: Tensor, got: Tensor) -> float:
    norm = float((expected * expected).sum())
    return float((expected * got).sum()) / norm if norm else 0.0


def _number(value: float) -> str:
    near = Fraction(value).limit_denominator(100)
    return str(near) if abs(float(near) - value) < 1e-9 * abs(value) else f"{value:.6g}"
