"""Why two axes have one size: the indices that run over both, from equation to equation."""

from __future__ import annotations

from collections import deque

from ..check.ranges import single
from ..system import System
from ..tree import NOWHERE, Ref, Span, references

Axis = tuple[str, int]  # a tensor and the number of its axis
Hop = tuple[Ref, Ref]  # two tensors that one index of one equation runs over


def hops(system: System, one: Axis, other: Axis) -> list[Hop]:
    """The shortest way from one axis to the other; empty where no plain index leads there."""
    uses: dict[tuple, list[tuple[Axis, Ref]]] = {}
    over: dict[Axis, list[tuple[tuple, Ref]]] = {}
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
    line = lambda span: f" in line {span.line}" if "\n" in source.strip() else ""
    steps = [f"`{_text(source, a.span)}` with `{_text(source, b.span)}`{line(b.span)}" for a, b in way]
    return f"; {', '.join(steps[:-1])} and {steps[-1]} make them one", last


def _text(source: str, span: Span) -> str:
    """What the student wrote, up to the bracket that a span leaves out."""
    rest = source.split("\n")[span.line - 1][span.column - 1 :]
    piece = rest[: span.width]
    return rest[: rest.find("]", span.width) + 1] if piece.count("[") > piece.count("]") else piece
