"""The graph of one step: layers from left to right, the recurrence dashed underneath."""

from __future__ import annotations

from collections.abc import Iterable

from ..show import show
from ..system import System
from ..tree import Ref
from .graph import Arrow, arrows, operation, time_dims
from .layout import layered
from .svg import LABEL, Box, Label, Picture, Run, bend, curve, name_runs, width

MARGIN = 16.0
GAP = 26.0  # least distance of two boxes in a layer
PORT = 25.0  # distance of two wires at a box


def label_runs(parameters: Iterable[str]) -> tuple[Run, ...]:
    """`W, b` with their scripts."""
    runs: list[Run] = []
    for name in parameters:
        if runs:
            runs.append((", ", "plain"))
        runs += name_runs(name)
    return tuple(runs)


def sentence(source: str, target: str, parameters: Iterable[str]) -> str:
    through = ", ".join(parameters)
    return f"{source} goes into {target}" + (f" through {through}" if through else "") + "."


def style_of(system: System, name: str, read: set[str]) -> str:
    if not system.tensors[name].defined:
        return "input"
    if name in system.boundary:
        return "state"
    return "value" if name in read else "output"


class _Cell:
    """The nodes of the cell: a tensor now, or at another step (its key then has the shifts)."""

    def __init__(self, system: System):
        self.system = system
        self.timed = set(time_dims(system)) if any(b.loops for b in system.blocks) else set()
        self.arrows = arrows(system)
        self.wires: dict[tuple, dict[str, None]] = {}
        for arrow in self.arrows:
            pair = self.key(arrow.source, arrow), self.key(arrow.target, arrow)
            self.wires.setdefault(pair, {}).update(dict.fromkeys(arrow.parameters))
        self.nodes = list(dict.fromkeys(k for pair in self.wires for k in pair))
        self.nodes += [(n, ()) for n in system.outputs if (n, ()) not in self.nodes]

    def key(self, ref: Ref, arrow: Arrow) -> tuple:
        dims = self.system.tensors[ref.name].dims
        shifts = tuple(a.const for a, d in zip(ref.indices, dims, strict=True) if d in self.timed)
        return (ref.name, shifts) if any(shifts) else (ref.name, ())

    def place(self, key: tuple) -> str:
        """`t−1` for a shifted node."""
        name, shifts = key
        if not shifts:
            return ""
        affines = next(
            [
                a
                for a, d in zip(w.source.indices, self.system.tensors[name].dims, strict=True)
                if d in self.timed
            ]
            for w in self.arrows
            if self.key(w.source, w) == key
        )
        return ",".join(show(a) for a in affines)

    def text(self, key: tuple) -> str:
        return key[0] + (f"[{self.place(key)}]" if key[1] else "")


def cell_picture(system: System) -> Picture:
    cell = _Cell(system)
    read = {k[0] for k, _ in cell.wires}
    incoming = {k: sum(1 for _, b in cell.wires if b == k) for k in cell.nodes}
    runs = {k: tuple(name_runs(k[0], cell.place(k))) for k in cell.nodes}
    tall = {k: max(42.0, PORT * incoming[k] + 12) for k in cell.nodes}
    laid = layered(cell.nodes, cell.wires, tall, GAP)
    definitions = {e.left.name: e for b in system.blocks for e in b.equations}

    count = max(laid.layer.values(), default=0) + 1
    wide = [
        max((_wide(runs[k], k, definitions) for k in cell.nodes if laid.layer[k] == n), default=0.0)
        for n in range(count)
    ]
    room = [0.0] * count  # before each layer, for the labels on the wires that end there
    for (_, target), names in cell.wires.items():
        room[laid.layer[target]] = max(room[laid.layer[target]], width(label_runs(names), LABEL))
    left, x = [], MARGIN + 12.0 * sum(1 for k in cell.nodes if k[1])
    for n in range(count):
        x += (room[n] + 76.0) if n else 0.0
        left.append(x)
        x += wide[n]

    picture = Picture(_title(system), "")
    boxes: dict[tuple, Box] = {}
    for k in cell.nodes:
        w = _wide(runs[k], k, definitions)
        n = laid.layer[k]
        below = "" if k[1] or k[0] not in definitions else operation(definitions[k[0]])
        style = "before" if k[1] else style_of(system, k[0], read)
        equation = show(definitions[k[0]]) if k[0] in definitions else f"{k[0]} is given"
        boxes[k] = Box(
            k, left[n] + (wide[n] - w) / 2, MARGIN + laid.across[k] - tall[k] / 2, w, tall[k], runs[k], below, style,
            equation,
        )  # fmt: skip
    picture.boxes = list(boxes.values())
    words = []
    for target in cell.nodes:
        into = [(laid.across[path[-2]], s) for (s, t), path in laid.paths.items() if t == target]
        for at, (_, source) in enumerate(sorted(into, key=lambda p: p[0])):
            path, names = laid.paths[source, target], cell.wires[source, target]
            port = boxes[target].centre[1] + PORT * (at - (len(into) - 1) / 2)
            points = [(boxes[source].right, boxes[source].centre[1])]
            for via in path[1:-1]:
                n = laid.layer[via]
                points += [
                    (left[n], MARGIN + laid.across[via]),
                    (left[n] + wide[n], MARGIN + laid.across[via]),
                ]
            points += [(boxes[target].x - room[laid.layer[target]] - 18, port)] if names else []
            points.append((boxes[target].x - 2, port))
            picture.wires.append((curve(points), ""))
            if names:
                text = label_runs(names)
                picture.labels.append(Label(boxes[target].x - 16 - width(text, LABEL), port - 5, text))
            words.append(sentence(cell.text(source), cell.text(target), names))
    bottom = max([b.bottom for b in picture.boxes] + [MARGIN + y for y in laid.across.values()])
    picture.width = max(b.right for b in picture.boxes) + MARGIN
    loops = 0
    for k in cell.nodes:
        now = (k[0], ())
        if k[1] and now in boxes and system.tensors[k[0]].defined:
            bottom += 14
            loops += 1
            _loop(picture, boxes[now], boxes[k], bottom, 12.0 * loops)
            words.append(f"{k[0]} of this step is {cell.text(k)} of another: the recurrence.")
    picture.height = bottom + MARGIN
    picture.words = " ".join(words)
    return picture


def _wide(runs: tuple[Run, ...], key: tuple, definitions: dict) -> float:
    small = 0.0 if key[1] or key[0] not in definitions else 6.4 * len(operation(definitions[key[0]]))
    return max(52.0, width(runs) + 22, small + 18)


def _loop(picture: Picture, now: Box, before: Box, low: float, out: float) -> None:
    """The dashed wire from a state back to itself at the step before."""
    left, end = before.x - out - 2, (before.x - 2, before.centre[1])
    if any(b.y > now.y and b.x < now.centre[0] < b.right for b in picture.boxes):  # not through a box below
        right = max(now.right, picture.width - MARGIN) + out
        picture.width = max(picture.width, right + MARGIN)
        start = [(now.right, now.bottom - 8), (right, now.bottom - 8), (right, low)]
    else:
        start = [(now.centre[0], now.bottom), (now.centre[0], low)]
    picture.wires.append((bend([*start, (left, low), (left, end[1]), end]), "loop"))


def _title(system: System) -> str:
    return "One step of the system that defines " + ", ".join(system.outputs)
