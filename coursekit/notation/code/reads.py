"""Reading a tensor at index expressions (slices, shifts, windows, lookups), and products of what was read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .. import tree as T
from ..errors import NotationError
from ..indices import difference, each, plus
from ..meaning.reach import extent, shifted
from ..tree import Affine, Lookup, Ref, SizeOf, free_indices, index, references
from .value import ADD, ATOM, COMMA, MUL, POWER, Value, joint, number, slots

if TYPE_CHECKING:
    from .expressions import Expressions


@dataclass
class Axis:
    """One axis of a read: its index expression, its dimension, its number in the tensor, its place in the text."""

    affine: Affine
    dim: str
    number: int
    place: int


def read(write: "Expressions", ref: Ref) -> Value:
    dims = write.system.tensors[ref.name].dims
    loop = write.loop
    numbers = list(range(len(dims)))
    text = write.scope.tensor[ref.name]
    if loop is not None:
        if ref.name in loop.tensors:
            text, numbers = loop.read(ref), loop.rest(ref.name)
        elif any(
            _computed(write, a) or (not a.plain and {*a.names} & loop.names.keys()) for a in ref.indices
        ):
            return _hoisted(write, ref)  # an index is computed, or goes with the loop but not step by step
    axes = [Axis(ref.indices[k], dims[k], k, place) for place, k in enumerate(numbers)]
    kind = "whole" if write.system.tensors[ref.name].indexes else "real"
    return Reader(write, ref, axes).value(text, kind)


def _computed(write: "Expressions", affine: Affine) -> bool:
    """Is an index what the loop computes?"""
    return write.loop is not None and any(r.name in write.loop.tensors for r in references(affine))


def _hoisted(write: "Expressions", ref: Ref) -> Value:
    """Read for all steps at once before the loop; then each step takes its own, at the places that it has computed."""
    assert write.loop is not None
    dims = write.system.tensors[ref.name].dims
    computed = {f"{n} of {ref.name}": n for n, a in enumerate(ref.indices) if _computed(write, a)}
    every = dict(enumerate(ref.indices)) | {n: index(name) for name, n in computed.items()}
    outer = type(write)(write.scope, write.equation)
    outer.ranges = outer.ranges | {name: dims[n] for name, n in computed.items()}
    whole = read(outer, replace(ref, indices=tuple(every.values())))
    name = outer.named(f"{write.scope.tensor[ref.name]}_at", whole.text)
    write.loop.before += [line[4:] for line in outer.before]
    places = [write.loop.names.get(a, ":") for a in whole.axes]
    axes = tuple(a for a in whole.axes if a not in write.loop.names)
    value = Value(name + slots(places), axes, ATOM, whole.kind)
    for axis, n in computed.items():
        value = _at(write, value, axis, write.position(ref.indices[n]))
    return value


def _at(write: "Expressions", value: Value, axis: str, place: Value) -> Value:
    """The entries along an axis at places that a step has computed."""
    k, rest = value.axes.index(axis), tuple(a for a in value.axes if a != axis)
    if place.axes and set(place.axes) != set(rest):
        raise NotationError(f"the code cannot look up `{write.equation.left.name}` in this way")
    spot = f"{place.beside(rest).at(ATOM)}.long()"
    text = f".gather({k}, {spot}.unsqueeze({k})).squeeze({k})" if place.axes else slots([*[":"] * k, spot])
    return replace(value, text=value.text + text, axes=rest)


class Reader:
    """An axis is cut or filled to the positions that are read; then a second index is a window along it."""

    def __init__(self, write: "Expressions", ref: Ref, axes: list[Axis]) -> None:
        self.write, self.scope, self.ref, self.axes = write, write.scope, ref, axes
        self.padded = ref.name in write.system.padded
        self.names = [a.affine.plain or "" for a in axes]  # what each axis ends as
        self.pads: dict[int, tuple[str, str]] = {}
        self.cuts: dict[int, str] = {}
        self.turns: list[str] = []  # what follows the cuts
        self.windows: list[str] = []
        self.picks: dict[int, str] = {}
        self.lookups: dict[int, Value] = {}
        self.joins: list[Axis] = []

    def value(self, text: str, kind: str) -> Value:
        if not all(self.axis(axis) for axis in self.axes) or len(self.lookups) > 1 or len(self.joins) > 1:
            return self.anywhere(text, kind)
        text = self.filled(text)
        for axis in self.joins:
            text = self.joined(text, axis)
        text += slots([self.cuts.get(k, ":") for k in range(len(self.axes))]) + "".join(self.turns)
        if self.windows and self.pads:
            text = self.write.named(f"{self.scope.tensor[self.ref.name]}_windows", text)
        text += slots([self.picks.get(k, ":") for k in range(len(self.axes))])
        kept = [k for k in range(len(self.axes)) if k not in self.picks]
        names = [self.names[k] for k in kept]
        if self.lookups:
            ((place, found),) = self.lookups.items()
            return self.looked_up(text, kind, names, kept.index(place), found)
        return self.distinct(Value(text, (*names, *self.windows), ATOM, kind))

    def axis(self, axis: Axis) -> bool:
        """Note what is to be done along an axis; False where only index tensors will do."""
        affine, loop = axis.affine, self.write.loop
        if loop is not None and (fixed := loop.fixed(affine)) is not None:
            self.picks[axis.place] = fixed
            return True
        if affine.plain is not None:
            return True
        if (constant := self.scope.constant(affine)) is not None:
            own = affine.terms == ((1, SizeOf(axis.dim)),) and affine.const < 0
            self.picks[axis.place] = str(affine.const) if own else constant
            return affine.const >= 0 or own
        indices = [(f, a) for f, a in affine.terms if isinstance(a, str)]
        if any(isinstance(a, Lookup) for _, a in affine.terms):
            self.lookups[axis.place] = self.write.position(affine)
            return not indices and not self.padded
        if len(indices) > 2 or (self.write.guarded and not self.padded and not self.edged(axis)):
            return False  # a condition may keep it inside
        self.along(axis, indices)
        return True

    def edged(self, axis: Axis) -> bool:
        """Is it read a step on, with a boundary at the end that comes free?"""
        return self.key(axis) in self.scope.edge and shifted(axis.affine, self.write.ranges, axis.dim)

    def key(self, axis: Axis) -> tuple[str, int, int]:
        """The side at which a shifted read leaves its axis."""
        return self.ref.name, axis.number, -1 if axis.affine.const < 0 else 1

    def along(self, axis: Axis, indices: list[tuple[int, str]]) -> None:
        """`2*t+dt`: windows of dt's width, two apart, over the positions from the least to the greatest."""
        ranges, k = self.write.ranges, axis.place
        # First an index over the places of the window, rather than over those inside it.
        indices = sorted(indices, key=lambda i: ranges[i[1]] not in {*self.write.system.derived, axis.dim})
        (stride, main), *inner = indices
        self.names[k] = main
        if self.edged(axis) and not self.padded:
            self.joins.append(axis)
            return
        low, high = extent(axis.affine, self.scope.span, ranges)
        over = difference(high, self.scope.span(axis.dim)[1])
        start = stop = ""
        if self.padded:
            around = self.scope.spelled(difference(Affine(()), low)), self.scope.spelled(over)
            self.pads |= {k: around} if around != ("0", "0") else {}
        elif any(f < 0 for f, _ in low.terms) or low.const < 0 or (over.const > 0 and not over.terms):
            raise NotationError(f"the code cannot read `{self.ref.name}` outside its range here")
        else:
            start = self.scope.spelled(low).removeprefix("0")
            derived = self.write.system.derived.get(ranges[main])
            # One read that tells a size leaves nothing over.
            if over != Affine(()) and (derived is None or len(derived.reaches) > 1):
                stop = self.scope.spelled(plus(high, Affine((), 1)))
        step = f":{abs(stride)}" if not inner and abs(stride) > 1 else ""
        if start or stop or step:
            self.cuts[k] = f"{start}:{stop}{step}"
        for factor, name in inner:
            width, apart = self.scope.size(ranges[name]), abs(factor)
            width, every = (f"{apart} * ({width} - 1) + 1", f"[..., ::{apart}]") if apart > 1 else (width, "")
            self.turns.append(f".unfold({k}, {width}, {abs(stride)}){every}")
            self.windows.append(name)
        turned = [str(k)] * (stride < 0) + ["-1"] * any(f < 0 for f, _ in inner)
        self.turns += [f".flip({', '.join(turned)})"] if turned else []

    def filled(self, text: str) -> str:
        """Zeros around the tensor, where `pad` says so; fewer than none cut it."""
        if not self.pads:
            return text
        first = min(self.pads)
        amounts = [self.pads.get(k, ("0", "0")) for k in range(len(self.axes) - 1, first - 1, -1)]
        self.scope.imports.add("from torch.nn.functional import pad")
        around = f"pad({text}, ({', '.join(part for pair in amounts for part in pair)}))"
        return self.write.named(f"{self.scope.tensor[self.ref.name]}_pad", around) if self.windows else around

    def joined(self, text: str, axis: Axis) -> str:
        """The tensor a step on, with its boundary at the end that comes free."""
        shift, k, key = axis.affine.const, axis.place, self.key(axis)
        if len(self.axes) != len(self.write.system.tensors[self.ref.name].dims):
            raise NotationError(f"the code cannot read the boundary of `{self.ref.name}` on two axes at once")
        lead, cut = [":"] * k, (f"{shift}:", f":{shift}")
        edge = "None" if self.scope.depth(*key) == 1 else cut[shift > 0]
        edge = self.scope.edge[key] + slots([*lead, edge])
        rest = text + slots([*lead, cut[shift < 0]])
        parts = f"{edge}, {rest}" if shift < 0 else f"{rest}, {edge}"
        name = f"{self.scope.tensor[self.ref.name]}_{ {-1: 'prev', 1: 'next'}.get(shift, 'shifted') }"
        return self.write.named(name, f"torch.cat([{parts}], dim={k})")

    def looked_up(self, text: str, kind: str, names: list[str], place: int, found: Value) -> Value:
        kept = [n for k, n in enumerate(names) if k != place]
        if not set(found.axes) & {*kept, *self.windows}:
            axes = (*names[:place], *found.axes, *names[place + 1 :], *self.windows)
            where = slots([*[":"] * place, found.text])
            return self.distinct(Value(text + where, axes, ATOM, kind))
        if place == len(names) - 1 and tuple(kept) == found.axes and not self.windows:
            return Value(f"{text}.gather(-1, {found.at(ATOM)}[..., None])[..., 0]", found.axes, ATOM, kind)
        return self.anywhere(self.write.scope.tensor[self.ref.name], kind)

    def distinct(self, value: Value) -> Value:
        """An index that stands twice takes the diagonal."""
        if len(set(value.axes)) == len(value.axes):
            return value
        axes = tuple(dict.fromkeys(value.axes))
        return Value(self.write.einsum([value], axes), axes, ATOM, value.kind)

    def anywhere(self, text: str, kind: str) -> Value:
        """An index tensor for each axis, and a mask where zeros lie outside."""
        if self.joins:
            raise NotationError(f"the code cannot read `{self.ref.name}` and its boundary in this way")
        names = {n for a in self.axes for n in free_indices(a.affine)}
        axes = self.write.order(names.difference(self.write.loop.names if self.write.loop else ()))
        places, inside = [], []
        for axis in self.axes:
            place = self.write.position(axis.affine)
            size = self.scope.size(axis.dim)
            if self.scope.centred(axis.dim):
                place = Value(f"{place.at(1)} + {size} // 2", place.axes, 1, "whole")
            spread = place.beside(axes)
            beyond = axis.affine.plain is None and bool(spread.axes) and (self.padded or self.write.guarded)
            if beyond and self.padded:
                inside.append(f"(0 <= {spread.at(1)}) & ({spread.at(1)} < {size})")
            places.append(f"{spread.at(ATOM)}.clamp(0, {size} - 1)" if beyond else spread.text)
        found = f"{text}[{', '.join(places)}]"
        if inside:
            found = f"torch.where({' & '.join(inside)}, {found}, 0)"
        return Value(found, axes, ATOM, kind)


