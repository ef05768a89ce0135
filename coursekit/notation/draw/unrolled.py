"""The network unrolled: a column a step, or a lattice for a recurrence over a grid."""

from __future__ import annotations

from contextlib import suppress

from ..system import System
from .cell import MARGIN, Look, label_runs, sentence
from .graph import Arrow, Point, unrolled
from .layout import Layout, layered
from .svg import LABEL, Box, Label, Picture, bend, curve, name_runs, width

HIGH = 40.0  # a box
BUS = 9.0  # distance of two wires that run side by side

Wire = tuple[Point, Point, Arrow]


def _row(point: Point) -> Point:
    return Point(point.name, point.at[:1])


def _box(look: Look, p: Point, corner: tuple[float, float], w: float, steps: int) -> Box:
    before = any(not 0 <= at < steps for at in p.at)
    return look.box(p, p.name, ",".join(str(k + 1) for k in p.at), corner, (w, HIGH), before)


class _Unrolled:
    def __init__(self, system: System, steps: int):
        self.system, self.steps = system, steps
        # a table such as alpha[t1,t2] is one box a column: its row
        rows = {
            (_row(s), _row(t), a.parameters): (_row(s), _row(t), a) for s, t, a in unrolled(system, steps)
        }
        self.wires = list(rows.values())
        self.points = list(dict.fromkeys(p for s, t, _ in self.wires for p in (s, t)))
        self.after: set[Point] = set()  # what is computed from the steps, and is in none: a loss
        for s, t, _ in self.wires:
            if not t.at and (s.at or s in self.after):
                self.after.add(t)
        self.past = max([steps, *(p.at[0] + 1 for p in self.points if p.at)])
        self.inside = [w for w in self.wires if self.column(w[0]) == self.column(w[1])]
        self.across = [w for w in self.wires if self.column(w[0]) != self.column(w[1])]
        self.into = {p: [w for w in self.wires if w[1] == p] for p in self.points}
        self.port = max([24.0] + [width(label_runs(a.parameters), LABEL) + 12 for _, _, a in self.wires])
        self.names = list(dict.fromkeys(p.name for p in self.points))
        ports = {
            n: max(sum(w[0].name != n for w in self.into[p]) for p in self.points if p.name == n)
            for n in self.names
        }
        self.wide = {
            n: max(52.0, self.port * ports[n] + 8, width(name_runs(n, "00")) + 20) for n in self.names
        }
        self.plan = self._plan()
        self.buses = {n: k for k, n in enumerate(dict.fromkeys(s.name for s, _, _ in self.across))}
        self.gap = 62.0 + BUS * len(self.buses)
        self.gutter = 34.0 + BUS * len(self.buses)
        self.boxes = self._place()

    def column(self, point: Point) -> int:
        """The step that a point stands in; what has none stands before the first, or after the last."""
        return point.at[0] if point.at else self.past if point in self.after else -1

    def _plan(self) -> Layout:
        """One step's layout, the same in every column."""
        links = {(s.name, t.name) for s, t, _ in self.inside}
        links |= {(s.name, t.name) for s, t, _ in self.wires if s.name != t.name and not self._before(s, t)}
        here = {(s.name, t.name) for s, t, _ in self.inside}
        for shown in (links, here):
            with suppress(ValueError):  # what is read from other steps closes a circle: only this step counts
                return self._laid(shown)
        return self._laid(set())  # two recurrences that read each other's last step

    def _laid(self, links: set[tuple[str, str]]) -> Layout:
        """What is computed stands above what is given, even if it reads nothing of its own step."""
        given = [n for n in self.names if not self.system.tensors[n].defined]
        for name in self.names:
            if given and name not in given and all(t != name for _, t in links):
                links = links | {(given[0], name)}
        return layered(self.names, sorted(links), self.wide, 22.0)

    def _before(self, source: Point, target: Point) -> bool:
        return (
            bool(source.at)
            and source.name in self.system.boundary
            and self.column(source) != self.column(target)
        )

    def _place(self) -> dict[Point, Box]:
        plan = self.plan
        rows = max(plan.layer[n] for n in self.names) + 1
        across = max(plan.across[n] + self.wide[n] / 2 for n in self.names)
        early = [p for p in self.points if self.column(p) == -1]
        first = max((self._width(p) for p in early), default=0.0)
        start = MARGIN + (first + self.gutter if early else 0.0)
        self.left = {t: start + t * (across + self.gutter) for t in range(self.steps + 2)}
        self.left[-1] = MARGIN
        self.right = {t: x + across for t, x in self.left.items()} | {-1: MARGIN + first}
        look = Look(self.system, {s.name for s, _, _ in self.wires})
        boxes = {}
        for p in self.points:
            w, step = self._width(p), self.column(p)
            here = plan.across[p.name] - w / 2 if step < self.steps else 0.0
            x = self.left[step] + ((first - w) / 2 if step == -1 else here)
            y = MARGIN + (rows - 1 - plan.layer[p.name]) * (HIGH + self.gap)
            boxes[p] = _box(look, p, (x, y), w, self.steps)
        return boxes

    def _width(self, point: Point) -> float:
        inside = 0 <= self.column(point) < self.steps or point in self.after
        return self.wide[point.name] if inside else max(52.0, width(name_runs(point.name, "00")) + 20)

    def bottom_port(self, wire: Wire) -> tuple[float, float]:
        """Where a wire enters its box from below: those from the left enter left."""
        target = self.boxes[wire[1]]
        order = sorted(self.into[wire[1]], key=lambda w: (self.boxes[w[0]].centre[0], str(w[0])))
        order = [w for w in order if not self.level(w)]
        at = order.index(wire)
        return target.centre[0] + self.port * (at - (len(order) - 1) / 2), target.bottom

    def level(self, wire: Wire) -> bool:
        """A straight wire from one box to the next in the same row."""
        a, b = self.boxes[wire[0]], self.boxes[wire[1]]
        if a.y != b.y or abs(self.column(wire[0]) - self.column(wire[1])) != 1:
            return False
        low, high = sorted((a, b), key=lambda box: box.x)
        return not any(low.right <= o.x < high.x for o in self.boxes.values() if o.y == a.y and o is not high)


