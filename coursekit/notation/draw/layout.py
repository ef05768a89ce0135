"""A layered layout: every node in a layer, every edge forwards, few crossings, nothing on top of another.

Layers by the longest path from a source; a long edge passes through a place of its own in each layer between,
shared by all edges of one source; orders by barycentres; positions by least squares under the minimum
distances. Coordinates are (along, across): along the layers, across within one.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = Any  # of a node: any hashable value
Near = Mapping[Key, list[Key]]


@dataclass
class Layout:
    layer: dict[Key, int]
    across: dict[Key, float]
    paths: dict[tuple[Key, Key], list[Key]] = field(default_factory=dict)  # through the places between


def layers(nodes: Iterable[Key], edges: Iterable[tuple[Key, Key]]) -> dict[Key, int]:
    """The longest path to each node."""
    layer, edges = dict.fromkeys(nodes, 0), list(edges)
    for _ in range(len(layer) + 1):
        early = [(source, target) for source, target in edges if layer[target] <= layer[source]]
        if not early:
            return layer
        for source, target in early:
            layer[target] = max(layer[target], layer[source] + 1)
    raise ValueError("the graph has a cycle")


def layered(
    nodes: Iterable[Key], edges: Iterable[tuple[Key, Key]], extent: Mapping[Key, float], gap: float
) -> Layout:
    """Positions for the nodes; `extent` is a node's size across its layer, `gap` the least distance."""
    nodes, edges = list(nodes), list(dict.fromkeys(edges))
    layer = layers(nodes, edges)
    paths: dict[tuple[Key, Key], list[Key]] = {}
    for source, target in edges:
        between = [("via", source, k) for k in range(layer[source] + 1, layer[target])]
        for place, k in zip(between, range(layer[source] + 1, layer[target]), strict=True):
            layer[place] = k
        paths[source, target] = [source, *between, target]
    steps = {(a, b) for path in paths.values() for a, b in itertools.pairwise(path)}
    rows = [[k for k in layer if layer[k] == n] for n in range(max(layer.values(), default=-1) + 1)]
    before = {k: [a for a, b in steps if b == k] for k in layer}
    after = {k: [b for a, b in steps if a == k] for k in layer}
    _order(rows, before, after)
    return Layout(layer, _settle(rows, before, after, {k: extent.get(k, 0.0) for k in layer}, gap), paths)


def _crossings(rows: list[list[Key]], after: Near) -> int:
    count = 0
    for row, following in itertools.pairwise(rows):
        place = {k: n for n, k in enumerate(following)}
        ends = [(n, place[b]) for n, a in enumerate(row) for b in after[a] if b in place]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(ends, 2))
    return count


def _order(rows: list[list[Key]], before: Near, after: Near) -> None:
    best, fewest = [list(r) for r in rows], _crossings(rows, after)
    for sweep in range(12):
        forwards = sweep % 2 == 0
        for k in range(1, len(rows)) if forwards else range(len(rows) - 2, -1, -1):
            fixed = rows[k - 1] if forwards else rows[k + 1]
            place = {key: n for n, key in enumerate(fixed)}
            near = before if forwards else after
            own = {key: n for n, key in enumerate(rows[k])}
            centre = {key: [place[n] for n in near[key] if n in place] or [own[key]] for key in rows[k]}
            rows[k].sort(key=lambda key, centre=centre: sum(centre[key]) / len(centre[key]))  # type: ignore[misc]
        if (found := _crossings(rows, after)) < fewest:
            best, fewest = [list(r) for r in rows], found
    rows[:] = best


def _settle(
    rows: list[list[Key]], before: Near, after: Near, size: Mapping[Key, float], gap: float
) -> dict[Key, float]:
    across: dict[Key, float] = {}
    for row in rows:
        for n, key in enumerate(row):
            across[key] = sum(size[k] + gap for k in row[:n]) + size[key] / 2
    for sweep in range(60):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wishes = []
            for key in row:
                near = [across[n] for n in (*before[key], *after[key])]
                wishes.append(sum(near) / len(near) if near else across[key])
            distance = [(size[a] + size[b]) / 2 + gap for a, b in itertools.pairwise(row)]
            for key, value in zip(row, _spaced(wishes, distance), strict=True):
                across[key] = value
    least = min((across[k] - size[k] / 2 for k in across), default=0.0)
    return {k: v - least for k, v in across.items()}


def _spaced(wishes: list[float], distance: list[float]) -> list[float]:
    """Positions near the wishes, in this order and at least so far apart: midway between those that are pushed on by
    the ones before, and those that are pushed back by the ones after."""
    offset = list(itertools.accumulate(distance, initial=0.0))
    free = [wish - o for wish, o in zip(wishes, offset, strict=True)]
    on, back = itertools.accumulate(free, max), itertools.accumulate(reversed(free), min)
    return [(a + b) / 2 + o for a, b, o in zip(on, reversed(list(back)), offset, strict=True)]
