"""Arithmetic with index expressions, and the conditions that tell an index."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from . import tree as T


def difference(left: T.Affine, right: T.Affine) -> T.Affine:
    """`left - right` in normal form."""
    parts: dict[T.IndexAtom, int] = {}
    for sign, affine in ((1, left), (-1, right)):
        for factor, atom in affine.terms:
            parts[atom] = parts.get(atom, 0) + sign * factor
    ordered = sorted(((f, a) for a, f in parts.items() if f), key=lambda part: part[0] < 0)
    return T.Affine(tuple(ordered), left.const - right.const)


def plus(left: T.Affine, right: T.Affine) -> T.Affine:
    return difference(left, scaled(right, -1))


def put(node: T.N, values: Mapping[str, T.Affine]) -> T.N:
    """The node with index expressions in place of free indices."""

    def change(n: object) -> object:
        if not isinstance(n, T.Affine) or not any(a in values for _, a in n.terms if isinstance(a, str)):
            return n
        total = T.Affine((), n.const)
        for factor, atom in n.terms:
            there = values.get(atom) if isinstance(atom, str) else None
            total = plus(total, scaled(there or T.Affine(((1, atom),)), factor))
        return replace(total, span=n.span)

    plain = {k: v.plain for k, v in values.items() if v.plain is not None}
    if len(plain) == len(values):
        return T.substitute(node, plain)
    return T.transform(node, change)


def scaled(affine: T.Affine, factor: int) -> T.Affine:
    return T.Affine(tuple((f * factor, a) for f, a in affine.terms), affine.const * factor)


def solve(gap: T.Affine, name: str) -> T.Affine | None:
    """The value of index `name` that makes `gap` zero, if it stands there once with factor ±1."""
    factor = next((f for f, a in gap.terms if a == name), 0)
    rest = T.Affine(tuple((f, a) for f, a in gap.terms if a != name), gap.const)
    if abs(factor) != 1 or name in T.free_indices(rest):
        return None
    return scaled(rest, -factor)


def equality(factor: T.Expr) -> T.Affine | None:
    """`left - right` where a factor is `[left == right]` on indices."""
    match factor:
        case T.Iverson(T.Compare(one, "==", other)):
            left, right = as_index(one), as_index(other)
            return difference(left, right) if left is not None and right is not None else None
    return None


def as_index(side: T.Affine | T.Expr) -> T.Affine | None:
    """A side of a condition as an index expression: `v` and `w[b,t]` may stand there as values."""
    match side:
        case T.Affine():
            return side
        case T.Position(affine):
            return affine
        case T.Ref():
            return T.Affine(((1, T.Lookup(side)),))
    return None


def each(condition: T.Condition | None) -> tuple[T.Compare, ...]:
    """The comparisons that a condition is made of."""
    return () if condition is None else condition.parts if isinstance(condition, T.And) else (condition,)


def spelled(affine: T.Affine, word: Callable[[T.IndexAtom], str]) -> str:
    """`2 * t - 1` in a programming language that calls an atom by `word`."""
    text = ""
    for factor, atom in affine.terms:
        part = word(atom) if abs(factor) == 1 else f"{abs(factor)} * {word(atom)}"
        text += (" - " if factor < 0 else " + ") + part if text else ("-" if factor < 0 else "") + part
    if affine.const and text:
        return f"{text} {'-' if affine.const < 0 else '+'} {abs(affine.const)}"
    return text or str(affine.const)
