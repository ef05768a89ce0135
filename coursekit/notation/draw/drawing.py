"""Pictures of a system: the graph of one step, and the network unrolled for n steps.

`draw(system)` is the cell, from left to right, with the recurrence as a dashed wire back.
`draw(system, steps=3)` has a column a step, inputs below and outputs above, the state before the first step at
the left; a recurrence over a grid is drawn as a lattice. Parameters stand on the wires that they multiply.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from ..errors import NotationError
from ..show import show
from ..system import System
from ..tree import Ref
from .graph import Point, Wire, arrows, operation, time_dims, unrolled
from .layout import Layout, layered
from .svg import LABEL, Box, Label, Picture, Run, bend, curve, name_runs, width

MARGIN = 16.0
GAP = 26.0  # least distance of two boxes in a layer
PORT = 25.0  # distance of two wires at a box
HIGH = 40.0  # of a box of the unrolled network
BUS = 9.0  # distance of two wires that run side by side

Rectangle = tuple[float, float, float, float]  # left, top, width, height
Key = tuple[str, str]  # a tensor, and where it stands if not at the present step
Route = tuple[str, tuple[float, float]]  # a wire's path, and the place of its label


def draw(system: System, steps: int | None = None) -> Picture:
    """The cell's graph, or the network unrolled for `steps` steps."""
    if steps is None:
        return _cell_picture(system)
    grid = max((len(b.loops) for b in system.blocks), default=0) > 1
    if grid and len(dims := time_dims(system)) != 2:
        message = "unrolled, a recurrence over one index is drawn, or over a grid of two; this system runs "
        raise NotationError(f"{message}over {', '.join(dims)}: draw its cell, or a part of it")
    return (_lattice if grid else _columns)(system, steps)


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
        self.definitions = system.definitions

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


# ── one step ─────────────────────────────────────────────────────────────────────────────────


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


def _cell_picture(system: System) -> Picture:
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
    start = [(now.centre[0], now.bottom), (now.centre[0], low)]
    if any(b.y > now.y and b.x < now.centre[0] < b.right for b in boxes):  # not through a box below
        side = max(now.right, right) + out
        start = [(now.right, now.bottom - 8), (side, now.bottom - 8), (side, low)]
    return [*start, (left, low), (left, end[1]), end]


# ── unrolled ─────────────────────────────────────────────────────────────────────────────────


def _picture(
    title: str, boxes: dict[Point, Box], wires: Iterable[Wire], route: Callable[[Wire], Route]
) -> Picture:
    """The boxes with the wires between them, the same label at the same place once."""
    labels: dict[tuple[object, ...], Label] = {}
    picture = Picture(title, boxes=list(boxes.values()))
    for source, target, through in wires:
        if source in boxes and target in boxes:
            path, spot = route((source, target, through))
            picture.wires.append((path, ""))
            if through:
                labels.setdefault((target, through, spot), Label(*spot, label_runs(through)))
    picture.labels = list(labels.values())
    right = [b.right for b in picture.boxes] + [lb.x + lb.w for lb in picture.labels]
    picture.size = max(right) + MARGIN, max(b.bottom for b in picture.boxes) + MARGIN
    picture.words = " ".join(sentence(str(s), str(t), through) for s, t, through in wires)
    return picture


def _box(look: Look, p: Point, x: float, y: float, w: float, steps: int) -> Box:
    before = any(not 0 <= at < steps for at in p.at)
    return look.box(p, p.name, ",".join(str(k + 1) for k in p.at), (x, y, w, HIGH), before)


