"""Sums of products: flattened, freed of conditions that only pick an index, and contracted two by two.

`Σ_s [s == 2t+d] f(s)` is `f(2t+d)`; `Σ_{b,t} [w[b,t] == v] f(b,t)` adds each `f(b,t)` to the row that
`w[b,t]` names; a sum over a window, `Σ W[dx,dy,i,j] L[b,x+dx,y+dy,i]`, is torch's own convolution. What is left is
`einsum`, in the cheapest order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, prod
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import tree as T
from ..code.reads import split
from ..code.value import ATOM, MUL, POWER, Value, number
from ..indices import each, equality, put, solve
from ..meaning.pairing import Pairing, cheapest, leaves
from ..meaning.table import divide
from .reads import cut, every

if TYPE_CHECKING:
    from .writer import Writer


# The axis of a grid's recurrence: the entries of one anti-diagonal. Its length changes from step to step.
LANE = "~"

_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def literal(value: float) -> Value:
    whole = value.is_integer() and abs(value) < 1e15
    return number(str(int(value)) if whole else repr(value), ATOM if value >= 0 else MUL)


def convolution(write: "Writer", factors: Sequence[T.Expr], summed: Sequence[str]) -> Value | None:
    """A product of two factors, one of them read through windows; None if it is not one."""
    if len(factors) != 2 or any(isinstance(f, T.Iverson) for f in factors):
        return None
    one, other = factors
    return _convolve(write, one, other, summed) or _convolve(write, other, one, summed)


def _convolve(write: "Writer", image: T.Expr, kernel: T.Expr, summed: Sequence[str]) -> Value | None:
    if not isinstance(image, T.Ref):
        return None
    terms = [write.extents.terms(affine)[0] for affine in image.indices]
    plain = {axis: found[0] for axis, found in enumerate(terms) if len(found) == 1}
    # A window is read at `stride * out + dilation * tap`, up to sign and shift.
    windows = {
        axis: sorted(found, key=lambda term: term[1] in summed)
        for axis, found in enumerate(terms)
        if len(found) == 2 and len({name in summed for _, name in found}) == 2
    }
    names = [name for found in terms for _, name in found]
    if len([*T.references(image)]) > 1 or len(windows) not in _CONV or len(windows) + len(plain) < len(terms):
        return None
    weights = write.value(kernel)
    channels, batch = ([n for _, n in plain.values() if (n in summed) is sense] for sense in (True, False))
    places, taps = ([window[k][1] for window in windows.values()] for k in (0, 1))
    strides, dilations = ([window[k][0] for window in windows.values()] for k in (0, 1))
    kinds = [n for n in weights.axes if n not in channels and n not in taps]
    lengths: Callable[[Sequence[str]], list[int]] = lambda axes: [write.length(a) for a in axes]
    fits = (
        len(set(names)) == len(names)
        and {*channels, *taps} <= set(weights.axes)
        and not {*batch, *places} & set(weights.axes)
        and not set(summed) & set(kinds)
    )
    # With more taps than places the roles are the other way round: a gradient of weights, better as einsum.
    if not fits or prod(lengths(taps)) > prod(lengths(places)):
        return None
    where = {name: axis for axis, (_, name) in plain.items()}
    order = tuple([where[n] for n in batch + channels] + list(windows))
    lay = tuple(weights.axes.index(n) for n in kinds + channels + taps)
    flip = [2 + n for n, dilation in enumerate(dilations) if dilation < 0]
    back = [len(batch + kinds) + n for n, stride in enumerate(strides) if stride < 0]
    n, c, o = prod(lengths(batch)), prod(lengths(channels)), prod(lengths(kinds))
    shape = lengths(batch) + lengths(kinds)
    conv = _CONV[len(windows)]

    def convolve(x: Tensor, w: Tensor) -> Tensor:
        x, w = x.permute(order), w.permute(lay)
        x = x.reshape(n, c, *x.shape[len(batch + channels) :])
        w = w.reshape(o, c, *w.shape[len(kinds + channels) :])
        w = w.flip(flip) if flip else w
        y = conv(x, w, stride=list(map(abs, strides)), dilation=list(map(abs, dilations)))
        y = y.reshape(*shape, *y.shape[2:])
        return y.flip(back) if back else y

    # Each axis is cut or filled to the positions that are read; window axes are left whole.
    steps = [cut(write, image, axis, axis, len(terms)) for axis in range(len(terms))]
    text = write.scope.use(image.name)
    for axis in sorted(range(len(terms)), key=lambda axis: not steps[axis][0]):
        text = steps[axis][1](text) + (every(axis, plain[axis][0]) if axis in plain else "")
    return Value(f"{write.scope.object(convolve)}({text}, {weights.text})", (*batch, *kinds, *places))


@dataclass
class Flat:
    """`scale · Σ_summed Π factors`."""

    scale: float = 1.0
    factors: list[T.Expr] = field(default_factory=list)
    summed: list[str] = field(default_factory=list)


def _equalities(write: "Writer", flat: Flat) -> Iterator[tuple[T.Affine, list[T.Expr]]]:
    """`left - right` of each factor `[left == right]`, and the other factors.

    Only whole numbers count here: a real number that equals an index is a condition like any other.
    """
    for place, factor in enumerate(flat.factors):
        gap = equality(factor)
        looked_up = [a.ref.name for _, a in gap.terms if isinstance(a, T.Lookup)] if gap is not None else []
        if gap is not None and write.scope.whole_numbers.issuperset(looked_up):
            yield gap, [f for n, f in enumerate(flat.factors) if n != place]


def pick(write: "Writer", flat: Flat) -> bool:
    """Use up one `[s == …]` by putting the right side in place of the summed `s`."""
    for gap, others in _equalities(write, flat):
        for name in () if _row(flat, gap, others) else tuple(flat.summed):
            value = solve(gap, name)
            if value is None or write.inside(value):
                continue
            # Entries and conditions can take an expression for an index; a softmax or a concatenation over it cannot,
            # nor may the expression's own indices be used up inside.
            names = {name} | T.free_indices(value)
            below = (n for f in others for n in T.walk(f) if not isinstance(n, T.Affine))
            if any(names & T.named(n) for n in below):
                continue
            # Conditions keep it in its range, where the index ranges do not do so by themselves.
            span, (low, high) = write.values(name), write.extents.interval(value, write.ranges) or (-inf, inf)
            ends = [(">=", span.start)] * (low < span.start) + [("<", span.stop)] * (high >= span.stop)
            flat.factors = [put(f, {name: value}) for f in others]
            flat.factors += [T.Iverson(T.Compare(value, sign, T.Affine((), end))) for sign, end in ends]
            flat.summed.remove(name)
            return True
    return False


def _row(flat: Flat, gap: T.Affine, others: list[T.Expr]) -> tuple[str, T.Affine] | None:
    """The index and its address, if the equality says to which row something is added (see `scatter`)."""
    taken = set(flat.summed).union(*map(T.free_indices, others))
    for _, atom in gap.terms:
        value = solve(gap, atom) if isinstance(atom, str) and atom not in taken else None
        if value is not None:
            # Two or more summed indices, or a lookup: reading backwards would not be a view.
            summed = T.free_indices(value) & set(flat.summed)
            if len(summed) > 1 or (summed and any(T.references(value))):
                return str(atom), value
    return None


def scatter(write: "Writer", flat: Flat) -> Value | None:
    """`Σ [v == address] rest`: add every entry of `rest` to the row that its address names."""
    for gap, others in _equalities(write, flat):
        name, address = _row(flat, gap, others) or ("", None)
        if address is None or write.inside(address) or (write.frame and name in write.frame.looped):
            continue
        where = write.position(address)
        if LANE not in where.axes:
            break
    else:
        return None
    inner = Flat(flat.scale, others, [s for s in flat.summed if s not in where.axes])
    rest = write.full(write.tensor(_assemble(write, inner)), where.axes)
    # There are rows of their own for each index that is kept.
    kept, gone = ([a for a in where.axes if (a in flat.summed) is sense] for sense in (False, True))
    axes = [a for a in rest.axes if a not in where.axes]
    rows, start = len(write.values(name)), write.values(name).start
    to_front = tuple(rest.axes.index(a) for a in [*kept, *gone, *axes])
    order = tuple(where.axes.index(a) for a in [*kept, *gone])
    width = [write.length(a) for a in kept]
    count = prod(width)

    def add(x: Tensor, index: Tensor) -> Tensor:
        x, index = x.permute(to_front), index.permute(order) - start
        # Addresses outside the range name no row: they are added to one that is thrown away.
        index = torch.where((index >= 0) & (index < rows), index, rows).reshape(count, -1)
        base = torch.arange(count, device=index.device).unsqueeze(1) * (rows + 1)
        tail = x.shape[len(kept) + len(gone) :]
        into = x.new_zeros((count * (rows + 1), *tail))
        total = into.index_add(0, (index + base).reshape(-1), x.reshape(-1, *tail))
        return total.reshape(*width, rows + 1, *tail).narrow(len(kept), 0, rows)

    return Value(f"{write.scope.object(add)}({rest.text}, {where.text})", (*kept, name, *axes))


def product(write: "Writer", node: T.Expr) -> Value:
    """A product, a sum, or a quotient by a number."""
    if isinstance(node, T.Sum) and isinstance(node.body, T.Add):
        return write.add([_sum(node, term) for term in node.body.terms])
    _flatten(write, node, flat := Flat(), set(T.free_indices(node)))
    return _assemble(write, flat) if flat.scale else literal(0.0)


def _sum(node: T.Sum, term: T.Expr) -> T.Expr:
    return T.Neg(_sum(node, term.body)) if isinstance(term, T.Neg) else replace(node, body=term)


def _flatten(write: "Writer", node: T.Expr, flat: Flat, taken: set[str]) -> None:
    """Put a node's factors into `flat`; `taken` are the names that an inner sum may not use again."""
    minus, above, below = split(node)
    flat.scale = -flat.scale if minus else flat.scale
    for divisor in below:
        if (value := write.constant(divisor)) is not None:
            flat.scale = divide(flat.scale, value)
        else:
            flat.factors.append(T.Div(T.Num(Fraction(1)), divisor))
    for factor in above:
        if (value := write.constant(factor)) is not None:
            flat.scale *= value
        elif isinstance(factor, T.Sum) and not isinstance(factor.body, T.Add):
            for name in (
                set(factor.indices) & taken
            ):  # another name, so that it can be merged with its neighbours
                other = name
                while other in write.ranges:
                    other += "′"
                write.ranges[other] = write.ranges[name]
                factor = T.substitute(factor, {name: other})
            taken.update(factor.indices)
            flat.summed += factor.indices
            flat.factors += map(T.Iverson, each(factor.where))
            _flatten(write, factor.body, flat, taken)
        elif isinstance(factor, T.Iverson):
            flat.factors += map(T.Iverson, each(factor.condition))
        else:
            flat.factors.append(factor)