# ── products: `einsum` where an index is summed or axes must be crossed, `*` elsewhere ────────


def split(node: T.Expr) -> tuple[bool, list[T.Expr], list[T.Expr]]:
    """A product in its parts: whether it is negative, its factors, its divisors."""
    if isinstance(node, T.Neg):
        minus, above, below = split(node.body)
        return not minus, above, below
    if isinstance(node, T.Mul):
        parts = [split(f) for f in node.factors]
        minus = sum(p[0] for p in parts) % 2 == 1
        return minus, [f for p in parts for f in p[1]], [d for p in parts for d in p[2]]
    if isinstance(node, T.Div):
        minus, above, below = split(node.above)
        return minus, above, [*below, node.below]
    return False, [node], []


def product(write: "Expressions", node: T.Expr) -> Value:
    """A product, a quotient, or a sum of such."""
    total = node if isinstance(node, T.Sum) else T.Sum((), node)
    bound, guards = total.indices, [total.where] if total.where is not None else []
    minus, factors, divisors = split(total.body)
    guards += [f.condition for f in factors if isinstance(f, T.Iverson)]
    rest = [f for f in factors if not isinstance(f, T.Iverson)]
    # What a condition hides may be infinite there, so zero times it will not do.
    risky = [n for part in (*rest, *divisors) for n in T.walk(part) if isinstance(n, (T.Div, T.Pow, T.Call))]
    if guards and (risky or divisors):
        whole = _multiplied(write, [write.value(f) for f in rest], ())
        value = _guarded(write, _finish(write, False, whole, [write.value(d) for d in divisors]), guards)
        return _finish(write, minus, _tensors(write, [value], bound) if bound else value, [])
    values = [write.value(f) for f in rest]
    values = [v for v in values if v.text != "1"] or values[: not guards]
    values += [write.condition(c) for c in guards]
    inner = [d for d in divisors if T.free_indices(d) & set(bound)]
    below = [write.real(write.value(d)) for d in inner]
    values += [replace(v, text=f"1 / {v.at(POWER)}", level=MUL, kind="real") for v in below]
    outer = [write.value(d) for d in divisors if d not in inner]
    return _finish(write, minus, _multiplied(write, values, bound), outer)