class _Unrolled:
    def __init__(self, system: System, steps: int):
        self.system, self.steps = system, steps
        # a table such as alpha[t1,t2] is one box a column: its row
        row: Callable[[Point], Point] = lambda point: Point(point.name, point.at[:1])
        self.wires = list(dict.fromkeys((row(s), row(t), way) for s, t, way in unrolled(system, steps)))
        self.points = list(dict.fromkeys(p for s, t, _ in self.wires for p in (s, t)))
        self.after: set[Point] = set()  # what is computed from the steps, and is in none: a loss
        for s, t, _ in self.wires:
            if not t.at and (s.at or s in self.after):
                self.after.add(t)
        self.past = max([steps, *(p.at[0] + 1 for p in self.points if p.at)])
        self.into = {p: [w for w in self.wires if w[1] == p] for p in self.points}
        self.port = max([24.0] + [width(label_runs(way), LABEL) + 12 for _, _, way in self.wires])
        self.names = list(dict.fromkeys(p.name for p in self.points))
        self.narrow = {n: max(52.0, width(name_runs(n, "00")) + 20) for n in self.names}
        self.wide = dict(self.narrow)
        for p, wires in self.into.items():
            ports = sum(s.name != p.name for s, _, _ in wires)
            self.wide[p.name] = max(self.wide[p.name], self.port * ports + 8)
        self.plan = self._plan()
        across = dict.fromkeys(s.name for s, t, _ in self.wires if self.column(s) != self.column(t))
        self.buses = {n: k for k, n in enumerate(across)}
        self.gap = 62.0 + BUS * len(self.buses)
        self.gutter = 34.0 + BUS * len(self.buses)
        self.boxes = self._place()

    def column(self, point: Point) -> int:
        """The step that a point stands in; what has none stands before the first, or after the last."""
        return point.at[0] if point.at else self.past if point in self.after else -1

    def _plan(self) -> Layout:
        """One step's layout, the same in every column. What is computed stands above what is given, even if it reads
        nothing of its own step."""
        here = {(s.name, t.name) for s, t, _ in self.wires if self.column(s) == self.column(t)}
        links = {(s.name, t.name) for s, t, _ in self.wires if s.name != t.name and not self._before(s, t)}
        given = [n for n in self.names if not self.system.tensors[n].defined]
        for shown in (links | here, here, set[tuple[str, str]]()):
            low = set(self.names).difference(given, (t for _, t in shown)) if given else ()
            with suppress(ValueError):  # what is read from other steps closes a circle: only this step counts
                links = shown | {(given[0], name) for name in low}
                return layered(self.names, sorted(links), self.wide, 22.0)
        raise AssertionError("no links make no circle")

    def _before(self, source: Point, target: Point) -> bool:
        state = source.at and source.name in self.system.boundary
        return bool(state) and self.column(source) != self.column(target)

    def _place(self) -> dict[Point, Box]:
        plan = self.plan
        across = max(plan.across[n] + self.wide[n] / 2 for n in self.names)
        first = max((self._width(p) for p in self.points if self.column(p) == -1), default=-self.gutter)
        start = MARGIN + first + self.gutter
        self.left = {t: start + t * (across + self.gutter) for t in range(self.steps + 2)} | {-1: MARGIN}
        self.right = {t: x + across for t, x in self.left.items()} | {-1: MARGIN + first}
        look, boxes = Look(self.system, {s.name for s, _, _ in self.wires}), {}
        for p in self.points:
            w, step = self._width(p), self.column(p)
            here = plan.across[p.name] - w / 2 if step < self.steps else 0.0
            x = self.left[step] + ((first - w) / 2 if step == -1 else here)
            y = MARGIN + (max(plan.layer[n] for n in self.names) - plan.layer[p.name]) * (HIGH + self.gap)
            boxes[p] = _box(look, p, x, y, w, self.steps)
        return boxes

    def _width(self, point: Point) -> float:
        inside = 0 <= self.column(point) < self.steps or point in self.after
        return (self.wide if inside else self.narrow)[point.name]

    def level(self, wire: Wire) -> bool:
        """A straight wire from one box to the next in the same row."""
        a, b = self.boxes[wire[0]], self.boxes[wire[1]]
        if a.y != b.y or abs(self.column(wire[0]) - self.column(wire[1])) != 1:
            return False
        low, high = sorted((a, b), key=lambda box: box.x)
        return not any(low.right <= o.x < high.x for o in self.boxes.values() if o.y == a.y and o is not high)

    def route(self, wire: Wire) -> Route:
        source, target, through = wire
        a, b = self.boxes[source], self.boxes[target]
        if self.level(wire):
            ends = (a.right, b.x - 2) if a.x < b.x else (a.x, b.right + 2)
            x = min(a.right, b.right) + (self.gutter - width(label_runs(through), LABEL)) / 2
            return bend([(end, a.centre[1]) for end in ends]), (x, a.centre[1] - 5)
        # From below: those from the left enter left.
        below = [w for w in self.into[target] if not self.level(w)]
        below.sort(key=lambda w: (self.boxes[w[0]].centre[0], str(w[0])))
        x = b.centre[0] + self.port * (below.index(wire) - (len(below) - 1) / 2)
        return self._rising(source, target, (x, b.bottom + 2)), (x + 5, b.bottom + 16)

    def _rising(self, source: Point, target: Point, end: tuple[float, float]) -> str:
        """Wires inside a step go up, wires between steps run in the space between rows."""
        a, plan, here = self.boxes[source], self.plan, self.column(source)
        if here == self.column(target) and (source.name, target.name) in plan.paths:
            points = [(a.centre[0], a.y)]
            for via in plan.paths[source.name, target.name][1:-1]:
                x = self.left[here] + plan.across[via]
                y = a.y - (plan.layer[via] - plan.layer[source.name]) * (HIGH + self.gap)
                points += [(x, y + HIGH), (x, y)]
            return curve([*points, (end[0], end[1] + 18), end], vertical=True)
        forwards, shift = here < self.column(target), BUS * self.buses[source.name]
        side = self.right[here] + 12 + shift if forwards else self.left[here] - 12 - shift
        row = [b for p, b in self.boxes.items() if b.y == a.y and b is not a and self.column(p) == here]
        start = [(a.right if forwards else a.x, a.centre[1]), (side, a.centre[1])]
        if any(b.x > a.x if forwards else b.x < a.x for b in row):  # hidden by a box beside it
            out = a.y - 10 - shift
            start = [(a.centre[0], a.y), (a.centre[0], out), (side, out)]
        return bend([*start, (side, end[1] + 30 + shift), (end[0], end[1] + 30 + shift), end])