def _assemble(write: "Writer", flat: Flat) -> Value:
    while pick(write, flat):
        pass
    if (scattered := scatter(write, flat)) is not None:
        return scattered
    guards = [(f.condition, True) for f in flat.factors if isinstance(f, T.Iverson)]
    return write.under(guards, lambda: _contract(write, flat))


# A factor on its way; and is it still? Then the running loop does not change it, and it has the loop's axes.
_Part = tuple[Value, bool]


def _contract(write: "Writer", flat: Flat) -> Value:
    if not flat.factors:
        return literal(flat.scale * prod(write.length(s) for s in flat.summed))
    frame = write.frame
    if frame is None and (whole := convolution(write, flat.factors, flat.summed)) is not None:
        return _scaled(whole, flat.scale)
    parts: list[_Part] = []
    for factor in flat.factors:
        still = frame is not None and not write.inside(factor)
        parts.append((write.tensor((write.outer if still else write).value(factor)), still))
    present = {a for value, _ in parts for a in value.axes}
    scale = flat.scale * prod(write.length(s) for s in flat.summed if s not in present)
    looped = frame.looped if frame is not None else frozenset()
    keep = frozenset(present - set(flat.summed))
    if scale != 1:
        cost = lambda part: (not part[1], prod(write.length(a) for a in part[0].axes))
        smallest = parts.index(min(parts, key=cost))
        parts[smallest] = _scaled(parts[smallest][0], scale), parts[smallest][1]
    sizes = {a: write.length(a) for a in present | looped}
    inside = [not still for _, still in parts] if frame else ()
    tree = cheapest([frozenset(value.axes) for value, _ in parts], keep, sizes, inside, looped)
    result, still = _build(write, tree, parts, keep)
    return frame.hoist(result) if frame is not None and still else result


