"""One part of an answer (a gradient, an output) against the right tensors of every case, and what is wrong with it.

Kinds of error that show in the numbers alone: sign, factor, transpose, zero, another part, a product, one slice. Every
recogniser looks at all cases together, so that nothing is called a factor of 3 by chance.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import log

from torch import Tensor

from ..judging.outcome import matching, outcome_of
from ..judging.student import Stopped, upper
from ..judging.tensors import at, close, dtype_of, low_precision, read, worst
from ..shown.panel import shape_of
from ..shown.result import PLAIN, Finding, Result, combine, right
from .instead import Cases, Instead

Pairs = Sequence[tuple[Tensor, Tensor]]  # for each case: (the student's, the right one)
Rights = Mapping[str, Sequence[Tensor]]
Suspects = Callable[[Sequence[Tensor]], Finding | None]  # a recogniser of the check's own
Measured = Callable[[int, tuple[int, ...]], float]  # the central difference at (case, entry)


def judge(
    nouns: Mapping[str, str],
    answers: Sequence[Mapping[str, object]],
    rights: Sequence[Mapping[str, Tensor]],
    given: Cases,
    instead: Instead,
    praise: str,
    more: Callable[[str], tuple[Suspects | None, Measured | None]] = lambda part: (None, None),
    led: Collection[str] = (),
) -> Result:
    """A part for each of `nouns`, which says what it is ("the gradient of `H`"); `answers` and `rights` have one item a
    case. `instead` asks the oracle of the cases `given` with a variable changed; `more` is what gradients know. Parts
    that are `led` by a wrong one are not looked at.
    """
    known = {part: [case[part] for case in rights] for part in nouns}
    parts = {
        part: _judged(
            part, noun, [case[part] for case in answers], known, given, instead, part in led, *more(part)
        )
        for part, noun in nouns.items()
    }
    return combine(parts, praise)


def _judged(
    part: str,
    noun: str,
    answers: Sequence[object],
    all_rights: Rights,
    given: Cases,
    instead: Instead,
    led: bool,
    suspects: Suspects | None,
    measured: Measured | None,
) -> Result:
    """One part, in every case; what is known of the question tells how it is wrong."""
    for absent in (value for value in answers if isinstance(value, Stopped)):
        return absent.result
    rights, outcomes = all_rights[part], (outcome_of(list(answers)),)
    try:
        tensors = [read(value, like, noun) for value, like in zip(answers, rights, strict=True)]
    except Stopped as stop:
        return replace(stop.result, outcomes=outcomes if stop.result.kind != "empty" else ())
    pairs = list(zip(tensors, rights, strict=True))
    off = [n for n, pair in enumerate(pairs) if not close(*pair, dtype_of(answers[n]))]
    if not off:
        return right(f"{upper(noun)} is right.", reading=shape_of(tensors[0]))
    if led or matching():
        return Result(False, (Finding("other", "is not right.", of=noun),), outcomes=outcomes)
    entry = worst(*pairs[off[0]])
    columns: tuple[str, ...] = ("entry", "yours", "right")
    row: tuple[object, ...] = (f"{part}{at(entry)[4:]}", *(tensor[entry].item() for tensor in pairs[off[0]]))
    if measured is not None:
        columns, row = (*columns, "by central differences"), (*row, measured(off[0], entry))
    others = {name: values for name, values in all_rights.items() if name != part}
    found = recognise(pairs, others, given, suspects)
    if found is None and (coarse := low_precision(dtype_of(answers[0]))):
        found = Finding("type", f"is not right. {coarse}")

    @cache
    def look() -> Finding | None:
        better = instead(part, tensors)
        return None if better is None else replace(better, of=noun)

    told = replace(found or Finding("other", "is not right."), of=noun)
    return Result(
        False, (told,), columns, (row,), outcomes=outcomes, reading=shape_of(tensors[0]),
        look=look if told.kind in PLAIN else None,
    )  # fmt: skip


def recognise(pairs: Pairs, others: Rights, given: Cases, suspects: Suspects | None = None) -> Finding | None:
    """What is wrong, said of a part that the check will name; or None.

    `others` are the right tensors of the other parts, `given` the variables of each case, `suspects` a recogniser of
    the check's own.
    """
    off = [n for n, pair in enumerate(pairs) if not close(*pair)]  # a case of one may hide a mistake
    every, pairs = pairs, [pairs[n] for n in off]
    given = [given[n] for n in off] if given else ()
    sizes = [sizes_of(case) for case in given]
    found = _first(_FIRST, pairs) or _factor(pairs, sizes) or _first(_TURNED, pairs)
    if found is None and suspects is not None:
        found = suspects([a for a, _ in every])
    for name, rights in others.items() if found is None else ():
        if all(close(a, rights[n]) for n, (a, _) in zip(off, pairs, strict=True)):
            return Finding("swapped", f"is what belongs to `{name}`.")
    found = found or _product(pairs, given) or _first(_SUMMED, pairs)
    found = found or _slice(pairs) or _first(_HOLES, pairs) or _power(pairs, given)
    if found is None and len(off) < len(every):
        only = "is right in some of the cases and wrong in others: what differs between them?"
        why = "A number of one case may stand in your answer, or the mistake is where some cases have zeros."
        found = Finding("case", f"{only} {why}")
    return found or _first(_SHARES, pairs)


def _axis(g: Tensor, n: int, fewest: int = 2) -> bool:
    return g.dim() > n and g.shape[n] >= fewest


def _square(g: Tensor) -> bool:
    return g.dim() == 2 and g.shape[0] == g.shape[1]


def _share(a: Tensor, n: int) -> Tensor:
    return a / a.sum(n, keepdim=True)


def _line(a: Tensor, g: Tensor, n: int) -> bool:
    """Does the right distribution come of scores that lie on a line with the student's numbers?"""
    a, g = a - a.mean(n, keepdim=True), g.log() - g.log().mean(n, keepdim=True)
    return close((a * g).sum(n, keepdim=True) / (a * a).sum(n, keepdim=True) * a, g)


