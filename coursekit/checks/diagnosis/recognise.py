"""Kinds of error that show in the numbers alone: sign, factor, transpose, zero, another part, a product, one slice.

Every recogniser looks at all cases together, so that nothing is called a factor of 3 by chance.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import torch
from torch import Tensor

from ..judging.tensors import close
from ..shown.result import Finding

Pairs = Sequence[tuple[Tensor, Tensor]]  # for each case: (the student's, the right one)


def recognise(
    pairs: Pairs,
    others: Mapping[str, Sequence[Tensor]],
    given: Sequence[Mapping[str, object]],
    suspects: Callable[[Sequence[Tensor]], Finding | None] | None = None,
) -> Finding | None:
    """What is wrong, said of a part that the check will name; or None.

    `others` are the right tensors of the other parts, `given` the variables of each case, `suspects` a recogniser of
    the check's own.
    """
    off = [n for n, (a, g) in enumerate(pairs) if not close(a, g)]  # a case of one may hide a mistake
    every, pairs = pairs, [pairs[n] for n in off]
    others = {name: [rights[n] for n in off] for name, rights in others.items()}
    given = [given[n] for n in off] if given else ()
    found = (
        _zero(pairs)
        or _softmax(pairs)
        or _scores(pairs)
        or _factor(pairs, [sizes_of(case) for case in given])
    )
    found = found or _transposed(pairs)
    if found is None and suspects is not None:
        found = suspects([a for a, _ in every])
    found = found or _other(pairs, others) or _product(pairs, given) or _summed(pairs)
    found = found or _slice(pairs) or _holes(pairs)
    if found is None and len(off) < len(every):
        only = "is right in some of the cases and wrong in others: what differs between them?"
        found = Finding("case", f"{only} Does a size, or another of their numbers, stand in your answer?")
    return found


def _all(pairs: Pairs, agree: Callable[[Tensor, Tensor], bool]) -> bool:
    return all(agree(a, g) for a, g in pairs)


def _zero(pairs: Pairs) -> Finding | None:
    if _all(pairs, lambda a, g: bool(g.any() and a.abs().max() <= 1e-12 * g.abs().max())):
        return Finding("zero", "is zero everywhere; the right one is not.")
    return None


def _softmax(pairs: Pairs) -> Finding | None:
    """Where a distribution belongs: exponentials that were not divided by their sum, or sigmoids."""
    for axis in range(min(g.dim() for _, g in pairs)):
        total: Callable[..., Tensor] = lambda a, axis=axis: a.sum(axis, keepdim=True)
        if not _all(pairs, lambda a, g: bool((a > 0).all()) and close(total(g), torch.ones_like(total(g)))):  # noqa: B023
            continue
        if _all(pairs, lambda a, g: close(a / total(a), g)):  # noqa: B023
            return Finding("softmax", f"is not normalised: its sums over axis {axis} must be 1.")
        if _all(pairs, lambda a, g: bool((a < 1).all()) and close(a.logit().softmax(axis), g)):  # noqa: B023
            return Finding("softmax", "is a sigmoid of each score where a softmax over all of them belongs.")
    return None


def _scores(pairs: Pairs) -> Finding | None:
    """Where a distribution belongs: the scores themselves, their shares of the sum, or logarithms."""
    if not _all(pairs, lambda a, g: bool((g > 0).all())):
        return None
    logs = [(a, g.log()) for a, g in pairs]
    if _all(logs, close):
        return Finding("softmax", "holds logarithms of what belongs there.")
    for axis in range(min(g.dim() for _, g in pairs)):
        if not all(g.shape[axis] > 2 and close(g.sum(axis), torch.ones_like(g.sum(axis))) for _, g in pairs):
            continue
        middle = [[x - x.mean(axis, keepdim=True) for x in pair] for pair in logs]
        if all(close(a, g) for a, g in middle):
            return Finding("softmax", "holds scores: a softmax makes shares of them.")
        slopes = [(a * g).sum(axis, keepdim=True) / (a * a).sum(axis, keepdim=True) for a, g in middle]
        if all(close(c * a, g) for c, (a, g) in zip(slopes, middle, strict=True)):
            return Finding("softmax", "shares out the scores themselves, and not their exponentials.")
    return None


_SCALES = (  # a power of a size that a tensor may be off by
    (-1, "mean", "is too small by a factor that is the size of an axis: a mean for a sum?",
     "is the right one divided by {size}, {name}: a mean for a sum?"),
    (1, "factor", "is too large by a factor that is the size of an axis.",
     "is {size} times the right one, and that is {name}."),
    (-0.5, "factor", "is too small by the root of the size of an axis.",
     "is the right one divided by the root of {size}, {name}."),
    (0.5, "factor", "is too large by the root of the size of an axis.",
     "is the right one times the root of {size}, {name}."),
)  # fmt: skip


def _factor(pairs: Pairs, sizes: Sequence[Mapping[str, int]]) -> Finding | None:
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
        return Finding("sign", "has the wrong sign: it is minus the right one.")
    if len(factors) * max(g.numel() for _, g in pairs) < 3:
        return None  # of one or two numbers, each is some multiple of the right one
    for name, size in sizes[0].items() if sizes else ():
        each = [(c, s.get(name, 1)) for c, s in zip(factors, sizes, strict=True)]
        several = len({n for _, n in each}) > 1  # a half is the root of many a size
        for power, kind, own, whole in _SCALES:
            if (several or power in (-1, 1)) and all(n > 1 and _same(c, n**power) for c, n in each):
                return Finding(kind, own, whole.format(size=size, name=name))
    if all(_same(c, factors[0]) for c in factors):
        return Finding(
            "factor", "is off by a constant factor.", f"is {_ratio(factors[0])} times the right one."
        )
    if min(g.numel() for _, g in pairs) < 2:
        return None
    return Finding("factor", "is off by a factor that differs from case to case.")


def _same(x: float, y: float) -> bool:
    return abs(x - y) <= 1e-6 * abs(y)


def _ratio(c: float) -> str:
    simple = Fraction(c).limit_denominator(24)
    if simple and abs(simple.numerator) <= 24 and _same(c, float(simple)):
        return str(simple)
    return f"{c:.6g}"


def _transposed(pairs: Pairs) -> Finding | None:
    if _all(pairs, lambda a, g: a.dim() == 2 and a.shape[0] == a.shape[1] and close(a.t(), g)):
        return Finding("transpose", "is transposed: rows and columns are exchanged.")
    if _all(pairs, lambda a, g: a.dim() == 2 and a.shape[0] == a.shape[1] and close(-a.t(), g)):
        return Finding("transpose", "is transposed and has the wrong sign.")
    return None


def _other(pairs: Pairs, others: Mapping[str, Sequence[Tensor]]) -> Finding | None:
    for name, rights in others.items():
        if all(close(a, g) for (a, _), g in zip(pairs, rights, strict=True)):
            return Finding("swapped", f"is what belongs to `{name}`.")
    return None


_PRODUCTS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    ("`{}`, from the right", lambda x, m: x @ m),
    ("`{}` transposed, from the right", lambda x, m: x @ m.mT),
    ("`{}`, from the left", lambda x, m: m @ x),
    ("`{}` transposed, from the left", lambda x, m: m.mT @ x),
    ("`{}`, entry by entry", lambda x, m: x * m),
)


def _product(pairs: Pairs, given: Sequence[Mapping[str, object]]) -> Finding | None:
    """A product with a variable of the question too much, or one that is missing."""
    if not given or _all(pairs, lambda a, g: g.numel() < 2):
        return None
    for name in given[0]:
        tensors = [case.get(name) for case in given]
        if not all(isinstance(t, Tensor) and t.is_floating_point() and t.dim() for t in tensors):
            continue
        each = [(a, g, t.to(g)) for (a, g), t in zip(pairs, tensors, strict=True)]  # type: ignore[attr-defined]
        for words, product in _PRODUCTS:
            try:
                if all(close(product(g, t), a) for a, g, t in each):
                    return Finding("extra factor", f"has a product too many: with {words.format(name)}.")
                if all(close(product(a, t), g) for a, g, t in each):
                    own, whole = "lacks a product.", f"lacks a product: with {words.format(name)}."
                    return Finding("missing factor", own, whole)
            except RuntimeError:  # the sizes do not allow it
                continue
    return None


def _summed(pairs: Pairs) -> Finding | None:
    """Added up along an axis where each place has its own, or the other way round."""
    change: Callable[..., Tensor]
    for axis in range(min(g.dim() for _, g in pairs)):
        if any(g.shape[axis] < 2 for _, g in pairs):
            continue
        for says, change in (
            ("has at every place the sum over all of", lambda g, n=axis: g.sum(n, keepdim=True).expand_as(g)),
            ("adds up what comes before along", lambda g, n=axis: g.cumsum(n)),
            ("adds up what comes after along", lambda g, n=axis: g.flip(n).cumsum(n).flip(n)),
        ):
            if _all(pairs, lambda a, g: close(a, change(g))):  # noqa: B023
                return Finding("sum", f"{says} its axis {axis}; each place has its own.")
    return None


def _slice(pairs: Pairs) -> Finding | None:
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
            return Finding("entry", f"is right but for the entry [{first}].")
        return Finding("entry", f"is right but for one entry, another one in each case (here [{first}]).")
    if len(where) == 1:
        axis, index = next(iter(where))  # type: ignore[misc]
        return Finding("slice", f"is wrong only where its axis {axis} is {index}; the rest of it is right.")
    return None


def _holes(pairs: Pairs) -> Finding | None:
    """Right but for some places: zero there, or not zero where the right one is."""
    wrong: Callable[..., Tensor] = lambda a, g: (a - g).abs() > 1e-6 * g.abs() + 1e-9 * g.abs().max()
    if _all(pairs, lambda a, g: bool((a[wrong(a, g)] == 0).all())):
        return Finding("holes", "is zero at places where it must not be; elsewhere it is right.")
    if _all(pairs, lambda a, g: bool((g[wrong(a, g)] == 0).all())):
        return Finding("holes", "is right where it is not zero in truth, and has numbers where zero belongs.")
    return None


def sizes_of(case: Mapping[str, object]) -> dict[str, int]:
    """The sizes that a wrong mean may have divided by, with words for each."""
    found: dict[str, int] = {}
    for name, value in case.items():
        if type(value) is int:
            found[f"`{name}`"] = value
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
