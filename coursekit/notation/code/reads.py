"""Reading a tensor at index expressions: slices, shifts, windows, lookups; index tensors where nothing else will do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import NotationError
from ..tree import (
    Affine,
    Cases,
    Iverson,
    Lookup,
    Reduce,
    Ref,
    SizeOf,
    Softmax,
    Sum,
    free_indices,
    index,
    references,
    walk,
)
from .value import ATOM, Value, aligned, at_level, slots

if TYPE_CHECKING:
    from .expressions import Expressions


@dataclass
class Axis:
    """One axis of a read: its index expression, its dimension, its number in the tensor, its place in the text."""

    affine: Affine
    dim: str
    number: int
    place: int


def read(write: Expressions, ref: Ref) -> Value:
    dims = write.system.tensors[ref.name].dims
    loop = write.loop
    numbers = list(range(len(dims)))
    text = write.scope.tensor[ref.name]
    if loop is not None:
        if ref.name in loop.tensors:
            text, numbers = loop.read(ref), loop.rest(ref.name)
        elif any(_moves(write, a) or _computed(write, a) for a in ref.indices):
            return _hoisted(write, ref)
    axes = [Axis(ref.indices[k], dims[k], k, place) for place, k in enumerate(numbers)]
    kind = "whole" if write.system.tensors[ref.name].indexes else "real"
    return Reader(write, ref, axes).value(text, kind)


def _moves(write: Expressions, affine: Affine) -> bool:
    """Does an index go with the loop, but not step by step?"""
    looped = set(write.loop.names) if write.loop else set()
    own = {a for _, a in affine.terms if isinstance(a, str)} & looped
    return bool(own) and affine.plain is None


def _computed(write: Expressions, affine: Affine) -> bool:
    """Is an index what the loop computes?"""
    return write.loop is not None and any(r.name in write.loop.tensors for r in references(affine))


def _hoisted(write: Expressions, ref: Ref) -> Value:
    """Read for all steps at once before the loop; then each step takes its own, at the places that it has computed."""
    assert write.loop is not None
    dims = write.system.tensors[ref.name].dims
    computed = {f"{n} of {ref.name}": n for n, a in enumerate(ref.indices) if _computed(write, a)}
    every = dict(enumerate(ref.indices)) | {n: index(name) for name, n in computed.items()}
    outer = write.outside()
    outer.ranges = outer.ranges | {name: dims[n] for name, n in computed.items()}
    whole = outer.read(replace(ref, indices=tuple(every.values())))
    write.loop.before += [line.strip() for line in outer.before]
    line = next((li for li in write.loop.before if li.endswith(f" = {whole.text}")), None)
    if line is None:
        name = write.scope.fresh(f"{write.scope.tensor[ref.name]}_at")
        write.loop.before.append(f"{name} = {whole.text}")
    else:
        name = line.split(" = ")[0]
    places = [write.loop.names.get(a, ":") for a in whole.axes]
    axes = tuple(a for a in whole.axes if a not in write.loop.names)
    value = Value(name + slots(places), axes, ATOM, whole.kind)
    for axis, n in computed.items():
        value = _at(write, value, axis, write.position(ref.indices[n]))
    return value


def _at(write: Expressions, value: Value, axis: str, place: Value) -> Value:
    """The entries along an axis at places that a step has computed."""
    k, rest = value.axes.index(axis), tuple(a for a in value.axes if a != axis)
    if not place.axes:
        spot = f"{at_level(place, ATOM)}.long()"
        return replace(value, text=value.text + slots([*[":"] * k, spot]), axes=rest)
    if set(place.axes) != set(rest):
        raise NotationError(f"the code cannot look up `{write.equation.left.name}` in this way")
    spot = at_level(aligned(place, rest), ATOM)
    text = f"{value.text}.gather({k}, {spot}.long().unsqueeze({k})).squeeze({k})"
    return replace(value, text=text, axes=rest)


class Reader:
    def __init__(self, write: Expressions, ref: Ref, axes: list[Axis]) -> None:
        self.write, self.scope, self.ref, self.axes = write, write.scope, ref, axes
        self.padded = ref.name in write.system.padded
        self.names = [a.affine.plain or "" for a in axes]  # what each axis ends as
        self.pads: dict[int, tuple[str, str]] = {}
        self.cuts: dict[int, str] = {}
        self.unfolds: list[str] = []
        self.windows: list[str] = []
        self.picks: dict[int, str] = {}
        self.flips: list[int] = []
        self.lookups: dict[int, Value] = {}
        self.joins: list[tuple[Axis, int]] = []

    def value(self, text: str, kind: str) -> Value:
        if not all(self.axis(axis) for axis in self.axes) or len(self.lookups) > 1 or len(self.joins) > 1:
            return self.anywhere(text, kind)
        if self.lookups and len(self.picks) and set(self.lookups) & set(self.picks):
            return self.anywhere(text, kind)
        text = self.outside(text)
        for axis, shift in self.joins:
            text = self.joined(text, axis, shift)
        text += slots([self.cuts.get(k, ":") for k in range(len(self.axes))])
        if self.flips:
            text += f".flip({', '.join(map(str, self.flips))})"
        text += "".join(self.unfolds)
        if self.unfolds and self.pads:
            text = self.write.named(f"{self.scope.tensor[self.ref.name]}_windows", text)
        text += slots([self.picks.get(k, ":") for k in range(len(self.axes))])
        kept = [k for k in range(len(self.axes)) if k not in self.picks]
        names = [self.names[k] for k in kept]
        if self.lookups:
            ((place, found),) = self.lookups.items()
            return self.looked_up(text, kind, names, kept.index(place), found)
        return self.distinct(Value(text, (*names, *self.windows), ATOM, kind))

    # ── one axis ─────────────────────────────────────────────────────────────────────────────

    def axis(self, axis: Axis) -> bool:
        """Note what is to be done along an axis; False where only index tensors will do."""
        affine, loop = axis.affine, self.write.loop
        fixed = loop.fixed(affine) if loop is not None else None
        if fixed is not None:
            self.picks[axis.place] = fixed
            return True
        if affine.plain is not None:
            return True
        if (constant := self.scope.constant(affine)) is not None:
            own = affine.terms == ((1, SizeOf(axis.dim)),) and affine.const < 0
            self.picks[axis.place] = str(affine.const) if own else constant
            return affine.const >= 0 or own
        strings = [(f, a) for f, a in affine.terms if isinstance(a, str)]
        if not strings:
            self.lookups[axis.place] = self.write.position(affine)
            return not self.padded
        if any(isinstance(a, Lookup) for _, a in affine.terms):
            return False
        if any(isinstance(a, SizeOf) for _, a in affine.terms):
            if affine.terms == ((1, SizeOf(axis.dim)), (-1, strings[0][1])) and affine.const == -1:
                self.flips.append(axis.place)
                self.names[axis.place] = strings[0][1]
                return True
            return False
        return self.shift(axis, strings) if len(strings) == 1 else self.window(axis, strings)

    def shift(self, axis: Axis, strings: list[tuple[int, str]]) -> bool:
        ((factor, name),) = strings
        const, k = axis.affine.const, axis.place
        self.names[k] = name
        if self.write.centred(name) or factor < 1:
            return False
        if factor > 1:
            if self.padded or self.write.guarded or const < 0:
                return False
            size = self.scope.size(self.write.ranges[name])
            self.cuts[k] = f"{const or ''}:{f'{const} + ' if const else ''}{factor} * {size}:{factor}"
        elif self.padded:
            self.pads[k] = (str(-const), "0") if const < 0 else ("0", str(const))
            self.cuts[k] = f":{const}" if const < 0 else f"{const}:"
        elif (self.ref.name, axis.number, -1 if const < 0 else 1) in self.scope.edge:
            self.joins.append((axis, const))
        elif self.write.guarded:  # a condition keeps it inside
            return False
        else:
            raise NotationError(f"the code cannot read `{self.ref.name}` outside its range here")
        return True

    def window(self, axis: Axis, strings: list[tuple[int, str]]) -> bool:
        """`2*t+dt`: windows of dt's width, two apart."""
        ranges, const = self.write.ranges, axis.affine.const
        if len(strings) != 2 or (self.write.guarded and not self.padded):
            return False
        pair = next((p for p in (strings, strings[::-1]) if self.slides(axis, *p)), None)
        if pair is None:
            return False
        (stride, main), (way, inner) = pair
        derived = self.write.system.derived.get(ranges[main])
        width, k = self.scope.size(ranges[inner]), axis.place
        if self.padded and const == 0:
            self.pads[k] = _around(width, way, self.write.centred(inner))
        elif self.padded or self.write.centred(inner) or const < 0 or way < 0:
            return False
        elif const:
            self.cuts[k] = f"{const}:"
        self.unfolds.append(f".unfold({k}, {width}, {stride})" + (".flip(-1)" if way < 0 else ""))
        if derived and len(derived.reaches) > 1:
            self.unfolds.append(f".narrow({k}, 0, {self.scope.size(ranges[main])})")
        self.names[k] = main
        self.windows.append(inner)
        return True

    def slides(self, axis: Axis, main: tuple[int, str], inner: tuple[int, str]) -> bool:
        """Is the first index the window's place and the second the place inside the window?"""
        ranges = self.write.ranges
        dim = ranges[main[1]]
        follows = dim in self.write.system.derived or dim == axis.dim
        if self.write.centred(main[1]) or ranges[inner[1]] == axis.dim:
            return False
        return follows and main[0] > 0 and abs(inner[0]) == 1

    # ── the text ─────────────────────────────────────────────────────────────────────────────

    def outside(self, text: str) -> str:
        """Zeros around the tensor, where `pad` says so."""
        if not self.pads:
            return text
        first = min(self.pads)
        amounts = [self.pads.get(k, ("0", "0")) for k in range(len(self.axes) - 1, first - 1, -1)]
        self.scope.imports.add("from torch.nn.functional import pad")
        around = f"pad({text}, ({', '.join(part for pair in amounts for part in pair)}))"
        return self.write.named(f"{self.scope.tensor[self.ref.name]}_pad", around) if self.unfolds else around

    def joined(self, text: str, axis: Axis, shift: int) -> str:
        """The tensor one step on, with its boundary at the end that comes free."""
        sign = -1 if shift < 0 else 1
        key = (self.ref.name, axis.number, sign)
        edge, k = self.scope.edge[key], axis.place
        if len(self.axes) != len(self.write.system.tensors[self.ref.name].dims):
            raise NotationError(f"the code cannot read the boundary of `{self.ref.name}` on two axes at once")
        lead = [":"] * k
        if self.scope.depth(*key) == 1:
            edge += slots([*lead, "None"])
        else:
            edge += slots([*lead, f"{shift}:" if shift < 0 else f":{shift}"])
        rest = text + slots([*lead, f":{shift}" if shift < 0 else f"{shift}:"])
        parts = (edge, rest) if shift < 0 else (rest, edge)
        joined = f"torch.cat([{parts[0]}, {parts[1]}], dim={k})"
        word = "prev" if shift == -1 else "next" if shift == 1 else "shifted"
        return self.write.named(f"{self.scope.tensor[self.ref.name]}_{word}", joined)

    def looked_up(self, text: str, kind: str, names: list[str], place: int, found: Value) -> Value:
        kept = [n for k, n in enumerate(names) if k != place]
        if not set(found.axes) & {*kept, *self.windows}:
            axes = (*names[:place], *found.axes, *names[place + 1 :], *self.windows)
            where = slots([*[":"] * place, found.text])
            return self.distinct(Value(text + where, axes, ATOM, kind))
        if place == len(names) - 1 and tuple(kept) == found.axes and not self.windows:
            return Value(
                f"{text}.gather(-1, {at_level(found, ATOM)}[..., None])[..., 0]", found.axes, ATOM, kind
            )
        return self.anywhere(self.write.scope.tensor[self.ref.name], kind)

    def distinct(self, value: Value) -> Value:
        """An index that stands twice takes the diagonal."""
        if len(set(value.axes)) == len(value.axes):
            return value
        axes = tuple(dict.fromkeys(value.axes))
        return Value(self.write.einsum([value], axes), axes, ATOM, value.kind)

    def anywhere(self, text: str, kind: str) -> Value:
        """An index tensor for each axis, and a mask where zeros lie outside."""
        if any(self.ref.name == name for name, _, _ in self.scope.edge) and self.joins:
            raise NotationError(f"the code cannot read `{self.ref.name}` and its boundary in this way")
        looped = set(self.write.loop.names) if self.write.loop else set()
        names = {n for a in self.axes for n in free_indices(a.affine)} - looped
        axes = self.write.order(names)
        places, inside = [], []
        for axis in self.axes:
            place = self.write.position(axis.affine)
            size = self.scope.size(axis.dim)
            if self.scope.centred(axis.dim):
                place = Value(f"{at_level(place, 1)} + {size} // 2", place.axes, 1, "whole")
            spread = aligned(place, axes)
            beyond = axis.affine.plain is None and bool(spread.axes)
            if beyond and (self.padded or self.write.guarded):
                if self.padded:
                    inside.append(f"(0 <= {at_level(spread, 1)}) & ({at_level(spread, 1)} < {size})")
                places.append(f"{at_level(spread, ATOM)}.clamp(0, {size} - 1)")
            else:
                places.append(spread.text)
        found = f"{text}[{', '.join(places)}]"
        if inside:
            found = f"torch.where({' & '.join(inside)}, {found}, 0)"
        return Value(found, axes, ATOM, kind)


def _around(width: str, way: int, centred: bool) -> tuple[str, str]:
    """How many zeros before and after, for windows that reach forward (1) or back (-1) from their place."""
    before, after = (f"{width} // 2", f"({width} - 1) // 2") if centred else ("0", f"{width} - 1")
    return (before, after) if way > 0 else (after, before)


def has_conditions(node: object) -> bool:
    """Is there a condition in an equation that may keep a read from being looked at?"""
    return any(
        isinstance(n, (Iverson, Cases)) or (isinstance(n, (Sum, Softmax, Reduce)) and n.where is not None)
        for n in walk(node)
    )