def _wrong(a: Tensor, g: Tensor) -> Tensor:
    return (a - g).abs() > 1e-6 * g.abs() + 1e-9 * g.abs().max()


# A kind, what it says, and whether the student's tensor is that of the right one, along its axis n.
Rules = Sequence[tuple[str, str, Callable[[Tensor, Tensor, int], bool]]]
_FIRST: Rules = (
    ("zero", "is zero everywhere; the right one is not.", lambda a, g, n: close(a, 0 * g)),
    ("softmax", "is not normalised: its sums over axis {n} must be 1.",
     lambda a, g, n: _axis(g, n) and bool((a > 0).all()) and close(_share(a, n), g)),
    ("softmax", "is a sigmoid of each score where a softmax over all of them belongs.",
     lambda a, g, n: _axis(g, n) and bool(((a > 0) & (a < 1)).all()) and close(a.logit().softmax(n), g)),
    ("softmax", "holds logarithms of what belongs there.", lambda a, g, n: close(a, g.log())),
    ("softmax", "holds scores: a softmax makes shares of them.",
     lambda a, g, n: _axis(g, n, 3) and close(a.softmax(n), g)),
    ("softmax", "shares out the scores themselves, and not their exponentials.",
     lambda a, g, n: _axis(g, n, 3) and close(_share(g, n), g) and _line(a, g, n)),
)  # fmt: skip
_TURNED: Rules = (
    (
        "transpose",
        "is transposed: rows and columns are exchanged.",
        lambda a, g, n: _square(g) and close(a.t(), g),
    ),
    ("transpose", "is transposed and has the wrong sign.", lambda a, g, n: _square(g) and close(-a.t(), g)),
)
_SUMMED: Rules = (
    ("sum", "has at every place the sum over all of its axis {n}; each place has its own.",
     lambda a, g, n: _axis(g, n) and close(a, g.sum(n, keepdim=True).expand_as(g))),
    ("sum", "adds up what comes before along its axis {n}; each place has its own.",
     lambda a, g, n: _axis(g, n) and close(a, g.cumsum(n))),
    ("sum", "adds up what comes after along its axis {n}; each place has its own.",
     lambda a, g, n: _axis(g, n) and close(a, g.flip(n).cumsum(n).flip(n))),
)  # fmt: skip
_HOLES: Rules = (
    ("holes", "is zero at places where it must not be; elsewhere it is right.",
     lambda a, g, n: bool((a[_wrong(a, g)] == 0).all())),
    ("holes", "is right where it is not zero in truth, and has numbers where zero belongs.",
     lambda a, g, n: bool((g[_wrong(a, g)] == 0).all())),
)  # fmt: skip
_SHARES: Rules = (
    ("other", "does not share out one: its sums over axis {n} must be 1.",
     lambda a, g, n: _axis(g, n) and bool((g >= 0).all()) and close(_share(g, n), g) and not close(_share(a, n), a)),
)  # fmt: skip


