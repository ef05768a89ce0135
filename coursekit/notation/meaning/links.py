"""Who reads whom; and why two axes have one size: the indices that run over both, from equation to equation."""

from collections import deque
from collections.abc import Callable, Iterable

from ..system import Block, System
from ..tree import NOWHERE, Ref, Span, references, single

Axis = tuple[str, int]  # a tensor and the number of its axis
Hop = tuple[Ref, Ref]  # two tensors that one index of one equation runs over


def finals(system: System) -> tuple[str, ...]:
    """The tensors that no other equation reads, but for readings at another step of the same recurrence."""
    read: set[str] = set()
    for block in system.blocks:
        looped = {system.ranges[e][i] for e in block.equations for i, _ in block.loops}
        own = {e.left.name for e in block.equations}
        for tensor, ref in ((e.left.name, ref) for e in block.equations for ref in references(e.right)):
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
            names |= {r.name for e in block.equations for r in references(e.right)}
    return kept[::-1]


def all_reads(system: System) -> dict[str, set[str]]:
    """For each defined tensor, those that its equation reads at any step."""
    return {e.left.name: {r.name for r in references(e.right)} for b in system.blocks for e in b.equations}


def hops(system: System, one: Axis, other: Axis) -> list[Hop]:
    """The shortest way from one axis to the other; empty where no plain index leads there."""
    uses: dict[tuple[int, str | None], list[tuple[Axis, Ref]]] = {}
    over: dict[Axis, list[tuple[tuple[int, str | None], Ref]]] = {}
    for number, equation in enumerate(e for block in system.blocks for e in block.equations):
        for ref in references(equation):
            for k, affine in enumerate(ref.indices):
                index = (number, single(affine))
                if index[1] is not None:
                    uses.setdefault(index, []).append(((ref.name, k), ref))
                    over.setdefault((ref.name, k), []).append((index, ref))
    ways: dict[Axis, list[Hop]] = {one: []}
    queue = deque([one])
    while queue and other not in ways:
        axis = queue.popleft()
        for index, ref in over.get(axis, ()):
            for reached, partner in uses[index]:
                if reached not in ways:
                    ways[reached] = [*ways[axis], (ref, partner)]
                    queue.append(reached)
    return ways.get(other, [])


def told(system: System, way: list[Hop]) -> tuple[str, Span]:
    """What joins two axes that meet in no single equation, as the end of a sentence; and the place to look at."""
    if not way:
        return "", NOWHERE
    last = max((ref.span for _, ref in way), key=lambda span: span.line)
    if len(way) == 1:
        return "", last
    source = system.program.source
    if any(not 1 <= ref.span.line <= source.count("\n") + 1 for hop in way for ref in hop):
        return "", last  # made by the program, and not written
    line: Callable[[Span], str] = lambda span: f" in line {span.line}" if "\n" in source.strip() else ""
    steps = [f"`{_text(source, a.span)}` with `{_text(source, b.span)}`{line(b.span)}" for a, b in way]
    return f"; {', '.join(steps[:-1])} and {steps[-1]} make them one", last


def _text(source: str, span: Span) -> str:
    """What the student wrote, up to the bracket that a span leaves out."""
    rest = source.split("\n")[span.line - 1][span.column - 1 :]
    piece = rest[: span.width]
    return rest[: rest.find("]", span.width) + 1] if piece.count("[") > piece.count("]") else piece