def unrolled_picture(system: System, steps: int) -> Picture:
    """Columns are steps; wires inside a step go up, wires between steps run in the space between rows."""
    net = _Unrolled(system, steps)
    picture = Picture(f"The network that defines {', '.join(system.outputs)}, unrolled for {steps} steps")
    picture.boxes = list(net.boxes.values())
    words = []
    labelled = set()
    for wire in net.wires:
        source, target, arrow = wire
        a, b = net.boxes[source], net.boxes[target]
        label = label_runs(arrow.parameters)
        if net.level(wire):
            ends = (a.right, b.x - 2) if a.x < b.x else (a.x, b.right + 2)
            height = a.centre[1]
            picture.wires.append((bend([(ends[0], height), (ends[1], height)]), ""))
            spot = (min(a.right, b.right) + (net.gutter - width(label, LABEL)) / 2, height - 5)
        else:
            x, y = net.bottom_port(wire)
            picture.wires.append((_route(net, wire, (x, y + 2)), ""))
            spot = (x + 5, y + 16)
        if label and (target, arrow.parameters, spot) not in labelled:
            labelled.add((target, arrow.parameters, spot))
            picture.labels.append(Label(*spot, label))
        words.append(sentence(str(source), str(target), arrow.parameters))
    _fit(picture)
    # wires run below the lowest row
    if any(net.boxes[w[1]].bottom + MARGIN == picture.size[1] and not net.level(w) for w in net.wires):
        picture.size = picture.size[0], picture.size[1] + net.gap
    picture.words = " ".join(words)
    return picture


