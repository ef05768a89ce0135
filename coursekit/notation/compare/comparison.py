"""Two systems compared by running both, and what is wrong with the one that differs.

Inputs go by name; the answer's indices, intermediate tensors and order are its own business. What counts are the
`outputs`: by default the reference's tensors that nothing else reads in the same step. The first tensor that
differs is named, and the mistake too if a mutation of the reference (`mutate`) makes it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import islice, permutations
from math import inf, isfinite

from ..check.checker import check
from ..errors import NotationError
from ..meaning.machine import Functions
from ..meaning.reach import all_reads, finals
from ..meaning.table import Place, Table
from ..names import capital_of
from ..system import System
from ..tree import Ref, transform
from .adopt import adopt, complaints
from .draws import Draw, draw
from .draws import engine as the_engine
from .local import Local, sample, upstream
from .mutate import Mutation, mutations, program_of
from .sites import unfolded

_ZERO = 1e-4
_SCREENED = 1e-7  # how closely a mutant must agree with the answer
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
    sentence: str = ""  # the message without the numbers

    def __bool__(self) -> bool:
        return self.equal


def compare(
    reference: System,
    answer: System,
    draws: int = 5,
    seed: int = 0,
    tolerance: float = 1e-9,
    diagnose: bool = True,
    functions: Functions | None = None,
    outputs: Iterable[str] | None = None,
    engine: str | None = None,
) -> Comparison:
    """Whether the answer says what the reference says, and if not, where and why.

    `engine` is "torch" or "python", which gives the same more slowly; by default torch, where it is installed.
    `functions` are the opaque ones, on tensors or on lists as the engine has them.
    """
    wanted = tuple(outputs) if outputs is not None else finals(reference)
    try:
        answer = adopt(answer, reference)
    except NotationError as error:
        return Comparison(False, error.message, kind="shape")
    for kind, tensor, message in complaints(reference, answer, wanted):
        return Comparison(False, message, tensor, kind)
    scalar = min((len(reference.tensors[n].dims) for n in wanted), default=0) == 0
    # One number a draw could agree by luck: relu(z) is z for half of all z.
    count = draws * 4 if scalar else draws
    chosen = the_engine(engine)
    tests = _Tests(answer, lambda number: draw(reference, number, seed, functions, chosen))
    for number in range(count):
        try:
            drawn, got = tests[number]
        except NotationError as error:
            return Comparison(False, error.message, kind="shape")
        if not all(_equal(drawn.values[n], got[n], tolerance) for n in wanted):
            return _Difference(tests, number, wanted, tolerance).explain(diagnose)
    return Comparison(True, "The two agree.")


class _Tests(dict[int, tuple[Draw, dict[str, Table]]]):
    """The draws, each with the answer's values, made when they are asked for."""

    def __init__(self, answer: System, draw: Callable[[int], Draw]):
        super().__init__()
        self.answer, self.draw = answer, draw

    def __missing__(self, number: int) -> tuple[Draw, dict[str, Table]]:
        made = self.draw(number)
        try:
            self[number] = made, made.run(self.answer)
        except (RuntimeError, KeyError, IndexError) as error:  # it passed the check and still has no values
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise NotationError(f"Your equations cannot be run: {reason}") from error
        return self[number]


def _equal(expected: Table, got: Table, tolerance: float) -> bool:
    return expected.shape == got.shape and close(expected.flat, got.flat, tolerance)


def close(expected: Sequence[float], got: Sequence[float], tolerance: float) -> bool:
    return _error(expected, got) <= tolerance


def _error(expected: Sequence[float], got: Sequence[float]) -> float:
    """The largest difference, relative to the largest entry; infinite where the answer is not finite."""
    if not all(map(isfinite, got)):
        return inf
    return max((abs(a - b) for a, b in zip(expected, got, strict=True)), default=0.0) / _scale(expected)


def _scale(values: Sequence[float]) -> float:
    """The largest entry; what is zero but for rounding is held against numbers of its draw, which are about one."""
    return max([_ZERO, *map(abs, values)])


Sample = tuple[Draw, list[Place], list[float], list[float]]  # places, the reference's values, the answer's


