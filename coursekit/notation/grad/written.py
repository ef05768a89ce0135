"""A backward sweep written out: its equations with letters, what must be padded, and the checked system.

Every dimension of the gradient system is one of the forward system, so nothing is inferred here. Where the
equations alone would not say how long an axis is (`de[v,i] = [w[B,T] == v] dx[B,T,i]`), the program declares the
shapes of both `e` and `de`, and `e` is an input of the gradient system for its shape alone; so too where a size
is read that no index ranges over (the I of `dpos[t,p] = [J == p+I] dL[B,t,J]`, beside `e in R^{W x I}`).

A free index gets its own letter (`t~3` is `t`), a summed one the capital of its letter. Where that is taken, another
letter that the system uses for the same dimension is tried (`I` beside `j`), then any that is free. Sums
that stand side by side may share a letter if they run over the same dimension.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from .. import tree as T
from ..check.order import blocks
from ..check.ranges import outside
from ..names import capital_of, small_of
from ..system import System, Tensor
from .backward import Backward
from .scope import base
from .simplify import expression


def written(sweep: Backward, last: list[str]) -> System:
    """The system of the equations `last` and of all that they read."""
    needed = _needed(sweep, last)
    short = _short(needed, sweep)
    for old, new in short.items():
        sweep.made[new], sweep.dims[new] = sweep.made[old], sweep.dims[old]
    equations: list[T.Equation] = []
    ranges: dict[int, dict[str, str]] = {}
    # names that in brackets would be read as a lookup
    scalars = {t.name for t in sweep.system.tensors.values() if t.indexes is not None or not t.dims}
    for name in needed:
        pen = Pen(sweep.scope.dims, lambda d: sweep.letters.get(d, []), sweep.dims, scalars)
        ranges[len(equations)] = pen.ranges
        equations.append(T.rename_tensors(_equation(sweep, name, pen), short))
    used = {r.name for e in equations for r in T.references(e)}
    padded = frozenset(short.get(n, n) for n in sweep.gather.pads | sweep.system.padded) & used
    shapes = _shapes(sweep, equations, ranges)
    measures = dict.fromkeys([*shapes.values(), *_sized(sweep, equations, ranges)])
    program = T.Program(
        (
            *_directives(sweep, padded, ranges, shapes, measures),
            *_numbers(equations),
            *map(sizes_by_letter, equations, ranges.values()),
        )
    )
    ordered, by_equation = blocks(equations, ranges, "")
    system = sweep.system
    return replace(
        system,
        program=program,
        tensors=_tensors(sweep, equations, measures),
        blocks=ordered,
        ranges=by_equation,
        centered=frozenset(i for r in ranges.values() for i, d in r.items() if d in sweep.scope.centered),
        padded=padded,
        boundary=outside(equations, padded),
        parameters=(),
    )


def _needed(sweep: Backward, last: list[str]) -> list[str]:
    """The equations that the last ones read, directly or not, in the order in which they were made."""
    needed, todo = set(last), list(last)
    while todo:
        made = sweep.made[todo.pop()]
        for ref in (r for t in made.terms for f, _ in t.factors for r in T.references(f)):
            if ref.name in sweep.made and ref.name not in needed:
                needed.add(ref.name)
                todo.append(ref.name)
    return [n for n in sweep.made if n in needed and n not in last] + list(dict.fromkeys(last))


def _short(names: list[str], sweep: Backward) -> dict[str, str]:
    """`dz` for the only `dz_…`."""
    long = [n for n in names if n in sweep.inner]
    taken = {*names, *sweep.system.tensors, *map(sweep.adjoint, sweep.system.tensors)}
    return {long[0]: "dz"} if len(long) == 1 and "dz" not in taken else {}


def _spoken(node: object) -> object:
    """`[v == w[b,t]]` compares values, as it does when it is read; so it is written as one."""
    if isinstance(node, T.Compare) and isinstance(node.left, T.Affine) and isinstance(node.right, T.Affine):
        sides = (node.left, node.right)
        if any(isinstance(a, T.Lookup) for side in sides for _, a in side.terms):
            left, right = (_value(side) for side in sides)
            return replace(node, left=left, right=right)
    return node


def _value(side: T.Affine) -> T.Affine | T.Expr:
    atom = side.terms[0][1] if len(side.terms) == 1 and side.terms[0][0] == 1 and not side.const else None
    return atom.ref if isinstance(atom, T.Lookup) else T.Position(side)


def _equation(sweep: Backward, name: str, pen: "Pen") -> T.Equation:
    made = sweep.made[name]

    def rank(factor: T.Expr) -> int:
        """Conditions first, then adjoints, then all else as it comes."""
        return 0 if isinstance(factor, T.Iverson) else 1 if getattr(factor, "name", "") in sweep.made else 2

    ordered = [replace(t, factors=tuple(sorted(t.factors, key=lambda f: rank(f[0])))) for t in made.terms]
    return T.transform(pen.equation(name, made.left, expression(ordered)), _spoken)


def _shapes(
    sweep: Backward, equations: list[T.Equation], ranges: dict[int, dict[str, str]]
) -> dict[str, str]:
    """`dW` -> `W` where an axis of `dW` is read nowhere on the right as an axis of its own."""
    sources = {sweep.adjoint(x): x for x in sweep.system.tensors}
    shapes = {}
    for number, equation in enumerate(equations):
        source = sources.get(equation.left.name)
        if source is None or len(equation.left.indices) != len(sweep.dims[source]):
            continue
        found = set()
        for ref in T.references(equation.right):
            for affine, dim in zip(ref.indices, sweep.dims[ref.name], strict=True):
                if len(affine.terms) == 1 and ranges[number].get(str(affine.terms[0][1])) == dim:
                    found.add(affine.terms[0][1])
        if any(a.plain not in found for a in equation.left.indices):
            shapes[equation.left.name] = source
    return shapes


def _sized(sweep: Backward, equations: list[T.Equation], ranges: dict[int, dict[str, str]]) -> Iterator[str]:
    """For each size that is read (the I of `[J == p+I]`) but ranged over by no index: an input that has it."""
    nodes = [n for e in equations for n in T.walk(e.right)]
    sizes = [n.name for n in nodes if isinstance(n, T.Size)]
    sizes += [a.name for n in nodes if isinstance(n, T.Affine) for _, a in n.terms if isinstance(a, T.SizeOf)]
    ranged = {d for r in ranges.values() for d in r.values()}
    for size in sizes:
        if size not in ranged:
            yield from [n for n in sweep.system.inputs if size in sweep.dims[n]][:1]


def _directives(
    sweep: Backward,
    padded: frozenset[str],
    ranges: dict[int, dict[str, str]],
    shapes: dict[str, str],
    measures: Iterable[str],
) -> list[T.Directive]:
    centered = sorted({i for r in ranges.values() for i, d in r.items() if d in sweep.scope.centered})
    found = [T.Directive("pad", tuple(sorted(padded)))] if padded else []
    found += [T.Directive("centered", tuple(centered))] if centered else []
    declared = {n: sweep.dims[n] for n in measures} | {n: sweep.dims[source] for n, source in shapes.items()}
    return found + [T.Directive("shape", (name,), (",".join(dims),)) for name, dims in declared.items()]


def _numbers(equations: list[T.Equation]) -> list[T.Directive]:
    """`da_s in R`, where nothing but numbers is read: the s of `da_s = dy a_s` is no index."""
    if any(ref.indices for e in equations for ref in T.references(e)):
        return []
    return [T.Directive("shape", (e.left.name,), ("",)) for e in equations if "_" in e.left.name]


def _tensors(sweep: Backward, equations: list[T.Equation], measures: Iterable[str]) -> dict[str, Tensor]:
    defined = {e.left.name for e in equations}
    found = {}
    for name in dict.fromkeys([*(r.name for e in equations for r in T.references(e)), *measures]):
        known = sweep.system.tensors.get(name)
        found[name] = Tensor(name, sweep.dims[name], name in defined, known.indexes if known else None)
    return found


SPARE = "ijklmnpqrsuvxyzabcdgo"


class Pen:
    """Writes one equation `name[left] = right`; `ranges` are then its letters and their dimensions.

    `dims` gives an index's dimension, `kin` the letters that are known for a dimension, `tensors` the names of
    tensors, and `avoid` those of them that a summed index must not have.
    """

    def __init__(
        self,
        dims: Mapping[str, str],
        kin: Callable[[str], Sequence[str]],
        tensors: Iterable[str] = (),
        avoid: Iterable[str] = (),
    ) -> None:
        self.dims, self.kin = dims, kin
        self.tensors, self.avoid = frozenset(tensors), frozenset(avoid)
        self.ranges: dict[str, str] = {}

    def equation(self, name: str, left: Sequence[str], right: T.Expr) -> T.Equation:
        # An index that is used as a number is summed by name: a capital would be read as a size there.
        self.numbers = {
            i for n in T.walk(right) if isinstance(n, T.Position) for i in T.free_indices(n.affine)
        }
        self.offsets = {n.name for n in T.walk(right) if isinstance(n, T.SizeOf)}
        self.sized = {n.name for n in T.walk(right) if isinstance(n, T.Size)}
        names: dict[str, str] = {}
        for own in left:
            names[own] = self._choose(own, names.values(), summed=False)
        body = self._write(T.substitute(right, names), frozenset(names.values()))
        return T.Equation(T.Ref(name, tuple(T.index(names[i]) for i in left)), body)

    def _choose(self, own: str, taken: Iterable[str], summed: bool) -> str:
        letter, dim = small_of(base(own)), self.dims[own]
        used = {small_of(t) for t in taken}
        numbered = [f"{letter.rstrip('0123456789')}{n}" for n in range(1, 100)]  # after t1 and t2 comes t3
        spare = [*SPARE, *numbered] if len(letter) == 1 else numbered
        for candidate in [letter, *self.kin(dim), *spare]:
            word = capital_of(candidate) if summed and own not in self.numbers else candidate
            clash = summed and (word in self.avoid or word in self.offsets)
            clash |= dim in self.sized and capital_of(candidate) in self.tensors
            if candidate not in used and not clash and self.ranges.get(word, dim) == dim:
                self.ranges[word] = dim
                return word
        raise AssertionError("a hundred indices with one letter")

    def _write(self, node: T.N, taken: frozenset[str]) -> T.N:
        """The node with letters for all that it sums over, from the outermost sum inwards."""
        names: dict[str, str] = {}
        for own in () if isinstance(node, T.Apply) else T.binds(node):
            names[own] = self._choose(own, [*taken, *names.values()], summed=True)
        node, inner = T.substitute(node, names) if names else node, taken | set(names.values())
        return T.mapped(node, lambda n: self._write(n, inner))


def sizes_by_letter(equation: T.Equation, ranges: Mapping[str, str]) -> T.Equation:
    """The equation with each size called by a letter that it has for that dimension, as one writes it."""

    def name(dim: str, inside: bool) -> str:
        letters = [i for i, d in ranges.items() if d == dim and not (inside and i == capital_of(i))]
        return capital_of(letters[0]) if letters and dim not in map(capital_of, letters) else dim

    def rename(node: object) -> object:
        if isinstance(node, (T.Size, T.SizeOf)):
            return replace(node, name=name(node.name, isinstance(node, T.SizeOf)))
        return node

    return T.transform(equation, rename)