def _multiplied(write: "Expressions", values: Sequence[Value], bound: Sequence[str]) -> Value:
    """The product of the values, summed over the bound indices."""
    tensors = [v for v in values if v.axes]
    wide = [_tensors(write, tensors, bound)] if tensors else []
    numbers, scalars = ([v for v in values if v.constant is c and not v.axes] for c in (True, False))
    parts = write.of_one_kind([*numbers, *scalars, *wide])
    if len(parts) < 2:
        return parts[0] if parts else number("1")
    text = " * ".join(p.at(MUL if k == 0 else POWER) for k, p in enumerate(parts))
    return Value(text, wide[0].axes if wide else (), MUL, joint(parts), all(p.constant for p in parts))


def _tensors(write: "Expressions", values: Sequence[Value], bound: Sequence[str]) -> Value:
    union = {a for v in values for a in v.axes}
    axes = write.order(union - set(bound))
    values = [write.full(values[0], [b for b in bound if b not in union]), *values[1:]]
    if len(values) == 1:
        (value,) = values
        if not bound:
            return value
        kept = tuple(a for a in value.axes if a not in bound)
        dims = "" if not kept else write.dims(value, bound)
        kind = "real" if value.kind == "real" else "whole"
        return Value(f"{value.at(ATOM)}.sum({dims})", kept, ATOM, kind)
    # By `*` where one of the factors is as wide as the product, and each in the product's order.
    wide = any(len(v.axes) == len(axes) for v in values)
    if bound or not wide or any(v.axes != tuple(a for a in axes if a in v.axes) for v in values):
        return Value(write.einsum(values, axes), axes)
    spread, axes = write.together(values)
    if all(v.kind == "truth" for v in spread):
        return Value(" & ".join(v.at(ATOM) for v in spread), axes, ADD - 1, "truth")
    kind = "real" if any(v.kind == "real" for v in spread) else "whole"
    text = " * ".join(v.at(MUL if k == 0 else POWER) for k, v in enumerate(spread))
    return Value(text, axes, MUL, kind)


def _finish(write: "Expressions", minus: bool, value: Value, divisors: Sequence[Value]) -> Value:
    for divisor in divisors:
        if "real" not in (value.kind, divisor.kind) or value.constant or divisor.constant:
            value, divisor = write.real(value), write.real(divisor)
        (a, b), axes = write.together([value, divisor])
        value = Value(f"{a.at(MUL)} / {b.at(POWER)}", axes, MUL, "real", a.constant and b.constant)
    value = write.real(value) if minus and value.kind == "truth" else value
    return replace(value, text=f"-{value.at(MUL)}", level=MUL) if minus else value


def _guarded(write: "Expressions", inside: Value, guards: Sequence[T.Condition]) -> Value:
    """A value where some conditions hold, zero elsewhere."""
    whole = guards[0] if len(guards) == 1 else T.And(tuple(p for c in guards for p in each(c)))
    mask = write.condition(whole)
    (shown, holds), both = write.together([write.tensor(write.real(inside)), mask])
    if mask.constant:
        return Value(f"({shown.text} if {holds.text} else 0 * {shown.at(POWER)})", both)
    return Value(f"torch.where({holds.text},{COMMA}{shown.text},{COMMA}0.0)", both)