def _scaled(value: Value, scale: float) -> Value:
    text = f"-{value.at(MUL)}" if scale == -1 else f"{value.at(MUL)} * {literal(scale).at(ATOM)}"
    return value if scale == 1 else Value(text, value.axes, MUL)


def _build(write: "Writer", tree: Pairing, parts: list[_Part], keep: frozenset[str]) -> _Part:
    """The value of a tree of pairs, summed over every axis that nothing outside of it needs."""
    inside = leaves(tree)
    needed = keep.union(*(value.axes for n, (value, _) in enumerate(parts) if n not in inside))
    if isinstance(tree, int):
        value, still = parts[tree]
        return (_summed(value, needed) if len(parts) == 1 else value), still
    (left, one), (right, other) = (_build(write, part, parts, keep) for part in (tree.left, tree.right))
    frame = write.frame
    if frame is None or not (one or other):
        return _before(write, left, right, needed), False
    if one and other:
        return _before(write.outer, left, right, needed | frame.looped), True
    moving, fixed = (right, left) if one else (left, right)
    together = frame.linear(write, moving, fixed, needed, before=False)
    return together or multiply(write, moving, frame.hoist(fixed), needed), False


def _before(write: "Writer", left: Value, right: Value, needed: frozenset[str]) -> Value:
    """Two values multiplied outside of any loop; before one, an input times several matrices is one product."""
    frame = write.around
    for one, other in ((left, right), (right, left)):
        if frame is not None and frame.looped & set(one.axes):
            together = frame.linear(write, one, other, needed, before=True)
            if together is not None:
                return together
    return multiply(write, left, right, needed)


def _summed(value: Value, needed: frozenset[str] | set[str]) -> Value:
    dims = tuple(n for n, a in enumerate(value.axes) if a not in needed)
    if not dims:
        return value
    return Value(f"{value.at(ATOM)}.sum({dims})", tuple(a for a in value.axes if a in needed))


def multiply(write: "Writer", a: Value, b: Value, needed: frozenset[str]) -> Value:
    """Two values multiplied, and summed over every axis that is not `needed`."""
    a = _summed(a, needed | set(b.axes))
    b = _summed(b, needed | set(a.axes))
    both = set(a.axes) | set(b.axes)
    axes = write.order(both & needed)
    if len(axes) < len(both):
        return Value(write.einsum([a, b], axes), axes)
    (a, b), axes = write.together([a, b])
    return Value(f"{a.at(MUL)} * {b.at(POWER)}", axes, MUL)
