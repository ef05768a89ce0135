"""The backward pass of a system, as a system of equations again.

    gradient(system, "J", ["W"])    # dW[j,i] = dz[B,T,j] h[B,T-1,i], and what dz needs

The adjoint of a tensor `X` is `dX` and has the shape of `X`. The adjoint of the inside of a function, where
it is wanted more than once, is `dz_h` in the equation of `h`, or `dz` where there is only one. A value inside
a forward equation that has no name there is computed again as `u_h`. Tensors of the forward system are inputs
of the gradient system: run the one, then the other with all that the first had and gave. A recurrence keeps
its boundary there, so `boundary={"h": h0}` is given to both.

- `of` is a scalar. If it is not, `d<of>` is one more input: the adjoint to start from (`d<of>_seed` where the
  system itself reads `of` again, so that `d<of>` is the whole adjoint).
- `wrt` names inputs or intermediate tensors; by default all parameters (or, where none are declared, all
  inputs that are not indices). For a recurrence `h` with a boundary, `h_0` asks for the gradient of that
  boundary: `dh_0`.
- `at="t"` leaves the time of a parameter's reads free: `dW[t,j,i]` is what the reads of `W` at step t
  contribute, and its sum over t is the whole gradient.
- `distributions` names tensors that are known to sum to one over the index of a softmax (a one-hot target
  `y`); then `y_hat[v] y[V] - y[v]` becomes `y_hat[v] - y[v]`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .. import tree as T
from ..check.order import blocks
from ..check.ranges import outside
from ..errors import NotationError
from ..names import capital_of, small_of
from ..system import System, Tensor
from ..tree import Affine, Ref, SizeOf, index
from .backward import Backward
from .simplify import Term, base, combine, expression


def gradient(
    system: System,
    of: str,
    wrt: Sequence[str] | str | None = None,
    at: str | None = None,
    distributions: Sequence[str] = (),
) -> System:
    """The equations of `d<x>` for each `x` of `wrt`, and all that they need: a checked system, with the dimensions
    of the forward system under their names there."""
    if wrt is None:
        wrt = system.parameters or [n for n in system.inputs if system.tensors[n].indexes is None]
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    # `h_0` -> `h` for each recurrence with a boundary
    edges = {f"{x}_0": x for x in system.boundary if x not in system.padded}
    edges = {name: x for name, x in edges.items() if name not in system.tensors}
    _check(system, of, names, edges)
    sweep = Backward(system, of, [edges.get(n, n) for n in names], frozenset(distributions))
    for name in names:
        word = sweep.adjoint(name)
        if name in edges:
            left, found = _beyond(sweep, edges[name])
        elif at is not None:
            left, found = _by_step(sweep, name, at)
        elif word in sweep.made and system.tensors[name].defined:
            continue
        else:
            left = sweep.target(name)
            found = sweep.total(name, left)
        sweep.made.pop(word, None)  # it comes last
        sweep.define(word, left, combine(found))
    return _written(sweep, [sweep.adjoint(name) for name in names])


def _check(system: System, of: str, names: Sequence[str], edges: dict[str, str]) -> None:
    if of not in system.outputs:
        raise NotationError(f"{of} is not defined by the system; it defines {', '.join(system.outputs)}.")
    for name in names:
        if name in edges:
            sides = system.boundary[edges[name]]
            if len(sides) != 1 or abs(sides[0][1]) != 1:
                raise NotationError(f"{name}: only a boundary of one step on one side has a gradient here.")
        elif name not in system.tensors:
            known = ", ".join([*system.tensors, *edges])
            raise NotationError(f"There is no tensor {name} to differentiate by; there are {known}.")
        elif system.tensors[name].indexes is not None:
            raise NotationError(f"{name} holds indices, so there is no gradient with respect to it.")


Adjoint = tuple[tuple[str, ...], list[Term]]  # the indices of its left side, and its terms


def _beyond(sweep: Backward, tensor: str) -> Adjoint:
    """The adjoint of the entry just outside a recurrence's range."""
    ((axis, steps),) = sweep.system.boundary[tensor]
    target = sweep.target(tensor)
    outside = Affine((), -1) if steps < 0 else Affine(((1, SizeOf(sweep.dims[tensor][axis])),))
    place = tuple(outside if n == axis else index(i) for n, i in enumerate(target))
    found = [t for r in sweep.reads.get(tensor, []) for t in sweep.gather(r.ref, r.g, r.around, place)]
    return (*target[:axis], *target[axis + 1 :]), found


