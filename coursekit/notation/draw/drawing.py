"""Pictures of a system: the graph of one step, and the network unrolled for n steps.

`draw(system)` is the cell, from left to right, with the recurrence as a dashed wire back.
`draw(system, steps=3)` has a column a step, inputs below and outputs above, the state before the first step at
the left; a recurrence over a grid is drawn as a lattice. Parameters stand on the wires that they multiply.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from ..errors import NotationError
from ..system import System
from .cell import MARGIN, Look, cell_picture, label_runs, sentence
from .graph import Point, Wire, time_dims, unrolled
from .layout import Layout, layered
from .svg import LABEL, Box, Label, Picture, bend, curve, name_runs, width

HIGH = 40.0  # a box
BUS = 9.0  # distance of two wires that run side by side

Route = tuple[str, tuple[float, float]]  # a wire's path, and the place of its label


def draw(system: System, steps: int | None = None) -> Picture:
    """The cell's graph, or the network unrolled for `steps` steps."""
    if steps is None:
        return cell_picture(system)
    grid = max((len(b.loops) for b in system.blocks), default=0) > 1
    if grid and len(dims := time_dims(system)) != 2:
        message = (
            "unrolled, a recurrence over one index is drawn, or over a grid of two; this system runs over "
        )
        raise NotationError(f"{message}{', '.join(dims)}: draw its cell, or a part of it")
    return (_lattice if grid else _columns)(system, steps)


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
                return layered(
                    self.names, sorted(shown | {(given[0], name) for name in low}), self.wide, 22.0
                )
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
