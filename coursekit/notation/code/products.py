"""Products and sums of products: `einsum` where an index is summed or axes must be crossed, `*` elsewhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..indices import each
from ..tree import And, Call, Condition, Div, Expr, Iverson, Mul, Neg, Pow, Sum, free_indices, walk
from .value import ADD, ATOM, COMMA, MUL, POWER, Value, joint, number

if TYPE_CHECKING:
    from .expressions import Expressions


def _split(node: Expr) -> tuple[bool, list[Expr], list[Expr]]:
    """A product in its parts: whether it is negative, its factors, its divisors."""
    if isinstance(node, Neg):
        minus, above, below = _split(node.body)
        return not minus, above, below
    if isinstance(node, Mul):
        parts = [_split(f) for f in node.factors]
        minus = sum(p[0] for p in parts) % 2 == 1
        return minus, [f for p in parts for f in p[1]], [d for p in parts for d in p[2]]
    if isinstance(node, Div):
        minus, above, below = _split(node.above)
        return minus, above, [*below, node.below]
    return False, [node], []


def product(write: "Expressions", node: Expr) -> Value:
    """A product, a quotient, or a sum of such."""
    total = node if isinstance(node, Sum) else Sum((), node)
    bound, guards = total.indices, [total.where] if total.where is not None else []
    minus, factors, divisors = _split(total.body)
    guards += [f.condition for f in factors if isinstance(f, Iverson)]
    rest = [f for f in factors if not isinstance(f, Iverson)]
    # What a condition hides may be infinite there, so zero times it will not do.
    risky = [n for part in (*rest, *divisors) for n in walk(part) if isinstance(n, (Div, Pow, Call))]
    if guards and (risky or divisors):
        whole = _multiplied(write, [write.value(f) for f in rest], ())
        value = _guarded(write, _finish(write, False, whole, [write.value(d) for d in divisors]), guards)
        return _finish(write, minus, _tensors(write, [value], bound) if bound else value, [])
    values = [write.value(f) for f in rest]
    values = [v for v in values if v.text != "1"] or values[: not guards]
    values += [write.condition(c) for c in guards]
    inner = [d for d in divisors if free_indices(d) & set(bound)]
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


def _guarded(write: "Expressions", inside: Value, guards: Sequence[Condition]) -> Value:
    """A value where some conditions hold, zero elsewhere."""
    mask = write.condition(guards[0] if len(guards) == 1 else And(tuple(p for c in guards for p in each(c))))
    (shown, holds), both = write.together([write.tensor(write.real(inside)), mask])
    if mask.constant:
        return Value(f"({shown.text} if {holds.text} else 0 * {shown.at(POWER)})", both)
    return Value(f"torch.where({holds.text},{COMMA}{shown.text},{COMMA}0.0)", both)
