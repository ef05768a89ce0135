"""The local rules of reverse mode: what a node hands to its parts, given the adjoint `g` of its value.

`hand_down(node, g, value, scope)` gives triples (part, adjoint of the part, indices that become summed).
`value` is an expression for the node's own value, used where that is shorter: with `y = sigmoid(z)`,
`dz = g y (1 - y)`.

Where a function has no derivative these choices are made, all of them subgradients of a convex kink:
relu and abs have slope 0 at 0; `max(a, b)` and `min(a, b)` hand a tie to the first argument; `max[i](…)` and
`min[i](…)` share a tie evenly. A condition is constant, so nothing flows through it.
"""

from collections.abc import Iterator
from dataclasses import replace

from .. import tree as T
from ..errors import NotationError
from ..functions import FUNCTIONS, ONE, TWO, ZERO, times
from ..indices import each, plus
from .simplify import Scope

Part = tuple[T.Expr, T.Expr, tuple[str, ...]]


def hand_down(node: T.Expr, g: T.Expr, value: T.Expr, scope: Scope) -> Iterator[Part]:
    match node:
        case T.Add(parts):
            yield from ((part, g, ()) for part in parts)
        case T.Neg(body):
            yield body, T.Neg(g), ()
        case T.Mul(factors):
            for n, factor in enumerate(factors):
                yield factor, times(g, *factors[:n], *factors[n + 1 :]), ()
        case T.Div(above, below):
            yield above, T.Div(g, below), ()
            yield below, T.Neg(T.Div(times(g, above), T.Pow(below, TWO))), ()
        case T.Pow(inner, exponent):
            less = T.Num(exponent.value - 1) if isinstance(exponent, T.Num) else T.Add((exponent, T.Neg(ONE)))
            yield inner, times(g, exponent, T.Pow(inner, less)), ()
            yield exponent, times(g, value, T.Call("log", (inner,))), ()
        case T.Call("max" | "min" as function, args):
            signs = (">=", ">") if function == "max" else ("<=", "<")  # a tie is the first's
            for n, arg in enumerate(args):
                wins = [T.Compare(arg, signs[m < n], other) for m, other in enumerate(args) if m != n]
                yield arg, times(g, times(*map(T.Iverson, wins))), ()
        case T.Call(function, (arg,)):
            yield arg, times(g, FUNCTIONS[function].slope(arg, value)), ()
        case T.Sum(indices, body, where):
            yield body, g if where is None else times(_bracket(where), g), indices
        case T.Softmax(indices, body, _):
            yield body, _softmax(g, value, indices, scope), ()
        case T.Reduce(function, indices, body, where):
            guard = () if where is None else (_bracket(where),)
            if function == "argmax":
                yield body, ZERO, indices
            elif function == "logsumexp":
                share = T.Call("exp", (T.Add((body, T.Neg(value))),))
                yield body, times(*guard, g, share), indices
            elif function == "prod":
                yield body, times(*guard, g, _others(node, scope)), indices
            else:
                here = T.Iverson(T.Compare(body, "==", value))
                ties = scope.apart(T.Sum(indices, here, where))
                yield body, T.Div(times(*guard, here, g), ties), indices
        case T.Concat(axis, pieces):
            before = T.Affine(())  # each part's entry `i` stands at `i` plus the sizes of the parts before it
            for along, part in pieces:
                yield part, _picked(axis, plus(T.index(along), before), scope.apart(g), scope), (along,)
                before = plus(before, T.Affine(((1, T.SizeOf(scope.dims[along])),)))
        case T.Flatten(axis, indices, body):
            place: T.Expr = T.Position(T.index(indices[0]))
            for name in indices[1:]:
                place = T.Add((times(place, T.Size(scope.dims[name])), T.Position(T.index(name))))
            yield body, _picked(axis, place, g, scope), indices
        case T.Cases(branches, otherwise):
            refused: tuple[T.Expr, ...] = ()
            for branch, condition in branches:
                yield branch, times(*refused, _bracket(condition), g), ()
                refused = (*refused, T.Add((ONE, T.Neg(_bracket(condition)))))
            yield otherwise, times(*refused, g), ()
        case T.Apply(function):
            message = f"{function} is not known to the language, so it has no gradient"
            raise NotationError(
                f"{message}: write its equations out.", "", node.span.line, node.span.column, node.span.width
            )


def _bracket(condition: T.Condition) -> T.Expr:
    return times(*map(T.Iverson, each(condition)))


def _softmax(g: T.Expr, value: T.Expr, indices: tuple[str, ...], scope: Scope) -> T.Expr:
    """`y (g - Σ g y)`, the sum over the softmax's own indices."""
    other = {name: scope.fresh(name) for name in indices}
    there = times(T.substitute(scope.apart(g), other), T.substitute(value, other))
    return times(value, T.Add((g, T.Neg(T.Sum(tuple(other.values()), there)))))


def _others(node: T.Reduce, scope: Scope) -> T.Expr:
    """The product over all places but this one (exact where an entry is zero)."""
    new = {name: scope.fresh(name) for name in node.indices}
    other = T.substitute(replace(node, body=scope.apart(node.body)), new)
    if len(node.indices) > 1:
        raise NotationError("The gradient of a product over several indices at once is not known: nest them.")
    (old,), (fresh,) = node.indices, other.indices
    apart = T.Compare(T.index(fresh), "!=", T.index(old))
    return replace(other, where=T.And((*each(other.where), apart)) if other.where else apart)


def _picked(axis: str, place: T.Affine | T.Expr, g: T.Expr, scope: Scope) -> T.Expr:
    """The adjoint at one place along an axis."""
    spot = scope.fresh(axis)
    there = T.index(spot) if isinstance(place, T.Affine) else T.Position(T.index(spot))
    here = T.Iverson(T.Compare(there, "==", place))
    return T.Sum((spot,), times(here, T.substitute(g, {axis: spot})))
