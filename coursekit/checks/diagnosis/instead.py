"""What a wrong answer is the right answer to: the same question with one of its variables changed.

The oracle is asked again with a bias left out, a word's number off by one, a table turned over. Where that gives the
student's numbers in every case, the slip is known; and what is said holds whatever the student wrote.
"""

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
SECONDS = 0.06  # of work for all parts of an answer: a student is waiting


class Instead:
    """The cases of a question with one variable changed, each asked once, whatever the number of parts.

    Where the answer is known to `read` some variables alone, to name another would tell what the right one reads.
    """

    def __init__(self, given: Cases, again: Again, read: Container[str] | None = None):
        self.given, self.again, self.read = given, again, read
        self.left = SECONDS
        names = given[0]
        self.changes = [
            (says.format(name=name, other=other), name, other, of, change)
            for name in names
            for says, of, change in _CHANGES
            for other in (names if of is _replaced else [name])
            if of is not _replaced or other != name
        ]
        self.rights: dict[str, list[Mapping[str, Tensor] | None]] = {}

    def __call__(self, part: str, answers: Sequence[Tensor]) -> Finding | None:
        """The one change of a variable that makes `answers` right in every case that allows it, said of that part."""
        begun, before = process_time(), self.left
        for says, *change in self.changes:
            self.left = before - (process_time() - begun)
            if self.left < 0:
                return None
            if self._explains(part, self.rights.setdefault(says, []), change, answers):
                said = f"is what it would be if {says}."
                own = self.read is None or (change[0] in self.read and change[1] in self.read)
                return Finding("variable", said if own else "", said)
        return None

    def _explains(
        self,
        part: str,
        known: list[Mapping[str, Tensor] | None],
        change: Sequence[Any],
        answers: Sequence[Tensor],
    ) -> bool:
        alike = 0
        for number, case in enumerate(self.given):
            if number == len(known):
                known.append(self._asked(case, *change))
            parts = known[number]
            if parts is None or not parts[part].isfinite().all():
                continue  # this case does not allow it
            if not close(answers[number].to(parts[part]), parts[part]):
                return False
            alike += 1
        return 2 * alike > len(self.given)

    def _asked(
        self, case: Mapping[str, object], name: str, other: str, of: Callable[..., object], change: object
    ) -> Mapping[str, Tensor] | None:
        try:
            with quiet():
                changed = of(change, case[name], case[other])
                return None if changed is None else self.again({**case, name: changed})
        except Exception:  # the sizes do not allow it
            return None


def _real(change: Callable[[Any], object], value: object, _: object) -> object:
    real = isinstance(value, float) or (isinstance(value, Tensor) and value.is_floating_point())
    return change(value) if real else None


def _count(change: Callable[[int], object], value: object, _: object) -> object:
    return change(value) if type(value) is int else None


def _places(change: Callable[[Tensor], Tensor], value: object, _: object) -> object:
    """Of what has a first axis: a tensor or a list."""
    if isinstance(value, (list, tuple)):
        return type(value)(value[n] for n in change(torch.arange(len(value))).tolist())
    return change(value) if isinstance(value, Tensor) else None


def _replaced(_: object, value: object, other: object) -> object:
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return other if value.shape == other.shape and value.dtype == other.dtype else None
    return other if type(value) in (int, float) and type(value) is type(other) else None


# What is said, of what kind of variable, and how it is changed.
_CHANGES: tuple[tuple[str, Callable[..., object], Callable[[Any], object] | None], ...] = (
    ("`{name}` were zero", _real, lambda v: 0 * v),
    ("`{name}` had the opposite sign", _real, lambda v: -v),
    ("`{name}` were counted twice", _real, lambda v: 2 * v),
    ("`{name}` were one larger", _count, lambda v: v + 1),
    ("`{name}` were one smaller", _count, lambda v: v - 1),
    ("`{name}` were transposed", _real, lambda v: v.mT),
    ("`{name}` were `{other}`", _replaced, None),
    ("`{name}` were read from its end", _places, lambda v: v.flip(0)),
    ("`{name}` were one place later", _places, lambda v: v.roll(1, 0)),
    ("`{name}` were one place earlier", _places, lambda v: v.roll(-1, 0)),
    ("the first of `{name}` were left out", _places, lambda v: v[1:]),
    ("the last of `{name}` were left out", _places, lambda v: v[:-1]),
    ("only the first of `{name}` counted", _real, lambda v: torch.cat([v[:1], 0 * v[1:]])),
    ("only the last of `{name}` counted", _real, lambda v: torch.cat([0 * v[:-1], v[-1:]])),
    ("`{name}` were positive everywhere", _real, abs),
)