def _columns(system: System, steps: int) -> Picture:
    net = _Unrolled(system, steps)
    title = f"The network that defines {', '.join(system.outputs)}, unrolled for {steps} steps"
    picture = _picture(title, net.boxes, net.wires, net.route)
    # wires run below the lowest row
    if any(net.boxes[w[1]].bottom + MARGIN == picture.size[1] and not net.level(w) for w in net.wires):
        picture.size = picture.size[0], picture.size[1] + net.gap
    return picture


# ── the grid ─────────────────────────────────────────────────────────────────────────────────


def _lattice(system: System, steps: int) -> Picture:
    """The states on a grid, first index to the right and second downwards; inputs at their corners."""
    wires = unrolled(system, steps)
    points = list(dict.fromkeys(p for s, t, _ in wires for p in (s, t) if len(p.at) == 2))
    label = max([24.0] + [width(label_runs(way), LABEL) for _, _, way in wires])
    wide = {p.name: max(56.0, width(name_runs(p.name, "0,0")) + 18) for p in points}
    others = [n for n in wide if n not in system.boundary]
    pitch_x = max(wide.values()) + label + 44
    pitch_y = HIGH + 52 + len(others) * (HIGH + 24)
    look, boxes = Look(system, {s.name for s, _, _ in wires}), {}
    for p in points:
        x, y = MARGIN + (p.at[0] + 1) * pitch_x, MARGIN + (p.at[1] + 1) * pitch_y
        if p.name in others:
            x, y = x - 0.42 * pitch_x, y + (others.index(p.name) + 1) * (HIGH + 18)
        boxes[p] = _box(look, p, x, y, wide[p.name], steps)

    def route(wire: Wire) -> Route:
        a, b = boxes[wire[0]], boxes[wire[1]]
        if a.y == b.y:
            return bend([(a.right, a.centre[1]), (b.x - 2, b.centre[1])]), (a.right + 10, a.centre[1] - 5)
        if abs(a.centre[0] - b.centre[0]) < 1:
            ends = (a.bottom, b.y - 2) if a.y < b.y else (a.y, b.bottom + 2)
            return bend([(a.centre[0], end) for end in ends]), (a.centre[0] + 6, sum(ends) / 2)
        points = [(a.centre[0], a.y), (b.x + 12, b.bottom + 2)]
        return curve(points, vertical=True), (a.centre[0] + 2, a.y - 16)

    title = f"The grid that defines {', '.join(system.outputs)}, for {steps} by {steps} positions"
    return _picture(title, boxes, wires, route)
