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
Change = Callable[[object, object], object]  # of a variable, beside another; None where it cannot be
SECONDS = 0.06  # of work for all parts of an answer: a student is waiting


class Instead:
    """The cases of a question with one variable changed, each asked once, whatever the number of parts.

    Where the answer is known to `read` some variables alone, to name another would tell what the right one reads.
    """

    def __init__(self, given: Cases, again: Again, read: Container[str] | None = None):
        self.given, self.again, self.read = given, again, read
        self.left = SECONDS
        self.rights: dict[tuple[str, str, str], list[Mapping[str, Tensor] | None]] = {}

    def __call__(self, part: str, answers: Sequence[Tensor]) -> Finding | None:
        """The one change of a variable that makes `answers` right in every case that allows it, said of that part."""
        begun = process_time()
        try:
            for name in self.given[0]:
                for says, change in _CHANGES:
                    for other in self.given[0] if "{other}" in says else [""]:
                        if process_time() - begun > self.left:
                            return None
                        if other != name and self._explains(part, name, other, says, change, answers):
                            said = f"is what it would be if {says.format(name=name, other=other)}."
                            own = self.read is None or (
                                name in self.read and (not other or other in self.read)
                            )
                            return Finding("variable", said if own else "", said)
        finally:
            self.left -= process_time() - begun
        return None

    def _explains(
        self, part: str, name: str, other: str, says: str, change: Change, answers: Sequence[Tensor]
    ) -> bool:
        known = self.rights.setdefault((name, says, other), [])
        alike = 0
        for number, case in enumerate(self.given):
            if number == len(known):
                known.append(self._asked(case, name, other, change))
            parts = known[number]
            if parts is None or not parts[part].isfinite().all():
                continue  # this case does not allow it
            if not close(answers[number].to(parts[part]), parts[part]):
                return False
            alike += 1
        return 2 * alike > len(self.given)

    def _asked(
        self, case: Mapping[str, object], name: str, other: str, change: Change
    ) -> Mapping[str, Tensor] | None:
        try:
            with quiet():
                changed = change(case[name], case.get(other))
                return None if changed is None else self.again({**case, name: changed})
        except Exception:  # the sizes do not allow it
            return None


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