def _first(rules: Rules, pairs: Pairs) -> Finding | None:
    for kind, says, holds in rules:
        for n in range(max(1, min(g.dim() for _, g in pairs))):
            if all(holds(a, g, n) for a, g in pairs):
                return Finding(kind, says.format(n=n))
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
    factors = [float((a * g).sum() / (g * g).sum()) for a, g in pairs]
    if not all(c and close(a / c, g) for c, (a, g) in zip(factors, pairs, strict=True)):
        return None
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
        simple = Fraction(factors[0]).limit_denominator(24)
        plain = abs(simple.numerator) <= 24 and _same(factors[0], float(simple))
        ratio = str(simple) if plain else f"{factors[0]:.6g}"
        return Finding("factor", "is off by a constant factor.", f"is {ratio} times the right one.")
    if min(g.numel() for _, g in pairs) < 2:
        return None
    return Finding("factor", "is off by a factor that differs from case to case.")


def _power(pairs: Pairs, given: Cases) -> Finding | None:
    """A number of the question as a factor too often, or not often enough."""
    if len(pairs) < 2 or any(g.numel() > 1 or not float(a) or not float(g) for a, g in pairs):
        return None
    for name in given[0] if given else ():
        values = [
            abs(float(v)) for case in given if isinstance(v := case.get(name), float) and abs(v) not in (0, 1)
        ]
        powers = [log(abs(float(a / g))) / log(v) for (a, g), v in zip(pairs, values, strict=False)]
        if len(powers) == len(pairs) and all(round(p) and abs(p - round(p)) < 1e-6 for p in powers):
            often = "too often" if powers[0] > 0 else "not often enough"
            whole = f"has the factor `{name}` {often}, here by {abs(round(powers[0]))}."
            return Finding("factor", f"has a factor {often}.", whole)
    return None


def _same(x: float, y: float) -> bool:
    return abs(x - y) <= 1e-6 * abs(y)


_PRODUCTS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    ("`{}`, from the right", lambda x, m: x @ m),
    ("`{}` transposed, from the right", lambda x, m: x @ m.mT),
    ("`{}`, from the left", lambda x, m: m @ x),
    ("`{}` transposed, from the left", lambda x, m: m.mT @ x),
    ("`{}`, entry by entry", lambda x, m: x * m),
)


def _product(pairs: Pairs, given: Cases) -> Finding | None:
    """A product with a variable of the question too much, or one that is missing."""
    if not given or all(g.numel() < 2 for _, g in pairs):
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
                    whole = f"lacks a product: with {words.format(name)}."
                    return Finding("missing factor", "lacks a product.", whole)
            except RuntimeError:  # the sizes do not allow it
                continue
    return None


def _slice(pairs: Pairs) -> Finding | None:
    """All that is wrong lies in one entry, or in one row, column or step."""
    off = [entries for a, g in pairs if len(entries := _wrong(a, g).nonzero())]
    if not off or any(g.numel() < 3 for _, g in pairs):
        return None
    if all(len(entries) == 1 for entries in off):
        here = f"[{','.join(map(str, off[0][0].tolist()))}]"
        if all(bool((entries == off[0]).all()) for entries in off):
            return Finding("entry", f"is right but for the entry {here}.")
        return Finding("entry", f"is right but for one entry, another one in each case (here {here}).")
    for axis, index in enumerate(off[0][0].tolist()):
        if all(_axis(g, axis) for _, g in pairs) and all(bool((e[:, axis] == index).all()) for e in off):
            said = f"is wrong only where its axis {axis} is {index}; the rest of it is right."
            return Finding("slice", said)
    return None


def sizes_of(case: Mapping[str, object]) -> dict[str, int]:
    """The sizes that a wrong mean may have divided by, with words for each."""
    found: dict[str, int] = {}
    for name, value in case.items():
        if type(value) is int:
            found[f"`{name}`"] = value
        shape = (len(value),) if isinstance(value, (list, tuple)) else getattr(value, "shape", ())
        for axis, size in enumerate(shape):
            words = f"the length of `{name}`" if len(shape) == 1 else f"the size of axis {axis} of `{name}`"
            found.setdefault(words, int(size))
    return found
