"""The graph of one step: layers from left to right, the recurrence dashed underneath."""

from collections.abc import Iterable

from ..show import show
from ..system import System
from ..tree import Ref
from .graph import arrows, operation, time_dims
from .layout import layered
from .svg import LABEL, Box, Label, Picture, Run, bend, curve, name_runs, width

MARGIN = 16.0
GAP = 26.0  # least distance of two boxes in a layer
PORT = 25.0  # distance of two wires at a box

Rectangle = tuple[float, float, float, float]  # left, top, width, height
Key = tuple[str, str]  # a tensor, and where it stands if not at the present step


def label_runs(parameters: Iterable[str]) -> tuple[Run, ...]:
    """`W, b` with their scripts."""
    return tuple([run for name in parameters for run in ((", ", "plain"), *name_runs(name))][1:])


def sentence(source: str, target: str, parameters: Iterable[str]) -> str:
    through = ", ".join(parameters)
    return f"{source} goes into {target}" + (f" through {through}" if through else "") + "."


class Look:
    """How the tensors of a system are shown; `read` are those that some other one reads."""

    def __init__(self, system: System, read: set[str]):
        self.system, self.read = system, read
        self.definitions = {e.left.name: e for b in system.blocks for e in b.equations}

    def operation(self, name: str) -> str:
        return operation(self.definitions[name]) if name in self.definitions else ""

    def box(self, key: object, name: str, at: str, place: Rectangle, before: bool) -> Box:
        """The box of a tensor; `before`: at a step that the picture does not compute."""
        if before or name not in self.definitions:
            style, below, title = "input", "", f"{name}{at and f'[{at}]'} is given"
        else:
            style = "value" if name in self.read else "output"
            style = "state" if name in self.system.boundary else style
            below, title = self.operation(name), show(self.definitions[name])
        return Box(key, *place, tuple(name_runs(name, at)), below, "before" if before else style, title)


def _cell(system: System) -> tuple[list[Key], dict[tuple[Key, Key], dict[str, None]]]:
    """The nodes of the cell, a tensor now or at another step (its key then says which: `t-1`), and its wires with the
    parameters on them."""
    timed = set(time_dims(system)) if any(b.loops for b in system.blocks) else set()
    places: dict[
        tuple[str, tuple[int, ...]], str
    ] = {}  # a tensor and its shifts -> how they are first written

    def key(ref: Ref) -> Key:
        dims = system.tensors[ref.name].dims
        own = [a for a, d in zip(ref.indices, dims, strict=True) if d in timed]
        shifts = tuple(a.const for a in own)
        return ref.name, places.setdefault((ref.name, shifts), ",".join(map(show, own))) if any(
            shifts
        ) else ""

    wires: dict[tuple[Key, Key], dict[str, None]] = {}
    for source, equation, through in arrows(system):
        wires.setdefault((key(source), key(equation.left)), {}).update(dict.fromkeys(through))
    now = [(n, "") for n in system.outputs]
    return list(dict.fromkeys([*(k for pair in wires for k in pair), *now])), wires


def _text(key: Key) -> str:
    return key[0] + (f"[{key[1]}]" if key[1] else "")


def cell_picture(system: System) -> Picture:
    nodes, wires = _cell(system)
    look = Look(system, {name for (name, _), _ in wires})
    tall = {k: max(42.0, PORT * sum(target == k for _, target in wires) + 12) for k in nodes}
    small = {k: "" if k[1] else look.operation(k[0]) for k in nodes}
    wide = {k: max(52.0, width(name_runs(*k)) + 22, 6.4 * len(small[k]) + 18) for k in nodes}
    laid = layered(nodes, wires, tall, GAP)

    left: list[float] = []
    broad: list[float] = []
    room: list[float] = []  # before each layer, for the labels on the wires that end there
    x = MARGIN + 12.0 * sum(1 for k in nodes if k[1])
    for n in range(max(laid.layer.values(), default=0) + 1):
        texts = [label_runs(names) for (_, target), names in wires.items() if laid.layer[target] == n]
        room.append(max((width(text, LABEL) for text in texts), default=0.0))
        broad.append(max((wide[k] for k in nodes if laid.layer[k] == n), default=0.0))
        left.append(x + (room[n] + 76.0 if n else 0.0))
        x = left[n] + broad[n]

    picture = Picture("One step of the system that defines " + ", ".join(system.outputs))
    boxes: dict[Key, Box] = {}
    for k in nodes:
        n = laid.layer[k]
        corner = left[n] + (broad[n] - wide[k]) / 2, MARGIN + laid.across[k] - tall[k] / 2
        boxes[k] = look.box(k, *k, (*corner, wide[k], tall[k]), bool(k[1]))
    picture.boxes = list(boxes.values())
    words = []
    for target in nodes:
        into = [(laid.across[path[-2]], s) for (s, t), path in laid.paths.items() if t == target]
        for at, (_, source) in enumerate(sorted(into, key=lambda p: p[0])):
            path, names = laid.paths[source, target], wires[source, target]
            port = boxes[target].centre[1] + PORT * (at - (len(into) - 1) / 2)
            points = [(boxes[source].right, boxes[source].centre[1])]
            for via in path[1:-1]:
                n, y = laid.layer[via], MARGIN + laid.across[via]
                points += [(left[n], y), (left[n] + broad[n], y)]
            points += [(boxes[target].x - room[laid.layer[target]] - 18, port)] if names else []
            picture.wires.append((curve([*points, (boxes[target].x - 2, port)]), ""))
            if names:
                text = label_runs(names)
                picture.labels.append(Label(boxes[target].x - 16 - width(text, LABEL), port - 5, text))
            words.append(sentence(_text(source), _text(target), names))
    low = max([b.bottom for b in picture.boxes] + [MARGIN + y for y in laid.across.values()])
    right = max(b.right for b in picture.boxes)
    back = [k for k in nodes if k[1] and (k[0], "") in boxes and system.tensors[k[0]].defined]
    for number, k in enumerate(back, 1):
        low += 14
        points = _loop(picture.boxes, boxes[k[0], ""], boxes[k], low, right, 12.0 * number)
        right = max(right, *(x for x, _ in points))
        picture.wires.append((bend(points), " ck-loop"))
        words.append(f"{k[0]} of this step is {_text(k)} of another: the recurrence.")
    picture.size, picture.words = (right + MARGIN, low + MARGIN), " ".join(words)
    return picture


def _loop(
    boxes: list[Box], now: Box, before: Box, low: float, right: float, out: float
) -> list[tuple[float, float]]:
    """The dashed wire from a state back to itself at the step before."""
    left, end = before.x - out - 2, (before.x - 2, before.centre[1])
    if any(b.y > now.y and b.x < now.centre[0] < b.right for b in boxes):  # not through a box below
        side = max(now.right, right) + out
        start = [(now.right, now.bottom - 8), (side, now.bottom - 8), (side, low)]
    else:
        start = [(now.centre[0], now.bottom), (now.centre[0], low)]
    return [*start, (left, low), (left, end[1]), end]
