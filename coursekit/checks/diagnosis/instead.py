"""What a wrong answer is the right answer to: the same question with one of its variables changed.

The oracle is asked again with a bias left out, a word's number off by one, a table turned over. Where that gives the
student's numbers in every case, the slip is known; and what is said holds whatever the student wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from time import process_time
from typing import Any

import torch
from torch import Tensor

from ..judging.student import quiet
from ..judging.tensors import close
from ..shown.result import Finding

Cases = Sequence[Mapping[str, object]]  # the variables of each
Again = Callable[[Mapping[str, object]], Mapping[str, Tensor]]  # the right parts of a case that was changed
Change = Callable[[object, object], object]  # of a variable, beside another; None where it cannot be
SECONDS = 0.06  # of work: a student is waiting


def instead(
    part: str, answers: Sequence[Tensor], given: Cases, again: Again, read: Container[str] | None = None
) -> Finding | None:
    """The one change of a variable that makes `answers` right in every case, said of that part. Where the answer is
    known to `read` some variables alone, to name another would tell what the right one reads."""
    begun = process_time()
    for name in given[0]:
        for says, change in _CHANGES:
            for other in given[0] if "{other}" in says else [""]:
                if process_time() - begun > SECONDS:
                    return None
                if other != name and _explains(part, name, other, change, answers, given, again):
                    said = f"is what it would be if {says.format(name=name, other=other)}."
                    own = read is None or (name in read and (not other or other in read))
                    return Finding("variable", said if own else "", said)
    return None


def _explains(
    part: str, name: str, other: str, change: Change, answers: Sequence[Tensor], given: Cases, again: Again
) -> bool:
    for number, case in enumerate(given):
        try:
            with quiet():
                changed = change(case[name], case.get(other))
                if changed is None:
                    return False
                right = again({**case, name: changed})[part]
        except Exception:  # the sizes do not allow it
            return False
        if not right.isfinite().all() or not close(answers[number].to(right), right):
            return False
    return True


def _of_real(change: Callable[[Any], object]) -> Change:
    def changed(value: object, _: object) -> object:
        real = isinstance(value, float) or (isinstance(value, Tensor) and value.is_floating_point())
        return change(value) if real else None

    return changed


def _of_count(step: int) -> Change:
    return lambda value, _: value + step if isinstance(value, int) and not isinstance(value, bool) else None


def _along(change: Callable[[Tensor], Tensor]) -> Change:
    """Of what has a first axis of several: a tensor or a list."""

    def changed(value: object, _: object) -> object:
        if isinstance(value, (list, tuple)) and len(value) > 1:
            return type(value)(value[n] for n in change(torch.arange(len(value))).tolist())
        return change(value) if isinstance(value, Tensor) and value.dim() and len(value) > 1 else None

    return changed


def _alone(place: int) -> Change:
    """Only one place of the first axis counts: the others are zero."""

    def changed(value: Tensor) -> Tensor | None:
        if not isinstance(value, Tensor) or not value.dim() or len(value) < 2:
            return None
        kept = torch.zeros_like(value)
        kept[place] = value[place]
        return kept

    return _of_real(changed)


def _replaced(value: object, other: object) -> object:
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return other if value.shape == other.shape and value.dtype == other.dtype else None
    return other if type(value) in (int, float) and type(value) is type(other) else None


def _turned(value: object) -> Tensor | None:
    return value.mT if isinstance(value, Tensor) and value.dim() == 2 and len(set(value.shape)) == 1 else None


_CHANGES: tuple[tuple[str, Change], ...] = (
    ("`{name}` were zero", _of_real(lambda v: 0 * v)),
    ("`{name}` had the opposite sign", _of_real(lambda v: -v)),
    ("`{name}` were counted twice", _of_real(lambda v: 2 * v)),
    ("`{name}` were one larger", _of_count(1)),
    ("`{name}` were one smaller", _of_count(-1)),
    ("`{name}` were transposed", _of_real(_turned)),
    ("`{name}` were `{other}`", _replaced),
    ("`{name}` were read from its end", _along(lambda v: v.flip(0))),
    ("`{name}` were one place later", _along(lambda v: v.roll(1, 0))),
    ("`{name}` were one place earlier", _along(lambda v: v.roll(-1, 0))),
    ("the first of `{name}` were left out", _along(lambda v: v[1:])),
    ("the last of `{name}` were left out", _along(lambda v: v[:-1])),
    ("only the first of `{name}` counted", _alone(0)),
    ("only the last of `{name}` counted", _alone(-1)),
    ("`{name}` were positive everywhere", _of_real(abs)),
)
