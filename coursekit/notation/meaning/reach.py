"""Who reads whom; and whether every read stays inside its tensor, once the sizes are known."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .. import tree as T
from ..errors import NotationError
from ..functions import times
from ..indices import plus, scaled
from ..show import show
from ..system import Block, System

Guard = tuple[T.Condition, bool]  # a condition, and whether it holds or fails where something is looked at


def fail(system: System, message: str, span: T.Span = T.NOWHERE) -> NotationError:
    return NotationError(message, system.program.source, span.line, span.column, span.width)


def centred(system: System) -> set[str]:
    """The dimensions whose indices run from -(n//2)."""
    return {dim for r in system.ranges.values() for name, dim in r.items() if name in system.centered}


def nth(axis: int) -> str:
    """An axis in words: numbered from one it would be taken for torch's `dim`, which counts from zero."""
    return f"{dict(enumerate(('first', 'second', 'third'))).get(axis, f'{axis + 1}th')} axis"


class Extents:
    """How far the indices of a system run, once the sizes are known."""

    def __init__(self, system: System, sizes: Mapping[str, int]):
        self.system, self.sizes, self.first = system, sizes, dict.fromkeys(sizes, 0)
        if system.centered:
            self.first |= {dim: -(sizes[dim] // 2) for dim in centred(system) & sizes.keys()}

    def span(self, dim: str) -> range:
        """The values of an index over a dimension."""
        return range(self.first[dim], self.first[dim] + self.sizes[dim])

    def size(self, name: str) -> int:
        return self.sizes[self.system.aliases.get(name, name)]

    def terms(self, affine: T.Affine) -> tuple[list[tuple[int, str]], int]:
        """The index terms of an expression, and its constant with the sizes put in."""
        sized = [f * self.size(atom.name) for f, atom in affine.terms if isinstance(atom, T.SizeOf)]
        return [(f, atom) for f, atom in affine.terms if isinstance(atom, str)], affine.const + sum(sized)

    def interval(self, affine: T.Affine, ranges: Mapping[str, str]) -> tuple[int, int] | None:
        """The least and greatest value of an index expression; None where a lookup decides it."""
        low = high = affine.const
        for factor, atom in affine.terms:
            if isinstance(atom, T.Lookup):
                return None
            span = self.span(ranges[atom]) if isinstance(atom, str) else (self.size(atom.name),)
            low += factor * span[0 if factor > 0 else -1]
            high += factor * span[-1 if factor > 0 else 0]
        return low, high


def extent(
    affine: T.Affine, span: Callable[[str], tuple[T.Affine, T.Affine]], ranges: Mapping[str, str]
) -> tuple[T.Affine, T.Affine]:
    """The same where sizes have no numbers yet, as expressions of sizes; `span` has those of a dimension's indices."""
    low = high = T.Affine((), affine.const)
    for factor, atom in affine.terms:
        ends = span(ranges[atom]) if isinstance(atom, str) else (T.Affine(((1, atom),)),) * 2
        first, last = ends if factor > 0 else ends[::-1]
        low, high = plus(low, scaled(first, factor)), plus(high, scaled(last, factor))
    return low, high


def sure(gap: T.Affine) -> bool:
    """Whether an expression of sizes, each at least one, and of their halves is never negative."""
    least = sum(f for f, atom in gap.terms if isinstance(atom, T.SizeOf)) + gap.const
    return least >= 0 and all(f > 0 for f, _ in gap.terms)


def span(dim: str, centred: bool) -> tuple[T.Affine, T.Affine]:
    """The first and the last value of an index over a dimension; its name is half its size, rounded down."""
    first = T.Affine(((-1, dim),)) if centred else T.Affine(())
    return first, plus(first, T.Affine(((1, T.SizeOf(dim)),), -1))


def shifted(affine: T.Affine, ranges: Mapping[str, str], dim: str) -> bool:
    """Is it `t`, `t-1` or the like, with `t` over this very dimension?"""
    return any(affine.terms == ((1, name),) for name, own in ranges.items() if own == dim)


def has_conditions(node: object) -> bool:
    """Is there a condition that may keep a read from being looked at?"""
    return any(isinstance(n, (T.Iverson, T.Cases)) or getattr(n, "where", None) for n in T.walk(node))


def conditions(node: object) -> list[T.Condition]:
    """The conditions that stand as factors of a product or a quotient: where one fails, it is zero."""
    if isinstance(node, T.Iverson):
        return [node.condition]
    if isinstance(node, T.Mul):
        return [f.condition for f in node.factors if isinstance(f, T.Iverson)]
    return conditions(node.above) if isinstance(node, T.Div) else []


def unconditional(node: T.Expr) -> T.Expr:
    """A product or a quotient without the conditions among its factors."""
    if isinstance(node, T.Div):
        return T.Div(unconditional(node.above), node.below)
    factors = node.factors if isinstance(node, T.Mul) else (node,)
    return times(*(f for f in factors if not isinstance(f, T.Iverson)))


def reads(node: object, guards: tuple[Guard, ...] = ()) -> Iterator[tuple[T.Ref, tuple[Guard, ...]]]:
    """Every tensor entry that an expression reads, with the conditions under which it is looked at."""
    if isinstance(node, T.Ref):
        yield node, guards
        for affine in node.indices:
            yield from reads(affine, guards)
    elif isinstance(node, (T.Sum, T.Softmax, T.Reduce)):
        if node.where is not None:
            yield from reads(node.where, guards)
            guards = (*guards, (node.where, True))
        yield from reads(node.body, guards)
    elif isinstance(node, (T.Mul, T.Div)):
        own = tuple((c, True) for c in conditions(node))
        for factor in T.children(node):
            yield from reads(factor, guards if isinstance(factor, T.Iverson) else guards + own)
    elif isinstance(node, T.Cases):
        for branch, condition in node.branches:
            yield from reads(condition, guards)
            yield from reads(branch, (*guards, (condition, True)))
            guards = (*guards, (condition, False))
        yield from reads(node.otherwise, guards)
    else:
        for child in T.children(node):
            yield from reads(child, guards)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A read of `ref` that may leave axis number `axis`, whose positions run from `low` to `high`;
    `worst` is how far it would go if no condition kept it in."""

    equation: T.Equation
    ref: T.Ref
    axis: int
    low: int
    high: int
    worst: int
    guards: tuple[Guard, ...]


def axes_read(
    system: System, equation: T.Equation
) -> Iterator[tuple[T.Ref, int, tuple[Guard, ...], int, int]]:
    """Each axis at which an equation reads a tensor that is not padded, under which conditions, and how far before and
    after the axis its boundary holds a value."""
    for ref, guards in reads(equation.right):
        for axis in range(len(ref.indices)) if ref.name not in system.padded else ():
            beyond = [0, *(steps for side, steps in system.boundary.get(ref.name, ()) if side == axis)]
            yield ref, axis, guards, min(beyond), max(beyond)


def check_reads(system: System, sizes: Mapping[str, int]) -> list[Doubt]:
    """The reads that leave their tensor for some values of the indices and that conditions decide; what leaves it
    whatever they say is refused."""
    extents, found = Extents(system, sizes), []
    for equation, ranges in system.ranges.items():
        for ref, axis, guards, before, after in axes_read(system, equation):
            affine, span = ref.indices[axis], extents.span(system.tensors[ref.name].dims[axis])
            low, high = span[0] + before, span[-1] + after
            least, most = extents.interval(affine, ranges) or (low, high)
            if least < low or most > high:
                own = tuple(g for g in guards if T.free_indices(g[0]) & T.free_indices(affine))
                found.append(Doubt(equation, ref, axis, low, high, least if least < low else most, own))
                if not own:
                    raise outside(system, sizes, found[-1])
    return found


def outside(system: System, sizes: Mapping[str, int], doubt: Doubt) -> NotationError:
    ref, axis = doubt.ref, doubt.axis
    affine, dim = ref.indices[axis], system.tensors[ref.name].dims[axis]
    span = Extents(system, sizes).span(dim)
    message = f"`{ref.name}` is read at {show(affine)} = {doubt.worst}, but its {nth(axis)} runs from "
    message += (
        f"{span[0]} to {span[-1]} (`{dim}` is {sizes[dim]}); say `pad {ref.name}` if it is zero outside"
    )
    return fail(system, message, affine.span if affine.span.line else ref.span)


# ── who reads whom ───────────────────────────────────────────────────────────────────────────


def finals(system: System) -> tuple[str, ...]:
    """The tensors that no other equation reads, but for readings at another step of the same recurrence."""
    read: set[str] = set()
    for block in system.blocks:
        looped = {system.ranges[e][i] for e in block.equations for i, _ in block.loops}
        own = {e.left.name for e in block.equations}
        for tensor, ref in ((e.left.name, ref) for e in block.equations for ref in T.references(e.right)):
            dims = system.tensors[ref.name].dims
            shifted = any(a.const for a, d in zip(ref.indices, dims, strict=True) if d in looped)
            if ref.name != tensor and not (shifted and ref.name in own):
                read.add(ref.name)
    return tuple(e.left.name for b in system.blocks for e in b.equations if e.left.name not in read)


def needed(system: System, wanted: Iterable[str]) -> list[tuple[Block, set[str]]]:
    """The blocks that some tensors need, in order, each with the names that are asked for after it."""
    names, kept = set(wanted), []
    for block in reversed(system.blocks):
        if not names.isdisjoint(e.left.name for e in block.equations):
            kept.append((block, set(names)))
            names |= {r.name for e in block.equations for r in T.references(e.right)}
    return kept[::-1]


def all_reads(system: System) -> dict[str, set[str]]:
    """For each defined tensor, those that its equation reads at any step."""
    return {e.left.name: {r.name for r in T.references(e.right)} for b in system.blocks for e in b.equations}
