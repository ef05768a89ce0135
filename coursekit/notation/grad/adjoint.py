"""The local rules of reverse mode: what a node hands to its parts, given the adjoint `g` of its value.

`hand_down(node, g, value, scope)` gives triples (part, adjoint of the part, indices that become summed).
`value` is an expression for the node's own value, used where that is shorter: with `y = sigmoid(z)`,
`dz = g y (1 - y)`.

Where a function has no derivative these choices are made, all of them subgradients of a convex kink:
relu and abs have slope 0 at 0; `max(a, b)` and `min(a, b)` hand a tie to the first argument; `max[i](…)` and
`min[i](…)` share a tie evenly. A condition is constant, so nothing flows through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ..errors import NotationError
from ..tree import (
    Add,
    Affine,
    And,
    Apply,
    Call,
    Cases,
    Compare,
    Concat,
    Condition,
    Div,
    Expr,
    Flatten,
    Iverson,
    Mul,
    Neg,
    Num,
    Position,
    Pow,
    Reduce,
    Size,
    SizeOf,
    Softmax,
    Sum,
    index,
    substitute,
)
from .scope import Scope, plus
from .simplify import ONE, ZERO

__all__ = ["hand_down"]

Part = tuple[Expr, Expr, tuple[str, ...]]
TWO = Num(Fraction(2))


def hand_down(node: Expr, g: Expr, value: Expr, scope: Scope) -> Iterator[Part]:
    match node:
        case Add(parts):
            yield from ((part, g, ()) for part in parts)
        case Neg(body):
            yield body, Neg(g), ()
        case Mul(factors):
            for n, factor in enumerate(factors):
                yield factor, _times(g, *factors[:n], *factors[n + 1 :]), ()
        case Div(above, below):
            yield above, Div(g, below), ()
            yield below, Neg(Div(_times(g, above), Pow(below, TWO))), ()
        case Pow(inner, exponent):
            less = Num(exponent.value - 1) if isinstance(exponent, Num) else Add((exponent, Neg(ONE)))
            yield inner, _times(g, exponent, Pow(inner, less)), ()
            yield exponent, _times(g, value, Call("log", (inner,))), ()
        case Call(function, args):
            yield from (
                (a, _times(g, s), ()) for a, s in zip(args, _slopes(function, args, value), strict=True)
            )
        case Sum(indices, body, where):
            yield body, g if where is None else _times(_bracket(where), g), indices
        case Softmax(indices, body, _):
            yield body, _softmax(g, value, indices, scope), ()
        case Reduce(function, indices, body, where):
            guard = () if where is None else (_bracket(where),)
            if function == "prod":
                yield body, _times(*guard, g, _others(node, scope)), indices
            else:
                here = Iverson(Compare(body, "==", value))
                ties = scope.apart(Sum(indices, here, where))
                yield body, Div(_times(*guard, here, g), ties), indices
        case Concat():
            yield from _concat(node, g, scope)
        case Flatten(axis, indices, body):
            place: Expr = Position(index(indices[0]))
            for name in indices[1:]:
                place = Add((_times(place, Size(scope.dims[name])), Position(index(name))))
            spot = scope.fresh(axis)
            here = Iverson(Compare(Position(index(spot)), "==", place))
            yield body, Sum((spot,), _times(here, substitute(g, {axis: spot}))), indices
        case Cases(branches, otherwise):
            refused: tuple[Expr, ...] = ()
            for branch, condition in branches:
                yield branch, _times(*refused, _bracket(condition), g), ()
                refused = (*refused, Add((ONE, Neg(_bracket(condition)))))
            yield otherwise, _times(*refused, g), ()
        case Apply(function):
            span = node.span
            message = (
                f"{function} is not known to the language, so it has no gradient: write its equations out."
            )
            raise NotationError(message, line=span.line, column=span.column, width=span.width)


def _times(*factors: Expr) -> Expr:
    return Mul(factors) if len(factors) > 1 else factors[0] if factors else ONE


def _bracket(condition: Condition) -> Expr:
    if isinstance(condition, And):
        return _times(*(Iverson(part) for part in condition.parts))
    return Iverson(condition)


def _slopes(function: str, args: tuple[Expr, ...], value: Expr) -> list[Expr]:
    """The derivative of a function with respect to each argument."""
    z = args[0]
    match function:
        case "sigmoid":
            return [_times(value, Add((ONE, Neg(value))))]
        case "tanh":
            return [Add((ONE, Neg(Pow(value, TWO))))]
        case "relu":
            return [Iverson(Compare(value, ">", ZERO))]
        case "exp":
            return [value]
        case "log":
            return [Div(ONE, z)]
        case "sqrt":
            return [Div(ONE, _times(TWO, value))]
        case "abs":
            return [Add((Iverson(Compare(z, ">", ZERO)), Neg(Iverson(Compare(z, "<", ZERO)))))]
        case "max" | "min":
            wins = ">" if function == "max" else "<"
            return [
                _times(
                    *(
                        Iverson(Compare(a, wins if m < n else wins + "=", b))
                        for m, b in enumerate(args)
                        if m != n
                    )
                )
                for n, a in enumerate(args)
            ]
    raise NotationError(f"The gradient of {function} is not known.")


def _softmax(g: Expr, value: Expr, indices: tuple[str, ...], scope: Scope) -> Expr:
    """`y (g - Σ g y)`, the sum over the softmax's own indices."""
    other = {name: scope.fresh(name) for name in indices}
    there = _times(substitute(scope.apart(g), other), substitute(value, other))
    return _times(value, Add((g, Neg(Sum(tuple(other.values()), there)))))


def _others(node: Reduce, scope: Scope) -> Expr:
    """The product over all places but this one (exact where an entry is zero)."""
    new = {name: scope.fresh(name) for name in node.indices}
    other = substitute(replace(node, body=scope.apart(node.body)), new)
    if len(node.indices) > 1:
        raise NotationError("The gradient of a product over several indices at once is not known: nest them.")
    (old,), (fresh,) = node.indices, other.indices
    apart = Compare(index(fresh), "!=", index(old))
    where = other.where
    both = apart if where is None else And((*(where.parts if isinstance(where, And) else (where,)), apart))
    return replace(other, where=both)


def _concat(node: Concat, g: Expr, scope: Scope) -> Iterator[Part]:
    """Each part's entry `i` stands at `i` plus the sizes of the parts before it."""
    before = Affine(())
    for along, part in node.parts:
        spot = scope.fresh(node.axis)
        here = Iverson(Compare(index(spot), "==", plus(index(along), before)))
        yield part, Sum((spot,), _times(here, substitute(scope.apart(g), {node.axis: spot}))), (along,)
        before = plus(before, Affine(((1, SizeOf(scope.dims[along])),)))