def _by_step(sweep: Backward, name: str, at: str) -> Adjoint:
    """What the reads of a tensor at each value of the index `at` contribute."""
    dim = next((d for r in sweep.system.ranges.values() for n, d in r.items() if n == at), None)
    if dim is None:
        raise NotationError(f"No index is called {at}, so there are no steps to tell apart.")
    left = (sweep.scope.fresh(at, dim), *sweep.target(name))
    found = []
    for read in sweep.reads.get(name, []):
        own = [i for i in read.around if sweep.scope.dims[i] == dim]
        if len(own) != 1:
            message = f"{name} is not read once at each {at}, so its gradient has no steps to tell apart."
            raise NotationError(message)
        timed = Ref(name, (index(own[0]), *read.ref.indices))
        found += sweep.gather(timed, read.g, read.around, tuple(map(index, left)))
    return left, found


# ── written out ──────────────────────────────────────────────────────────────────────────────


def _written(sweep: Backward, last: list[str]) -> System:
    """The system of the equations `last` and of all that they read. Every dimension is one of the forward system, so
    nothing is inferred here."""
    system, needed = sweep.system, _needed(sweep, last)
    # `dz` is the name of the only `dz_…`.
    long = [n for n in needed if n in sweep.inner]
    taken = {*needed, *system.tensors, *map(sweep.adjoint, system.tensors)}
    short = {long[0]: "dz"} if len(long) == 1 and "dz" not in taken else {}
    for old, new in short.items():
        sweep.made[new], sweep.dims[new] = sweep.made[old], sweep.dims[old]
    equations: list[T.Equation] = []
    ranges: dict[int, dict[str, str]] = {}
    # names that in brackets would be read as a lookup
    scalars = {t.name for t in system.tensors.values() if t.indexes is not None or not t.dims}
    for name in needed:
        pen = Pen(sweep.scope.dims, sweep.letters, sweep.dims, scalars)
        ranges[len(equations)] = pen.ranges
        equations.append(T.rename_tensors(_equation(sweep, name, pen), short))
    names = dict.fromkeys(r.name for e in equations for r in T.references(e))
    padded = frozenset(short.get(n, n) for n in sweep.gather.pads | system.padded) & names.keys()
    centered = frozenset(i for r in ranges.values() for i, d in r.items() if d in sweep.scope.centered)
    declared = _declared(sweep, equations, ranges)
    directives = [T.Directive("pad", tuple(sorted(padded)))] if padded else []
    directives += [T.Directive("centered", tuple(sorted(centered)))] if centered else []
    shapes = {name: ",".join(sweep.dims[source]) for name, source in declared.items()}
    if not any(ref.indices for e in equations for ref in T.references(e)):
        # Where nothing but numbers is read, the s of `da_s = dy a_s` would be an index.
        shapes |= {e.left.name: "" for e in equations if "_" in e.left.name}
    directives += [T.Directive("shape", (name,), (dims,)) for name, dims in shapes.items()]
    ordered, by_equation = blocks(equations, ranges, "")
    defined, tensors = {e.left.name for e in equations}, {}
    for name in names | declared:
        known = system.tensors.get(name)
        tensors[name] = Tensor(name, sweep.dims[name], name in defined, known.indexes if known else None)
    return replace(
        system,
        program=T.Program((*directives, *map(sizes_by_letter, equations, ranges.values()))),
        tensors=tensors,
        blocks=ordered,
        ranges=by_equation,
        centered=centered,
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


def _spoken(node: object) -> object:
    """`[v == w[b,t]]` compares values, as it does when it is read; so it is written as one."""
    match node:
        case T.Compare(T.Affine() as left, _, T.Affine() as right) if any(T.references(node)):
            return replace(node, left=_value(left), right=_value(right))
    return node


def _value(side: T.Affine) -> T.Affine | T.Expr:
    match side:
        case T.Affine(((1, T.Lookup(ref)),), 0):
            return ref
    return T.Position(side)


def _equation(sweep: Backward, name: str, pen: "Pen") -> T.Equation:
    made = sweep.made[name]

    def rank(factor: T.Expr) -> int:
        """Conditions first, then adjoints, then all else as it comes."""
        return 0 if isinstance(factor, T.Iverson) else 1 if getattr(factor, "name", "") in sweep.made else 2

    ordered = [replace(t, factors=tuple(sorted(t.factors, key=lambda f: rank(f[0])))) for t in made.terms]
    return T.transform(pen.equation(name, made.left, expression(ordered)), _spoken)


def _declared(
    sweep: Backward, equations: list[T.Equation], ranges: dict[int, dict[str, str]]
) -> dict[str, str]:
    """Tensors whose shape the equations alone would not say, each with the forward tensor that has it: `dW` where an
    axis of it is read nowhere on the right as an axis of its own, and what has a size that no index ranges over."""
    sources, shapes, measures = {sweep.adjoint(x): x for x in sweep.system.tensors}, {}, list[str]()
    for equation, own in zip(equations, ranges.values(), strict=True):
        source, left = sources.get(equation.left.name), equation.left.indices
        refs = [(r.indices, sweep.dims[r.name]) for r in T.references(equation.right)]
        places = [place for indices, dims in refs for place in zip(indices, dims, strict=True)]
        found = {a.names[0] for a, dim in places if len(a.terms) == 1 and [own[i] for i in a.names] == [dim]}
        if source and len(left) == len(sweep.dims[source]) and any(a.plain not in found for a in left):
            shapes[equation.left.name] = source
    nodes = [n for e in equations for n in T.walk(e.right)]
    ranged = {d for r in ranges.values() for d in r.values()}
    sizes = [[n.name for n in nodes if isinstance(n, kind)] for kind in (T.Size, T.SizeOf)]
    for size in (*sizes[0], *sizes[1]):
        if size not in ranged:
            measures += [n for n in sweep.system.inputs if size in sweep.dims[n]][:1]
    return {name: name for name in (*shapes.values(), *measures)} | shapes


Letters = Mapping[str, Sequence[str]]
SPARE = "ijklmnpqrsuvxyzabcdgo"


class Pen:
    """Writes one equation `name[left] = right`; `ranges` are then its letters and their dimensions.

    `dims` gives an index's dimension, `letters` those that are known for a dimension, `tensors` the names of tensors,
    and `avoid` those of them that a summed index must not have. A free index gets its own letter (`t~3` is `t`), a
    summed one the capital of its letter. Where that is taken, another letter of the same dimension is tried (`I`
    beside `j`), then any that is free. Sums that stand side by side may share a letter if they run over the same
    dimension.
    """

    def __init__(
        self,
        dims: Mapping[str, str],
        letters: Letters,
        tensors: Iterable[str] = (),
        avoid: Iterable[str] = (),
    ) -> None:
        self.dims, self.letters = dims, letters
        self.tensors, self.avoid = frozenset(tensors), frozenset(avoid)
        self.ranges: dict[str, str] = {}

    def equation(self, name: str, left: Sequence[str], right: T.Expr) -> T.Equation:
        # An index that is used as a number is summed by name: a capital would be read as a size there.
        self.numbers = {i for n in T.walk(right) if isinstance(n, T.Position) for i in n.affine.names}
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
        for candidate in [letter, *self.letters.get(dim, []), *spare]:
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
