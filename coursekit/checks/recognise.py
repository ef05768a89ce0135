"""Kinds of error that show in the numbers alone: sign, factor, transpose, zero, another part, one slice.

Every recogniser looks at all cases together, so that nothing is called a factor of 3 by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from torch import Tensor

from .tensors import close

Pairs = Sequence[tuple[Tensor, Tensor]]  # for each case: (the student's, the right one)
Found = tuple[str, str]  # (kind, what to say of the part)


def recognise(
    pairs: Pairs,
    others: Mapping[str, Sequence[Tensor]],
    sizes: Sequence[Mapping[str, int]],
    suspects: Callable[[Sequence[Tensor]], Found | None] | None = None,
) -> Found | None:
    """The kind of error and the rest of a sentence that begins with the part's name, or None.

    `others` are the right tensors of the other parts, `sizes` the named sizes of each case,
    `suspects` a recogniser of the check's own.
    """
    found = _zero(pairs) or _factor(pairs, sizes) or _transposed(pairs)
    if found is None and suspects is not None:
        found = suspects([a for a, _ in pairs])
    return found or _other(pairs, others) or _slice(pairs)


def _all(pairs: Pairs, agree) -> bool:
    return all(agree(a, g) for a, g in pairs)


def _zero(pairs: Pairs) -> Found | None:
    if _all(pairs, lambda a, g: not a.any() and bool(g.any())):
        return "zero", "is zero everywhere; the right one is not."
    return None


def _factor(pairs: Pairs, sizes: Sequence[Mapping[str, int]]) -> Found | None:
    """a = c·g with one c a case. Minus one is a sign; 1/n with n a size of the problem is a mean."""
    factors = []
    for a, g in pairs:
        square = (g * g).sum()
        if square == 0:
            return None
        c = (a * g).sum() / square
        if c == 0 or not close(a / c, g):
            return None
        factors.append(c.item())
    if all(_same(c, -1) for c in factors):
        return "sign", "has the wrong sign: it is minus the right one."
    if len(factors) * max(g.numel() for _, g in pairs) < 3:
        return None  # of one or two numbers, each is some multiple of the right one
    for name, size in sizes[0].items():
        each = [(c, s.get(name, 1)) for c, s in zip(factors, sizes, strict=True)]
        if all(n > 1 and _same(c * n, 1) for c, n in each):
            return "mean", f"is the right one divided by {size}, {name}: a mean for a sum?"
        if all(n > 1 and _same(c, n) for c, n in each):
            return "factor", f"is {size} times the right one, and that is {name}."
    if all(_same(c, factors[0]) for c in factors):
        return "factor", f"is {_ratio(factors[0])} times the right one."
    if min(g.numel() for _, g in pairs) < 2:
        return None
    return (
        "factor",
        f"is the right one times a number that differs from case to case (here {factors[0]:.6g}).",
    )


def _same(x: float, y: float) -> bool:
    return abs(x - y) <= 1e-6 * abs(y)


def _ratio(c: float) -> str:
    simple = Fraction(c).limit_denominator(24)
    if simple and abs(simple.numerator) <= 24 and _same(c, float(simple)):
        return str(simple)
    return f"{c:.6g}"


def _transposed(pairs: Pairs) -> Found | None:
    if _all(pairs, lambda a, g: a.dim() == 2 and a.shape[0] == a.shape[1] and close(a.t(), g)):
        return "transpose", "is transposed: rows and columns are exchanged."
    if _all(pairs, lambda a, g: a.dim() == 2 and a.shape[0] == a.shape[1] and close(-a.t(), g)):
        return "transpose", "is transposed and has the wrong sign."
    return None


def _other(pairs: Pairs, others: Mapping[str, Sequence[Tensor]]) -> Found | None:
    for name, rights in others.items():
        if all(close(a, g) for (a, _), g in zip(pairs, rights, strict=True)):
            return "swapped", f"is what belongs to `{name}`."
    return None


def _slice(pairs: Pairs) -> Found | None:
    """All that is wrong lies in one entry, or in one row, column or step."""
    where: set[tuple[int, int] | tuple[()]] = set()
    singles: list[list[int]] = []
    for a, g in pairs:
        if g.numel() < 3:
            return None
        off = (a - g).abs() > 1e-6 * g.abs() + 1e-9 * g.abs().max()
        entries = off.nonzero()
        if len(entries) == 0:
            continue
        if len(entries) == 1:
            where.add(())
            singles.append(entries[0].tolist())
            continue
        constant = [
            n for n in range(g.dim()) if bool((entries[:, n] == entries[0, n]).all()) and g.shape[n] > 1
        ]
        if not constant:
            return None
        where.add((constant[0], int(entries[0, constant[0]])))
    if where == {()}:
        first = ",".join(map(str, singles[0]))
        if all(single == singles[0] for single in singles):
            return "entry", f"is right but for the entry [{first}]."
        return "entry", f"is right but for one entry, another one in each case (here [{first}])."
    if len(where) == 1:
        axis, index = next(iter(where))  # type: ignore[misc]
        return "slice", f"is wrong only where its axis {axis} is {index}; the rest of it is right."
    return None


def sizes_of(case: Mapping[str, object]) -> dict[str, int]:
    """The sizes that a wrong mean may have divided by, with words for each."""
    found: dict[str, int] = {}
    for name, value in case.items():
        shape = (
            value.shape
            if isinstance(value, Tensor)
            else (len(value),)
            if isinstance(value, (list, tuple))
            else ()
        )
        for axis, size in enumerate(shape):
            words = f"the length of `{name}`" if len(shape) == 1 else f"the size of axis {axis} of `{name}`"
            found.setdefault(words, int(size))
    return found