class _Difference:
    """The first draw on which the answer differs."""

    def __init__(self, tests: _Tests, number: int, wanted: tuple[str, ...], tolerance: float):
        self.tests, self.wanted, self.tolerance = tests, wanted, tolerance
        self.draw, self.got = tests[number]
        self.reference = self.draw.reference
        self.number = number
        # The draws that a diagnosis must explain, small ones first; in draw 0 all sizes are different.
        self.numbers = [*dict.fromkeys([number or 1, *range(1, 5)]), 0]
        self.loops = {
            e.left.name: {self.reference.ranges[e][i]: step for i, step in b.loops}
            for b in self.reference.blocks
            for e in b.equations
        }  # tensor -> looped dimension -> direction
        self.block = {e.left.name: k for k, b in enumerate(self.reference.blocks) for e in b.equations}

    def explain(self, diagnose: bool) -> Comparison:
        name = self.first()
        expected, got = self.draw.values[name], self.got[name]
        if expected.shape != got.shape:
            return self._shape(name, diagnose)
        error, found = _error(expected.flat, got.flat), self._diagnosis(name) if diagnose else None
        at = self.worst(name) if error < inf else next(p for p in got.places() if not isfinite(got[p]))
        spot = f"`{name}[{','.join(map(str, at))}]`" if at else f"`{name}`"
        if error < inf:
            kind, sentence = found or ("different", f"`{name}` is not what it should be.")
            where = f"On random numbers {spot} should be {expected[at]:.6g}; yours is {got[at]:.6g}."
        else:
            kind, sentence = found or ("not finite", "")
            where = f"{spot} is {'not a number' if got[at] != got[at] else 'infinite'}"
            where += "." if found else ": look for a logarithm, a root or a division that cannot be."
        message = f"{sentence} {where}".strip()
        return Comparison(False, message, name, kind, at, expected[at], got[at], error, sentence)

    # ── where ──

    def first(self) -> str:
        """The first tensor in the order of computation whose equation, on the reference's values of all others, does
        not give what the reference's gives; where there is none, the one that differs at the earliest step."""
        values, got = self.draw.values, self.got
        shared = [n for n in self.block if n in got and (n in self.wanted or values[n].ndim == got[n].ndim)]
        differing = [n for n in shared if not _equal(values[n], got[n], self.tolerance)]
        # what has another size only because something later reads it otherwise is not to blame
        differing = [n for n in differing if not (self._shapes_differ(n) and self._right(n))] or differing
        early = min(differing, key=lambda n: (self.block[n], self._step(n)))
        looped = [n for n in differing if self.block[n] == self.block[early]]
        if len(looped) == 1 or any(self._shapes_differ(n) for n in looped):
            return early
        return next((n for n in looped if not self._right(n)), early)

    def _right(self, name: str) -> bool:
        samples = self._samples(name, 2)
        return bool(samples) and self._agree(samples)

    def _agree(self, samples: list[Sample]) -> bool:
        return bool(samples) and all(close(expected, got, self.tolerance) for _, _, expected, got in samples)

    def _shapes_differ(self, name: str) -> bool:
        return self.draw.values[name].shape != self.got[name].shape

    def _step(self, name: str) -> int:
        """The number of the first step of its recurrences at which a tensor differs (0: the first)."""
        if self._shapes_differ(name):
            return 0
        shape, loops = self.draw.values[name].shape, self.loops[name]
        axes = [(a, loops[d]) for a, d in enumerate(self.reference.tensors[name].dims) if d in loops]
        count = lambda p: sum(p[a] if way > 0 else shape[a] - 1 - p[a] for a, way in axes)
        return min(map(count, self.differing(name)), default=0)

    def differing(self, name: str) -> list[Place]:
        expected, got = self.draw.values[name], self.got[name]
        most = self.tolerance * _scale(expected.flat)
        pairs = zip(expected.places(), expected.flat, got.flat, strict=True)
        return [place for place, a, b in pairs if not abs(a - b) <= most]

    def worst(self, name: str) -> Place:
        """The place of the largest difference among those of the first step that differs."""
        places, loops = self.differing(name), self.loops[name]
        for axis, dim in enumerate(self.reference.tensors[name].dims):
            if dim in loops:
                edge = (min if loops[dim] > 0 else max)(p[axis] for p in places)
                places = [p for p in places if p[axis] == edge]
        return max(places, key=lambda p: abs(self.draw.values[name][p] - self.got[name][p]))

    # ── what ──

    def _shape(self, name: str, diagnose: bool) -> Comparison:
        expected, got = self.draw.values[name], self.got[name]
        indices = [a.plain or "?" for a in self.reference.definitions[name].left.indices]
        for order in permutations(range(got.ndim)):
            if got.ndim == expected.ndim and _equal(expected, got.permute(order), self.tolerance):
                message = f"The axes of `{name}` are in another order than they should be: "
                message += f"the right order is `{name}[{','.join(indices)}]`."
                return Comparison(False, message, name, "index swapped")
        for mutation in mutations(self.reference, (name,), reshaping=True) if diagnose else ():
            if self._reshapes(mutation, name):
                return Comparison(False, mutation.sentence, name, mutation.kind)
        if diagnose and (found := self._diagnosis(name)):
            return Comparison(False, found[1], name, found[0])
        mine = ", ".join(map(capital_of, indices))
        message = f"`{name}` must have the shape ({mine}), here {expected.shape}; yours has {got.shape}."
        return Comparison(False, message, name, "shape")

    def _reshapes(self, mutation: Mutation, name: str) -> bool:
        """Whether the mutant, run, has the answer's tensor in every draw whose sizes suit the answer."""
        try:
            mutant = check(mutation.program, broadcast=True)
            runs = [(self.draw, self.got), *self._others()]
            return all(_equal(draw.run(mutant)[name], got[name], _SCREENED) for draw, got in runs)
        except (NotationError, RuntimeError, KeyError, IndexError):
            return False

    def _others(self) -> Iterator[tuple[Draw, dict[str, Table]]]:
        for number in self.numbers:
            try:
                yield self.tests[number]
            except NotationError:
                continue

    def _samples(self, name: str, draws: int | None = None) -> list[Sample]:
        """Entries of the answer's equation on the reference's values of all other tensors, beside the right ones:
        many of the small draws, a few of the first, whose sizes are all different."""
        found: list[Sample] = []
        for number in self.numbers[:draws]:
            try:
                draw = self.tests.draw(number)
                local = Local(draw, self.tests.answer)
            except NotationError:
                continue
            known = self.differing(name) if number == self.number and not self._shapes_differ(name) else ()
            places = sample(draw.values[name], 24 if number else 8, known)
            values = local.entries(name, places)
            if values is not None:
                seen = [
                    (p, draw.values[name][p], v) for p, v in zip(places, values, strict=True) if isfinite(v)
                ]
                if seen:
                    found.append((draw, *map(list, zip(*seen, strict=True))))  # type: ignore[arg-type]
        return found

    def _diagnosis(self, name: str) -> tuple[str, str] | None:
        """What explains every sample; no mistake is told after one draw."""
        samples = self._samples(name)
        if not samples or self._agree(samples):
            return None
        found = self._mutant(name, samples, self.reference) or self._factor(name, samples)
        # a letter that had a size in each equation, or is summed in one and free in the other, cannot be both in one
        with suppress(NotationError):
            if not found and (other := self._unfolded(name)) is not self.reference:
                found = self._mutant(name, samples, other)
        return found

    def _unfolded(self, name: str) -> System:
        """The reference with what the answer does not name put into the equation that reads it."""
        equations = self.reference.definitions
        unnamed = {n: e for n, e in equations.items() if n not in self.got and n != name}

        def put(node: object) -> object:
            known = unnamed.get(node.name) if isinstance(node, Ref) else None
            return (known and unfolded(node, known)) or node  # type: ignore[arg-type]

        old = equations[name]
        new = replace(old, right=transform(old.right, put))
        base = program_of(self.reference)
        program = replace(base, statements=tuple(new if s is old else s for s in base.statements))
        return check(program, broadcast=True) if new != old else self.reference

    def _mutant(self, name: str, samples: list[Sample], reference: System) -> tuple[str, str] | None:
        """The mutation of the reference that the answer's equation is."""
        local = cache(lambda k: Local(samples[k][0], reference))
        reads = {t: {n for n in names if n not in self.got} for t, names in all_reads(reference).items()}
        suspects = [n for n in upstream(reads, name) if reference.tensors[n].defined]
        through = {s: [n for n in suspects if s in upstream(reads, n)] for s in suspects}
        looks = [(0, 4), *((k, None) for k in range(len(samples)))]  # a few entries at first
        for mutation in islice(mutations(reference, suspects), _MOST_MUTANTS):
            for k, some in looks:
                _, places, _, got = samples[k]
                values = local(k).entries(name, places[:some], mutation.new, through[mutation.tensor])
                if values is None or not close(got[:some], values, _SCREENED):
                    break
            else:
                return mutation.kind, mutation.sentence
        return None

    def _factor(self, name: str, samples: list[Sample]) -> tuple[str, str] | None:
        """A constant factor of the whole tensor."""
        _, _, expected, got = samples[0]
        norm = sum(e * e for e in expected)
        factor = sum(e * g for e, g in zip(expected, got, strict=True)) / norm if norm else 0.0
        if not factor or any(not close([factor * e for e in es], gs, 1e-7) for _, _, es, gs in samples):
            return None
        simple = Fraction(factor).limit_denominator(100)
        number = simple if abs(float(simple) - factor) < 1e-9 * abs(factor) else f"{factor:.6g}"
        return "constant factor", f"`{name}` is {number} times what it should be."
