"""One part of an answer (a gradient, an output) against the right tensors of every case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .mistakes import Mistake
from .recognise import Found, recognise
from .result import Result, right, wrong
from .student import Stopped, upper
from .tensors import at, close, dtype_of, low_precision, read, worst


@dataclass(frozen=True)
class Known:
    """What the check knows beside the right tensors, to tell one kind of error from another."""

    others: Mapping[str, Sequence[Tensor]] = field(default_factory=dict)  # right tensors of other parts
    sizes: Sequence[Mapping[str, int]] = ()  # the named sizes of each case
    # The named mistakes with what each gives for this part, asked for when the answer is wrong.
    mistakes: Callable[[], Sequence[tuple[Mistake, Sequence[object]]]] = lambda: ()
    suspects: Callable[[Sequence[Tensor]], Found | None] | None = None  # a recogniser of the check's own
    measured: Callable[[int, tuple[int, ...]], float] | None = None  # central difference at (case, entry)


def judge(part: str, noun: str, answers: Sequence[object], rights: Sequence[Tensor], known: Known) -> Result:
    """`noun` says what the part is ("the gradient of `H`"); answers and rights have one item a case."""
    dtype = dtype_of(answers[0])
    try:
        tensors = [read(value, like, noun) for value, like in zip(answers, rights, strict=True)]
    except Stopped as stop:
        named = _named(answers, known.mistakes(), rights)
        return stop.result if named is None else named
    pairs = list(zip(tensors, rights, strict=True))
    if all(close(a, g, dtype_of(raw)) for raw, (a, g) in zip(answers, pairs, strict=True)):
        return right(f"{upper(noun)} is right.")
    number = next(n for n, (a, g) in enumerate(pairs) if not close(a, g, dtype_of(answers[n])))
    entry = worst(*pairs[number])
    columns, row = _numbers(part, number, entry, pairs[number], known)
    numbers = {"columns": columns, "rows": (row,)}
    if (named := _named(answers, known.mistakes(), rights)) is not None:
        return Result(False, named.sentence, named.kind, mistake=named.mistake, **numbers)
    if coarse := low_precision(dtype):
        return wrong(f"{upper(noun)} is not right. {coarse}", "type", **numbers)
    found = recognise(pairs, known.others, known.sizes, known.suspects)
    if found is not None:
        return wrong(f"{upper(noun)} {found[1]}", found[0], **numbers)
    # The numbers stand in the rows: a sentence may be shown where the right value may not.
    where = f": it is furthest off{at(entry)}" if entry else ""
    return wrong(f"{upper(noun)} is not right{where}.", "other", **numbers)


def _numbers(part, number, entry, pair, known: Known):
    a, g = pair
    columns: tuple[str, ...] = ("entry", "yours", "right")
    row: tuple[object, ...] = (
        f"{part}[{','.join(map(str, entry))}]" if entry else part,
        a[entry].item(),
        g[entry].item(),
    )
    if known.measured is not None:
        columns, row = (*columns, "by central differences"), (*row, known.measured(number, entry))
    return columns, row


def _named(answers: Sequence[object], mistakes, rights: Sequence[Tensor]) -> Result | None:
    """The named mistake that gives exactly the student's numbers, in every case, and not the right ones."""
    for mistake, outputs in mistakes:
        if _equal(answers, outputs, rights) and not _equal(outputs, rights, rights):
            return wrong(mistake.sentence, "mistake", mistake=mistake.name)
    return None


def _equal(answers: Sequence[object], outputs: Sequence[object], rights: Sequence[Tensor]) -> bool:
    for answer, output, like in zip(answers, outputs, rights, strict=True):
        a, b = _loose(answer, like), _loose(output, like)
        if a is None or b is None or a.shape != b.shape or not close(a, b, dtype_of(answer)):
            return False
    return True


def _loose(value: object, like: Tensor) -> Tensor | None:
    """As a tensor of its own shape: a mistake may well have the wrong one."""
    try:
        tensor = value.detach() if isinstance(value, Tensor) else torch.as_tensor(value)
        return tensor.to(device=like.device, dtype=like.dtype)
    except Exception:
        return None