def _route(net: _Unrolled, wire: Wire, end: tuple[float, float]) -> str:
    source, target, _ = wire
    a, plan = net.boxes[source], net.plan
    if net.column(source) == net.column(target) and (source.name, target.name) in plan.paths:
        points = [(a.centre[0], a.y)]
        for via in plan.paths[source.name, target.name][1:-1]:
            x = net.left[net.column(source)] + plan.across[via]
            y = net.boxes[source].y - (plan.layer[via] - plan.layer[source.name]) * (HIGH + net.gap)
            points += [(x, y + HIGH), (x, y)]
        return curve([*points, (end[0], end[1] + 18), end], vertical=True)
    here, k = net.column(source), net.buses[source.name]
    forwards = here < net.column(target)
    bus = end[1] + 30 + BUS * k
    side = net.right[here] + 12 + BUS * k if forwards else net.left[here] - 12 - BUS * k
    row = [b for p, b in net.boxes.items() if b.y == a.y and b is not a and net.column(p) == here]
    hidden = any(b.x > a.x if forwards else b.x < a.x for b in row)
    if hidden:
        out = a.y - 10 - BUS * k
        start: list[tuple[float, float]] = [(a.centre[0], a.y), (a.centre[0], out), (side, out)]
    else:
        start = [(a.right if forwards else a.x, a.centre[1]), (side, a.centre[1])]
    return bend([*start, (side, bus), (end[0], bus), end])


# ── the grid ─────────────────────────────────────────────────────────────────────────────────


def lattice_picture(system: System, steps: int) -> Picture:
    """The states on a grid, first index to the right and second downwards; inputs at their corners."""
    wires = unrolled(system, steps)
    states = [n for n in system.outputs if n in system.boundary]
    points = list(dict.fromkeys(p for s, t, _ in wires for p in (s, t) if len(p.at) == 2))
    label = max([24.0] + [width(label_runs(a.parameters), LABEL) for _, _, a in wires])
    wide = {n: max(56.0, width(name_runs(n, "0,0")) + 18) for n in {p.name for p in points}}
    others = [n for n in wide if n not in states]
    pitch_x = max(wide.values()) + label + 44
    pitch_y = HIGH + 52 + len(others) * (HIGH + 24)
    look = Look(system, {s.name for s, _, _ in wires})
    picture = Picture(f"The grid that defines {', '.join(system.outputs)}, for {steps} by {steps} positions")
    boxes: dict[Point, Box] = {}
    for p in points:
        x, y = MARGIN + (p.at[0] + 1) * pitch_x, MARGIN + (p.at[1] + 1) * pitch_y
        if p.name not in states:
            x, y = x - 0.42 * pitch_x, y + (others.index(p.name) + 1) * (HIGH + 18)
        boxes[p] = _box(look, p, (x, y), wide[p.name], steps)
    picture.boxes = list(boxes.values())
    words = []
    for source, target, arrow in wires:
        words.append(sentence(str(source), str(target), arrow.parameters))
        if source not in boxes or target not in boxes:
            continue
        path, spot = _grid_wire(boxes[source], boxes[target])
        picture.wires.append((path, ""))
        if arrow.parameters:
            picture.labels.append(Label(*spot, label_runs(arrow.parameters)))
    _fit(picture)
    picture.words = " ".join(words)
    return picture


def _grid_wire(a: Box, b: Box) -> tuple[str, tuple[float, float]]:
    if a.y == b.y:
        return bend([(a.right, a.centre[1]), (b.x - 2, b.centre[1])]), (a.right + 10, a.centre[1] - 5)
    if abs(a.centre[0] - b.centre[0]) < 1:
        down = a.y < b.y
        ends = (a.bottom, b.y - 2) if down else (a.y, b.bottom + 2)
        middle = (ends[0] + ends[1]) / 2
        return bend([(a.centre[0], ends[0]), (b.centre[0], ends[1])]), (a.centre[0] + 6, middle)
    x = b.x + 12
    return curve([(a.centre[0], a.y), (x, b.bottom + 2)], vertical=True), (a.centre[0] + 2, a.y - 16)


def _fit(picture: Picture) -> None:
    right = [b.right for b in picture.boxes] + [lb.x + lb.w for lb in picture.labels]
    picture.size = max(right) + MARGIN, max(b.bottom for b in picture.boxes) + MARGIN
